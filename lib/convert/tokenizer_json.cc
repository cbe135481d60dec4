// The model, the added tokens and the post-processor of a tokenizer.json; its other steps are in
// tokenizer_json_steps.h. simdjson's DOM limits the depth; sequences within sequences are flattened
// with a list of what is left to read, so nothing here recurses.
#include "lib/convert/tokenizer_json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/convert/json_numbers.h"
#include "lib/convert/tokenizer_json_steps.h"
#include "lib/tokenizer/table.h"

namespace krafla {
namespace {

using namespace tokenizer_json;

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

class Reader {
 public:
  Status Read(const element& root) {
    KRAFLA_RETURN_IF_ERROR(ReadModel(root));
    KRAFLA_RETURN_IF_ERROR(ReadAddedTokens(root));
    for (uint32_t id = 0; id < spec_.tokens.size(); ++id) {
      if (spec_.tokens[id].present) all_ids_.emplace(spec_.tokens[id].text, id);
    }
    KRAFLA_RETURN_IF_ERROR(ReadProgram(root, "normalizer", "normalizers", [this](const element& e) {
      return ReadNormalizer(e, &spec_);
    }));
    KRAFLA_RETURN_IF_ERROR(ReadProgram(
        root, "pre_tokenizer", "pretokenizers",
        [this](const element& e) { return ReadPreTokenizer(e, &spec_.pre_tokenizer); }));
    KRAFLA_RETURN_IF_ERROR(ReadProgram(root, "decoder", "decoders", [this](const element& e) {
      return ReadDecoder(e, &spec_.decoder);
    }));
    if (spec_.decoder.empty()) return Refuse("a tokenizer without a decoder");
    return ReadProgram(root, "post_processor", "processors",
                       [this](const element& e) { return PostProcessor(e); });
  }

  Status ReadConfig(const element& config) {
    KRAFLA_RETURN_IF_ERROR(ReadConfigTokens(config));
    KRAFLA_RETURN_IF_ERROR(ConfigToken(config, "bos_token", &spec_.bos_id));
    KRAFLA_RETURN_IF_ERROR(ConfigToken(config, "eos_token", &spec_.eos_id));
    KRAFLA_RETURN_IF_ERROR(ConfigToken(config, "pad_token", &spec_.pad_id));
    add_bos_ = Get<bool>(config, "add_bos_token", false);
    add_eos_ = Get<bool>(config, "add_eos_token", false);
    return OkStatus();
  }

  TokenizerSpec Finish() {
    if (add_bos_ && spec_.bos_id >= 0 && before_.empty()) {
      before_.push_back(static_cast<uint32_t>(spec_.bos_id));
    }
    if (add_eos_ && spec_.eos_id >= 0 && after_.empty()) {
      after_.push_back(static_cast<uint32_t>(spec_.eos_id));
    }
    if (spec_.bos_id < 0 && !before_.empty()) spec_.bos_id = static_cast<int32_t>(before_.front());
    if (spec_.eos_id < 0 && !after_.empty()) spec_.eos_id = static_cast<int32_t>(after_.front());
    for (uint32_t id : before_)
      spec_.post_processor.push_back({StepKind::kAddBefore, 0, id, "", ""});
    for (uint32_t id : after_) spec_.post_processor.push_back({StepKind::kAddAfter, 0, id, "", ""});
    return std::move(spec_);
  }

 private:
  Status SetToken(uint64_t id, std::string_view text, bool in_model) {
    if (id >= kMaxTokens) {
      return FileError("tokenizer.json: token \"{}\" has id {}, want less than {}", text, id,
                       kMaxTokens);
    }
    if (id >= spec_.tokens.size()) spec_.tokens.resize(id + 1);
    TokenSpec& token = spec_.tokens[id];
    if (token.present && (in_model || token.text != text)) {
      return FileError("tokenizer.json: id {} is both \"{}\" and \"{}\"", id, token.text, text);
    }
    token.text = text;
    token.present = true;
    token.in_model |= in_model;
    return OkStatus();
  }

  Status ReadModel(const element& root) {
    element model;
    if (root["model"].get(model) != simdjson::SUCCESS) return Bad("no model");
    const std::string_view type = TypeOf(model);
    if (type == "Unigram") return ReadUnigram(model);
    if (!type.empty() && type != "BPE") return RefuseType("model", model);
    for (std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!Get<std::string_view>(model, key, "").empty()) return Refuse(key);
    }
    if (!IsNull(model, "dropout") && Get<double>(model, "dropout", 1.0) != 0.0) {
      return Refuse("dropout");
    }
    spec_.ignore_merges = Get<bool>(model, "ignore_merges", false);
    spec_.byte_fallback = Get<bool>(model, "byte_fallback", false);
    spec_.fuse_unk = Get<bool>(model, "fuse_unk", false);
    object vocab;
    if (model["vocab"].get(vocab) != simdjson::SUCCESS) return Bad("model.vocab is no object");
    for (auto field : vocab) {
      uint64_t id;
      if (field.value.get(id) != simdjson::SUCCESS) {
        return FileError("tokenizer.json: token \"{}\" has no id", field.key);
      }
      KRAFLA_RETURN_IF_ERROR(SetToken(id, field.key, true));
      if (!vocab_ids_.emplace(field.key, static_cast<uint32_t>(id)).second) {
        return FileError("tokenizer.json: token \"{}\" occurs twice", field.key);
      }
    }
    if (const auto unk = Get<std::string_view>(model, "unk_token", ""); !unk.empty()) {
      // A vocabulary without it fails in Hugging Face when it is needed; here the text is dropped.
      if (const auto it = vocab_ids_.find(unk); it != vocab_ids_.end()) {
        spec_.unk_id = static_cast<int32_t>(it->second);
      }
    }
    return ReadMerges(model);
  }

  // "vocab": [["text", score], ...], the index is the id.
  Status ReadUnigram(const element& model) {
    array vocab;
    if (model["vocab"].get(vocab) != simdjson::SUCCESS) return Bad("model.vocab is no array");
    spec_.is_unigram = true;
    spec_.fuse_unk = true;
    spec_.byte_fallback = Get<bool>(model, "byte_fallback", false);
    uint64_t id = 0;
    for (const element& entry : vocab) {
      std::string_view text;
      double score;
      if (entry.at(0).get(text) != simdjson::SUCCESS ||
          entry.at(1).get(score) != simdjson::SUCCESS) {
        return FileError("tokenizer.json: token {} is no text with a score", id);
      }
      KRAFLA_RETURN_IF_ERROR(SetToken(id, text, true));
      spec_.tokens[id].score = score;
      if (!vocab_ids_.emplace(text, static_cast<uint32_t>(id)).second) {
        return FileError("tokenizer.json: token \"{}\" occurs twice", text);
      }
      ++id;
    }
    if (IsNull(model, "unk_id")) return OkStatus();
    const uint64_t unk = Get<uint64_t>(model, "unk_id", kMaxTokens);
    if (unk >= spec_.tokens.size()) return Bad("model.unk_id is no token");
    spec_.unk_id = static_cast<int32_t>(unk);
    return OkStatus();
  }

  Status ReadMerges(const element& model) {
    array merges;
    if (model["merges"].get(merges) != simdjson::SUCCESS) return Bad("model.merges is no array");
    std::string result;
    for (const element& merge : merges) {
      std::string_view parts[2], text;
      array pair;
      if (merge.get(text) == simdjson::SUCCESS) {
        const size_t space = text.find(' ');
        if (space == text.npos || text.find(' ', space + 1) != text.npos) {
          return FileError("tokenizer.json: merge \"{}\", want two tokens", text);
        }
        parts[0] = text.substr(0, space);
        parts[1] = text.substr(space + 1);
      } else if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
                 pair.at(0).get(parts[0]) != simdjson::SUCCESS ||
                 pair.at(1).get(parts[1]) != simdjson::SUCCESS) {
        return FileError("tokenizer.json: merge {} is no pair of tokens", spec_.merges.size());
      }
      result.assign(parts[0]).append(parts[1]);
      uint32_t ids[3];
      const std::string_view names[3] = {parts[0], parts[1], result};
      for (int i = 0; i < 3; ++i) {
        const auto it = vocab_ids_.find(names[i]);
        if (it == vocab_ids_.end()) {
          return FileError("tokenizer.json: merge {} (\"{}\" + \"{}\"): \"{}\" is no token",
                           spec_.merges.size(), parts[0], parts[1], names[i]);
        }
        ids[i] = it->second;
      }
      spec_.merges.push_back({ids[0], ids[1], ids[2]});
    }
    return OkStatus();
  }

  Status ReadAddedTokens(const element& root) {
    array tokens;
    if (root["added_tokens"].get(tokens) != simdjson::SUCCESS) return OkStatus();
    for (const element& token : tokens) {
      uint64_t id;
      std::string_view content;
      if (token["id"].get(id) != simdjson::SUCCESS ||
          token["content"].get(content) != simdjson::SUCCESS) {
        return Bad("an added token without id or content");
      }
      if (const auto it = vocab_ids_.find(content); it != vocab_ids_.end() && it->second != id) {
        return FileError("tokenizer.json: added token \"{}\" has id {}, in the vocabulary {}",
                         content, id, it->second);
      }
      KRAFLA_RETURN_IF_ERROR(SetToken(id, content, false));
      AddAdded(static_cast<uint32_t>(id), content, token);
    }
    return OkStatus();
  }

  void AddAdded(uint32_t id, std::string_view content, const element& flags) {
    AddedTokenSpec added;
    added.id = id;
    added.content = content;
    added.special = Get<bool>(flags, "special", false);
    added.normalized = Get<bool>(flags, "normalized", !added.special);
    added.lstrip = Get<bool>(flags, "lstrip", false);
    added.rstrip = Get<bool>(flags, "rstrip", false);
    added.single_word = Get<bool>(flags, "single_word", false);
    spec_.added.push_back(std::move(added));
  }

  // "added_tokens_decoder": {"5": {"content": ...}}: those that tokenizer.json does not add. One
  // that the vocabulary knows keeps the vocabulary's id.
  Status ReadConfigTokens(const element& config) {
    object tokens;
    if (config["added_tokens_decoder"].get(tokens) != simdjson::SUCCESS) return OkStatus();
    std::unordered_set<std::string_view> known;
    const size_t n_known = spec_.added.size();
    spec_.added.reserve(n_known + tokens.size());
    for (const AddedTokenSpec& added : spec_.added) known.insert(added.content);
    for (const auto& [key, token] : tokens) {
      std::string_view content;
      if (token["content"].get(content) != simdjson::SUCCESS || content.empty()) continue;
      if (known.contains(content)) continue;
      uint32_t id = 0;
      if (const auto it = all_ids_.find(std::string(content)); it != all_ids_.end()) {
        id = it->second;
      } else {
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
        if (error != std::errc() || end != key.data() + key.size()) {
          return FileError("tokenizer_config.json: added token \"{}\" has id \"{}\"", content, key);
        }
        KRAFLA_RETURN_IF_ERROR(SetToken(id, content, false));
        all_ids_.emplace(content, id);
      }
      AddAdded(id, content, token);
    }
    return OkStatus();
  }

  // Calls read for every step of a program, in order, through nested Sequences.
  template <typename ReadStep>
  static Status ReadProgram(const element& root, std::string_view key, std::string_view list_key,
                            ReadStep read) {
    if (IsNull(root, key)) return OkStatus();
    std::vector<element> left;
    left.push_back(root[key].value_unsafe());
    size_t n_seen = 0;
    while (!left.empty()) {
      const element step = left.back();
      left.pop_back();
      if (++n_seen > 4 * kMaxSteps) return FileError("tokenizer.json: {}: too many steps", key);
      if (TypeOf(step) != "Sequence") {
        KRAFLA_RETURN_IF_ERROR(read(step));
        continue;
      }
      array list;
      if (step[list_key].get(list) != simdjson::SUCCESS) {
        return FileError("tokenizer.json: {}: Sequence without {}", key, list_key);
      }
      const size_t first = left.size();
      for (const element& e : list) left.push_back(e);
      std::reverse(left.begin() + static_cast<ptrdiff_t>(first), left.end());
    }
    return OkStatus();
  }

  // What a later processor adds stands outside of what the earlier ones added.
  void Wrap(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
    before_.insert(before_.begin(), before.begin(), before.end());
    after_.insert(after_.end(), after.begin(), after.end());
  }

  Status PostProcessor(const element& e) {
    const std::string_view type = TypeOf(e);
    if (type == "ByteLevel") return OkStatus();  // it moves offsets only
    if (type == "TemplateProcessing") return Template(e);
    if (type == "RobertaProcessing" || type == "BertProcessing") {
      uint64_t cls, sep;
      if (e["cls"].at(1).get(cls) != simdjson::SUCCESS ||
          e["sep"].at(1).get(sep) != simdjson::SUCCESS || cls >= kMaxTokens || sep >= kMaxTokens) {
        return FileError("tokenizer.json: {} without cls and sep", type);
      }
      Wrap({static_cast<uint32_t>(cls)}, {static_cast<uint32_t>(sep)});
      return OkStatus();
    }
    return RefuseType("post_processor", e);
  }

  Status Template(const element& e) {
    array single;
    if (e["single"].get(single) != simdjson::SUCCESS) return Bad("a template without single");
    std::vector<uint32_t> sides[2];
    int side = 0;
    for (const element& piece : single) {
      std::string_view name;
      if (piece["SpecialToken"]["id"].get(name) == simdjson::SUCCESS) {
        array ids;
        element tokens, token;
        if (e["special_tokens"].get(tokens) != simdjson::SUCCESS ||
            tokens.at_key(name).get(token) != simdjson::SUCCESS ||
            token["ids"].get(ids) != simdjson::SUCCESS) {
          return FileError("tokenizer.json: the template names \"{}\" without its ids", name);
        }
        for (const element& id_element : ids) {
          uint64_t id;
          if (id_element.get(id) != simdjson::SUCCESS || id >= kMaxTokens) {
            return FileError("tokenizer.json: the template's \"{}\" has a bad id", name);
          }
          sides[side].push_back(static_cast<uint32_t>(id));
        }
      } else if (piece["Sequence"]["id"].get(name) == simdjson::SUCCESS && name == "A" &&
                 side == 0) {
        side = 1;
      } else {
        return Refuse("a template other than special tokens around one sequence A");
      }
    }
    if (side == 0) return Refuse("a template without the sequence");
    Wrap(sides[0], sides[1]);
    return OkStatus();
  }

  // "bos_token": "<s>" or {"content": "<s>", ...}.
  Status ConfigToken(const element& config, std::string_view key, int32_t* id) const {
    if (IsNull(config, key)) return OkStatus();
    std::string_view text;
    if (config[key].get(text) != simdjson::SUCCESS &&
        config[key]["content"].get(text) != simdjson::SUCCESS) {
      return FileError("tokenizer_config.json: {} is no token", key);
    }
    // A token that the tokenizer lacks is added by Python at run time; here it is none.
    if (const auto it = all_ids_.find(std::string(text)); it != all_ids_.end()) {
      *id = static_cast<int32_t>(it->second);
    }
    return OkStatus();
  }

  TokenizerSpec spec_;
  std::unordered_map<std::string_view, uint32_t> vocab_ids_;  // of the model; keys lie in the DOM
  std::unordered_map<std::string, uint32_t> all_ids_;
  std::vector<uint32_t> before_, after_;
  bool add_bos_ = false, add_eos_ = false;
};

}  // namespace

StatusOr<TokenizerSpec> TokenizerSpecFromJson(std::string_view tokenizer_json,
                                              std::string_view config_json) {
  simdjson::dom::parser parser, config_parser;
  Reader reader;
  KRAFLA_ASSIGN_OR_RETURN(const element root, ParseJson("tokenizer.json", tokenizer_json, &parser));
  KRAFLA_RETURN_IF_ERROR(reader.Read(root));
  if (!config_json.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(const element config,
                            ParseJson("tokenizer_config.json", config_json, &config_parser));
    KRAFLA_RETURN_IF_ERROR(reader.ReadConfig(config));
  }
  return reader.Finish();
}

}  // namespace krafla
