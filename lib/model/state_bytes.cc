// A state's memory as bytes, for saved sessions: whole pages as they are, of the last one only the
// positions that are filled (what lies behind them is undefined memory), then A.
#include "lib/model/state.h"

namespace krafla {
namespace {

constexpr auto kPage = static_cast<int64_t>(kPagePositions);

// The parts of a page that hold its first n positions, in order: of each head n lanes of each row
// of K, then n rows of V.
template <typename Function>
Status ForFilled(const KvShape& shape, std::byte* page, size_t n, Function&& function) {
  const size_t element = shape.head_bytes() / (kPagePositions * shape.head_dim);
  for (size_t layer = 0; layer < shape.n_layers; ++layer) {
    for (size_t head = 0; head < shape.n_kv_heads; ++head) {
      std::byte* k = page + shape.k_offset(layer, head);
      for (size_t row = 0; row < shape.head_dim; ++row) {
        KRAFLA_RETURN_IF_ERROR(function(k + row * kPagePositions * element, n * element));
      }
      KRAFLA_RETURN_IF_ERROR(
          function(page + shape.v_offset(layer, head), n * shape.head_dim * element));
    }
  }
  return OkStatus();
}

}  // namespace

uint64_t State::saved_bytes(int64_t length) const {
  const auto full = static_cast<uint64_t>(length / kPage);
  const auto rest = static_cast<uint64_t>(length % kPage);
  return full * shape_.page_bytes() + shape_.page_bytes() / kPagePositions * rest +
         copies_[0].size();
}

Status State::Save(int64_t length, ByteSink& out) const {
  for (size_t i = 0; i < static_cast<size_t>(length / kPage); ++i) {
    KRAFLA_RETURN_IF_ERROR(out.Write(pages_[i]->data, shape_.page_bytes()));
  }
  if (length % kPage != 0) {
    KRAFLA_RETURN_IF_ERROR(
        ForFilled(shape_, pages_[static_cast<size_t>(length / kPage)]->data,
                  static_cast<size_t>(length % kPage),
                  [&out](const std::byte* data, size_t n) { return out.Write(data, n); }));
  }
  return out.Write(copies_[current_].data(), copies_[current_].size());
}

Status State::Load(int64_t length, ByteSource& in) {
  KRAFLA_RETURN_IF_ERROR(Prepare(0, length));
  for (size_t i = 0; i < static_cast<size_t>(length / kPage); ++i) {
    KRAFLA_RETURN_IF_ERROR(in.Read(pages_[i]->data, shape_.page_bytes()));
  }
  if (length % kPage != 0) {
    KRAFLA_RETURN_IF_ERROR(
        ForFilled(shape_, pages_[static_cast<size_t>(length / kPage)]->data,
                  static_cast<size_t>(length % kPage),
                  [&in](std::byte* data, size_t n) { return in.Read(data, n); }));
  }
  return in.Read(copies_[current_].data(), copies_[current_].size());
}

}  // namespace krafla
