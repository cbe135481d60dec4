// krafla::Tokenizer and krafla::Template. Part of krafla.hpp; C++17.
#ifndef KRAFLA_TOKENIZER_HPP_
#define KRAFLA_TOKENIZER_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "krafla/model.hpp"

namespace krafla {

// Text with control tokens read only in its trusted parts.
struct Piece {
  std::string text;
  bool trusted;
};

class Tokenizer {
 public:
  explicit Tokenizer(const Model& model) {
    krafla_tokenizer* handle = nullptr;
    Check(krafla_tokenizer_from_model(&handle, model.get()));
    handle_.reset(handle);
  }
  static Tokenizer Open(std::string_view path) {
    krafla_tokenizer* handle = nullptr;
    Check(krafla_tokenizer_open_path(&handle, path.data(), path.size()));
    return Tokenizer(handle);
  }

  // flags: KRAFLA_ENCODE_*.
  std::vector<std::int32_t> Encode(std::string_view text, std::uint32_t flags = 0) const {
    return Collect([&](std::int32_t* ids, std::size_t capacity, std::size_t* n) {
      return krafla_tokenizer_encode(handle_.get(), text.data(), text.size(), flags, ids, capacity,
                                     n);
    });
  }
  std::vector<std::int32_t> Encode(const std::vector<Piece>& pieces,
                                   std::uint32_t flags = 0) const {
    std::vector<krafla_piece> raw;
    for (const Piece& piece : pieces) {
      raw.push_back({piece.text.data(), piece.text.size(), piece.trusted ? 1 : 0, 0});
    }
    return Collect([&](std::int32_t* ids, std::size_t capacity, std::size_t* n) {
      return krafla_tokenizer_encode_pieces(handle_.get(), raw.data(), raw.size(), flags, ids,
                                            capacity, n);
    });
  }
  std::string Decode(const std::vector<std::int32_t>& ids, std::uint32_t flags = 0) const {
    std::string text(ids.size() * 8, '\0');
    std::size_t n = 0;
    std::int32_t code = krafla_tokenizer_decode(handle_.get(), ids.data(), ids.size(), flags,
                                                text.data(), text.size(), &n);
    if (code == KRAFLA_E_BUFFER) {
      text.resize(n);
      code = krafla_tokenizer_decode(handle_.get(), ids.data(), ids.size(), flags, text.data(),
                                     text.size(), &n);
    }
    Check(code);
    text.resize(n);
    return text;
  }
  krafla_tokenizer_info info() const {
    krafla_tokenizer_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_tokenizer_get_info(handle_.get(), &info));
    return info;
  }
  krafla_tokenizer* get() const noexcept { return handle_.get(); }

 private:
  explicit Tokenizer(krafla_tokenizer* handle) : handle_(handle) {}

  template <typename Function>
  static std::vector<std::int32_t> Collect(Function&& encode) {
    std::vector<std::int32_t> ids(256);
    std::size_t n = 0;
    std::int32_t code = encode(ids.data(), ids.size(), &n);
    if (code == KRAFLA_E_BUFFER) {
      ids.resize(n);
      code = encode(ids.data(), ids.size(), &n);
    }
    Check(code);
    ids.resize(n);
    return ids;
  }

  internal::Handle<krafla_tokenizer> handle_;
};

class Template {
 public:
  explicit Template(const Model& model) {
    krafla_template* handle = nullptr;
    Check(krafla_template_from_model(&handle, model.get()));
    handle_.reset(handle);
  }
  static Template Parse(std::string_view source) {
    krafla_template* handle = nullptr;
    Check(krafla_template_parse(&handle, source.data(), source.size()));
    return Template(handle);
  }
  static Template Builtin(std::string_view name) {
    krafla_template* handle = nullptr;
    Check(krafla_template_builtin(&handle, name.data(), name.size()));
    return Template(handle);
  }

  // json: {"messages": [...], "add_generation_prompt": true, ...}.
  std::vector<Piece> Render(std::string_view json, const Tokenizer* tokenizer = nullptr) const {
    krafla_rendered* raw = nullptr;
    Check(krafla_template_render(&raw, handle_.get(),
                                 tokenizer == nullptr ? nullptr : tokenizer->get(), json.data(),
                                 json.size()));
    const internal::Handle<krafla_rendered> rendered(raw);
    const krafla_piece* pieces = nullptr;
    std::size_t n = 0;
    Check(krafla_rendered_get_pieces(rendered.get(), &pieces, &n));
    std::vector<Piece> result;
    for (std::size_t i = 0; i < n; ++i) {
      result.push_back({std::string(pieces[i].text, pieces[i].length), pieces[i].trusted != 0});
    }
    return result;
  }
  krafla_template* get() const noexcept { return handle_.get(); }

 private:
  explicit Template(krafla_template* handle) : handle_(handle) {}
  internal::Handle<krafla_template> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_TOKENIZER_HPP_
