// A record's kind is the index in MetaValue. Sizes are checked against the bytes that remain before
// anything is allocated for them.
#include "lib/file/mlb_metadata.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/file/mlb_layout.h"

namespace krafla::mlb {
namespace {

template <typename T>
void AppendRaw(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct AppendValue {
  std::string* out;
  void operator()(int64_t value) const { AppendRaw(value, out); }
  void operator()(double value) const { AppendRaw(value, out); }
  void operator()(bool value) const { out->push_back(value ? 1 : 0); }
  void operator()(const std::string& value) const { out->append(value); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) AppendRaw(value, out);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) {
      AppendRaw(static_cast<uint64_t>(value.size()), out);
      out->append(value);
    }
  }
};

template <typename T>
bool ParseScalar(std::string_view bytes, MetaValue* out) {
  T value;
  if (bytes.size() != sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  *out = value;
  return true;
}

template <typename T>
bool ParseArray(std::string_view bytes, MetaValue* out) {
  if (bytes.size() % sizeof(T) != 0) return false;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  *out = std::move(values);
  return true;
}

bool ParseStrings(std::string_view bytes, MetaValue* out) {
  std::vector<std::string> values;
  while (!bytes.empty()) {
    uint64_t size = 0;
    if (bytes.size() < sizeof size) return false;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) return false;
    values.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  *out = std::move(values);
  return true;
}

enum class Parsed { kValue, kInvalid, kUnknownKind };

Parsed ParseValue(uint32_t kind, std::string_view bytes, MetaValue* out) {
  bool valid = false;
  switch (kind) {
    case 0:
      valid = ParseScalar<int64_t>(bytes, out);
      break;
    case 1:
      valid = ParseScalar<double>(bytes, out);
      break;
    case 2:
      valid = bytes.size() == 1 && (bytes[0] == 0 || bytes[0] == 1);
      if (valid) *out = bytes[0] == 1;
      break;
    case 3:
      valid = true;
      *out = std::string(bytes);
      break;
    case 4:
      valid = ParseArray<int64_t>(bytes, out);
      break;
    case 5:
      valid = ParseArray<double>(bytes, out);
      break;
    case 6:
      valid = ParseStrings(bytes, out);
      break;
    default:
      return Parsed::kUnknownKind;
  }
  return valid ? Parsed::kValue : Parsed::kInvalid;
}

Status CheckKeysUnique(const std::vector<MetaEntry>& entries, std::string_view file) {
  std::vector<std::string_view> keys;
  for (const MetaEntry& entry : entries) keys.push_back(entry.key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) return FileError("{}: metadata key {} comes twice", file, *twice);
  return OkStatus();
}

}  // namespace

void AppendMetadata(const MetaEntry& entry, std::string* out) {
  std::string value;
  std::visit(AppendValue{&value}, entry.value);
  MetadataRecord record;
  record.kind = static_cast<uint32_t>(entry.value.index());
  record.key_bytes = static_cast<uint32_t>(entry.key.size());
  record.value_bytes = value.size();
  AppendRaw(record, out);
  out->append(entry.key);
  out->append(value);
}

StatusOr<std::vector<MetaEntry>> ParseMetadata(std::string_view bytes, uint64_t n_entries,
                                               std::string_view file) {
  std::vector<MetaEntry> entries;
  for (uint64_t i = 0; i < n_entries; i++) {
    MetadataRecord record;
    if (bytes.size() < sizeof record) {
      return FileError("{}: metadata ends at entry {} of {}", file, i, n_entries);
    }
    std::memcpy(&record, bytes.data(), sizeof record);
    bytes.remove_prefix(sizeof record);
    if (record.key_bytes == 0 || record.key_bytes > kMaxNameBytes ||
        record.key_bytes > bytes.size() || record.value_bytes > bytes.size() - record.key_bytes) {
      return FileError("{}: metadata entry {}: key of {} and value of {} bytes, {} left", file, i,
                       record.key_bytes, record.value_bytes, bytes.size());
    }
    const std::string_view key = bytes.substr(0, record.key_bytes);
    bytes.remove_prefix(record.key_bytes);
    const std::string_view value = bytes.substr(0, record.value_bytes);
    bytes.remove_prefix(record.value_bytes);
    MetaEntry entry;
    switch (ParseValue(record.kind, value, &entry.value)) {
      case Parsed::kInvalid:
        return FileError("{}: metadata {}: {} bytes are no value of kind {}", file, key,
                         value.size(), record.kind);
      case Parsed::kUnknownKind:
        continue;
      case Parsed::kValue:
        break;
    }
    entry.key = std::string(key);
    entries.push_back(std::move(entry));
  }
  if (bytes.size() >= 8 || bytes.find_first_not_of('\0') != std::string_view::npos) {
    return FileError("{}: {} bytes after the last metadata entry", file, bytes.size());
  }
  KRAFLA_RETURN_IF_ERROR(CheckKeysUnique(entries, file));
  return entries;
}

}  // namespace krafla::mlb
