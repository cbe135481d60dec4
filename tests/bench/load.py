#!/usr/bin/env python3
"""What starting costs: wall time of `ml_run -n 1` beyond the prompt's own time, and peak resident memory.

Usage: load.py MODEL [ISA]. Prompts of 37 and 2,000 tokens, median of 10 runs with a warm page cache. The memory bound
is the file plus the KV of the positions used plus 40 MB.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
model = pathlib.Path(sys.argv[1])
isa = sys.argv[2] if len(sys.argv) > 2 else "avx2"
KV_BYTES_A_TOKEN = 30 * 3 * 64 * 2 * 2  # SmolLM2-135M: layers, KV heads, head size, K and V, f16

for tokens in (37, 2000):
    prompt = "the " * tokens  # one token each
    extra, peak, counted = [], 0, 0
    for _ in range(10):
        command = [ROOT / f"build/{isa}/ml_run", model, "--chat", "none", "-n", "1", "-p", prompt]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stderr = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"ml_run failed: {stderr}")
        counted, seconds = re.search(r"prompt: (\d+) tokens in ([\d.]+) s", stderr).groups()
        extra.append(wall - float(seconds))
        peak = max(peak, usage.ru_maxrss * 1024)
    bound = model.stat().st_size + int(counted) * KV_BYTES_A_TOKEN
    print(f"{counted} tokens: wall - prompt time {1e3 * statistics.median(extra):.0f} ms, peak {peak / 1e6:.0f} MB, "
          f"file + KV {bound / 1e6:.0f} MB, beyond it {(peak - bound) / 1e6:.1f} MB")
