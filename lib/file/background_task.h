// One task at a time on a thread of its own: the wait for a disk beside the work.
#ifndef KRAFLA_LIB_FILE_BACKGROUND_TASK_H_
#define KRAFLA_LIB_FILE_BACKGROUND_TASK_H_

#include <functional>
#include <thread>

#include "lib/base/status.h"

namespace krafla {

class BackgroundTask {
 public:
  BackgroundTask() = default;
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Waits for the task before, and returns its error; otherwise starts this one. Where no thread
  // can be made the task runs here.
  Status Start(std::function<Status()> task);
  Status Wait();  // for the last one, and its error

 private:
  std::thread thread_;
  Status status_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_BACKGROUND_TASK_H_
