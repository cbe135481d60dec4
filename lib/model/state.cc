// KV pages and recurrent state of a session.
#include "lib/model/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace krafla {

namespace {

struct KvBits {
  size_t k, v;
};
constexpr KvBits kKvBits[] = {{32, 32}, {16, 16}, {8, 8}, {8, 4}, {6, 6}, {4, 4}};  // by KvType

// Open companions that a state needs besides those that a pass takes: of the first page, of the
// last committed one, and of the last one that the step has written.
constexpr int64_t kOpenKept = 3;

// Open companions of a state whose passes have `batch` rows.
int64_t OpenPages(int64_t context, int64_t batch) {
  return std::min(PagesFor(batch) + 1, PagesFor(context)) + kOpenKept;
}

bool IsShared(const Page& page) { return page.refs.load(std::memory_order_acquire) > 1; }

// A page that is shared becomes a copy of the pool's, which has a free one.
void MakeOwn(Page*& page, PagePool& pool, uint64_t bytes) {
  if (!IsShared(*page)) return;
  Page* own = pool.Take();
  std::memcpy(own->data, page->data, bytes);
  PagePool::Release(std::exchange(page, own));
}

}  // namespace

size_t KvShape::k_bits() const { return kKvBits[static_cast<size_t>(type)].k; }
size_t KvShape::v_bits() const { return kKvBits[static_cast<size_t>(type)].v; }

size_t KvShape::k_bytes() const {
  return quantised() ? KvKeyBytes(k_bits(), head_dim) : kPagePositions * head_dim * k_bits() / 8;
}

size_t KvShape::v_bytes() const {
  return quantised() ? KvValueBytes(v_bits(), head_dim) : kPagePositions * head_dim * v_bits() / 8;
}

uint64_t KvBytes(const KvShape& shape, int64_t context, int64_t batch) {
  const int64_t n_open = OpenPages(context, batch);
  uint64_t pages = 0;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(shape.page_bytes(), static_cast<uint64_t>(PagesFor(context)),
                             &pages) ||
      __builtin_mul_overflow(shape.open_bytes(), static_cast<uint64_t>(n_open), &bytes) ||
      __builtin_add_overflow(pages, bytes, &bytes)) {
    return UINT64_MAX;
  }
  return bytes;
}

StatusOr<PagePool*> PagePool::Create(Memory& memory, uint64_t page_bytes, size_t n_pages) {
  std::unique_ptr<PagePool> pool(new PagePool(page_bytes));
  if (n_pages > 0) KRAFLA_RETURN_IF_ERROR(pool->AddSlab(memory, n_pages));
  return pool.release();
}

Status PagePool::AddSlab(Memory& memory, size_t n_pages) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(page_bytes_, uint64_t{n_pages}, &bytes)) {
    return MemoryError("KV pages: {} pages of {} bytes do not fit in memory", n_pages, page_bytes_);
  }
  Slab slab;
  KRAFLA_ASSIGN_OR_RETURN(slab.buffer, memory.Allocate(bytes, MemoryKind::kKv, "KV pages"));
  slab.pages = std::make_unique<Page[]>(n_pages);
  slabs_.reserve(slabs_.size() + 1);
  std::lock_guard lock(mutex_);
  for (size_t i = n_pages; i-- > 0;) {  // the first page is handed out first
    Page& page = slab.pages[i];
    page.data = slab.buffer.data() + i * page_bytes_;
    page.pool = this;
    page.next = free_;
    free_ = &page;
  }
  n_free_ += n_pages;
  n_pages_ += n_pages;
  slabs_.push_back(std::move(slab));
  return OkStatus();
}

Status PagePool::Grow(Memory& memory, size_t n, size_t limit) {
  size_t missing = 0;
  {
    std::lock_guard lock(mutex_);
    if (n_free_ >= n) return OkStatus();
    missing = n - n_free_;
  }
  const size_t room = limit > n_pages_ ? limit - n_pages_ : 0;
  return AddSlab(memory, std::max(missing, std::min(kSlabPages, room)));
}

Page* PagePool::Take() {
  std::lock_guard lock(mutex_);
  Page* page = free_;
  free_ = page->next;
  page->next = nullptr;
  --n_free_;
  ++refs_;
  page->refs.store(1, std::memory_order_relaxed);
  return page;
}

void PagePool::Release(Page* page) {
  if (page->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  PagePool* pool = page->pool;
  {
    std::lock_guard lock(pool->mutex_);
    page->next = pool->free_;
    pool->free_ = page;
    ++pool->n_free_;
    if (--pool->refs_ != 0) return;
  }
  delete pool;
}

void PagePool::Ref() {
  std::lock_guard lock(mutex_);
  ++refs_;
}

void PagePool::Unref() {
  {
    std::lock_guard lock(mutex_);
    if (--refs_ != 0) return;
  }
  delete this;
}

StatusOr<State> State::Create(Memory& memory, const KvShape& shape, uint64_t recurrent_bytes,
                              int64_t context, int64_t reserve, int64_t batch) {
  State state;
  state.memory_ = &memory;
  state.shape_ = shape;
  state.context_ = context;
  state.batch_ = batch;
  state.pages_.reserve(static_cast<size_t>(PagesFor(context)));
  KRAFLA_ASSIGN_OR_RETURN(
      state.pool_, PagePool::Create(memory, shape.page_bytes(),
                                    static_cast<size_t>(PagesFor(std::min(reserve, context)))));
  if (shape.quantised()) {
    state.open_.reserve(state.pages_.capacity());
    KRAFLA_ASSIGN_OR_RETURN(
        state.open_pool_,
        PagePool::Create(memory, shape.open_bytes(), reserve > 0 ? OpenPages(context, batch) : 0));
  }
  KRAFLA_RETURN_IF_ERROR(state.AllocateCopies(recurrent_bytes));
  return state;
}

Status State::AllocateCopies(uint64_t recurrent_bytes) {
  for (Buffer& copy : copies_) {
    KRAFLA_ASSIGN_OR_RETURN(
        copy, memory_->Allocate(recurrent_bytes, MemoryKind::kState, "recurrent state"));
  }
  return OkStatus();
}

State& State::operator=(State&& other) noexcept {
  if (this == &other) return *this;
  Clear();
  memory_ = other.memory_;
  shape_ = other.shape_;
  context_ = other.context_;
  batch_ = other.batch_;
  pool_ = std::exchange(other.pool_, nullptr);
  open_pool_ = std::exchange(other.open_pool_, nullptr);
  pages_ = std::exchange(other.pages_, {});
  open_ = std::exchange(other.open_, {});
  committed_end_ = other.committed_end_;
  for (int i = 0; i < 2; ++i) copies_[i] = std::move(other.copies_[i]);
  current_ = other.current_;
  begun_ = other.begun_;
  trace_ = std::move(other.trace_);
  tracing_ = other.tracing_;
  return *this;
}

void State::Clear() {
  CloseBetween(0, open_.size());
  open_.clear();
  for (Page* page : pages_) PagePool::Release(page);
  pages_.clear();
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->Unref();
  if (open_pool_ != nullptr) std::exchange(open_pool_, nullptr)->Unref();
}

void State::CloseBetween(size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, open_.size()); ++i) {
    if (open_[i] != nullptr) PagePool::Release(std::exchange(open_[i], nullptr));
  }
}

size_t State::OwnOpen() const {
  const auto own = [this](const Page* page) {
    return page != nullptr && page->pool == open_pool_ && !IsShared(*page);
  };
  if (open_.empty()) return 0;
  return size_t{own(open_.front())} + size_t{open_.size() > 1 && own(open_.back())};
}

Status State::Prepare(int64_t position, int64_t n) {
  if (n == 0) return OkStatus();
  const auto first = static_cast<size_t>(position) / kPagePositions;
  const auto end = static_cast<size_t>(PagesFor(position + n));
  size_t needed = 0;
  for (size_t i = first; i < end; ++i) {
    needed += i >= pages_.size() || IsShared(*pages_[i]);
  }
  const auto most = static_cast<size_t>(PagesFor(context_));
  KRAFLA_RETURN_IF_ERROR(pool_->Grow(*memory_, needed, most));
  if (open_pool_ != nullptr) {
    const auto want = static_cast<size_t>(OpenPages(n, batch_));
    KRAFLA_RETURN_IF_ERROR(open_pool_->Grow(*memory_, want - OwnOpen(), 0));
  }
  committed_end_ = pages_.size();
  for (size_t i = first; i < end; ++i) {
    if (i >= pages_.size()) {
      pages_.push_back(pool_->Take());
      if (open_pool_ != nullptr) open_.push_back(nullptr);
    } else {
      MakeOwn(pages_[i], *pool_, shape_.page_bytes());
    }
  }
  return OkStatus();
}

void State::BeginPass(int64_t position, int64_t n) {
  if (open_pool_ == nullptr) return;
  const auto end = static_cast<size_t>(PagesFor(position + n));
  pass_last_ = end - 1;
  for (size_t i = static_cast<size_t>(position) / kPagePositions; i < end; ++i) {
    if (open_[i] == nullptr) {
      open_[i] = open_pool_->Take();
    } else {
      MakeOwn(open_[i], *open_pool_, shape_.open_bytes());
    }
  }
}

void State::PassDone() {
  begun_ = true;
  if (open_pool_ == nullptr) return;
  // The committed last page's companion stays for a Drop, the pass's for the next pass.
  const size_t last_committed = committed_end_ == 0 ? 0 : committed_end_ - 1;
  CloseBetween(1, std::min(last_committed, pass_last_));
  CloseBetween(last_committed + 1, pass_last_);
}

void State::Cut(int64_t length) {
  const auto keep = static_cast<size_t>(PagesFor(length));
  if (open_pool_ != nullptr) {
    if (keep > 0) CloseBetween(1, keep - 1);
    CloseBetween(keep, open_.size());
    open_.resize(std::min(keep, open_.size()));
  }
  while (pages_.size() > keep) {
    PagePool::Release(pages_.back());
    pages_.pop_back();
  }
}

int64_t State::Anchor(int64_t position) const {
  const auto page = static_cast<size_t>(position) / kPagePositions;
  if (open_pool_ == nullptr || (page < open_.size() && open_[page] != nullptr)) return position;
  return static_cast<int64_t>(page * kPagePositions);
}

StatusOr<State> State::Fork(int64_t length, int64_t reserve) const {
  const uint64_t recurrent_bytes = copies_[0].size();
  KRAFLA_ASSIGN_OR_RETURN(State fork,
                          Create(*memory_, shape_, recurrent_bytes, context_, reserve, batch_));
  fork.SharePages(*this, length);
  return fork;
}

StatusOr<State> State::Trial(int64_t length, bool own_open) const {
  State trial;
  trial.memory_ = memory_;
  trial.shape_ = shape_;
  trial.context_ = context_;
  trial.batch_ = batch_;
  trial.pages_.reserve(static_cast<size_t>(PagesFor(context_)));
  KRAFLA_RETURN_IF_ERROR(trial.AllocateCopies(copies_[0].size()));
  pool_->Ref();
  trial.pool_ = pool_;
  if (open_pool_ != nullptr) {
    trial.open_.reserve(trial.pages_.capacity());
    if (own_open) {
      KRAFLA_ASSIGN_OR_RETURN(trial.open_pool_, PagePool::Create(*memory_, shape_.open_bytes(), 0));
    } else {
      open_pool_->Ref();
      trial.open_pool_ = open_pool_;
    }
  }
  trial.SharePages(*this, length);
  return trial;
}

// The pages of `length` positions and a copy of A; `pages_` and `open_` have capacity.
void State::SharePages(const State& other, int64_t length) {
  for (size_t i = 0; i < static_cast<size_t>(PagesFor(length)); ++i) {
    PagePool::Ref(other.pages_[i]);
    pages_.push_back(other.pages_[i]);
    if (open_pool_ == nullptr) continue;
    if (other.open_[i] != nullptr) PagePool::Ref(other.open_[i]);
    open_.push_back(other.open_[i]);
  }
  const size_t bytes = other.copies_[0].size();
  if (bytes > 0) std::memcpy(copies_[0].data(), other.copies_[other.current_].data(), bytes);
}

uint64_t State::held_bytes() const {
  const auto n_open = static_cast<uint64_t>(
      std::count_if(open_.begin(), open_.end(), [](const Page* page) { return page != nullptr; }));
  return pages_.size() * shape_.page_bytes() + n_open * shape_.open_bytes();
}

void State::Restore(std::span<const std::byte> recurrent) {
  std::memcpy(copies_[1 - current_].data(), recurrent.data(), recurrent.size());
  begun_ = true;
}

Status State::ReserveTrace(uint64_t bytes) {
  if (trace_.size() >= bytes) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(trace_,
                          memory_->Allocate(bytes, MemoryKind::kState, "a draft's recurrent part"));
  return OkStatus();
}

void State::Commit() {
  if (!begun_) return;
  current_ = 1 - current_;
  begun_ = false;
}

void State::Drop() { begun_ = false; }

}  // namespace krafla
