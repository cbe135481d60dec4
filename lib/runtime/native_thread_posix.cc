// See native_thread.h.
#include <pthread.h>
#include <signal.h>

#include <memory>

#include "lib/runtime/native_thread.h"

namespace krafla {
namespace {

struct Entry {
  void (*run)(void*);
  void* context;
  std::string name;
};

void* Main(void* argument) {
  const std::unique_ptr<Entry> entry(static_cast<Entry*>(argument));
  pthread_setname_np(pthread_self(), entry->name.c_str());
  entry->run(entry->context);
  return nullptr;
}

}  // namespace

StatusOr<NativeThread> NativeThread::Start(size_t stack_bytes, const std::string& name,
                                           void (*run)(void*), void* context) {
  auto entry = std::make_unique<Entry>(Entry{run, context, name});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return MemoryError("threads: no memory");
  pthread_attr_setstacksize(&attributes, stack_bytes);
  // Threads inherit the mask: the host's signals must never run on ours.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  const int error = pthread_create(&handle, &attributes, Main, entry.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return MemoryError("threads: cannot start thread {} (error {})", name, error);
  entry.release();  // the thread's now
  NativeThread thread;
  thread.handle_ = static_cast<uintptr_t>(handle);
  return thread;
}

void NativeThread::Join() {
  pthread_join(static_cast<pthread_t>(std::exchange(handle_, 0)), nullptr);
}

void WaitOn(std::atomic<uint32_t>& word, uint32_t seen) { word.wait(seen); }
void WakeOne(std::atomic<uint32_t>& word) { word.notify_one(); }
void WakeAll(std::atomic<uint32_t>& word) { word.notify_all(); }

}  // namespace krafla
