#!/usr/bin/env python3
"""A random Llama checkpoint of any size, and what ml_convert makes of it: memory, speed, resumption.

    big_checkpoint.py make FOLDER GIGABYTES      writes sharded bf16 safetensors, config and index
    big_checkpoint.py measure FOLDER ML_CONVERT [WTYPE]
                                                 peak VmHWM; to bf16, also time against `cp -r` and fsync of the
                                                 folder, both after dropping the page cache (root); then the same
                                                 conversion killed with SIGKILL at five points and resumed: equal bytes
Needs numpy, and twice the checkpoint's size on the disk (q8: 1.53 times).
"""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

EMBD, FF, HEADS, KV_HEADS, VOCAB = 4096, 14336, 32, 8, 32000
SHARD_BYTES = 4_900_000_000
KILLS = 5


def tensors(n_layers):
    kv = EMBD // HEADS * KV_HEADS
    yield "model.embed_tokens.weight", (VOCAB, EMBD)
    for i in range(n_layers):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", (EMBD,)
        for name, rows in (("q", EMBD), ("k", kv), ("v", kv)):
            yield f"{layer}self_attn.{name}_proj.weight", (rows, EMBD)
        yield layer + "self_attn.o_proj.weight", (EMBD, EMBD)
        yield layer + "post_attention_layernorm.weight", (EMBD,)
        yield layer + "mlp.gate_proj.weight", (FF, EMBD)
        yield layer + "mlp.up_proj.weight", (FF, EMBD)
        yield layer + "mlp.down_proj.weight", (EMBD, FF)
    yield "model.norm.weight", (EMBD,)
    yield "lm_head.weight", (VOCAB, EMBD)


def size_of(shape):
    total = 2
    for dim in shape:
        total *= dim
    return total


def make(folder, gigabytes):
    import numpy as np
    folder.mkdir(parents=True)
    layer_bytes = sum(size_of(shape) for name, shape in tensors(1) if "layers." in name)
    n_layers = max(1, round((gigabytes * 1e9 - 2 * size_of((VOCAB, EMBD))) / layer_bytes))
    random = np.random.default_rng(7)
    n = 1 << 26  # signs, four exponents around 2^-7, mantissas
    bits = random.integers(0, 1 << 16, n, dtype=np.uint16)
    pool = ((bits & 0x807F) | ((118 + (bits >> 8 & 3)) << 7).astype(np.uint16)).tobytes()
    shards, size = [[]], 0
    for name, shape in tensors(n_layers):
        if size + size_of(shape) > SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += size_of(shape)
    index = {}
    for i, shard in enumerate(shards):
        file = f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        header, at = {}, 0
        for name, shape in shard:
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size_of(shape)]}
            at += size_of(shape)
            index[name] = file
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / file, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for name, shape in shard:
                left = size_of(shape)
                start = int(random.integers(0, n)) * 2
                while left > 0:
                    piece = pool[start:start + left]
                    out.write(piece)
                    left -= len(piece)
                    start = 0
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "hidden_size": EMBD, "intermediate_size": FF,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "num_hidden_layers": n_layers,
        "vocab_size": VOCAB, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
        "tie_word_embeddings": False}))


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def run(command):
    """Seconds, and the largest resident set of the process in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (command, status)
    return time.monotonic() - begin, usage.ru_maxrss * 1024


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def kill_and_resume(command, seconds, partial):
    for i in range(KILLS):
        process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
        time.sleep(0.6 * seconds / KILLS)  # what it did since its last record it will do again
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
        assert partial.exists(), partial
    return run(command)[0]


def measure(folder, program, wtype="bf16"):
    report = {"bytes": sum(path.stat().st_size for path in folder.iterdir())}
    out = folder.parent / (folder.name + ".mlb")
    copy = folder.parent / (folder.name + ".copy")
    command = [program, "hf", folder, out, "--wtype", wtype]
    drop_caches()
    if wtype == "bf16":
        begin = time.monotonic()
        run(["cp", "-r", folder, copy])
        run(["sync", *sorted(copy.iterdir())])
        report["cp_seconds"] = round(time.monotonic() - begin, 1)
        shutil.rmtree(copy)
        drop_caches()
    seconds, memory = run(command)
    report.update(convert_seconds=round(seconds, 1), peak_rss_mb=round(memory / 1e6, 1))
    if wtype == "bf16":
        report["speed_of_cp"] = round(report["cp_seconds"] / seconds, 2)
    print(json.dumps(report), flush=True)
    whole = hash_of(out)
    out.unlink()
    report["last_run_seconds"] = round(kill_and_resume(command, seconds, out.with_name(out.name + ".partial")), 1)
    report["equal_after_kills"] = hash_of(out) == whole
    out.unlink()
    print(json.dumps(report))
    return 0 if report["equal_after_kills"] else 1


if sys.argv[1] == "make":
    make(pathlib.Path(sys.argv[2]), float(sys.argv[3]))
else:
    sys.exit(measure(pathlib.Path(sys.argv[2]).resolve(), *sys.argv[3:]))
