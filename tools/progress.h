// Progress of long work on a terminal's stderr: percentage, rate and time left, ten times a second
// at most. Elsewhere nothing, so that logs stay readable. Its callback is also where Ctrl-C stops
// the work.
#ifndef KRAFLA_TOOLS_PROGRESS_H_
#define KRAFLA_TOOLS_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace krafla::tools {

class Progress {
 public:
  // With a unit of "B" numbers are bytes and the rate is in MB/s; else they are things of that
  // name.
  explicit Progress(std::string_view unit);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For the library's (user, done, total) callbacks, user being a Progress.
  static int Callback(void* user, uint64_t done, uint64_t total);

  // The same for work that may go on from earlier work: its first call tells how much that was.
  static int ResumedCallback(void* user, uint64_t done, uint64_t total);

  void Clear();  // takes the line off the terminal
  uint64_t done() const { return done_; }
  // "145.2 MB in 1.2 s (121 MB/s)"
  std::string Summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  void Show(uint64_t done, uint64_t total);
  double Seconds() const;
  std::string Rate() const;

  std::string unit_;
  bool visible_;
  bool drawn_ = false;
  uint64_t done_ = 0;
  uint64_t base_ = 0;  // done before this process
  bool called_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_PROGRESS_H_
