// What a session remembers of its tokens: attention keys and values in reference-counted pages of
// 32 positions, and recurrent state as two copies, A (committed) and B (being written).
//
// One page holds all layers: for each (layer, KV head) K as [head_dim][32], then V as
// [32][head_dim] (kernels/kernels.h, AttendArgs). A fork shares pages; whoever writes into a shared
// page copies it first, so at most the partly filled last one is ever copied.
#ifndef KRAFLA_LIB_MODEL_STATE_H_
#define KRAFLA_LIB_MODEL_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "lib/base/status.h"
#include "lib/runtime/memory.h"

namespace krafla {

enum class KvType : int32_t { kF32 = 0, kF16 = 1 };

struct KvShape {
  KvType type = KvType::kF16;
  size_t n_layers = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;

  size_t head_bytes() const {  // K or V of one head in one page
    return kPagePositions * head_dim * (type == KvType::kF32 ? 4 : 2);
  }
  uint64_t page_bytes() const { return uint64_t{2} * n_layers * n_kv_heads * head_bytes(); }
  size_t k_offset(size_t layer, size_t head) const {
    return (layer * n_kv_heads + head) * 2 * head_bytes();
  }
  size_t v_offset(size_t layer, size_t head) const { return k_offset(layer, head) + head_bytes(); }
};

inline int64_t PagesFor(int64_t positions) {
  constexpr auto kPage = static_cast<int64_t>(kPagePositions);
  return (positions + kPage - 1) / kPage;
}

// Where Save writes and Load reads, in order and all n bytes.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status Write(const void* data, size_t n) = 0;
};
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Status Read(void* out, size_t n) = 0;
};

class PagePool;

struct Page {
  std::byte* data = nullptr;
  std::atomic<uint32_t> refs{0};
  PagePool* pool = nullptr;  // kept alive by every page that is out
  Page* next = nullptr;      // in the free list
};

// The pages of one session: one buffer for the reserve, further slabs when more are needed. Lives
// until its session and every page of it (a fork may hold some) are gone. Taking and returning is
// thread-safe.
class PagePool {
 public:
  static StatusOr<PagePool*> Create(Memory& memory, const KvShape& shape, size_t n_pages);
  void Ref();  // by a further state of the session
  void Unref();

  // At least n pages are free afterwards; a new slab has at least kSlabPages unless `limit` pages
  // in all would be passed.
  Status Grow(Memory& memory, size_t n, size_t limit);
  Page* Take();  // a page must be free; the caller's reference is the first
  static void Ref(Page* page) { page->refs.fetch_add(1, std::memory_order_relaxed); }
  static void Release(Page* page);

 private:
  static constexpr size_t kSlabPages = 8;
  explicit PagePool(const KvShape& shape) : shape_(shape) {}
  Status AddSlab(Memory& memory, size_t n_pages);

  struct Slab {
    Buffer buffer;
    std::unique_ptr<Page[]> pages;
  };
  KvShape shape_;
  std::mutex mutex_;
  std::vector<Slab> slabs_;
  Page* free_ = nullptr;
  size_t n_free_ = 0;
  size_t n_pages_ = 0;
  size_t refs_ = 1;  // the session and the pages that are out
};

class State {
 public:
  // recurrent_bytes: one copy, 0 for attention only. reserve: positions whose pages are taken now.
  static StatusOr<State> Create(Memory& memory, const KvShape& shape, uint64_t recurrent_bytes,
                                int64_t context, int64_t reserve);
  State() = default;
  State(State&& other) noexcept { *this = std::move(other); }
  State& operator=(State&& other) noexcept;
  ~State() { Clear(); }

  // Pages for [position, position + n), none of them shared. On failure the state is as it was, but
  // for pages beyond that are no longer shared.
  Status Prepare(int64_t position, int64_t n);
  // Drops the pages beyond `length` positions.
  void Cut(int64_t length);
  // A state over the same pages (of `length` positions) and a copy of A.
  StatusOr<State> Fork(int64_t length, int64_t reserve) const;
  // The same, but its new pages come from this state's pool: to try something that replaces this
  // state where it succeeds.
  StatusOr<State> Trial(int64_t length) const;

  // The memory of `length` positions and A as bytes that a state of the same shape and recurrent
  // size reads back (state_bytes.cc). What pages hold beyond `length` is not written. Load needs a
  // state without pages; after a failure it holds nothing of use.
  uint64_t saved_bytes(int64_t length) const;
  Status Save(int64_t length, ByteSink& out) const;
  Status Load(int64_t length, ByteSource& in);

  const KvShape& shape() const { return shape_; }
  int64_t context() const { return context_; }
  std::byte* page(size_t i) const { return pages_[i]->data; }
  uint64_t recurrent_bytes() const { return copies_[0].size(); }
  uint64_t held_bytes() const { return pages_.size() * shape_.page_bytes(); }

  // A pass reads recurrent_in() and writes recurrent_out(): the first pass of a step reads A and
  // writes B, later ones read and write B. A pass at position 0 starts from zero state and does not
  // read.
  const std::byte* recurrent_in() const { return copies_[begun_ ? 1 - current_ : current_].data(); }
  std::byte* recurrent_out() const { return copies_[1 - current_].data(); }
  void PassDone() { begun_ = true; }  // B now holds what the passes so far wrote
  void Commit();                      // B becomes A
  void Drop() { begun_ = false; }     // B is forgotten

 private:
  void Clear();
  Status AllocateCopies(uint64_t recurrent_bytes);
  void SharePages(const State& other, int64_t length);

  Memory* memory_ = nullptr;
  KvShape shape_;
  int64_t context_ = 0;
  PagePool* pool_ = nullptr;
  std::vector<Page*> pages_;  // capacity for the whole context: appending allocates nothing
  Buffer copies_[2];
  int current_ = 0;
  bool begun_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_STATE_H_
