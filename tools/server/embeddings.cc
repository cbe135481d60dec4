// POST /v1/embeddings: hidden states of texts, pooled. They go one after the other through a
// session of their own, beside the scheduler's work.
#include <bit>
#include <cmath>
#include <cstring>

#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/fields.h"
#include "tools/server/generation.h"
#include "tools/server/token_ids.h"

namespace krafla::server {
namespace {

constexpr size_t kMostInputs = 2048;

std::string Base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= n ? kLetters[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

// As little-endian floats.
std::string Bytes(const std::vector<float>& row) {
  std::string bytes;
  for (const float value : row) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xff);
  }
  return bytes;
}

// A string, token ids, or an array of these.
std::vector<std::vector<int32_t>> Inputs(const Fields& fields, const ServedModel& model) {
  const Json* input = fields.Find("input");
  if (input == nullptr) throw BadField("input", "is missing, want a string or token ids");
  const auto encode = [&](const Json& text) {
    return model.Encode(text.get<std::string>(), KRAFLA_ENCODE_SPECIAL);
  };
  std::vector<std::vector<int32_t>> inputs;
  if (input->is_string()) {
    inputs.push_back(encode(*input));
  } else if (!input->is_array() || input->empty() || input->size() > kMostInputs) {
    if (!input->is_array()) {
      throw BadField("input", "got {}, want a string, token ids, or an array", Show(*input));
    }
    throw BadField("input", "got {} inputs, want 1 to {}", input->size(), kMostInputs);
  } else if ((*input)[0].is_number()) {
    inputs.push_back(ReadIds(*input, model, "input"));
  } else {
    for (const Json& item : *input) {
      if (!item.is_string() && !item.is_array()) {
        throw BadField("input", "got {} in the array, want strings or arrays of token ids",
                       Show(item));
      }
      inputs.push_back(item.is_string() ? encode(item) : ReadIds(item, model, "input"));
    }
  }
  for (const std::vector<int32_t>& ids : inputs) {
    if (ids.empty()) throw BadField("input", "got a text without tokens, want at least one");
    CheckFits(ids.size(), model.context(), /*reply=*/false);
  }
  return inputs;
}

int32_t Pooling(const Fields& fields) {
  const std::string name = fields.String("pooling").value_or("mean");
  if (name == "mean") return KRAFLA_POOL_MEAN;
  if (name == "last") return KRAFLA_POOL_LAST;
  if (name == "first" || name == "cls") return KRAFLA_POOL_FIRST;
  throw BadField("pooling", "got {}, want mean, last or first", Show(Json(name)));
}

void Normalize(std::vector<float>* row) {
  double sum = 0;
  for (const float value : *row) sum += static_cast<double>(value) * static_cast<double>(value);
  const double scale = sum > 0 ? 1 / std::sqrt(sum) : 0;
  for (float& value : *row) value = static_cast<float>(static_cast<double>(value) * scale);
}

}  // namespace

void Embeddings(const Call& call) {
  const Json body = ParseJson(call.request.body);
  ServedModel& model = call.FindModel(body);
  const Fields fields(body);
  const std::string format = fields.String("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    throw BadField("encoding_format", "got {}, want float or base64", Show(Json(format)));
  }
  const int64_t n_embd = model.info().n_embd;
  const int64_t dimensions = fields.Integer("dimensions", 1, n_embd).value_or(n_embd);
  krafla_embed_options options = KRAFLA_EMBED_OPTIONS_INIT;
  options.pool = Pooling(fields);
  options.on_progress = Call::StopUnwanted;
  options.user = const_cast<Call*>(&call);

  Json data = Json::array();
  size_t n_tokens = 0;
  for (const std::vector<int32_t>& ids : Inputs(fields, model)) {
    std::vector<float> row;
    call.WhileWanted([&] {
      ServedModel::Lone session(call, &model);
      row = session->Embed(ids, options);
    });
    call.CheckWanted();
    row.resize(static_cast<size_t>(dimensions));
    Normalize(&row);
    n_tokens += ids.size();
    data.push_back({{"object", "embedding"},
                    {"index", data.size()},
                    {"embedding", format == "float" ? Json(row) : Json(Base64(Bytes(row)))}});
  }
  call.SendJson({{"object", "list"},
                 {"data", std::move(data)},
                 {"model", model.name()},
                 {"usage", {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}});
}

}  // namespace krafla::server
