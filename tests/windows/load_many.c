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

static void measure(const char *when, SIZE_T *bytes, DWORD *handles) {
  PROCESS_MEMORY_COUNTERS counters;
  counters.cb = sizeof(counters);
  GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters));
  GetProcessHandleCount(GetCurrentProcess(), handles);
  *bytes = counters.PagefileUsage;
  printf("%s: %lu KiB, %lu handles\n", when, (unsigned long)(*bytes / 1024), *handles);
}

int main(int argc, char **argv) {
  SIZE_T before, after;
  DWORD handles_before, handles_after;
  int i, failed, times = argc > 3 ? atoi(argv[3]) : 0;
  if (times < 20) return 2;
  folder = argv[1];
  model_path = argv[2];
  for (i = 0; i < times; ++i) {
    if (i == 10) measure("after 10", &before, &handles_before);
    failed = i % 2 == 0 ? use_once() : use_in_thread();
    if (failed) {
      printf("round %d: line %d failed\n", i, failed);
      return 1;
    }
  }
  measure("at the end", &after, &handles_after);
  if (handles_after > handles_before + 4) return 1;
  return after > before + ((SIZE_T)4 << 20) ? 1 : 0;
}
