// What Linux and systemd say about short memory, laid out as files, pipes and sockets.
#include "lib/runtime/pressure.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/runtime/machine.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

using Seen = PressureSignal::Seen;

// For as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

constexpr char kStalled[] =
    "some avg10=12.50 avg60=3.00 avg300=1.00 total=9\nfull avg10=7.00 avg60=0.00 total=3";

TEST_CASE("averages are those of the own group, else of the system") {
  Machine machine;
  machine.Write("/proc/pressure/memory", "");
  auto signal = PressureSignal::Open(machine.root());
  CHECK(signal->StalledPercent() == 0);
  CHECK(signal->Wait(0) == Seen::kNothing);
  machine.Write("/proc/pressure/memory", kStalled);
  CHECK(signal->StalledPercent() == 12.5);

  machine.Write("/proc/self/cgroup", "0::/own.scope");
  machine.Write("/sys/fs/cgroup/own.scope/memory.pressure", "");
  signal = PressureSignal::Open(machine.root());
  const std::string trigger =
      ReadWholeFile(machine.root() + "/sys/fs/cgroup/own.scope/memory.pressure");
  CHECK(trigger == std::string("some 200000 2000000\0", 20));
  machine.Write("/sys/fs/cgroup/own.scope/memory.pressure", "some avg10=0.25 avg60=0.00");
  CHECK(signal->StalledPercent() == 0.25);
}

TEST_CASE("a machine that says nothing is never short") {
  const auto signal = PressureSignal::Open("/nowhere");
  CHECK(signal->Wait(1) == Seen::kNothing);
  CHECK(signal->StalledPercent() == 0);
}

TEST_CASE("a pipe that MEMORY_PRESSURE_WATCH names") {
  const Machine machine;
  const std::string pipe = machine.root() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const Variable watch("MEMORY_PRESSURE_WATCH", pipe);
  const auto signal = PressureSignal::Open(machine.root());
  CHECK(signal->Wait(0) == Seen::kNothing);
  const int fd = open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
  REQUIRE(fd >= 0);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(write(fd, "xyz", 3) == 3);
    CHECK(signal->Wait(10000) == Seen::kPressure);
    CHECK(signal->Wait(0) == Seen::kNothing);  // one event, however long its text
  }
  close(fd);
  CHECK(signal->Wait(0) == Seen::kNothing);
}

TEST_CASE("a socket, which is told first what MEMORY_PRESSURE_WRITE says") {
  const Machine machine;
  const std::string path = machine.root() + "/socket";
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener, 1) == 0);
  const Variable watch("MEMORY_PRESSURE_WATCH", path);
  const Variable written("MEMORY_PRESSURE_WRITE", "c29tZSAyMDAwMDAgMjAwMDAwMAA=");
  const auto signal = PressureSignal::Open(machine.root());
  const int peer = accept(listener, nullptr, nullptr);
  REQUIRE(peer >= 0);
  char got[64];
  REQUIRE(read(peer, got, sizeof(got)) == 20);
  CHECK(std::memcmp(got, "some 200000 2000000\0", 20) == 0);
  REQUIRE(write(peer, "x", 1) == 1);
  CHECK(signal->Wait(10000) == Seen::kPressure);
  close(peer);  // a sender that is gone is no pressure, and not looked at again
  CHECK(signal->Wait(1) == Seen::kNothing);
  CHECK(signal->Wait(1) == Seen::kNothing);
  close(listener);
}

TEST_CASE("/dev/null asks not to watch, and Stop ends a wait") {
  Machine machine;
  machine.Write("/proc/pressure/memory", kStalled);
  const Variable watch("MEMORY_PRESSURE_WATCH", "/dev/null");
  const auto signal = PressureSignal::Open(machine.root());
  CHECK(ReadWholeFile(machine.root() + "/proc/pressure/memory") == kStalled + std::string("\n"));
  std::thread stopper([&] { signal->Stop(); });
  CHECK(signal->Wait(60000) == Seen::kStop);
  stopper.join();
}

}  // namespace
}  // namespace krafla
