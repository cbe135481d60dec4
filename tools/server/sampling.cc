// Bounds are the library's own, so that they are written once.
#include "tools/server/sampling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "tools/server/errors.h"

namespace krafla::server {
namespace {

constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 4096;
constexpr size_t kMaxBiases = 4096;
constexpr size_t kMaxBreakers = 256;
constexpr double kDefaultTemperature = 1;  // OpenAI's

struct Number {
  const char* field;
  const char* stage;
  const char* parameter;
};

// The names of OpenAI's API, then those that servers of open models have added to it.
constexpr Number kNumbers[] = {
    {"temperature", "temperature", "t"},
    {"top_p", "top_p", "p"},
    {"presence_penalty", "penalties", "presence"},
    {"frequency_penalty", "penalties", "frequency"},
    {"top_k", "top_k", "k"},
    {"min_p", "min_p", "p"},
    {"typical_p", "typical", "p"},
    {"top_n_sigma", "top_n_sigma", "n"},
    {"xtc_probability", "xtc", "probability"},
    {"xtc_threshold", "xtc", "threshold"},
    {"repeat_penalty", "penalties", "repeat"},
    {"repetition_penalty", "penalties", "repeat"},
    {"repeat_last_n", "penalties", "last_n"},
    {"dynatemp_range", "temperature", "range"},
    {"dynatemp_exponent", "temperature", "exponent"},
    {"dry_multiplier", "dry", "multiplier"},
    {"dry_base", "dry", "base"},
    {"dry_allowed_length", "dry", "allowed_length"},
    {"dry_penalty_last_n", "dry", "last_n"},
    {"mirostat_tau", "mirostat", "tau"},
    {"mirostat_eta", "mirostat", "eta"},
};

krafla_param_info Bounds(const Number& number) {
  krafla_param_info info{};
  info.struct_size = sizeof(info);
  for (size_t i = 0; krafla_sampler_param_at(i, &info) == KRAFLA_OK; ++i) {
    if (std::string_view(info.stage) == number.stage &&
        std::string_view(info.name) == number.parameter) {
      return info;
    }
  }
  throw ApiError(500, "internal_error", fmt::format("{}: no such parameter", number.field));
}

std::optional<double> ReadNumber(const Fields& fields, const Number& number) {
  const krafla_param_info bounds = Bounds(number);
  if (bounds.integer != 0) {
    const auto whole = fields.Integer(number.field, static_cast<int64_t>(bounds.min),
                                      static_cast<int64_t>(bounds.max));
    return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
  }
  const std::optional<double> value = fields.Number(number.field, bounds.min, bounds.max);
  if (!value || bounds.min_excluded == 0 || *value > bounds.min) return value;
  // Of the tokens that sum to nothing the likeliest is left, which is what is meant.
  if (bounds.min == 0 && bounds.max == 1) return std::numeric_limits<double>::min();
  throw BadField(number.field, "got {}, want a number above {}", *value, bounds.min);
}

uint64_t Draw() {
  std::random_device device;
  // Within what a JavaScript client can say again.
  return (uint64_t{device()} << 21 ^ device()) & ((uint64_t{1} << 53) - 1);
}

// As replies report it, without a sign, or with one; -1: drawn.
uint64_t ReadSeed(const Fields& fields) {
  const Json* value = fields.Find("seed");
  if (value == nullptr) return Draw();
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  try {
    const int64_t seed = ToInteger(*value, "seed", INT64_MIN, INT64_MAX);
    return seed == -1 ? Draw() : static_cast<uint64_t>(seed);
  } catch (const ApiError&) {
    throw BadField("seed", "got {}, want a whole number from {} to {}", Show(*value), INT64_MIN,
                   UINT64_MAX);
  }
}

// Whoever asks for these would get another reply than they think.
void RefuseOthers(const Fields& fields) {
  fields.RefuseUnless("samplers", nullptr, "the order of the stages is fixed here");
  fields.RefuseUnless("lora", Json::array(), "adapters are not known here");
  if (fields.Number("t_max_predict_ms", -1, 1e18).value_or(0) > 0) {
    throw Unsupported("t_max_predict_ms", "a reply's time is not limited here");
  }
}

// Of an object's member, which can only be a string.
int32_t TokenOf(const std::string& key, int64_t n_vocab) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error == std::errc() && end == key.data() + key.size() && !key.starts_with('-') &&
      id < n_vocab) {
    return id;
  }
  throw BadField("logit_bias", "got {}, want a token id from 0 to {}", Show(key), n_vocab - 1);
}

}  // namespace

std::optional<int64_t> MostTokens(const Fields& fields, int64_t least) {
  std::optional<int64_t> most;
  for (const char* name : {"n_predict", "max_tokens", "max_completion_tokens"}) {  // the last holds
    const std::optional<int64_t> given = fields.Integer(name, -1, kNoLimit);
    if (!given) continue;
    if (*given != -1 && *given < least) {
      throw BadField(name, "got {}, want {} or more, or -1 for no limit", *given, least);
    }
    most = *given == -1 ? kNoLimit : *given;
  }
  return most;
}

Sampling::Sampling(const Fields& fields, const ServedModel& model) {
  RefuseOthers(fields);
  ReadNumbers(fields);
  ReadBiases(fields, model);
  ReadDry(fields, model);
  ReadStops(fields);
  seed_ = ReadSeed(fields);
  ignore_end_ = fields.Bool("ignore_eos").value_or(false);
}

void Sampling::ReadNumbers(const Fields& fields) {
  const int64_t mirostat = fields.Integer("mirostat", 0, 2).value_or(0);
  if (mirostat == 1) throw Unsupported("mirostat", "version 1 is not known here, only 2");
  mirostat_ = mirostat == 2;
  if (!fields.Has("temperature")) {
    settings_.push_back({"temperature", "t", mirostat_ ? 1 : kDefaultTemperature});
  }
  // OpenAI's penalties look at the whole reply.
  if (!fields.Has("repeat_last_n") &&
      (fields.Has("presence_penalty") || fields.Has("frequency_penalty"))) {
    settings_.push_back({"penalties", "last_n", -1});
  }
  for (const Number& number : kNumbers) {
    const std::optional<double> value = ReadNumber(fields, number);
    if (!value || (!mirostat_ && std::string_view(number.stage) == "mirostat")) continue;
    settings_.push_back({number.stage, number.parameter, *value});
  }
}

// {"15043": -100}, or [[15043, -100], [15044, false]].
void Sampling::ReadBiases(const Fields& fields, const ServedModel& model) {
  const Json* value = fields.Find("logit_bias");
  if (value == nullptr) return;
  if (!value->is_structured()) {
    throw BadField("logit_bias", "got {}, want an object or an array", Show(*value));
  }
  if (value->size() > kMaxBiases) {
    throw BadField("logit_bias", "got {} entries, want at most {}", value->size(), kMaxBiases);
  }
  const int64_t n_vocab = model.info().n_vocab;
  const auto add = [&](int32_t id, const Json& bias) {
    krafla_bias entry{};
    entry.id = id;
    entry.bias = bias.is_boolean() && !bias.get<bool>() ? -std::numeric_limits<double>::infinity()
                                                        : ToNumber(bias, "logit_bias", -1e6, 1e6);
    biases_.push_back(entry);
  };
  for (const auto& item : value->items()) {
    if (value->is_object()) {
      add(TokenOf(item.key(), n_vocab), item.value());
    } else {
      if (!item.value().is_array() || item.value().size() != 2) {
        throw BadField("logit_bias", "got {}, want [TOKEN, BIAS]", Show(item.value()));
      }
      const int64_t id = ToInteger(item.value()[0], "logit_bias", 0, n_vocab - 1);
      add(static_cast<int32_t>(id), item.value()[1]);
    }
  }
  const auto banned = std::count_if(biases_.begin(), biases_.end(),
                                    [](const krafla_bias& b) { return b.bias < -1e6; });
  if (banned >= n_vocab) {
    throw BadField("logit_bias", "bans all of {} tokens, want one left", n_vocab);
  }
}

void Sampling::ReadDry(const Fields& fields, const ServedModel& model) {
  breakers_ = fields.Strings("dry_sequence_breakers", kMaxBreakers);
  const double multiplier = fields.Number("dry_multiplier", 0, 100).value_or(0);
  if (multiplier == 0) return;
  if (!fields.Has("dry_sequence_breakers")) breakers_ = {"\n", ":", "\"", "*"};
  tokenizer_ = model.tokenizer().get();
}

void Sampling::ReadStops(const Fields& fields) {
  for (std::string& stop : fields.Strings("stop", kMaxStops)) {
    if (stop.size() > kMaxStopBytes) {
      throw BadField("stop", "got {} bytes, want at most {}", stop.size(), kMaxStopBytes);
    }
    if (!stop.empty()) stops_.push_back(std::move(stop));
  }
  for (const std::string& stop : stops_) stop_views_.push_back({stop.data(), stop.size()});
}

Sampler Sampling::Make(int64_t choice) const {
  Sampler sampler(seed_ + static_cast<uint64_t>(choice));
  sampler.AddDefault();
  if (mirostat_) sampler.Add("mirostat");
  for (const Setting& setting : settings_) {
    sampler.Set(setting.stage, setting.parameter, setting.value);
  }
  try {
    if (!biases_.empty()) sampler.SetBias(biases_);
  } catch (const Error& error) {
    throw BadField("logit_bias", "{}", error.what());
  }
  if (tokenizer_ != nullptr) {
    sampler.SetBreakers(tokenizer_, {breakers_.begin(), breakers_.end()});
  }
  return sampler;
}

krafla_generate_options Sampling::Options() const {
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = max_tokens_;
  options.ignore_end = ignore_end_ ? 1 : 0;
  options.stops = stop_views_.data();
  options.n_stops = stop_views_.size();
  options.logprobs = logprobs_ ? 1 : 0;
  options.n_top = static_cast<int32_t>(n_top_);
  options.constraint = constraint_;
  return options;
}

}  // namespace krafla::server
