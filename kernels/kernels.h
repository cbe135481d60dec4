// The kernel contract: every function that the instruction set decides, each with its formula. A
// program links exactly one kernel library; a kernel that an instruction set lacks is a link error.
// `scalar/` is the meaning of each function: every other set equals it bit for bit
// (docs/kernels.md).
//
// Shared rules. Floats: round to nearest even, multiply then add, never fused, denormals kept.
// Buffers never alias unless said; no alignment is needed unless said; nothing is read or written
// outside the stated extents. "Tile": 16 output rows whose k runs together; rows beyond a matrix's
// last are zeros. A reduction over i has 16 partial sums, lane l taking i = l, l + 16, ... in
// ascending order (absent elements add nothing), folded as s[l] += s[l + 8] for l < 8, then 4, 2,
// 1: the value is s[0].
#ifndef KRAFLA_KERNELS_KERNELS_H_
#define KRAFLA_KERNELS_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

// The namespace of the functions. Everyone but the kernel test leaves it alone; the test compiles
// the scalar kernels once more under another name, to compare two sets in one program.
#ifndef KRAFLA_KERNELS
#define KRAFLA_KERNELS kernels
#endif

namespace krafla {

inline constexpr size_t kTileRows = 16;          // rows of a weight tile
inline constexpr size_t kBlock = 32;             // k of a quantised block
inline constexpr size_t kPagePositions = 32;     // positions of a KV page
inline constexpr size_t kAttendPositions = 256;  // positions of an attention block: 8 pages
inline constexpr size_t kDeltaColumns = 32;      // columns of a tile of recurrent state

// Bytes of one tile-block (16 rows x 32 k): 16 f16 scales, then 64-byte groups in which the 32-bit
// lane r belongs to row r and holds 4 consecutive k. q8: 8 groups, signed bytes. q4: 4 groups; low
// nibbles of group j hold k = 8j .. 8j+3, high nibbles k = 8j+4 .. 8j+7; a nibble n stands for
// n - 8.
inline constexpr size_t kTileBlockQ8 = 32 + 512;
inline constexpr size_t kTileBlockQ4 = 32 + 256;
// Affine formats, a value is s * code + m: a group of 32 or 64 k (1 or 2 blocks) has 16 f16 s, 16
// f16 m, then its blocks' codes. q4a: a block as of q4, a nibble n stands for n. q6a: the low 4
// bits so, then 2 groups of 64 bytes with the high 2 bits: bits 2i, 2i + 1 of a byte of group j are
// those of k = 16j + 4i .. 16j + 4i + 3. q8a: a block as of q8.
inline constexpr size_t kAffineScales = 64;
inline constexpr size_t kCodesQ4A = 256;
inline constexpr size_t kCodesQ6A = 384;
inline constexpr size_t kCodesQ8A = 512;

// 32 activations of one row: x ~ d * q, q in [-127, 127], sum = sum of q.
struct ActBlock {
  int8_t q[32];
  float d;
  int32_t sum;
};
static_assert(sizeof(ActBlock) == 40);

// Codes of a quantised KV page: rows of 32 signed codes of `bits` bits. 8: a byte each. 4: byte i
// of 16 holds codes i (low nibble) and 16 + i (high), in two's complement. 6: code = 4 * h + l, the
// h as the codes of 4 bits; behind the h of all rows, 16 bytes for rows j and j + half together,
// half = (n_rows + 1) / 2: of byte i % 16, the two bits from 4 (r / half) + 2 (i / 16) on are l of
// code i of row r.
constexpr size_t KvCodeBytes(size_t bits, size_t n_rows) {
  return bits == 6 ? n_rows * 16 + (n_rows + 1) / 2 * 16 : n_rows * bits * 4;
}
// Keys of a page, a group for each channel: key ~ s * code + m. head_dim rows of codes, f16
// s[head_dim], and but for 8 bits f16 m[head_dim].
constexpr size_t KvKeyBytes(size_t bits, size_t head_dim) {
  return KvCodeBytes(bits, head_dim) + head_dim * (bits == 8 ? 2 : 4);
}
// Values of a page, groups of 32 channels (the last one may have fewer, its other codes are 0) of
// one position: value ~ s * code. Row g * 32 + p of codes, f16 s[n_groups][32 positions].
constexpr size_t KvGroups(size_t head_dim) { return (head_dim + 31) / 32; }
constexpr size_t KvValueBytes(size_t bits, size_t head_dim) {
  return KvCodeBytes(bits, kPagePositions * KvGroups(head_dim)) +
         KvGroups(head_dim) * kPagePositions * 2;
}

// One block of attention for several query rows that share one KV head. Position p of the block
// (0 .. 255) lies in page p / 32 at p % 32.
struct AttendArgs {
  const float* q;  // [n_queries][ldq], head_dim used
  size_t ldq;
  size_t n_queries;
  const int32_t* first;  // [n_queries] query i sees positions first[i] <= p < last[i] of the block
  const int32_t* last;   // [n_queries] at most 256; first == last: sees none
  const void* const* k_pages;  // [8] plain: each [head_dim][32]; unused pages may be null
  const void* const* v_pages;  // [8] plain: each [32][head_dim]
  uint32_t f16_keys;           // quantised keys: where bit i is set, k_pages[i] is a plain f16 page
  size_t head_dim;
  float scale;    // multiplies the finished dot product
  float softcap;  // c > 0: s = c * tanh(s / c) after scale; 0: none
  float* scores;  // [n_queries][256] scratch
  float* m;       // [n_queries] out: largest score, -inf where none is seen
  float* l;       // [n_queries] out: sum of exp(s - m), 0 where none is seen
  float* o;  // [n_queries][ldo] out of attend_values, scratch of attend_keys: sum of exp(s - m) * v
  size_t ldo;
};

// Some tokens of one head of a gated delta net, for one tile of the columns of its state.
struct DeltaArgs {
  size_t n_tokens;
  size_t ld;           // from one token to the next, in all rows below
  const float* q;      // [n_tokens][ld], head_dim used
  const float* k;      // likewise
  const float* qk;     // [n_tokens][ld], one used: dot(q, k)
  const float* decay;  // likewise: multiplies the state before the token
  const float* beta;   // likewise: the share of the difference that is written
  float* v;            // [n_tokens][ld], n_columns used: the token's v in, its o out
  size_t head_dim;
  size_t n_columns;  // at most kDeltaColumns; v of the others is 0
  float* state;      // [head_dim][kDeltaColumns], in place
};

namespace KRAFLA_KERNELS {

// --- identity ---

// "avx2"
const char* isa_name();
// Null if this processor and system run this build, else the feature that they lack.
const char* missing_feature();

// --- weights x activations ---

// Tiles i of [tile_begin, tile_end), tokens t < n_tokens, rows r < 16:
//   y[t * ldy + 16 * i + r] = acc.
// Quantised: tile i at w + i * n_blocks * kTileBlockX, x[t * n_blocks + b];
//   acc = 0; for b ascending: acc = acc + float(isum_b) * (f32(scale_b) * x.d),
//   isum_b exact in int32.
void matmul_q8(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy);
void matmul_q4(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy);
// Affine: the same, a tile having n_blocks blocks in groups, the last one whole;
//   acc = acc + (float(isum_b) * (f32(s) * x.d) + f32(m) * (float(x.sum) * x.d)).
#define KRAFLA_MATMUL_AFFINE(format)                                                       \
  void matmul_##format(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks, \
                       const ActBlock* x, size_t n_tokens, float* y, size_t ldy)
KRAFLA_MATMUL_AFFINE(q4a);    // groups of 32
KRAFLA_MATMUL_AFFINE(q4a64);  // groups of 64
KRAFLA_MATMUL_AFFINE(q6a);
KRAFLA_MATMUL_AFFINE(q6a64);
KRAFLA_MATMUL_AFFINE(q8a);
KRAFLA_MATMUL_AFFINE(q8a64);
// Plain: tile i at w + i * k * 16 elements, laid out [k][16]; x[t * ldx + j];
//   acc = 0; for j ascending: acc = acc + f32(w) * x.
void matmul_f32(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy);
void matmul_f16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy);
void matmul_bf16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                 size_t ldx, size_t n_tokens, float* y, size_t ldy);

// Row `row` of a tiled matrix, dequantised: y[j], j < k; q: f32(scale) * float(code); affine:
// f32(s) * float(code) + f32(m).
void get_row_q8(const void* w, size_t k, size_t row, float* y);
void get_row_q4(const void* w, size_t k, size_t row, float* y);
void get_row_q4a(const void* w, size_t k, size_t row, float* y);
void get_row_q4a64(const void* w, size_t k, size_t row, float* y);
void get_row_q6a(const void* w, size_t k, size_t row, float* y);
void get_row_q6a64(const void* w, size_t k, size_t row, float* y);
void get_row_q8a(const void* w, size_t k, size_t row, float* y);
void get_row_q8a64(const void* w, size_t k, size_t row, float* y);
void get_row_f32(const void* w, size_t k, size_t row, float* y);
void get_row_f16(const void* w, size_t k, size_t row, float* y);
void get_row_bf16(const void* w, size_t k, size_t row, float* y);

// n floats into ceil(n / 32) blocks, the last one filled with zeros:
//   d = amax / 127, but 0 if that is below the smallest normal; id = d != 0 ? 1 / d : 0;
//   q = round_to_even(min(max(x * id, -127), 127)); sum = sum q.  Here max(a, b) is a > b ? a : b
//   and amax takes |x| > amax ? |x| : amax, so a NaN never wins and no input is undefined.
void quantize(const float* x, size_t n, ActBlock* out);

// --- rows of floats ---

// y = (x * (1 / sqrt(mean(x^2) + eps))) * w, mean = reduction / float(n); y may be x.
void rms_norm(const float* x, const float* w, size_t n, float eps, float* y);
void add(const float* x, size_t n, float* y);         // y = y + x
void mul(const float* x, size_t n, float* y);         // y = y * x
float dot(const float* x, const float* y, size_t n);  // reduction of x[i] * y[i]
void scale(float s, size_t n, float* y);              // y = y * s
// y = (gate * sigmoid(gate)) * up, GELU(gate) * up by its tanh approximation, and by erf; y may be
// gate.
void silu_mul(const float* gate, const float* up, size_t n, float* y);
void gelu_tanh_mul(const float* gate, const float* up, size_t n, float* y);
void gelu_erf_mul(const float* gate, const float* up, size_t n, float* y);
// g = min(gate, limit), u = min(max(up, -limit), limit): y = (g * sigmoid(g * alpha)) * (u + 1),
// with min(a, b) = a < b ? a : b, max alike; y may be gate.
void swiglu_clamped(const float* gate, const float* up, float alpha, float limit, size_t n,
                    float* y);
// Split-half rotation in place of n_heads heads ld apart: for j < n_rot / 2
//   a = x[j], b = x[j + n_rot / 2]:
//   x[j] = a * cos[j] - b * sin[j],  x[j + n_rot / 2] = b * cos[j] + a * sin[j].
void rope(float* x, size_t n_heads, size_t ld, size_t n_rot, const float* cos, const float* sin);

// Elementwise y = f(x), y may be x. Sequences of our own, within 2 ulp (sigmoid: 3 ulp) of the true
// value; NaN gives NaN.
void map_exp(const float* x, size_t n, float* y);      // 0 below -87.3, +inf above log(FLT_MAX)
void map_sigmoid(const float* x, size_t n, float* y);  // 1 / (1 + exp(-x))
void map_tanh(const float* x, size_t n, float* y);
void map_erf(const float* x, size_t n, float* y);
void map_log1p(const float* x, size_t n, float* y);     // x > -1
void map_softplus(const float* x, size_t n, float* y);  // max(x, 0) + log1p(exp(-|x|))

// Conversions, nearest even; NaN stays NaN, f32 beyond f16's range becomes infinite.
void f32_to_f16(const float* x, size_t n, uint16_t* y);
void f16_to_f32(const uint16_t* x, size_t n, float* y);
void f32_to_bf16(const float* x, size_t n, uint16_t* y);
void bf16_to_f32(const uint16_t* x, size_t n, float* y);

// --- attention ---

// For each query, over its visible positions p ascending:
//   s_p = (sum over c ascending of q[c] * k[c][p]) * scale, one accumulator, then softcap;
//   m = max s_p, a reduction as above with max(upper, lower) for the sum;
//   e_p = exp(s_p - m), which attend_keys leaves in `scores`; l = reduction of e over p (lane p %
//   16 of the block).
// f16 pages are widened first. In a quantised page, with a = f32(s), b = f32(m):
//   s_p = (sum over c ascending of (q[c] * a[c]) * float(code[c][p])
//          + reduction over c of q[c] * b[c]) * scale, without the reduction for 8 bits.
// A k page that holds a visible position is read whole; what invisible positions hold, NaN
// included, has no effect. Where a query sees nothing, m is -inf and l is 0.
void attend_keys_f32(const AttendArgs& args);
void attend_keys_f16(const AttendArgs& args);
void attend_keys_q8(const AttendArgs& args);
void attend_keys_q6(const AttendArgs& args);
void attend_keys_q4(const AttendArgs& args);
// With the e_p of attend_keys: o[c] = sum over visible p ascending of e_p * v[p][c], one
// accumulator; of quantised values (e_p * f32(s)) * float(code). Zeros where nothing is seen. Only
// visible positions are read.
void attend_values_f32(const AttendArgs& args);
void attend_values_f16(const AttendArgs& args);
void attend_values_q8(const AttendArgs& args);
void attend_values_q6(const AttendArgs& args);
void attend_values_q4(const AttendArgs& args);
// Folds the next block (mb, lb, ob) into (m, l, o) of one query. lb == 0: nothing happens;
// l == 0: a copy; else M = m > mb ? m : mb, a = exp(m - M), b = exp(mb - M):
//   l = l * a + lb * b, o = o * a + ob * b.
void attend_merge(float mb, float lb, const float* ob, size_t head_dim, float* m, float* l,
                  float* o);
void attend_finish(float l, size_t head_dim, float* o);  // o = o / l; zeros where l == 0

// Keys [head_dim][32] of a full f16 page into a quantised one of 8, 6 or 4 bits. Each channel:
//   8 bits: s = f16(amax / 127), code in [-127, 127];
//   else, h = 2^(bits - 1), over its 32 keys: s = f16((max - min) / (2 h - 1)),
//   m = f16(min + h * f32(s)), code in [-h, h - 1];
//   code = round_to_even(min(max((x - f32(m)) * id, lowest), highest)), id = s != 0 ? 1 / f32(s) :
//   0.
void pack_keys(size_t bits, const uint16_t* keys, size_t head_dim, void* page);
// One position's values into a quantised page. Each group of up to 32 channels: the largest |v|
// (the first of equals) becomes the lowest code, -h, but 127 of 8 bits; codes and scale as
// pack_keys; for 4 and 6 bits then once more with the scale of least squares for those codes.
void pack_values(size_t bits, const float* v, size_t head_dim, size_t position, void* page);
// In place, each of the head_dim / n runs of n, the largest power of two in head_dim: x = H x /
// sqrt(n) with the Walsh-Hadamard matrix H; for half = 1, 2, 4 ...: (a, b) = (a + b, a - b) of the
// pairs half apart, then x * (1 / sqrt(n)). Its own inverse but for rounding.
void hadamard(float* x, size_t head_dim);
// --- recurrent layers ---

// A causal convolution along the tokens, then SiLU, in place; n channels each for itself. With
// in[t] the input of token t and in[-m] = tail row taps - 1 - m:
//   y = 0; for j < taps ascending: y = y + w[j * ldw + c] * in[t - (taps - 1) + j][c];
//   x[t * ldx + c] = y * sigmoid(y).
// Afterwards the tail's taps - 1 rows are the last inputs. 2 <= taps <= 8.
void conv_silu(float* x, size_t ldx, size_t n_tokens, size_t n, const float* w, size_t ldw,
               size_t taps, float* tail, size_t ld_tail);
// For tokens t ascending, each column c of the tile (one accumulator for each sum, i ascending):
//   u = sum k[i] * S[i][c], w = sum q[i] * S[i][c]; d = (v[c] - decay * u) * beta;
//   o[c] = decay * w + qk * d; S[i][c] = decay * S[i][c] + k[i] * d.
void gated_delta(const DeltaArgs& args);

// --- measurement (ml_bench) ---

// Reads all with this build's widest loads; returns the sum mod 2^32 of the little-endian 32-bit
// words, the last one filled up with zeros.
uint64_t measure_read(const void* data, size_t bytes);
// Independent chains of this build's best int8 multiply-add; returns how many were done.
uint64_t measure_int8(uint64_t iterations);

}  // namespace KRAFLA_KERNELS
}  // namespace krafla

#endif  // KRAFLA_KERNELS_KERNELS_H_
