// See reference.h. Slow and plain on purpose.
#include "tests/sampler/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace krafla::reference {
namespace {

constexpr double kGone = -std::numeric_limits<double>::infinity();

// The ids that are left, most likely first.
std::vector<size_t> Ranked(const Values& values) {
  std::vector<size_t> ids;
  for (size_t id = 0; id < values.size(); ++id) {
    if (values[id] != kGone) ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  return ids;
}

Values Only(const Values& values, const std::vector<size_t>& ids) {
  Values result(values.size(), kGone);
  for (const size_t id : ids) result[id] = values[id];
  return result;
}

double Entropy(const std::vector<double>& probabilities) {
  double entropy = 0;
  for (const double p : probabilities) {
    if (p > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

}  // namespace

Values Of(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

std::vector<double> Probabilities(const Values& values) {
  const double max = *std::max_element(values.begin(), values.end());
  std::vector<double> result;
  for (const double value : values) result.push_back(std::exp(value - max));
  const double total = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& p : result) p /= total;
  return result;
}

Values Penalties(Values values, const std::vector<int32_t>& history, double repeat,
                 double frequency, double presence) {
  std::map<int32_t, int> counts;
  for (const int32_t id : history) ++counts[id];
  for (const auto& [id, count] : counts) {
    double& value = values[static_cast<size_t>(id)];
    value = value > 0 ? value / repeat : value * repeat;
    value -= count * frequency + presence;
  }
  return values;
}

Values Dry(Values values, const std::vector<int32_t>& history, const std::vector<bool>& breaks,
           const std::vector<bool>& breaking, double multiplier, double base, int allowed) {
  const size_t n = history.size();
  size_t longest = 0;  // the tokens behind the last breaker
  while (longest < n && !(breaks.size() == n && breaks[n - 1 - longest])) ++longest;
  std::map<int32_t, size_t> lengths;
  for (size_t at = 1; at < n; ++at) {  // history[at] is what came next
    size_t length = 0;
    while (length < at && length < longest && history[at - 1 - length] == history[n - 1 - length]) {
      ++length;
    }
    size_t& best = lengths[history[at]];
    best = std::max(best, length);
  }
  for (const auto& [id, length] : lengths) {
    if (length < static_cast<size_t>(allowed)) continue;
    if (!breaking.empty() && breaking[static_cast<size_t>(id)]) continue;
    values[static_cast<size_t>(id)] -=
        multiplier * std::pow(base, static_cast<double>(length) - allowed);
  }
  return values;
}

Values TopNSigma(Values values, double n) {
  const std::vector<size_t> ids = Ranked(values);
  double mean = 0, variance = 0;
  for (const size_t id : ids) mean += values[id] / static_cast<double>(ids.size());
  for (const size_t id : ids) {
    variance += std::pow(values[id] - mean, 2) / static_cast<double>(ids.size());
  }
  for (double& value : values) {
    if (value < values[ids[0]] - n * std::sqrt(variance)) value = kGone;
  }
  return values;
}

Values TopK(Values values, size_t k) {
  std::vector<size_t> ids = Ranked(values);
  ids.resize(std::min(k, ids.size()));
  return Only(values, ids);
}

Values Typical(Values values, double p) {
  const std::vector<double> probabilities = Probabilities(values);
  const double entropy = Entropy(probabilities);
  std::vector<size_t> ids = Ranked(values);
  std::sort(ids.begin(), ids.end());
  std::stable_sort(ids.begin(), ids.end(), [&](size_t a, size_t b) {
    return std::fabs(-std::log(probabilities[a]) - entropy) <
           std::fabs(-std::log(probabilities[b]) - entropy);
  });
  double sum = 0;
  size_t n = 0;
  while (n < ids.size() && sum < p) sum += probabilities[ids[n++]];
  ids.resize(n);
  return Only(values, ids);
}

Values TopP(Values values, double p) {
  const std::vector<double> probabilities = Probabilities(values);
  std::vector<size_t> ids = Ranked(values);
  double sum = 0;
  size_t n = 0;
  while (n < ids.size() && sum < p) sum += probabilities[ids[n++]];
  ids.resize(n);
  return Only(values, ids);
}

Values MinP(Values values, double p) {
  const std::vector<double> probabilities = Probabilities(values);
  const double best = *std::max_element(probabilities.begin(), probabilities.end());
  for (size_t id = 0; id < values.size(); ++id) {
    if (probabilities[id] < p * best) values[id] = kGone;
  }
  return values;
}

Values Xtc(Values values, double threshold) {
  const std::vector<double> probabilities = Probabilities(values);
  std::vector<size_t> above;
  for (const size_t id : Ranked(values)) {
    if (probabilities[id] >= threshold) above.push_back(id);
  }
  for (size_t i = 0; i + 1 < above.size(); ++i) values[above[i]] = kGone;
  return values;
}

Values Temperature(Values values, double t, double range, double exponent) {
  if (range > 0) {
    const double size = static_cast<double>(Ranked(values).size());
    const double entropy = size > 1 ? Entropy(Probabilities(values)) / std::log(size) : 0;
    const double low = std::max(0.0, t - range);
    t = low + (t + range - low) * std::pow(entropy, exponent);
  }
  if (t == 0) return TopK(values, 1);
  for (double& value : values) value /= t;
  return values;
}

Values Mirostat(Values values, double mu) {
  const std::vector<double> probabilities = Probabilities(values);
  std::vector<size_t> ids;
  for (const size_t id : Ranked(values)) {
    if (ids.empty() || -std::log2(probabilities[id]) <= mu) ids.push_back(id);
  }
  return Only(values, ids);
}

}  // namespace krafla::reference
