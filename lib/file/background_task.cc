// Nothing may leave the thread but its status: an exception there would end the process.
#include "lib/file/background_task.h"

#include <new>
#include <system_error>
#include <utility>

namespace krafla {

BackgroundTask::~BackgroundTask() {
  if (thread_.joinable()) thread_.join();
}

Status BackgroundTask::Wait() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(status_, OkStatus());
}

Status BackgroundTask::Start(std::function<Status()> task) {
  KRAFLA_RETURN_IF_ERROR(Wait());
  try {
    thread_ = std::thread([this, task] {
      try {
        status_ = task();
      } catch (const std::bad_alloc&) {
        status_ = Status(absl::StatusCode::kResourceExhausted, "");  // a message needs memory
      }
    });
    return OkStatus();
  } catch (const std::system_error&) {
    return task();
  }
}

}  // namespace krafla
