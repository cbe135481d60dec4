// What a session remembers of its tokens: attention keys and values in reference-counted pages of
// 32 positions, and recurrent state as two copies, A (committed) and B (being written).
//
// One page holds all layers: for each (layer, KV head) its keys, then its values, as
// kernels/kernels.h lays them out (AttendArgs). A fork shares pages; whoever writes into a shared
// page copies it first, so at most the partly filled last one is ever copied.
//
// Quantised keys share their scales with 32 positions, so a page's are packed when it is full.
// Until then, and for queries of the same page ever after, the page has an "open" companion with
// its keys in f16: what a query sees depends on positions alone. Open companions stay of the first
// page, whose positions attract the most attention, of the last one, and of those that the step in
// progress writes; so the state can be cut at any position of the first or last page, and at
// multiples of 32 elsewhere.
#ifndef KRAFLA_LIB_MODEL_STATE_H_
#define KRAFLA_LIB_MODEL_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "lib/base/status.h"
#include "lib/runtime/memory.h"

namespace krafla {

enum class KvType : int32_t { kF32 = 0, kF16 = 1, kQ8 = 2, kK8V4 = 3, kK6V6 = 4, kK4V4 = 5 };

struct KvShape {
  KvType type = KvType::kF16;
  size_t n_layers = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;

  // Bits of an element of K or V without scales: 32 and 16 are plain, less is quantised.
  size_t k_bits() const;
  size_t v_bits() const;
  bool quantised() const { return k_bits() < 16; }
  size_t k_bytes() const;  // of one head in one page
  size_t v_bytes() const;
  uint64_t page_bytes() const { return n_layers * n_kv_heads * (k_bytes() + v_bytes()); }
  size_t k_offset(size_t layer, size_t head) const {
    return (layer * n_kv_heads + head) * (k_bytes() + v_bytes());
  }
  size_t v_offset(size_t layer, size_t head) const { return k_offset(layer, head) + k_bytes(); }
  // The open companion of a page: f16 keys of each (layer, KV head). 0 where none is needed.
  uint64_t open_bytes() const { return quantised() ? open_offset(n_layers, 0) : uint64_t{0}; }
  size_t open_offset(size_t layer, size_t head) const {
    return (layer * n_kv_heads + head) * kPagePositions * head_dim * sizeof(uint16_t);
  }
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
// Bytes of the pages of `context` positions and of the open companions that passes of `batch` rows
// need; UINT64_MAX where that is too small a type.
uint64_t KvBytes(const KvShape& shape, int64_t context, int64_t batch);

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
  static StatusOr<PagePool*> Create(Memory& memory, uint64_t page_bytes, size_t n_pages);
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
  explicit PagePool(uint64_t page_bytes) : page_bytes_(page_bytes) {}
  Status AddSlab(Memory& memory, size_t n_pages);

  struct Slab {
    Buffer buffer;
    std::unique_ptr<Page[]> pages;
  };
  uint64_t page_bytes_;
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
  // batch: rows of one pass.
  static StatusOr<State> Create(Memory& memory, const KvShape& shape, uint64_t recurrent_bytes,
                                int64_t context, int64_t reserve, int64_t batch);
  State() = default;
  State(State&& other) noexcept { *this = std::move(other); }
  State& operator=(State&& other) noexcept;
  ~State() { Clear(); }

  // A step: Prepare takes pages for [position, position + n), none of them shared, and room for
  // open companions. On failure the state is as it was, but for pages beyond that are no longer
  // shared. Then, for each pass of at most `batch` rows, BeginPass, which cannot fail, and
  // PassDone; at the end Commit or Drop, then Cut.
  Status Prepare(int64_t position, int64_t n);
  void BeginPass(int64_t position, int64_t n);
  void PassDone();  // its open companions inside the step go; recurrent B is what it wrote
  void Commit();    // B becomes A
  void Drop();      // B is forgotten
  // Drops the pages beyond `length` positions, and the open companions but of the first and last.
  void Cut(int64_t length);
  // The first position <= `position` from which a step can go on.
  int64_t Anchor(int64_t position) const;
  // A state over the same pages (of `length` positions) and a copy of A.
  StatusOr<State> Fork(int64_t length, int64_t reserve) const;
  // The same, but its new pages come from this state's pool: to try something that replaces this
  // state where it succeeds, or (own_open) to make steps together with it: open companions are
  // taken within a step, so each state of one needs a pool for them.
  StatusOr<State> Trial(int64_t length, bool own_open = false) const;

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
  std::byte* open(size_t i) const { return open_[i]->data; }  // page i has an open companion
  uint64_t held_bytes() const;

  // A pass reads recurrent_in() and writes recurrent_out(): the first pass of a step reads A and
  // writes B, later ones read and write B. A pass at position 0 starts from zero state and does not
  // read.
  const std::byte* recurrent_in() const { return copies_[begun_ ? 1 - current_ : current_].data(); }
  std::byte* recurrent_out() const { return copies_[1 - current_].data(); }
  // B holds these bytes, as if a pass had written them.
  void Restore(std::span<const std::byte> recurrent);
  // What the rows of a draft bring to the recurrent state, kept so that B can be made again from A
  // and the first of them: [layer with such a state][kHeadRows][width]. Memory comes with the
  // first draft; passes write it while `tracing`.
  Status ReserveTrace(uint64_t bytes);
  void Trace(bool tracing) { tracing_ = tracing; }
  bool tracing() const { return tracing_; }
  float* trace() const { return trace_.as<float>(); }
  const std::byte* committed() const { return copies_[current_].data(); }

 private:
  void Clear();
  Status AllocateCopies(uint64_t recurrent_bytes);
  void SharePages(const State& other, int64_t length);
  Status SaveOpen(int64_t length, ByteSink& out) const;
  Status LoadOpen(int64_t length, ByteSource& in);
  size_t OwnOpen() const;  // open companions of the first and last page that no fork shares
  void CloseBetween(size_t begin, size_t end);  // open companions [begin, end) go

  Memory* memory_ = nullptr;
  KvShape shape_;
  int64_t context_ = 0;
  int64_t batch_ = 0;
  PagePool* pool_ = nullptr;
  PagePool* open_pool_ = nullptr;  // null where no open companions are needed
  std::vector<Page*> pages_;       // capacity for the whole context: appending allocates nothing
  std::vector<Page*> open_;        // as many as pages_ where there is a pool; null: none
  size_t committed_end_ = 0;       // pages of the state as it was committed
  size_t pass_last_ = 0;           // the last page of the pass
  Buffer copies_[2];
  int current_ = 0;
  bool begun_ = false;
  Buffer trace_;
  bool tracing_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_STATE_H_
