/* Opens a libkrafla-<isa> through krafla_loader.h, reads a few tokens with a model, and lets all of
 * it go: again and again, in threads of their own too. What the process holds of the system must
 * not grow. Usage: load_many FOLDER MODEL TIMES */
#include <windows.h>
/* after windows.h */
#include <process.h>
#include <psapi.h>

#include "krafla/krafla_loader.h"

static const char *folder;
static const char *model_path;

/* 0, or the line that failed. */
static int use_once(void) {
  krafla_functions krafla;
  char message[512];
  krafla_model *model = NULL;
  krafla_session *session = NULL;
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  const int32_t ids[] = {1, 2, 3};
  int failed = 0;
  if (krafla_load(&krafla, folder, message, sizeof(message)) != 0) {
    puts(message);
    return __LINE__;
  }
  options.context = 64;
  if (krafla.model_open_path(&model, NULL, "nowhere", 7, NULL) != KRAFLA_E_NOT_FOUND)
    failed = __LINE__;
  if (krafla.model_open_path(&model, NULL, model_path, strlen(model_path), NULL) != 0)
    failed = __LINE__;
  if (!failed && krafla.session_create(&session, model, &options) != 0) failed = __LINE__;
  if (!failed && krafla.session_append(session, ids, 3, NULL) != 0) failed = __LINE__;
  if (failed) puts(krafla.error_message());
  krafla.session_free(session);
  krafla.model_free(model);
  krafla_unload(&krafla);
  return failed;
}

static unsigned __stdcall use_on_thread(void *unused) {
  (void)unused;
  return (unsigned)use_once();
}

static int use_in_thread(void) {
  DWORD failed = 1;
  HANDLE thread = (HANDLE)_beginthreadex(NULL, 0, use_on_thread, NULL, 0, NULL);
  if (thread == NULL) return __LINE__;
  WaitForSingleObject(thread, INFINITE);
  GetExitCodeThread(thread, &failed);
  CloseHandle(thread);
  return (int)failed;
}

/* Bytes of the process's heap, where every allocation of the C library is. */
static size_t heap_bytes(void) {
  PROCESS_HEAP_ENTRY entry;
  size_t bytes = 0;
  entry.lpData = NULL;
  HeapLock(GetProcessHeap());
  while (HeapWalk(GetProcessHeap(), &entry)) {
    if ((entry.wFlags & PROCESS_HEAP_ENTRY_BUSY) != 0) bytes += entry.cbData;
  }
  HeapUnlock(GetProcessHeap());
  return bytes;
}

static void measure(const char *when, size_t *heap, size_t *bytes) {
  PROCESS_MEMORY_COUNTERS counters;
  counters.cb = sizeof(counters);
  GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters));
  *bytes = counters.PagefileUsage;
  *heap = heap_bytes();
  printf("%s: heap %lu bytes, process %lu KiB\n", when, (unsigned long)*heap,
         (unsigned long)(*bytes / 1024));
}

int main(int argc, char **argv) {
  size_t heap_before = 0, heap_after, before = 0, after;
  int i, failed, times = argc > 3 ? atoi(argv[3]) : 0;
  const int warm = 10;
  if (times < 2 * warm) return 2;
  folder = argv[1];
  model_path = argv[2];
  for (i = 0; i < times; ++i) {
    if (i == warm) measure("after 10", &heap_before, &before);
    failed = i % 2 == 0 ? use_once() : use_in_thread();
    if (failed) {
      printf("round %d: line %d failed\n", i, failed);
      return 1;
    }
  }
  measure("at the end", &heap_after, &after);
  /* winpthreads leaves the mutexes of a DLL behind, some 150 bytes; wine's loader some pages. */
  if (heap_after > heap_before + (size_t)(times - warm) * 512) return 1;
  return after > before + (size_t)(times - warm) * (96 << 10) ? 1 : 0;
}
