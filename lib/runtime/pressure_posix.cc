// See pressure.h. A trigger of 200 ms in windows of 2 s: shorter windows need privileges.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "lib/runtime/pressure.h"

namespace krafla {
namespace {

constexpr char kTrigger[] = "some 200000 2000000";

// "0::/user.slice/x.scope" of a machine with cgroup v2.
std::string OwnGroupFile() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    if (line.rfind("0::", 0) == 0) return "/sys/fs/cgroup" + line.substr(3) + "/memory.pressure";
  }
  return "";
}

class PollSignal final : public PressureSignal {
 public:
  PollSignal() {
    if (pipe2(stop_, O_CLOEXEC | O_NONBLOCK) != 0) stop_[0] = stop_[1] = -1;
    const char* watch = std::getenv("MEMORY_PRESSURE_WATCH");
    if (watch != nullptr && std::strcmp(watch, "/dev/null") == 0) return;
    for (const std::string& file : {std::string(watch == nullptr ? "" : watch), OwnGroupFile(),
                                    std::string("/proc/pressure/memory")}) {
      if (file.empty()) continue;
      fd_ = open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
      if (fd_ < 0) continue;
      file_ = file;
      if (write(fd_, kTrigger, sizeof(kTrigger)) > 0) return;
      close(fd_);
      fd_ = -1;
    }
  }
  ~PollSignal() override {
    for (const int fd : {fd_, stop_[0], stop_[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  Seen Wait(int milliseconds) override {
    pollfd fds[2] = {{stop_[0], POLLIN, 0}, {fd_, POLLPRI, 0}};
    if (poll(fds, fd_ >= 0 ? 2 : 1, milliseconds) <= 0) return Seen::kNothing;
    if (fds[0].revents != 0) return Seen::kStop;
    if ((fds[1].revents & POLLERR) != 0) {  // the group is gone
      close(fd_);
      fd_ = -1;
      return Seen::kNothing;
    }
    return (fds[1].revents & POLLPRI) != 0 ? Seen::kPressure : Seen::kNothing;
  }
  void Stop() override { [[maybe_unused]] const ssize_t n = write(stop_[1], "", 1); }
  double StalledPercent() const override {
    std::ifstream file(file_);
    std::string word;
    while (file >> word) {
      if (word.rfind("avg10=", 0) == 0) return std::strtod(word.c_str() + 6, nullptr);
    }
    return 0;
  }

 private:
  int fd_ = -1;
  int stop_[2] = {-1, -1};
  std::string file_;
};

}  // namespace

std::unique_ptr<PressureSignal> PressureSignal::Open() { return std::make_unique<PollSignal>(); }

}  // namespace krafla
