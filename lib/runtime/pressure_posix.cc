// See pressure.h. A trigger of 200 ms in windows of 2 s: shorter windows need privileges.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "lib/runtime/pressure.h"

namespace krafla {
namespace {

constexpr std::string_view kTrigger("some 200000 2000000", 20);  // with the zero byte

// "0::/user.slice/x.scope" of a machine with cgroup v2.
std::string OwnGroupFile(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    if (line.rfind("0::", 0) == 0) {
      return root + "/sys/fs/cgroup" + line.substr(3) + "/memory.pressure";
    }
  }
  return "";
}

// Up to the first character that is none of base64's.
std::string DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    n += 6;
    if (n < 8) continue;
    n -= 8;
    bytes += static_cast<char>(bits >> n & 0xFF);
  }
  return bytes;
}

int Connect(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) return -1;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

class PollSignal final : public PressureSignal {
 public:
  explicit PollSignal(const std::string& root) {
    if (pipe2(stop_, O_CLOEXEC | O_NONBLOCK) != 0) stop_[0] = stop_[1] = -1;
    file_ = root + "/proc/pressure/memory";
    const char* watch = std::getenv("MEMORY_PRESSURE_WATCH");
    if (watch != nullptr && std::strcmp(watch, "/dev/null") == 0) return;
    const char* written = std::getenv("MEMORY_PRESSURE_WRITE");
    if (watch != nullptr && Watch(watch, written != nullptr ? DecodeBase64(written) : "")) return;
    if (!Watch(OwnGroupFile(root), kTrigger)) Watch(file_, kTrigger);
  }
  ~PollSignal() override {
    for (const int fd : {fd_, stop_[0], stop_[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  Seen Wait(int milliseconds) override {
    pollfd fds[2] = {{stop_[0], POLLIN, 0}, {fd_, event_, 0}};
    if (poll(fds, fd_ >= 0 ? 2 : 1, milliseconds) <= 0) return Seen::kNothing;
    if (fds[0].revents != 0) return Seen::kStop;
    const bool drained = event_ == POLLIN && !Drain();
    if ((fds[1].revents & POLLERR) != 0 || drained) {  // the group or the sender is gone
      close(fd_);
      fd_ = -1;
      return Seen::kNothing;
    }
    return (fds[1].revents & event_) != 0 ? Seen::kPressure : Seen::kNothing;
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
  // A file of the kernel's wants a trigger, a pipe and a socket only what they were promised.
  bool Watch(const std::string& file, std::string_view first) {
    struct stat info;
    if (file.empty() || stat(file.c_str(), &info) != 0) return false;
    const bool regular = S_ISREG(info.st_mode);
    fd_ = S_ISSOCK(info.st_mode) ? Connect(file)
                                 : open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd_ < 0) return false;
    if (regular && first.empty()) first = kTrigger;
    event_ = regular ? POLLPRI : POLLIN;
    if (regular) file_ = file;
    if (first.empty() || write(fd_, first.data(), first.size()) > 0) return true;
    close(fd_);
    fd_ = -1;
    return false;
  }
  bool Drain() {
    char bytes[256];
    for (;;) {
      const ssize_t n = read(fd_, bytes, sizeof(bytes));
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) return false;
    }
  }

  int fd_ = -1;
  short event_ = POLLPRI;
  int stop_[2] = {-1, -1};
  std::string file_;  // with averages
};

}  // namespace

std::unique_ptr<PressureSignal> PressureSignal::Open(const std::string& root) {
  return std::make_unique<PollSignal>(root);
}

}  // namespace krafla
