/* Opens the fastest libkrafla-<isa> that the processor runs, for programs that ship several: C99,
 * header-only, POSIX and Windows. Each library says itself whether it runs here, so this header
 * knows no processor. The environment's KRAFLA_ISA chooses one ("sse2").
 *
 *   krafla_functions krafla;
 *   char message[256];
 *   if (krafla_load(&krafla, "lib", message, sizeof(message)) != 0) puts(message);
 *   else printf("%s\n", krafla.isa());
 *
 * Several may be open at once; each is a library of its own, and objects of one are not for
 * another's functions. Link with -ldl where the C library wants it. */
#ifndef KRAFLA_KRAFLA_LOADER_H_
#define KRAFLA_KRAFLA_LOADER_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "krafla/krafla_functions.h"

#if defined(_WIN32)
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif

/* From the fastest to the slowest of each family of processors. */
static const char *const krafla_load_order[] = {KRAFLA_LOAD_ORDER};

#if defined(_WIN32)
#define KRAFLA_LOADER_NAME "krafla-%s.dll"
/* The path is UTF-8. Nothing but the file named is opened, and what it needs is looked for in
 * Windows' own folder, or beside it; without a folder, in the program's and in those of
 * AddDllDirectory: never in the current one or along PATH. */
static inline void *krafla_load_open(const char *path) {
  wchar_t given[4096];
  wchar_t full[4096];
  DWORD length;
  DWORD flags = 0x1000; /* LOAD_LIBRARY_SEARCH_DEFAULT_DIRS */
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, given, 4096) == 0) return NULL;
  if (strpbrk(path, "/\\:") == NULL) return (void *)LoadLibraryExW(given, NULL, flags);
  length = GetFullPathNameW(given, 4096, full, NULL);
  if (length == 0 || length >= 4096) return NULL;
  flags = 0x900; /* LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, LOAD_LIBRARY_SEARCH_SYSTEM32 */
  return (void *)LoadLibraryExW(full, NULL, flags);
}
static inline void krafla_load_close(void *library) { FreeLibrary((HMODULE)library); }
static inline void krafla_load_find(void *library, const char *name, void *function) {
  FARPROC found = GetProcAddress((HMODULE)library, name);
  memcpy(function, &found, sizeof(found));
}
#else
#define KRAFLA_LOADER_NAME "libkrafla-%s.so"
static inline void *krafla_load_open(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
static inline void krafla_load_close(void *library) { dlclose(library); }
static inline void krafla_load_find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof(found));
}
#endif

static inline void krafla_unload(krafla_functions *table) {
  if (table->library != NULL) krafla_load_close(table->library);
  memset(table, 0, sizeof(*table));
}

/* 0, or not and why in message. */
static inline int krafla_load_one(krafla_functions *table, const char *folder, const char *isa,
                                  char *message, size_t message_size) {
  char path[4096];
  char name[64];
  const char *missing = NULL;
  int length;
  memset(table, 0, sizeof(*table));
  snprintf(name, sizeof(name), KRAFLA_LOADER_NAME, isa);
  length = folder == NULL || folder[0] == 0 ? snprintf(path, sizeof(path), "%s", name)
                                            : snprintf(path, sizeof(path), "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof(path)) {
    snprintf(message, message_size, "krafla: the path of %s is too long", name);
    return 1;
  }
  table->library = krafla_load_open(path);
  if (table->library == NULL) {
#if defined(_WIN32)
    snprintf(message, message_size, "krafla: %s cannot be opened (%lu)", path,
             (unsigned long)GetLastError());
#else
    const char *reason = dlerror();
    snprintf(message, message_size, "krafla: %s", reason != NULL ? reason : "it cannot be opened");
#endif
    return 1;
  }
#define KRAFLA_LOADER_FIND(name) \
  krafla_load_find(table->library, "krafla_" #name, (void *)&table->name);
  KRAFLA_FUNCTIONS(KRAFLA_LOADER_FIND)
#undef KRAFLA_LOADER_FIND
#define KRAFLA_LOADER_CHECK(name) \
  if (table->name == NULL) missing = "krafla_" #name;
  KRAFLA_FUNCTIONS(KRAFLA_LOADER_CHECK)
#undef KRAFLA_LOADER_CHECK
  if (missing != NULL) {
    snprintf(message, message_size, "krafla: the %.32s library has no %s: it is too old", isa,
             missing);
    krafla_unload(table);
    return 1;
  }
  if (table->cpu_check() != KRAFLA_OK) {
    snprintf(message, message_size, "krafla: %s", table->error_message());
    krafla_unload(table);
    return 1;
  }
  return 0;
}

/* Fills the table from the fastest library of folder (NULL: where the system looks for libraries).
 * Otherwise a non-zero number, an empty table, and the reason in message [message_size]: of the one
 * that KRAFLA_ISA names, or else of the last that was tried. */
static inline int krafla_load(krafla_functions *table, const char *folder, char *message,
                              size_t message_size) {
  const char *wanted = getenv("KRAFLA_ISA");
  size_t i;
  if (wanted != NULL && wanted[0] != 0) {
    return krafla_load_one(table, folder, wanted, message, message_size);
  }
  for (i = 0; i < sizeof(krafla_load_order) / sizeof(krafla_load_order[0]); ++i) {
    if (krafla_load_one(table, folder, krafla_load_order[i], message, message_size) == 0) return 0;
  }
  return 1;
}

#endif /* KRAFLA_KRAFLA_LOADER_H_ */
