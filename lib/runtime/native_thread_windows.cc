// See native_thread.h. The C runtime's call starts the thread, so that its own state of a thread is
// set up; WaitOnAddress (Windows 8) is the futex, for which libstdc++ would take a mutex.
#include <process.h>
#include <windows.h>

#include <memory>

#include "lib/base/wide_text.h"
#include "lib/runtime/native_thread.h"

namespace krafla {
namespace {

struct Entry {
  void (*run)(void*);
  void* context;
};

unsigned __stdcall Main(void* argument) {
  const std::unique_ptr<Entry> entry(static_cast<Entry*>(argument));
  entry->run(entry->context);
  return 0;
}

// Windows 10 of 2016 and later have it.
void SetName(HANDLE thread, const std::string& name) {
  using Function = HRESULT(WINAPI*)(HANDLE, PCWSTR);
  const FARPROC found = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription");
  if (found == nullptr) return;
  reinterpret_cast<Function>(reinterpret_cast<void*>(found))(thread, WideText(name).c_str());
}

}  // namespace

StatusOr<NativeThread> NativeThread::Start(size_t stack_bytes, const std::string& name,
                                           void (*run)(void*), void* context) {
  auto entry = std::make_unique<Entry>(Entry{run, context});
  const uintptr_t handle = _beginthreadex(nullptr, static_cast<unsigned>(stack_bytes), Main,
                                          entry.get(), STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (handle == 0) return MemoryError("threads: cannot start thread {} (error {})", name, errno);
  entry.release();  // the thread's now
  SetName(reinterpret_cast<HANDLE>(handle), name);
  NativeThread thread;
  thread.handle_ = handle;
  return thread;
}

void NativeThread::Join() {
  const auto thread = reinterpret_cast<HANDLE>(std::exchange(handle_, 0));
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}

void WaitOn(std::atomic<uint32_t>& word, uint32_t seen) {
  WaitOnAddress(&word, &seen, sizeof(seen), INFINITE);
}

void WakeOne(std::atomic<uint32_t>& word) { WakeByAddressSingle(&word); }
void WakeAll(std::atomic<uint32_t>& word) { WakeByAddressAll(&word); }

}  // namespace krafla
