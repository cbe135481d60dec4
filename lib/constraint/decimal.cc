// See decimal.h.
#include "lib/constraint/decimal.h"

#include <algorithm>

namespace krafla {
namespace {

int CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole().size() != b.whole().size()) return a.whole().size() < b.whole().size() ? -1 : 1;
  const int whole = a.whole().compare(b.whole());
  return whole != 0 ? whole : a.fraction().compare(b.fraction());
}

}  // namespace

StatusOr<Decimal> Decimal::Parse(std::string_view text) {
  Decimal out;
  out.negative_ = text.starts_with("-");
  if (out.negative_) text.remove_prefix(1);
  int64_t exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != text.npos) {
    bool minus = false;
    for (char c : text.substr(e + 1)) {
      if (c == '-') minus = true;
      if (c >= '0' && c <= '9') exponent = std::min<int64_t>(exponent * 10 + (c - '0'), 1'000'000);
    }
    if (minus) exponent = -exponent;
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  int64_t whole = static_cast<int64_t>(point) + exponent;  // digits before the point
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  whole -= static_cast<int64_t>(zeros);
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  if (digits.empty()) return Decimal();
  if (whole > kMaxDigits || static_cast<int64_t>(digits.size()) - whole > kMaxDigits) {
    return ArgumentError("a number of more than {} digits", kMaxDigits);
  }
  if (whole <= 0) {
    out.fraction_ = std::string(static_cast<size_t>(-whole), '0') + digits;
  } else {
    const auto n = static_cast<size_t>(whole);
    out.whole_ = digits.substr(0, n);
    out.whole_.resize(n, '0');
    if (digits.size() > n) out.fraction_ = digits.substr(n);
  }
  return out;
}

Decimal Decimal::Negated() const {
  Decimal out = *this;
  if (!zero()) out.negative_ = !negative_;
  return out;
}

Decimal Decimal::Floor() const {
  Decimal out = *this;
  out.fraction_.clear();
  if (out.zero()) out.negative_ = false;
  if (!negative_ || fraction_.empty()) return out;
  Decimal magnitude;
  magnitude.whole_ = whole_;
  return magnitude.PlusOne().Negated();
}

Decimal Decimal::PlusOne() const {
  Decimal out = *this;
  size_t i = out.whole_.size();
  if (negative_) {
    while (i-- > 0 && out.whole_[i] == '0') out.whole_[i] = '9';
    --out.whole_[i];
    out.whole_.erase(0, std::min(out.whole_.find_first_not_of('0'), out.whole_.size() - 1));
    if (out.zero()) out.negative_ = false;
    return out;
  }
  while (i > 0 && out.whole_[i - 1] == '9') out.whole_[--i] = '0';
  if (i == 0) {
    out.whole_.insert(out.whole_.begin(), '1');
  } else {
    ++out.whole_[i - 1];
  }
  return out;
}

int Decimal::Compare(const Decimal& a, const Decimal& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? -1 : 1;
  return a.negative_ ? CompareMagnitudes(b, a) : CompareMagnitudes(a, b);
}

}  // namespace krafla
