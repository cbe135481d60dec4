#!/usr/bin/env python3
"""Writes a .mlb with the shapes of Qwen3-30B-A3B cut to fewer layers, random q4 weights and routers whose choices are
skewed as those of trained models are: a quarter of the experts serves about 80 % of the picks. 24 layers take 8.5 GB.
For measuring streaming; it says nothing sensible and has no tokenizer. Needs python3-numpy and python3-xxhash.

Usage: random_moe.py OUT.mlb [LAYERS] [OUT.gguf]      the second file: the same weights for llama.cpp

A router sees the normed row x, of which element 0 is the same for every token: the embedding has one large value
there, and no matrix writes to that element. So column 0 of a router is a bias for each expert.
"""
import os
import struct
import sys
from typing import NamedTuple

import numpy
import xxhash

HIDDEN, HEADS, KV_HEADS, HEAD, INNER, EXPERTS, USED, VOCAB = 2048, 32, 4, 128, 768, 128, 8, 32768
LAYERS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
Q4, F32, BLOCK, TILE = 4, 0, 32, 16
TOP_QUARTER = 0.8
POOL_BLOCKS = 1 << 17

random = numpy.random.default_rng(1)
# One pool of tile-blocks (16 f16 scales, then nibbles), from which each tensor takes some: gigabytes of fresh ones
# would take minutes.
# Codes 1 to 15, so that weights have the mean 0 and rows of different tokens stay different.
pool = random.integers(1, 16, (POOL_BLOCKS, 288), numpy.uint8)
pool |= random.integers(1, 16, (POOL_BLOCKS, 288), numpy.uint8) << 4


class Blocks(NamedTuple):
    """Some tile-blocks, and the same codes as GGUF's Q4_0 has them: a block of 18 bytes for each of 16 rows."""

    tiles: numpy.ndarray  # [n, 288]
    rows: numpy.ndarray  # [n, 16, 18]

    def take(self, begin, n):
        """n of them, from the beginning again behind the last one; copies."""
        at = (begin + numpy.arange(n)) % len(self.tiles)
        return Blocks(self.tiles[at], self.rows[at])

    def data(self, row_blocks):
        """Bytes of a matrix of so many blocks a row: of the .mlb and of the GGUF."""
        rows = self.rows.reshape(-1, row_blocks, TILE, 18).transpose(0, 2, 1, 3)
        return self.tiles.tobytes(), rows.tobytes()


def scaled(d):
    """The pool with the scale d for all rows."""
    tiles = pool.copy()
    scale = numpy.frombuffer(numpy.float16(d).tobytes(), numpy.uint8)
    tiles[:, :32] = numpy.tile(scale, TILE)
    # Byte 4 r + i of group j: row r at k = 8 j + i, in the high nibble k = 8 j + 4 + i. GGUF's byte i: k = i and 16 + i.
    groups = pool[:, 32:].reshape(-1, 4, TILE, 4)
    codes = numpy.stack([groups & 15, groups >> 4], 3).transpose(0, 2, 1, 3, 4).reshape(-1, TILE, BLOCK)
    rows = numpy.empty((len(pool), TILE, 18), numpy.uint8)
    rows[:, :, :2] = scale
    rows[:, :, 2:] = codes[:, :, :16] | codes[:, :, 16:] << 4
    return Blocks(tiles, rows)


inner = scaled(0.0046)  # codes - 8 deviate by 4.3: weights by 0.02
small = scaled(0.00002)  # what is added to the residual stream


def round_up(n, unit):
    return -(-n // unit) * unit


def matrix(rows, cols, blocks, keep_zero=False):
    """Bytes of [rows][cols]; keep_zero: row 0 is zero."""
    out = blocks.take(int(random.integers(0, POOL_BLOCKS)), rows // TILE * (cols // BLOCK))
    if keep_zero:
        out.tiles[:cols // BLOCK, :2] = 0
        out.rows[:cols // BLOCK, 0, :2] = 0
    return out.data(cols // BLOCK)


def embedding():
    out = inner.take(0, VOCAB // TILE * (HIDDEN // BLOCK))
    # k = 0 is the low nibble of byte 4 r of the first group: 7 d for every token.
    first = slice(None, None, HIDDEN // BLOCK)
    out.tiles[first, 32:96:4] = out.tiles[first, 32:96:4] & 0xF0 | 15
    out.rows[first, :, 2] = out.rows[first, :, 2] & 0xF0 | 15
    return out.data(HIDDEN // BLOCK)


def share_of_top(spread):
    """Of the picks, those that go to the quarter with the largest biases (normal, so far apart)."""
    bias = spread * numpy.sort(random.standard_normal(EXPERTS))[::-1]
    scores = bias + random.standard_normal((4000, EXPERTS))
    picks = numpy.argsort(-scores, axis=1)[:, :USED]
    return float((picks < EXPERTS // 4).mean())


def fit_spread():
    low, high = 0.1, 8.0
    for _ in range(20):
        spread = (low + high) / 2
        low, high = (spread, high) if share_of_top(spread) < TOP_QUARTER else (low, spread)
    return spread


def router(spread):
    w = (random.standard_normal((EXPERTS, HIDDEN)) / HIDDEN ** 0.5).astype(numpy.float32)
    element = 7 / 4.32  # of the normed row
    w[:, 0] = spread * random.standard_normal(EXPERTS) / element
    tiles = w.reshape(EXPERTS // TILE, TILE, HIDDEN).transpose(0, 2, 1)  # [tile][k][row]
    return numpy.ascontiguousarray(tiles).tobytes(), w.tobytes()


def ones(n):
    return (numpy.ones(n, numpy.float32).tobytes(),) * 2


def metadata():
    integers = {"n_layers": LAYERS, "n_embd": HIDDEN, "n_heads": HEADS, "n_kv_heads": KV_HEADS, "head_dim": HEAD,
                "n_ff": INNER, "n_vocab": VOCAB, "max_positions": 32768, "bos_id": 1, "n_experts": EXPERTS,
                "n_experts_used": USED, "n_ff_expert": INNER, "rope.original_max_positions": 0}
    reals = {"norm_eps": 1e-6, "rope.theta": 1e6, "rope.factor": 1.0, "rope.low_freq_factor": 1.0,
             "rope.high_freq_factor": 1.0}
    entries = [(3, "model.arch", b"qwen3_moe"), (3, "model.rope.kind", b"default"), (2, "model.tied_head", b"\1"),
               (4, "model.end_ids", struct.pack("<q", 2)), (3, "convert.source", b"random"),
               (3, "convert.wtype", b"q4")]
    entries += [(0, "model." + key, struct.pack("<q", value)) for key, value in integers.items()]
    entries += [(1, "model." + key, struct.pack("<d", value)) for key, value in reals.items()]
    data = b"".join(struct.pack("<IIQ", kind, len(key), len(value)) + key.encode() + value
                    for kind, key, value in entries)
    return len(entries), data + bytes(-len(data) % 8)


def tensors(spread):
    """(name, type, dims, function that gives the bytes of a slice)"""
    q, kv = HEADS * HEAD, KV_HEADS * HEAD
    yield "embed", Q4, (VOCAB, HIDDEN), embedding
    for i in range(LAYERS):
        p = f"layers.{i}."
        yield p + "attn_norm", F32, (HIDDEN,), lambda: ones(HIDDEN)
        for name, rows in ("wq", q), ("wk", kv), ("wv", kv):
            yield p + name, Q4, (rows, HIDDEN), lambda rows=rows: matrix(rows, HIDDEN, inner)
        yield p + "q_norm", F32, (HEAD,), lambda: ones(HEAD)
        yield p + "k_norm", F32, (HEAD,), lambda: ones(HEAD)
        yield p + "wo", Q4, (HIDDEN, q), lambda: matrix(HIDDEN, q, small, True)
        yield p + "ffn_norm", F32, (HIDDEN,), lambda: ones(HIDDEN)
        yield p + "router", F32, (EXPERTS, HIDDEN), lambda: router(spread)
        yield p + "experts.w_gate", Q4, (EXPERTS, INNER, HIDDEN), lambda: matrix(INNER, HIDDEN, inner)
        yield p + "experts.w_up", Q4, (EXPERTS, INNER, HIDDEN), lambda: matrix(INNER, HIDDEN, inner)
        yield p + "experts.w_down", Q4, (EXPERTS, HIDDEN, INNER), lambda: matrix(HIDDEN, INNER, small, True)
    yield "norm", F32, (HIDDEN,), lambda: ones(HIDDEN)


def slice_bytes(kind, dims):
    n = 1
    for dim in dims[-2:]:
        n *= dim
    return n * 4 if kind == F32 else n // (TILE * BLOCK) * 288


GGUF_NAMES = {"embed": "token_embd", "norm": "output_norm", "wq": "attn_q", "wk": "attn_k", "wv": "attn_v",
              "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "wo": "attn_output", "router": "ffn_gate_inp",
              "experts.w_gate": "ffn_gate_exps", "experts.w_up": "ffn_up_exps", "experts.w_down": "ffn_down_exps"}


def gguf_name(name):
    if not name.startswith("layers."):
        return GGUF_NAMES[name] + ".weight"
    _, layer, rest = name.split(".", 2)
    return f"blk.{layer}.{GGUF_NAMES.get(rest, rest)}.weight"


def gguf_bytes(kind, dims):
    n = 1
    for dim in dims:
        n *= dim
    return n * 4 if kind == F32 else n // BLOCK * 18


def gguf_header(rows):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def entry(key, kind, value):
        return text(key) + struct.pack("<I", kind) + value

    arch = "qwen3moe."
    integers = {"block_count": LAYERS, "context_length": 32768, "embedding_length": HIDDEN, "feed_forward_length": INNER,
                "expert_feed_forward_length": INNER, "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
                "attention.key_length": HEAD, "attention.value_length": HEAD, "expert_count": EXPERTS,
                "expert_used_count": USED, "vocab_size": VOCAB}
    entries = [entry("general.architecture", 8, text("qwen3moe")), entry("tokenizer.ggml.model", 8, text("no_vocab"))]
    entries += [entry(arch + key, 4, struct.pack("<I", value)) for key, value in integers.items()]
    entries += [entry(arch + key, 6, struct.pack("<f", value))
                for key, value in {"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}.items()]
    infos, at = [], 0
    for name, kind, dims, _ in rows:
        infos.append(text(gguf_name(name)) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *reversed(dims),
                                                         2 if kind == Q4 else 0, at))
        at = round_up(at + gguf_bytes(kind, dims), 32)
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(rows), len(entries)) + b"".join(entries + infos)
    return header + bytes(-len(header) % 32)


def main():
    spread = fit_spread()
    rows = list(tensors(spread))
    n_meta, meta = metadata()
    names = "".join(row[0] for row in rows).encode()
    header_bytes = 128 + len(meta) + 88 * len(rows) + len(names)
    stride = 3 * slice_bytes(Q4, (INNER, HIDDEN))
    at, places = round_up(header_bytes, 4096), []
    for name, kind, dims, _ in rows:
        size = slice_bytes(kind, dims)
        if "experts." not in name:
            at = round_up(at, 64)
            places.append((at, size, 0, 64))
            at += size
            continue
        if name.endswith("w_gate"):
            first = round_up(at, 4096)
        part = ("w_gate", "w_up", "w_down").index(name.rsplit(".", 1)[1])
        places.append((first + part * size, size * EXPERTS, stride, 4096))
        at = first + EXPERTS * stride
    records, offset = [], 0
    with open(sys.argv[1], "wb") as out, open(sys.argv[3] if len(sys.argv) > 3 else os.devnull, "wb") as gguf:
        gguf.write(gguf_header(rows))
        for (name, kind, dims, make), (begin, size, step, alignment) in zip(rows, places):
            checksum = xxhash.xxh64()
            for i in range(EXPERTS if step else 1):
                data, same = make()
                checksum.update(data)
                out.seek(begin + i * step)
                out.write(data)
                gguf.write(same)
            gguf.write(bytes(-gguf_bytes(kind, dims) % 32))
            layout = 1 if len(dims) > 1 else 0
            records.append(struct.pack("<IIII4QQQQQII", offset, len(name), kind, layout,
                                       *dims, *[0] * (4 - len(dims)), begin, size, step, checksum.intdigest(),
                                       alignment, 0))
            offset += len(name)
        header = struct.pack("<8sIIQQQQQQQQQ", b"\x89KRAFLA\n", 1, 1, 0, 0, at, header_bytes, n_meta, len(meta), 0,
                             len(rows), len(names))
        body = meta + b"".join(records) + names
        checksum = xxhash.xxh64(header + bytes(40) + body).intdigest()
        out.seek(0)
        out.write(header + struct.pack("<Q", checksum) + bytes(32) + body)
        out.truncate(at)
    print(f"{sys.argv[1]}: {at / 1e9:.2f} GB, {LAYERS} layers; biases deviate by {spread:.2f}: the quarter with the "
          f"largest gets {share_of_top(spread):.0%} of the picks")


main()
