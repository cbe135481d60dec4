// The steps of attention: rotate and store, attend, merge. A query's arithmetic is fixed by its
// absolute position alone: blocks of 256 positions, partial results merged in ascending order;
// which queries share a call, and whether blocks are spread over threads, changes nothing.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "kernels/kernels.h"
#include "lib/model/blocks.h"

namespace krafla::blocks {
namespace {

constexpr size_t kPagesPerBlock = kAttendPositions / kPagePositions;

constexpr size_t kMaxHeadDim = 1024;

struct AttendKernels {
  size_t bits;
  void (*keys)(const AttendArgs&);
  void (*values)(const AttendArgs&);
};
constexpr AttendKernels kAttend[] = {
    {32, kernels::attend_keys_f32, kernels::attend_values_f32},
    {16, kernels::attend_keys_f16, kernels::attend_values_f16},
    {8, kernels::attend_keys_q8, kernels::attend_values_q8},
    {6, kernels::attend_keys_q6, kernels::attend_values_q6},
    {4, kernels::attend_keys_q4, kernels::attend_values_q4},
};

const AttendKernels& KernelsOf(size_t bits) {  // bits is one of KvShape's
  return *std::find_if(std::begin(kAttend), std::end(kAttend) - 1,
                       [bits](const AttendKernels& k) { return k.bits == bits; });
}

void AttendBlock(const KvShape& shape, const AttendArgs& args) {
  KernelsOf(shape.k_bits()).keys(args);
  KernelsOf(shape.v_bits()).values(args);
}

// The last step of a query: the division, and for values that are stored rotated, back.
void Finish(const KvShape& shape, float l, float* o) {
  kernels::attend_finish(l, shape.head_dim, o);
  if (shape.quantised()) kernels::hadamard(o, shape.head_dim);
}

// The query heads of item `index` of one token or group: a run of at most kMaxQueries heads that
// share a KV head.
struct Heads {
  size_t first = 0;
  size_t count = 0;
  size_t kv = 0;
};

struct HeadRuns {
  explicit HeadRuns(const AttentionSizes& sizes)
      : per_kv(sizes.n_heads / sizes.n_kv_heads),
        per_item(HeadsPerItem(sizes.n_heads, sizes.n_kv_heads)),
        runs_per_kv((per_kv + per_item - 1) / per_item) {}
  size_t Count(const AttentionSizes& sizes) const { return sizes.n_kv_heads * runs_per_kv; }
  Heads At(size_t index) const {
    const size_t kv = index / runs_per_kv;
    const size_t begin = index % runs_per_kv * per_item;
    return {kv * per_kv + begin, std::min(per_item, per_kv - begin), kv};
  }
  size_t per_kv;
  size_t per_item;
  size_t runs_per_kv;
};

class RopeAndStoreStep final : public Step {
 public:
  explicit RopeAndStoreStep(const AttentionSizes& sizes) : s_(sizes) {}
  const char* name() const override { return "rope and store"; }
  StepWork Work(const Pass& pass) const override {
    const size_t rows = pass.rows.size() / std::max<size_t>(pass.page_runs.size(), 1) + 1;
    const size_t per_kv = s_.n_heads / s_.n_kv_heads;
    return {pass.page_runs.size() * s_.n_kv_heads, rows * s_.head_dim * 8,
            rows * s_.head_dim * (2 * per_kv + 8)};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const PageRun& run = pass.page_runs[i / s_.n_kv_heads];
      const size_t kv = i % s_.n_kv_heads;
      for (size_t row = run.first_row; row < run.first_row + run.n_rows; ++row) {
        Rotate(pass, row, kv);
        Store(pass, row, kv);
      }
      PackFullPage(pass, run, kv);
    }
  }

 private:
  void Rotate(const Pass& pass, size_t row, size_t kv) const {
    if (s_.n_rot == 0) return;
    const size_t per_kv = s_.n_heads / s_.n_kv_heads;
    float* wide = pass.wide + row * pass.ld_wide;
    const float* cos = pass.rope_cos + row * pass.ld_rope + s_.rope_offset;
    const float* sin = pass.rope_sin + row * pass.ld_rope + s_.rope_offset;
    kernels::rope(wide + s_.q_offset + kv * per_kv * s_.head_dim, per_kv, s_.head_dim, s_.n_rot,
                  cos, sin);
    kernels::rope(wide + s_.k_offset + kv * s_.head_dim, 1, s_.head_dim, s_.n_rot, cos, sin);
  }

  void Store(const Pass& pass, size_t row, size_t kv) const {
    const PassRow& r = pass.rows[row];
    const State& state = *pass.sequences[r.sequence].state;
    const KvShape& shape = state.shape();
    const auto position = static_cast<size_t>(r.position);
    std::byte* page = state.page(position / kPagePositions);
    const size_t lane = position % kPagePositions;
    const float* k = pass.wide + row * pass.ld_wide + s_.k_offset + kv * s_.head_dim;
    const float* v = pass.wide + row * pass.ld_wide + s_.v_offset + kv * s_.head_dim;
    std::byte* k_out = page + shape.k_offset(s_.layer, kv);
    std::byte* v_out = page + shape.v_offset(s_.layer, kv);
    if (shape.type == KvType::kF32) {
      auto* out = reinterpret_cast<float*>(k_out) + lane;
      for (size_t c = 0; c < s_.head_dim; ++c) out[c * kPagePositions] = k[c];
      std::memcpy(reinterpret_cast<float*>(v_out) + lane * s_.head_dim, v, s_.head_dim * 4);
      return;
    }
    if (shape.quantised()) {
      k_out = state.open(position / kPagePositions) + shape.open_offset(s_.layer, kv);
      float rotated[kMaxHeadDim];
      std::memcpy(rotated, v, s_.head_dim * sizeof *v);
      kernels::hadamard(rotated, s_.head_dim);
      kernels::pack_values(shape.v_bits(), rotated, s_.head_dim, lane, v_out);
    } else {
      kernels::f32_to_f16(v, s_.head_dim, reinterpret_cast<uint16_t*>(v_out) + lane * s_.head_dim);
    }
    uint16_t half[kMaxHeadDim];
    kernels::f32_to_f16(k, s_.head_dim, half);
    auto* out = reinterpret_cast<uint16_t*>(k_out) + lane;
    for (size_t c = 0; c < s_.head_dim; ++c) out[c * kPagePositions] = half[c];
  }

  // The keys of a page that the run has filled, for the queries of later pages.
  void PackFullPage(const Pass& pass, const PageRun& run, size_t kv) const {
    const PassRow& last = pass.rows[run.first_row + run.n_rows - 1];
    const State& state = *pass.sequences[last.sequence].state;
    const KvShape& shape = state.shape();
    const auto position = static_cast<size_t>(last.position);
    if (!shape.quantised() || position % kPagePositions != kPagePositions - 1) return;
    const size_t page = position / kPagePositions;
    const std::byte* keys = state.open(page) + shape.open_offset(s_.layer, kv);
    kernels::pack_keys(shape.k_bits(), reinterpret_cast<const uint16_t*>(keys), s_.head_dim,
                       state.page(page) + shape.k_offset(s_.layer, kv));
  }

  AttentionSizes s_;
};

// Pages of one attention block of one KV head, as queries at `position` see them: of quantised keys
// the first page and their own are open ones. Queries of one call are of one page.
struct BlockPages {
  BlockPages(const State& state, const AttentionSizes& s, size_t kv, size_t block, size_t visible,
             int64_t position) {
    const KvShape& shape = state.shape();
    const size_t n = (visible + kPagePositions - 1) / kPagePositions;
    const size_t own = static_cast<size_t>(position) / kPagePositions;
    for (size_t i = 0; i < n; ++i) {
      const size_t page = block * kPagesPerBlock + i;
      v[i] = state.page(page) + shape.v_offset(s.layer, kv);
      if (shape.quantised() && (page == 0 || page == own)) {
        k[i] = state.open(page) + shape.open_offset(s.layer, kv);
        f16_keys |= uint32_t{1} << i;
      } else {
        k[i] = state.page(page) + shape.k_offset(s.layer, kv);
      }
    }
  }
  const void* k[kPagesPerBlock] = {};
  const void* v[kPagesPerBlock] = {};
  uint32_t f16_keys = 0;
};

// Folds a head's sink, a position with a score and a value of zero, in behind all blocks.
void MergeSink(const AttentionSizes& s, size_t head, float m, float* l, float* o) {
  if (s.sinks.size == 0) return;
  static constexpr float kZeros[1024] = {};  // head_dim is at most 1024
  kernels::attend_merge(s.sinks.data[head], 1.0F, kZeros, s.head_dim, &m, l, o);
}

// A thread's scratch for one Attend item.
struct AttendScratch {
  AttendScratch(float* base, size_t head_dim) {
    q = base;
    o = q + kMaxQueries * head_dim;
    block_o = o + kMaxQueries * head_dim;
    scores = block_o + kMaxQueries * head_dim;
    m = scores + kMaxQueries * kAttendPositions;
    l = m + kMaxQueries;
    block_m = l + kMaxQueries;
    block_l = block_m + kMaxQueries;
    first = reinterpret_cast<int32_t*>(block_l + kMaxQueries);
    last = first + kMaxQueries;
  }
  static size_t Bytes(size_t head_dim) {
    return kMaxQueries * (3 * head_dim + kAttendPositions + 6) * sizeof(float);
  }
  float *q, *o, *block_o, *scores, *m, *l, *block_m, *block_l;
  int32_t *first, *last;
};

class AttendStep final : public Step {
 public:
  explicit AttendStep(const AttentionSizes& sizes) : s_(sizes), runs_(sizes) {}
  const char* name() const override { return "attend"; }

  StepWork Work(const Pass& pass) const override {
    const size_t n = pass.query_groups.size() + pass.block_pairs.size();
    const size_t items = n * runs_.Count(s_);
    uint64_t seen = pass.seen;
    if (s_.window > 0) {
      seen = std::min(seen, pass.rows.size() * static_cast<uint64_t>(s_.window));
    }
    const uint64_t macs = seen * s_.n_heads * s_.head_dim * 2;
    return {items, 0, items == 0 ? 0 : macs / items};
  }

  void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const override {
    const AttendScratch scratch(pass.thread_scratch<float>(thread), s_.head_dim);
    for (size_t i = begin; i < end; ++i) {
      if (pass.query_groups.empty()) {
        AttendPair(pass, pass.block_pairs[i / runs_.Count(s_)], i / runs_.Count(s_),
                   runs_.At(i % runs_.Count(s_)), scratch);
      } else {  // groups of one KV head follow each other: its pages stay in the cache
        const size_t n = pass.query_groups.size();
        AttendGroup(pass, pass.query_groups[i % n], runs_.At(i / n), scratch);
      }
    }
  }

 private:
  AttendArgs Args(const AttendScratch& scratch) const {
    AttendArgs args{};
    args.head_dim = s_.head_dim;
    args.scale = s_.scale;
    args.softcap = s_.softcap;
    args.first = scratch.first;
    args.last = scratch.last;
    args.scores = scratch.scores;
    return args;
  }

  static int32_t InBlock(int64_t position, size_t block) {
    const int64_t n = position - static_cast<int64_t>(block * kAttendPositions);
    return static_cast<int32_t>(std::clamp<int64_t>(n, 0, kAttendPositions));
  }
  // A query at `position` sees those of block `block` from First to before Last.
  int32_t First(int64_t position, size_t block) const {
    return s_.window > 0 ? InBlock(position + 1 - s_.window, block) : 0;
  }
  static int32_t Last(int64_t position, size_t block) { return InBlock(position + 1, block); }
  size_t FirstBlock(int64_t position) const {
    if (s_.window == 0) return 0;
    return static_cast<size_t>(std::max<int64_t>(position + 1 - s_.window, 0)) / kAttendPositions;
  }

  void AttendPair(const Pass& pass, const BlockPair& pair, size_t index, const Heads& heads,
                  const AttendScratch& scratch) const {
    const PassRow& row = pass.rows[pair.row];
    const State& state = *pass.sequences[row.sequence].state;
    const size_t slot = index * s_.n_heads + heads.first;
    if (pair.block < FirstBlock(row.position)) {
      std::fill_n(pass.part_l + slot, heads.count, 0.0F);  // for attend_merge: sees nothing
      return;
    }
    const int32_t visible = Last(row.position, pair.block);
    std::fill_n(scratch.first, heads.count, First(row.position, pair.block));
    std::fill_n(scratch.last, heads.count, visible);
    const BlockPages pages(state, s_, heads.kv, pair.block, static_cast<size_t>(visible),
                           row.position);
    AttendArgs args = Args(scratch);
    args.q = pass.wide + pair.row * pass.ld_wide + s_.q_offset + heads.first * s_.head_dim;
    args.ldq = s_.head_dim;
    args.n_queries = heads.count;
    args.k_pages = pages.k;
    args.v_pages = pages.v;
    args.f16_keys = pages.f16_keys;
    args.m = pass.part_m + slot;
    args.l = pass.part_l + slot;
    args.o = pass.part_o + slot * s_.head_dim;
    args.ldo = s_.head_dim;
    AttendBlock(state.shape(), args);
  }

  // Queries of the group: token by token, the heads of each together.
  void Gather(const Pass& pass, const QueryGroup& group, const Heads& heads,
              const AttendScratch& scratch) const {
    const size_t bytes = heads.count * s_.head_dim * sizeof(float);
    for (size_t t = 0; t < group.n_rows; ++t) {
      const float* row = pass.wide + (group.first_row + t) * pass.ld_wide;
      std::memcpy(scratch.q + t * heads.count * s_.head_dim,
                  row + s_.q_offset + heads.first * s_.head_dim, bytes);
    }
    const size_t n = group.n_rows * heads.count;
    std::fill_n(scratch.l, n, 0.0F);  // nothing merged yet; attend_merge copies the first block
  }

  void AttendGroup(const Pass& pass, const QueryGroup& group, const Heads& heads,
                   const AttendScratch& scratch) const {
    const PassRow* rows = &pass.rows[group.first_row];
    const State& state = *pass.sequences[rows->sequence].state;
    const size_t n = group.n_rows * heads.count;
    const int64_t last = rows[group.n_rows - 1].position;
    Gather(pass, group, heads, scratch);
    const size_t n_blocks = static_cast<size_t>(last) / kAttendPositions + 1;
    for (size_t block = FirstBlock(rows->position); block < n_blocks; ++block) {
      for (size_t i = 0; i < n; ++i) {
        const int64_t position = rows[i / heads.count].position;
        scratch.first[i] = First(position, block);
        scratch.last[i] = Last(position, block);
      }
      const BlockPages pages(state, s_, heads.kv, block, static_cast<size_t>(Last(last, block)),
                             last);
      AttendArgs args = Args(scratch);
      args.q = scratch.q;
      args.ldq = s_.head_dim;
      args.n_queries = n;
      args.k_pages = pages.k;
      args.v_pages = pages.v;
      args.f16_keys = pages.f16_keys;
      args.m = scratch.block_m;
      args.l = scratch.block_l;
      args.o = scratch.block_o;
      args.ldo = s_.head_dim;
      AttendBlock(state.shape(), args);
      for (size_t i = 0; i < n; ++i) {
        kernels::attend_merge(scratch.block_m[i], scratch.block_l[i],
                              scratch.block_o + i * s_.head_dim, s_.head_dim, scratch.m + i,
                              scratch.l + i, scratch.o + i * s_.head_dim);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      float* o = scratch.o + i * s_.head_dim;
      MergeSink(s_, heads.first + i % heads.count, scratch.m[i], scratch.l + i, o);
      Finish(state.shape(), scratch.l[i], o);
      float* act = pass.act + (group.first_row + i / heads.count) * pass.ld_act;
      std::memcpy(act + (heads.first + i % heads.count) * s_.head_dim, o,
                  s_.head_dim * sizeof(float));
    }
  }

  AttentionSizes s_;
  HeadRuns runs_;
};

class MergeBlocksStep final : public Step {
 public:
  explicit MergeBlocksStep(const AttentionSizes& sizes) : s_(sizes) {}
  const char* name() const override { return "merge"; }
  StepWork Work(const Pass& pass) const override {
    if (pass.block_pairs.empty()) return {};
    const size_t items = pass.rows.size() * s_.n_heads;
    const size_t per_row = pass.block_pairs.size() / pass.rows.size() + 1;
    return {items, 0, per_row * s_.head_dim * 4};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    size_t pair = 0;  // of the row's block 0
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i / s_.n_heads;
      const size_t head = i % s_.n_heads;
      while (pass.block_pairs[pair].row != row) pair += pass.block_pairs[pair].n_blocks;
      float* o = pass.act + row * pass.ld_act + head * s_.head_dim;
      float m = 0;
      float l = 0;
      for (size_t b = 0; b < pass.block_pairs[pair].n_blocks; ++b) {
        const size_t slot = (pair + b) * s_.n_heads + head;
        kernels::attend_merge(pass.part_m[slot], pass.part_l[slot],
                              pass.part_o + slot * s_.head_dim, s_.head_dim, &m, &l, o);
      }
      MergeSink(s_, head, m, &l, o);
      Finish(pass.sequences[pass.rows[row].sequence].state->shape(), l, o);
    }
  }

 private:
  AttentionSizes s_;
};

}  // namespace

size_t AttendScratchBytes(size_t head_dim) { return AttendScratch::Bytes(head_dim); }

size_t HeadsPerItem(size_t n_heads, size_t n_kv_heads) {
  return std::min(n_heads / n_kv_heads, kMaxQueries);
}

std::unique_ptr<const Step> RopeAndStore(const AttentionSizes& sizes) {
  return std::make_unique<RopeAndStoreStep>(sizes);
}

std::unique_ptr<const Step> Attend(const AttentionSizes& sizes) {
  return std::make_unique<AttendStep>(sizes);
}

std::unique_ptr<const Step> MergeBlocks(const AttentionSizes& sizes) {
  return std::make_unique<MergeBlocksStep>(sizes);
}

}  // namespace krafla::blocks
