// A state's memory as bytes, for saved sessions: whole pages as they are, of the last one only the
// positions that are filled (what lies behind them is undefined memory), then A. A quantised last
// page is written whole, the rest of it zeros; the open companions of the first page and of a last
// one that is not full follow the pages.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/model/state.h"

namespace krafla {
namespace {

constexpr auto kPage = static_cast<int64_t>(kPagePositions);

// The parts of a page that hold its first n positions, in order: of each head n lanes of each row
// of K, then n rows of V.
template <typename Function>
Status ForFilled(const KvShape& shape, std::byte* page, size_t n, Function&& function) {
  const size_t element = shape.k_bits() / 8;
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

// A copy of a quantised page of which n positions are filled: its keys are not packed yet.
std::vector<std::byte> FilledPage(const KvShape& shape, const std::byte* page, size_t n) {
  std::vector<std::byte> copy(page, page + shape.page_bytes());
  const std::vector<float> zeros(shape.head_dim);
  for (size_t layer = 0; layer < shape.n_layers; ++layer) {
    for (size_t head = 0; head < shape.n_kv_heads; ++head) {
      std::memset(copy.data() + shape.k_offset(layer, head), 0, shape.k_bytes());
      for (size_t position = n; position < kPagePositions; ++position) {
        kernels::pack_values(shape.v_bits(), zeros.data(), shape.head_dim, position,
                             copy.data() + shape.v_offset(layer, head));
      }
    }
  }
  return copy;
}

// A copy of an open companion of which n positions are filled.
std::vector<std::byte> FilledOpen(const KvShape& shape, const std::byte* open, size_t n) {
  std::vector<std::byte> copy(shape.open_bytes());
  const size_t rows = shape.n_layers * shape.n_kv_heads * shape.head_dim;
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * kPagePositions * sizeof(uint16_t);
    std::memcpy(copy.data() + at, open + at, n * sizeof(uint16_t));
  }
  return copy;
}

// The pages whose open companions are written. A full last page needs none to go on from, and after
// a cut to its end it has none.
struct SavedOpen {
  explicit SavedOpen(int64_t length) {
    if (length > 0) pages[n++] = 0;
    if (length > kPage && length % kPage != 0) pages[n++] = static_cast<size_t>(length / kPage);
  }
  const size_t* begin() const { return pages; }
  const size_t* end() const { return pages + n; }
  size_t pages[2] = {};
  size_t n = 0;
};

// Positions of page i that `length` positions fill.
size_t Filled(int64_t length, size_t i) {
  return static_cast<size_t>(std::min(length - static_cast<int64_t>(i) * kPage, kPage));
}

}  // namespace

uint64_t State::saved_bytes(int64_t length) const {
  const auto full = static_cast<uint64_t>(length / kPage);
  const auto rest = static_cast<uint64_t>(length % kPage);
  const auto pages = static_cast<uint64_t>(PagesFor(length));
  if (shape_.quantised()) {
    return pages * shape_.page_bytes() + SavedOpen(length).n * shape_.open_bytes() +
           copies_[0].size();
  }
  return full * shape_.page_bytes() + shape_.page_bytes() / kPagePositions * rest +
         copies_[0].size();
}

Status State::SaveOpen(int64_t length, ByteSink& out) const {
  for (const size_t i : SavedOpen(length)) {
    const std::vector<std::byte> open = FilledOpen(shape_, open_[i]->data, Filled(length, i));
    KRAFLA_RETURN_IF_ERROR(out.Write(open.data(), open.size()));
  }
  return OkStatus();
}

Status State::LoadOpen(int64_t length, ByteSource& in) {
  for (const size_t i : SavedOpen(length)) {
    open_[i] = open_pool_->Take();  // Prepare has made room
    KRAFLA_RETURN_IF_ERROR(in.Read(open_[i]->data, shape_.open_bytes()));
  }
  return OkStatus();
}

Status State::Save(int64_t length, ByteSink& out) const {
  for (size_t i = 0; i < static_cast<size_t>(length / kPage); ++i) {
    KRAFLA_RETURN_IF_ERROR(out.Write(pages_[i]->data, shape_.page_bytes()));
  }
  if (length % kPage != 0) {
    const auto last = static_cast<size_t>(length / kPage);
    const size_t n = Filled(length, last);
    if (shape_.quantised()) {
      const std::vector<std::byte> page = FilledPage(shape_, pages_[last]->data, n);
      KRAFLA_RETURN_IF_ERROR(out.Write(page.data(), page.size()));
    } else {
      const auto write = [&out](const std::byte* data, size_t m) { return out.Write(data, m); };
      KRAFLA_RETURN_IF_ERROR(ForFilled(shape_, pages_[last]->data, n, write));
    }
  }
  if (shape_.quantised()) KRAFLA_RETURN_IF_ERROR(SaveOpen(length, out));
  return out.Write(copies_[current_].data(), copies_[current_].size());
}

Status State::Load(int64_t length, ByteSource& in) {
  KRAFLA_RETURN_IF_ERROR(Prepare(0, length));
  const int64_t whole = shape_.quantised() ? PagesFor(length) : length / kPage;
  for (size_t i = 0; i < static_cast<size_t>(whole); ++i) {
    KRAFLA_RETURN_IF_ERROR(in.Read(pages_[i]->data, shape_.page_bytes()));
  }
  if (!shape_.quantised() && length % kPage != 0) {
    const auto last = static_cast<size_t>(length / kPage);
    const auto read = [&in](std::byte* data, size_t m) { return in.Read(data, m); };
    KRAFLA_RETURN_IF_ERROR(ForFilled(shape_, pages_[last]->data, Filled(length, last), read));
  }
  if (shape_.quantised()) KRAFLA_RETURN_IF_ERROR(LoadOpen(length, in));
  return in.Read(copies_[current_].data(), copies_[current_].size());
}

}  // namespace krafla
