// KV pages and recurrent state of a session.
#include "lib/model/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace krafla {

StatusOr<PagePool*> PagePool::Create(Memory& memory, const KvShape& shape, size_t n_pages) {
  std::unique_ptr<PagePool> pool(new PagePool(shape));
  if (n_pages > 0) KRAFLA_RETURN_IF_ERROR(pool->AddSlab(memory, n_pages));
  return pool.release();
}

Status PagePool::AddSlab(Memory& memory, size_t n_pages) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(shape_.page_bytes(), uint64_t{n_pages}, &bytes)) {
    return MemoryError("KV pages: {} pages of {} bytes do not fit in memory", n_pages,
                       shape_.page_bytes());
  }
  Slab slab;
  KRAFLA_ASSIGN_OR_RETURN(slab.buffer, memory.Allocate(bytes, MemoryKind::kKv, "KV pages"));
  slab.pages = std::make_unique<Page[]>(n_pages);
  slabs_.reserve(slabs_.size() + 1);
  std::lock_guard lock(mutex_);
  for (size_t i = n_pages; i-- > 0;) {  // the first page is handed out first
    Page& page = slab.pages[i];
    page.data = slab.buffer.data() + i * shape_.page_bytes();
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
                              int64_t context, int64_t reserve) {
  State state;
  state.memory_ = &memory;
  state.shape_ = shape;
  state.context_ = context;
  state.pages_.reserve(static_cast<size_t>(PagesFor(context)));
  KRAFLA_ASSIGN_OR_RETURN(
      state.pool_,
      PagePool::Create(memory, shape, static_cast<size_t>(PagesFor(std::min(reserve, context)))));
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
  pool_ = std::exchange(other.pool_, nullptr);
  pages_ = std::move(other.pages_);
  other.pages_.clear();
  for (int i = 0; i < 2; ++i) copies_[i] = std::move(other.copies_[i]);
  current_ = other.current_;
  begun_ = other.begun_;
  return *this;
}

void State::Clear() {
  for (Page* page : pages_) PagePool::Release(page);
  pages_.clear();
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->Unref();
}

Status State::Prepare(int64_t position, int64_t n) {
  if (n == 0) return OkStatus();
  const auto first = static_cast<size_t>(position) / kPagePositions;
  const auto end = static_cast<size_t>(PagesFor(position + n));
  size_t needed = 0;
  for (size_t i = first; i < end; ++i) {
    needed += i >= pages_.size() || pages_[i]->refs.load(std::memory_order_acquire) > 1;
  }
  KRAFLA_RETURN_IF_ERROR(pool_->Grow(*memory_, needed, static_cast<size_t>(PagesFor(context_))));
  for (size_t i = first; i < end; ++i) {
    if (i >= pages_.size()) {
      pages_.push_back(pool_->Take());
    } else if (pages_[i]->refs.load(std::memory_order_acquire) > 1) {
      Page* own = pool_->Take();
      std::memcpy(own->data, pages_[i]->data, shape_.page_bytes());
      PagePool::Release(std::exchange(pages_[i], own));
    }
  }
  return OkStatus();
}

void State::Cut(int64_t length) {
  const auto keep = static_cast<size_t>(PagesFor(length));
  while (pages_.size() > keep) {
    PagePool::Release(pages_.back());
    pages_.pop_back();
  }
}

StatusOr<State> State::Fork(int64_t length, int64_t reserve) const {
  const uint64_t recurrent_bytes = copies_[0].size();
  KRAFLA_ASSIGN_OR_RETURN(State fork, Create(*memory_, shape_, recurrent_bytes, context_, reserve));
  fork.SharePages(*this, length);
  return fork;
}

StatusOr<State> State::Trial(int64_t length) const {
  State trial;
  trial.memory_ = memory_;
  trial.shape_ = shape_;
  trial.context_ = context_;
  trial.pages_.reserve(static_cast<size_t>(PagesFor(context_)));
  KRAFLA_RETURN_IF_ERROR(trial.AllocateCopies(copies_[0].size()));
  pool_->Ref();
  trial.pool_ = pool_;
  trial.SharePages(*this, length);
  return trial;
}

// The pages of `length` positions and a copy of A; `pages_` has capacity.
void State::SharePages(const State& other, int64_t length) {
  for (size_t i = 0; i < static_cast<size_t>(PagesFor(length)); ++i) {
    PagePool::Ref(other.pages_[i]);
    pages_.push_back(other.pages_[i]);
  }
  const size_t bytes = other.copies_[0].size();
  if (bytes > 0) std::memcpy(copies_[0].data(), other.copies_[other.current_].data(), bytes);
}

void State::Commit() {
  if (!begun_) return;
  current_ = 1 - current_;
  begun_ = false;
}

}  // namespace krafla
