// Civil dates by std::chrono's calendar (proleptic Gregorian). Each conversion is one case of one
// of three switches: date, time of day, and what needs no calendar.
#include "lib/chat/strftime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

namespace krafla::chat {
namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};

struct Civil {
  int year;
  unsigned month, day, weekday, hour, minute, second, year_day;
};

Civil ToCivil(const TemplateClock& clock) {
  using std::chrono::days;
  using std::chrono::seconds;
  using std::chrono::sys_days;
  // Four-digit years only: chrono's calendar ends at 32767.
  constexpr int64_t kFirst = -62135596800;  // year 1
  constexpr int64_t kLast = 253402300799;   // end of year 9999
  int64_t local = std::clamp(clock.unix_seconds, kFirst, kLast) + clock.utc_offset_seconds;
  sys_days date = std::chrono::floor<days>(std::chrono::sys_seconds(seconds(local)));
  std::chrono::year_month_day ymd(date);
  int64_t in_day = local - std::chrono::sys_seconds(date).time_since_epoch().count();
  unsigned s = static_cast<unsigned>(in_day);
  sys_days new_year(ymd.year() / std::chrono::January / 1);
  return {static_cast<int>(ymd.year()),
          static_cast<unsigned>(ymd.month()),
          static_cast<unsigned>(ymd.day()),
          std::chrono::weekday(date).c_encoding(),
          s / 3600,
          s / 60 % 60,
          s % 60,
          static_cast<unsigned>((date - new_year).count()) + 1};
}

// A conversion of the date, or false where c is none; padded = false for `%-d` and the like.
bool AppendDate(const Civil& t, char c, bool padded, std::string* out) {
  const auto two = [&](unsigned v) {
    *out += padded ? FormatText("{:02}", v) : FormatText("{}", v);
  };
  switch (c) {
    case 'Y':
      *out += FormatText("{}", t.year);
      return true;
    case 'y':
      two(static_cast<unsigned>(t.year % 100));
      return true;
    case 'm':
      two(t.month);
      return true;
    case 'd':
      two(t.day);
      return true;
    case 'e':
      *out += padded ? FormatText("{:2}", t.day) : FormatText("{}", t.day);
      return true;
    case 'j':
      *out += padded ? FormatText("{:03}", t.year_day) : FormatText("{}", t.year_day);
      return true;
    case 'B':
      *out += kMonths[t.month - 1];
      return true;
    case 'b':
    case 'h':
      *out += kMonths[t.month - 1].substr(0, 3);
      return true;
    case 'A':
      *out += kDays[t.weekday];
      return true;
    case 'a':
      *out += kDays[t.weekday].substr(0, 3);
      return true;
    case 'w':
      *out += FormatText("{}", t.weekday);
      return true;
    case 'u':
      *out += FormatText("{}", t.weekday == 0 ? 7 : t.weekday);
      return true;
    case 'F':
      *out += FormatText("{}-{:02}-{:02}", t.year, t.month, t.day);
      return true;
    case 'D':
      *out += FormatText("{:02}/{:02}/{:02}", t.month, t.day, t.year % 100);
      return true;
    default:
      return false;
  }
}

// A conversion of the time of day, likewise.
bool AppendTime(const Civil& t, char c, bool padded, std::string* out) {
  const auto two = [&](unsigned v) {
    *out += padded ? FormatText("{:02}", v) : FormatText("{}", v);
  };
  switch (c) {
    case 'H':
      two(t.hour);
      return true;
    case 'I':
      two(t.hour % 12 == 0 ? 12 : t.hour % 12);
      return true;
    case 'M':
      two(t.minute);
      return true;
    case 'S':
      two(t.second);
      return true;
    case 'p':
      *out += t.hour < 12 ? "AM" : "PM";
      return true;
    case 'T':
      *out += FormatText("{:02}:{:02}:{:02}", t.hour, t.minute, t.second);
      return true;
    case 'R':
      *out += FormatText("{:02}:{:02}", t.hour, t.minute);
      return true;
    default:
      return false;
  }
}

// What needs no calendar, likewise.
bool AppendOther(const TemplateClock& clock, char c, std::string* out) {
  const unsigned offset = static_cast<unsigned>(std::abs(clock.utc_offset_seconds)) / 60;
  switch (c) {
    case 's':
      *out += FormatText("{}", clock.unix_seconds);
      return true;
    case 'z':
      *out += FormatText("{}{:02}{:02}", clock.utc_offset_seconds < 0 ? '-' : '+', offset / 60,
                         offset % 60);
      return true;
    case 'n':
      *out += '\n';
      return true;
    case 't':
      *out += '\t';
      return true;
    case '%':
      *out += '%';
      return true;
    default:
      return false;
  }
}

bool AppendConversion(const TemplateClock& clock, const Civil& t, char c, bool padded,
                      std::string* out) {
  return AppendDate(t, c, padded, out) || AppendTime(t, c, padded, out) ||
         AppendOther(clock, c, out);
}

}  // namespace

bool FormatTime(const TemplateClock& clock, std::string_view format, std::string* out,
                std::string_view* unknown) {
  Civil t = ToCivil(clock);
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out->push_back(format[i]);
      continue;
    }
    size_t begin = i++;
    bool padded = i >= format.size() || format[i] != '-';
    if (!padded) ++i;
    if (i >= format.size() || !AppendConversion(clock, t, format[i], padded, out)) {
      *unknown = format.substr(begin, i + 1 - begin);
      return false;
    }
  }
  return true;
}

TemplateClock SystemClock() {
  TemplateClock clock;
  auto now = std::chrono::system_clock::now().time_since_epoch();
  clock.unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  std::time_t time = static_cast<std::time_t>(clock.unix_seconds);
  std::tm local{};
#ifdef _WIN32
  if (localtime_s(&local, &time) != 0) return clock;
#else
  if (localtime_r(&time, &local) == nullptr) return clock;
#endif
  std::chrono::sys_days date(std::chrono::year(local.tm_year + 1900) /
                             std::chrono::month(static_cast<unsigned>(local.tm_mon + 1)) /
                             std::chrono::day(static_cast<unsigned>(local.tm_mday)));
  int64_t seconds = std::chrono::sys_seconds(date).time_since_epoch().count() +
                    local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec;
  clock.utc_offset_seconds = static_cast<int32_t>(seconds - clock.unix_seconds);
  return clock;
}

}  // namespace krafla::chat
