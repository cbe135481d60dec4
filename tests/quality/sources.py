#!/usr/bin/env python3
"""Makes the GGUF files that quality figures are measured on and against.

Usage: sources.py peer|dither|f32 IN.gguf OUT.gguf | sources.py compare A.gguf B.gguf   (needs numpy and gguf)
       sources.py peer IN_FOLDER OUT_FOLDER     a safetensors model; OUT has the values as floats, which `--wtype q4` finds again
  f32     the same values as floats
  dither  as floats, each moved at random by at most half a step of its block's grid, so that the weights no longer lie on
          the grid of the quantiser that wrote IN
  compare tells how many bytes of the tensors differ: `peer` of SmolLM2's Q4_1 file against what llama.cpp's own quantiser
          made of it (--pure --allow-requantize): 0 of 75,680,064
  peer    every matrix by llama.cpp's Q4_0 rule, d = signed maximum / -8: what `llama-quantize --pure` writes
"""
import json
import pathlib
import shutil
import struct
import sys

import gguf
import numpy as np


def is_matrix(tensor):
    return len(tensor.shape) >= 2


def q4_0(x):
    """Blocks of 32: d = max / -8 as f16, q = floor(x / d + 8.5) with the d before rounding, at most 15."""
    blocks = x.reshape(-1, 32).astype(np.float32)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1)[:, None], axis=1)
    d = largest / np.float32(-8)
    with np.errstate(divide="ignore"):
        inverse = np.where(d != 0, np.float32(1) / d, np.float32(0)).astype(np.float32)
    q = np.minimum(np.floor(blocks * inverse + np.float32(8.5)), 15).astype(np.uint8)
    packed = q[:, :16] | q[:, 16:] << 4
    return np.concatenate([d.astype(np.float16).view(np.uint8), packed], axis=1).reshape(*x.shape[:-1], -1)


def dithered(tensor, x, random):
    """Half a step of each block's grid: the smallest difference between two of its values."""
    block = gguf.GGML_QUANT_SIZES[tensor.tensor_type][0]
    if block == 1:
        return x
    group = 16 if tensor.tensor_type in (gguf.GGMLQuantizationType.Q6_K, gguf.GGMLQuantizationType.Q3_K,
                                         gguf.GGMLQuantizationType.Q2_K) else 32
    groups = np.sort(x.reshape(-1, group), axis=1)
    gaps = np.diff(groups, axis=1)
    gaps = np.where(gaps > 1e-4 * np.abs(groups).max(axis=1, keepdims=True), gaps, np.inf)
    step = np.minimum(gaps.min(axis=1, keepdims=True), 1e3)
    step = np.where(step < 1e3, step, 0)
    noise = random.uniform(-0.5, 0.5, size=groups.shape).astype(np.float32)
    return (x.reshape(-1, group) + noise * step).reshape(x.shape).astype(np.float32)


def peer_folder(source, target):
    """model.safetensors of one part; routers stay as they are, as in either program's files."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    data = (source / "model.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header, parts, at = json.loads(data[8:begin]), [], 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = (begin + offset for offset in entry["data_offsets"])
        if entry["dtype"] != "BF16":
            sys.exit(f"{name}: got {entry['dtype']}, want BF16")
        x = (np.frombuffer(data[first:last], np.uint16).astype(np.uint32) << 16).view(np.float32)
        if len(entry["shape"]) >= 2 and entry["shape"][-1] % 32 == 0 and not name.endswith("mlp.gate.weight"):
            x = gguf.quants.dequantize(q4_0(x.reshape(entry["shape"])), gguf.GGMLQuantizationType.Q4_0)
        parts.append(x.astype("<f4").tobytes())
        entry.update(dtype="F32", data_offsets=[at, at + len(parts[-1])])
        at += len(parts[-1])
    text = json.dumps(header).encode()
    (target / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def copy_fields(reader, writer):
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        inner = field.types[1] if len(field.types) > 1 else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)


def compare(a, b):
    others = {tensor.name: tensor for tensor in gguf.GGUFReader(b).tensors}
    different = total = 0
    for tensor in gguf.GGUFReader(a).tensors:
        other = others[tensor.name]
        if tensor.tensor_type != other.tensor_type:
            sys.exit(f"{tensor.name}: {tensor.tensor_type.name} and {other.tensor_type.name}")
        different += int((tensor.data.reshape(-1) != other.data.reshape(-1)).sum())
        total += tensor.data.size
    print(f"{different} of {total} differ")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        return compare(*sys.argv[2:])
    if len(sys.argv) != 4 or sys.argv[1] not in ("peer", "dither", "f32"):
        sys.exit(__doc__)
    what, source, target = sys.argv[1:]
    if pathlib.Path(source).is_dir() and what == "peer":
        return peer_folder(pathlib.Path(source), pathlib.Path(target))
    reader = gguf.GGUFReader(source)
    arch = reader.get_field("general.architecture").contents()
    writer = gguf.GGUFWriter(target, arch)
    copy_fields(reader, writer)
    random = np.random.default_rng(1)
    for tensor in reader.tensors:
        x = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if what == "dither" and is_matrix(tensor):
            x = dithered(tensor, x, random)
        if what == "peer" and is_matrix(tensor) and x.shape[-1] % 32 == 0:
            data = q4_0(x)
            writer.add_tensor(tensor.name, data, raw_shape=data.shape, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        else:
            writer.add_tensor(tensor.name, x)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
