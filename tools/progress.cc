// One line, rewritten in place with a carriage return and erased at the end. Rates are means since
// the start: steadier than the last moment, and what "time left" is reckoned from.
#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tools/interrupt.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

constexpr std::chrono::milliseconds kInterval(100);

std::string ClockText(double seconds) {
  const auto s = static_cast<int64_t>(std::min(seconds, 359999.0) + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Progress(std::string_view unit) : unit_(unit), visible_(IsTerminal(STDERR_FILENO)) {}

int Progress::Callback(void* user, uint64_t done, uint64_t total) {
  auto* progress = static_cast<Progress*>(user);
  progress->done_ = done;
  if (progress->visible_) progress->Show(done, total);
  return Interrupted() ? 1 : 0;
}

int Progress::ResumedCallback(void* user, uint64_t done, uint64_t total) {
  auto* progress = static_cast<Progress*>(user);
  if (!progress->called_) progress->base_ = done;
  progress->called_ = true;
  return Callback(user, done, total);
}

double Progress::Seconds() const {
  return std::max(std::chrono::duration<double>(Clock::now() - start_).count(), 1e-6);
}

std::string Progress::Rate() const {
  const double rate = static_cast<double>(done_ - base_) / Seconds();
  return unit_ == "B" ? fmt::format("{:.1f} MB/s", rate / 1e6)
                      : fmt::format("{:.0f} {}/s", rate, unit_);
}

void Progress::Show(uint64_t done, uint64_t total) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < kInterval || total == 0) return;
  last_ = now;
  const double fraction = std::min(static_cast<double>(done) / static_cast<double>(total), 1.0);
  const double left = done > base_
                          ? Seconds() * static_cast<double>(total - std::min(done, total)) /
                                static_cast<double>(done - base_)
                          : 0;
  WriteStderr(
      fmt::format("\r\x1b[K{:3.0f} %  {}  {} left", 100 * fraction, Rate(), ClockText(left)));
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) WriteStderr("\r\x1b[K");
  drawn_ = false;
}

std::string Progress::Summary() const {
  const std::string amount = unit_ == "B"
                                 ? fmt::format("{:.1f} MB", static_cast<double>(done_) / 1e6)
                                 : fmt::format("{} {}", done_, unit_);
  const std::string before =
      base_ == 0 ? "" : fmt::format(", {:.1f} MB of it before", static_cast<double>(base_) / 1e6);
  return fmt::format("{} in {:.2f} s ({}{})", amount, Seconds(), Rate(), before);
}

}  // namespace krafla::tools
