// krafla_tokenizer_*. A tokenizer made from a model keeps the model, one opened from a file keeps
// the file: the table is used where it lies. Results of unknown size are copied out by the two-call
// protocol (CopyOut).
#include <vector>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "lib/file/mlb.h"
#include "lib/file/source.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::CopyOut;
using capi::Guard;

namespace {

Status CheckFlags(uint32_t flags, uint32_t known) {
  if ((flags & ~known) == 0) return OkStatus();
  return UnsupportedError("flags: got {:#x}, this library knows {:#x}", flags, known);
}

}  // namespace

extern "C" {

int32_t krafla_tokenizer_from_model(krafla_tokenizer** out, const krafla_model* model) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(std::shared_ptr<const Tokenizer> tokenizer, model->shared->tokenizer());
    *out = new krafla_tokenizer{model->shared, std::move(tokenizer),
                                model->shared->model->chat_template(), model->shared->vocabulary};
    return OkStatus();
  });
}

int32_t krafla_tokenizer_open_path(krafla_tokenizer** out, const char* path, size_t path_length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(path, path_length, "path"));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenMapped(name));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<MlbFile> opened, MlbFile::Open(std::move(source)));
    std::shared_ptr<MlbFile> file = std::move(opened);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view table, file->Section("tokenizer"));
    if (table.empty()) return NotFoundError("tokenizer: {} carries none", name);
    KRAFLA_ASSIGN_OR_RETURN(std::shared_ptr<const Tokenizer> tokenizer, Tokenizer::Open(table));
    KRAFLA_ASSIGN_OR_RETURN(std::string_view source_text, file->Section("template"));
    *out = new krafla_tokenizer{std::move(file), std::move(tokenizer), source_text,
                                std::make_shared<capi::SharedVocabulary>()};
    return OkStatus();
  });
}

void krafla_tokenizer_free(krafla_tokenizer* tokenizer) { delete tokenizer; }

int32_t krafla_tokenizer_get_info(const krafla_tokenizer* tokenizer, krafla_tokenizer_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_tokenizer_info"));
    krafla_tokenizer_info filled{};
    filled.n_vocab = tokenizer->tokenizer->vocab_size();
    filled.bos_id = tokenizer->tokenizer->bos_id();
    filled.eos_id = tokenizer->tokenizer->eos_id();
    filled.unk_id = tokenizer->tokenizer->unk_id();
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_tokenizer_encode(const krafla_tokenizer* tokenizer, const char* text, size_t length,
                                uint32_t flags, int32_t* ids, size_t capacity, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_CHECK_POINTER(n);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view view, capi::ReadString(text, length, "text"));
    KRAFLA_RETURN_IF_ERROR(CheckFlags(flags, KRAFLA_ENCODE_SPECIAL | KRAFLA_ENCODE_PARSE));
    std::vector<int32_t> encoded;
    KRAFLA_RETURN_IF_ERROR(tokenizer->tokenizer->Encode(
        view, (flags & KRAFLA_ENCODE_SPECIAL) != 0, (flags & KRAFLA_ENCODE_PARSE) != 0, &encoded));
    return CopyOut(encoded.data(), encoded.size(), "ids", ids, capacity, n);
  });
}

int32_t krafla_tokenizer_encode_pieces(const krafla_tokenizer* tokenizer,
                                       const krafla_piece* pieces, size_t n_pieces, uint32_t flags,
                                       int32_t* ids, size_t capacity, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_CHECK_POINTER(n);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(pieces, n_pieces, "pieces"));
    KRAFLA_RETURN_IF_ERROR(CheckFlags(flags, KRAFLA_ENCODE_SPECIAL));
    std::vector<TextPiece> inner;
    inner.reserve(n_pieces);
    for (size_t i = 0; i < n_pieces; ++i) {
      KRAFLA_ASSIGN_OR_RETURN(std::string_view view,
                              capi::ReadString(pieces[i].text, pieces[i].length, "piece"));
      inner.push_back({view, pieces[i].trusted != 0});
    }
    std::vector<int32_t> encoded;
    KRAFLA_RETURN_IF_ERROR(
        tokenizer->tokenizer->EncodePieces(inner, (flags & KRAFLA_ENCODE_SPECIAL) != 0, &encoded));
    return CopyOut(encoded.data(), encoded.size(), "ids", ids, capacity, n);
  });
}

int32_t krafla_tokenizer_decode(const krafla_tokenizer* tokenizer, const int32_t* ids, size_t n_ids,
                                uint32_t flags, char* text, size_t capacity, size_t* length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_CHECK_POINTER(length);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(ids, n_ids, "ids"));
    KRAFLA_RETURN_IF_ERROR(CheckFlags(flags, KRAFLA_DECODE_SKIP_SPECIAL));
    std::string decoded;
    KRAFLA_RETURN_IF_ERROR(tokenizer->tokenizer->Decode(
        {ids, n_ids}, (flags & KRAFLA_DECODE_SKIP_SPECIAL) != 0, &decoded));
    return CopyOut(decoded.data(), decoded.size(), "text", text, capacity, length);
  });
}

int32_t krafla_tokenizer_find(const krafla_tokenizer* tokenizer, const char* text, size_t length,
                              int32_t* id) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_CHECK_POINTER(id);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view view, capi::ReadString(text, length, "text"));
    const int32_t found = tokenizer->tokenizer->FindToken(view);
    if (found == Tokenizer::kNoToken)
      return NotFoundError("token: the vocabulary has no \"{}\"", view);
    *id = found;
    return OkStatus();
  });
}

int32_t krafla_tokenizer_is_special(const krafla_tokenizer* tokenizer, int32_t id,
                                    int32_t* special) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(tokenizer);
    KRAFLA_CHECK_POINTER(special);
    if (id < 0 || id >= tokenizer->tokenizer->vocab_size()) {
      return ArgumentError("id: got {}, want 0 to {}", id, tokenizer->tokenizer->vocab_size() - 1);
    }
    *special = tokenizer->tokenizer->IsSpecial(id) ? 1 : 0;
    return OkStatus();
  });
}

}  // extern "C"
