// Whether reading ahead what a router is guessed to choose pays: it does where most guesses are
// right and the disk has time. Judged over some hundred guesses; where it does not, it rests for a
// while and is tried again.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_READ_AHEAD_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_READ_AHEAD_H_

#include <cstdint>

namespace krafla {

class ReadAheadPolicy {
 public:
  bool active() const { return rest_ == 0; }
  // A layer was begun of which `guessed` experts had been expected that were absent then, `right`
  // of them rightly. Times in nanoseconds since any one moment: now, and in which something was
  // read.
  void Note(uint64_t guessed, uint64_t right, uint64_t now, uint64_t read);

 private:
  static constexpr uint64_t kWindow = 256;  // guesses
  static constexpr uint64_t kRest = 4096;   // layers
  static constexpr double kLeastRight = 0.6;
  static constexpr double kMostBusy = 0.8;
  uint64_t guessed_ = 0;
  uint64_t right_ = 0;
  uint64_t began_ = 0;
  uint64_t read_ = 0;
  uint64_t rest_ = 0;  // layers
};

inline void ReadAheadPolicy::Note(uint64_t guessed, uint64_t right, uint64_t now, uint64_t read) {
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (guessed_ == 0) {
    began_ = now;
    read_ = read;
  }
  guessed_ += guessed;
  right_ += right;
  if (guessed_ < kWindow) return;
  const double precision = static_cast<double>(right_) / static_cast<double>(guessed_);
  const double busy =
      now > began_ ? static_cast<double>(read - read_) / static_cast<double>(now - began_) : 0;
  if (precision < kLeastRight || busy > kMostBusy) rest_ = kRest;
  guessed_ = right_ = 0;
}

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_READ_AHEAD_H_
