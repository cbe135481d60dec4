// A Hugging Face folder. Of two template files, chat_template.jinja wins, as it does there, then
// tokenizer_config.json.
#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/convert/config_error.h"
#include "lib/convert/import.h"
#include "lib/convert/json_values.h"
#include "lib/convert/published.h"
#include "lib/convert/safetensors.h"
#include "lib/convert/tokenizer_json.h"
#include "lib/convert/tokenizer_table.h"

namespace krafla {
namespace {

constexpr uint64_t kMaxConfigBytes = 4 << 20;
constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr uint64_t kMaxTokenizerBytes = 256 << 20;
constexpr size_t kMaxShards = 4096;

// The text of a file that may be absent (empty then), remembered as an input.
StatusOr<std::string> ReadIfPresent(const std::string& path, uint64_t limit, Import* import) {
  StatusOr<std::string> text = ReadTextFile(path, limit);
  if (text.ok()) {
    import->inputs.push_back(path);
  } else if (text.status().code() == absl::StatusCode::kNotFound) {
    return std::string();
  }
  return text;
}

Status AddFile(const std::string& path, Import* import) {
  KRAFLA_ASSIGN_OR_RETURN(auto file, OpenForReading(path));
  import->inputs.push_back(path);
  return AddSafetensors(std::move(file), &import->checkpoint);
}

// The weight map: tensor name -> file name in the same folder.
Status AddShards(const std::string& folder, const std::string& index_path, Import* import) {
  KRAFLA_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(index_path, kMaxIndexBytes));
  import->inputs.push_back(index_path);
  KRAFLA_ASSIGN_OR_RETURN(const JsonValues index, JsonValues::Parse(text, index_path));
  const auto map = index.StringMembers("weight_map");
  if (map.empty()) return FileError("{}: no weight_map", index_path);
  std::vector<std::string> shards;
  for (const auto& [tensor, shard] : map) shards.push_back(shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  if (shards.size() > kMaxShards) {
    return FileError("{}: {} shards, limit {}", index_path, shards.size(), kMaxShards);
  }
  for (const std::string& shard : shards) {
    if (shard.empty() || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      return FileError("{}: shard \"{}\" is not a file name", index_path, shard);
    }
    const Status status = AddFile(folder + "/" + shard, import);
    if (status.code() == absl::StatusCode::kNotFound) {
      return FileError("{}: names shard {}, which is missing", index_path, shard);
    }
    KRAFLA_RETURN_IF_ERROR(status);
  }
  KRAFLA_RETURN_IF_ERROR(import->checkpoint.Finish());
  for (const auto& [tensor, shard] : map) {
    const CheckpointTensor* found = import->checkpoint.Find(tensor);
    if (found == nullptr || found->file->name() != folder + "/" + shard) {
      return FileError("{}: tensor {} is not in shard {}", index_path, tensor, shard);
    }
  }
  return OkStatus();
}

Status AddTensors(const std::string& folder, Import* import) {
  const std::string single = folder + "/model.safetensors";
  const Status status = AddFile(single, import);
  if (status.ok()) return import->checkpoint.Finish();
  if (status.code() != absl::StatusCode::kNotFound) return status;
  const Status sharded = AddShards(folder, single + ".index.json", import);
  if (sharded.code() != absl::StatusCode::kNotFound) return sharded;
  return NotFoundError("{}: neither model.safetensors nor model.safetensors.index.json", folder);
}

void AddEndId(int64_t id, Config* config) {
  auto& known = config->end_ids;
  if (std::find(known.begin(), known.end(), id) == known.end()) known.push_back(id);
}

// generation_config.json may name more ids that end a reply than config.json.
Status AddEndIds(const JsonValues& generation, std::string_view file, Config* config) {
  std::vector<double> ids;
  if (const auto one = generation.Number("eos_token_id")) ids = {*one};
  if (const auto list = generation.Numbers("eos_token_id")) ids = *list;
  if (ids.empty() && generation.HasValue("eos_token_id") && !generation.Numbers("eos_token_id")) {
    return FileError("{}: eos_token_id: of another kind, want an id or a list of ids", file);
  }
  for (const double number : ids) {
    if (!(number >= 0 && number <= INT32_MAX) || number != static_cast<int64_t>(number)) {
      return FileError("{}: eos_token_id: got {}, want an id", file, number);
    }
    AddEndId(static_cast<int64_t>(number), config);
  }
  return OkStatus();
}

// *ends_told: generation_config.json says what ends a reply.
Status ReadConfig(const std::string& folder, Import* import, bool* ends_told) {
  const std::string path = folder + "/config.json";
  KRAFLA_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxConfigBytes));
  import->inputs.push_back(path);
  KRAFLA_ASSIGN_OR_RETURN(const JsonValues json, JsonValues::Parse(text, path));
  if (json.HasValue("text_config") && !json.IsObject("text_config")) {
    return FileError("{}: text_config: of another kind, want an object", path);
  }
  const PublishedConfig values(json);
  const auto names = json.StringList("architectures");
  if (!names || names->empty()) {
    return FileError("{}: architectures: want a list of one name", path);
  }
  import->arch = FindPublishedArch(values, names->front());
  if (import->arch == nullptr) {
    return UnsupportedError("{}: architecture {} is not built here", path, names->front());
  }
  KRAFLA_RETURN_IF_ERROR(
      InConfigFile(import->arch->config_from_hf(values, &import->config), path, false, ""));
  KRAFLA_RETURN_IF_ERROR(InConfigFile(ValidateConfig(import->config), path, false, ""));
  const std::string generation_path = folder + "/generation_config.json";
  KRAFLA_ASSIGN_OR_RETURN(const std::string generation,
                          ReadIfPresent(generation_path, kMaxConfigBytes, import));
  if (!generation.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(const JsonValues more, JsonValues::Parse(generation, generation_path));
    KRAFLA_RETURN_IF_ERROR(AddEndIds(more, generation_path, &import->config));
    *ends_told = more.HasValue("eos_token_id");
  }
  return InConfigFile(ValidateConfig(import->config), generation_path, false, "");
}

// CRLF becomes LF: a template's line ends are part of every prompt.
std::string WithoutCarriageReturns(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out.push_back(text[i]);
  }
  return out;
}

Status ReadTemplate(const std::string& folder, const std::string& config_json, Import* import) {
  const std::string jinja_path = folder + "/chat_template.jinja";
  KRAFLA_ASSIGN_OR_RETURN(const std::string jinja,
                          ReadIfPresent(jinja_path, kMaxConfigBytes, import));
  if (!jinja.empty()) {
    if (ValidUtf8Prefix(jinja) != jinja.size()) return FileError("{}: not UTF-8", jinja_path);
    import->chat_template = WithoutCarriageReturns(jinja);
    return OkStatus();
  }
  // Older folders of models that also see or hear keep it in the third file.
  const std::string old_path = folder + "/chat_template.json";
  KRAFLA_ASSIGN_OR_RETURN(const std::string old_json,
                          ReadIfPresent(old_path, kMaxConfigBytes, import));
  const std::pair<std::string, const std::string&> files[] = {
      {folder + "/tokenizer_config.json", config_json}, {old_path, old_json}};
  for (const auto& [path, json] : files) {
    if (json.empty()) continue;
    KRAFLA_ASSIGN_OR_RETURN(const JsonValues values, JsonValues::Parse(json, path));
    auto text = values.String("chat_template");
    // Of several templates the one named default is taken.
    if (!text) text = values.StringInList("chat_template", "name", "default", "template");
    if (!text && values.HasValue("chat_template") && !values.IsArray("chat_template")) {
      return FileError("{}: chat_template: of another kind, want a string or a list", path);
    }
    if (!text) continue;
    import->chat_template = *std::move(text);
    break;
  }
  return OkStatus();
}

// *eos_id: the tokenizer's end token; it stays as it is where there is none.
Status ReadTokenizer(const std::string& folder, const std::string& tokenizer_json, Import* import,
                     int32_t* eos_id) {
  const std::string config_path = folder + "/tokenizer_config.json";
  KRAFLA_ASSIGN_OR_RETURN(const std::string config_json,
                          ReadIfPresent(config_path, kMaxTokenizerBytes, import));
  KRAFLA_RETURN_IF_ERROR(ReadTemplate(folder, config_json, import));
  if (tokenizer_json.empty()) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(const TokenizerSpec spec,
                          TokenizerSpecFromJson(tokenizer_json, config_json));
  if (import->arch != nullptr &&
      spec.tokens.size() > static_cast<uint64_t>(import->config.n_vocab)) {
    return FileError("hf: tokenizer.json has ids up to {}, vocab_size is {}",
                     spec.tokens.size() - 1, import->config.n_vocab);
  }
  *eos_id = spec.eos_id;
  KRAFLA_ASSIGN_OR_RETURN(import->tokenizer_table, MakeTokenizerTable(spec));
  return OkStatus();
}

}  // namespace

StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit) {
  KRAFLA_ASSIGN_OR_RETURN(const auto file, OpenForReading(path));
  if (file->size() > limit) return FileError("{}: {} bytes, limit {}", path, file->size(), limit);
  std::string text(static_cast<size_t>(file->size()), '\0');
  KRAFLA_RETURN_IF_ERROR(file->ReadAt(0, text.data(), text.size()));
  return text;
}

Status ImportHf(const std::string& folder, Import* import) {
  import->gguf = false;
  bool ends_told = false;
  KRAFLA_RETURN_IF_ERROR(ReadConfig(folder, import, &ends_told));
  KRAFLA_RETURN_IF_ERROR(AddTensors(folder, import));
  import->checkpoint.Rename(TextTensorName);
  KRAFLA_RETURN_IF_ERROR(import->checkpoint.Finish());
  KRAFLA_ASSIGN_OR_RETURN(const std::string tokenizer,
                          ReadIfPresent(folder + "/tokenizer.json", kMaxTokenizerBytes, import));
  int32_t eos_id = -1;
  KRAFLA_RETURN_IF_ERROR(ReadTokenizer(folder, tokenizer, import, &eos_id));
  // Chat models made of base ones keep the base's id in config.json and end their turns with the
  // tokenizer's.
  if (!ends_told && eos_id >= 0) AddEndId(eos_id, &import->config);
  return ValidateConfig(import->config);
}

Status ImportTokenizer(const std::string& path, Import* import) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  KRAFLA_ASSIGN_OR_RETURN(const std::string tokenizer, ReadTextFile(path, kMaxTokenizerBytes));
  import->inputs.push_back(path);
  if (tokenizer.empty()) return FileError("{}: is empty", path);
  int32_t eos_id = -1;
  return ReadTokenizer(folder, tokenizer, import, &eos_id);
}

}  // namespace krafla
