#!/usr/bin/env python3
"""Writes random blocks of every GGUF weight type and the f32 values that the `gguf` package gives them.

    make_gguf_blocks.py OUT.gguf [BLOCKS_A_TYPE]

Tensor "Q4_K" has the blocks, "Q4_K.f32" their values. tests/convert/source_type.cc compares our decoding
with them bit for bit: tests/data/convert/blocks.gguf was made by this script (2 blocks a type), and
KRAFLA_GGUF_BLOCKS names another file. Needs numpy and gguf.
"""
import sys

import gguf
import numpy as np

TYPES = "Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ4_NL IQ4_XS MXFP4".split()
# Where a block's f16 (or f32) scales lie: random bytes there could be infinities.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}


def values_of(name, blocks):
    if name == "Q8_K":  # the package has no decoder: f32 d, 256 int8, sums
        d = blocks[:, :4].copy().view(np.float32)
        return (d * blocks[:, 4:260].copy().view(np.int8).astype(np.float32)).astype(np.float32)
    kind = getattr(gguf.GGMLQuantizationType, name)
    return gguf.quants.dequantize(blocks.reshape(1, -1), kind).astype(np.float32)


def main():
    path = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    random = np.random.default_rng(11)
    writer = gguf.GGUFWriter(path, "blocks")
    for name in TYPES:
        kind = getattr(gguf.GGMLQuantizationType, name)
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
        for at in SCALES.get(name, []):
            scale = (random.standard_normal(count) * 10.0 ** random.integers(-6, 2, count)).astype(np.float16)
            blocks[:, at:at + 2] = scale.view(np.uint8).reshape(count, 2)
        if name == "MXFP4":  # a power of two
            blocks[:, 0] = random.integers(0, 200, count)
        if name == "Q8_K":
            blocks[:, :4] = random.standard_normal(count).astype(np.float32).view(np.uint8).reshape(count, 4)
        values = values_of(name, blocks).reshape(1, count * elements)
        writer.add_tensor(name, blocks.reshape(1, -1), raw_dtype=kind)
        writer.add_tensor(name + ".f32", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
