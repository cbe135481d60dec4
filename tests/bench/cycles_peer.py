#!/usr/bin/env python3
"""llvm-mca's cycles of llama.cpp's ARM loops beside ours: an estimate, no machine of the kind is needed.

Usage: cycles_peer.py [GGML-FOLDER]

Without a folder the sources come from PyPI's llama-cpp-python, the version that versus.py measures. For each set its
loops are those that llama.cpp takes for Q4_0 and Q8_0 there (repack.cpp, and quants.c without dot products), compiled
as its build does (-O3). The innermost loop with the most products is judged; its multiply-adds are counted from its
instructions (16 a sdot, 32 a smmla, 8 a smull or smlal), so both sides are compared per multiply-add.
"""
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

from cycles import BLOCK_BYTES, BLOCK_MACS, ROOT, cycles, figures
from versus import PEER_VERSION

MARCH = {"neon": "armv8-a", "neon_dotprod": "armv8.2-a+dotprod", "neon_i8mm": "armv8.2-a+dotprod+i8mm"}
LOOPS = {  # set -> format -> file, function of one token, of many
    "neon": {f: ("quants.c", f"ggml_vec_dot_{f}_q8_0", f"ggml_vec_dot_{f}_q8_0") for f in ("q4_0", "q8_0")},
    "neon_dotprod": {f: ("repack.cpp", f"ggml_gemv_{f}_4x4_q8_0", f"ggml_gemm_{f}_4x4_q8_0") for f in ("q4_0", "q8_0")},
    "neon_i8mm": {f: ("repack.cpp", f"ggml_gemv_{f}_4x8_q8_0", f"ggml_gemm_{f}_4x8_q8_0") for f in ("q4_0", "q8_0")},
}
MACS = [(re.compile(r"sdot\t"), 16), (re.compile(r"smmla\t"), 32), (re.compile(r"sm[ul]l?a?l2?\t"), 8)]


def fetch():
    """The folder ggml of the package's sources."""
    work = ROOT / "build/peer"
    ggml = work / f"llama_cpp_python-{PEER_VERSION}/vendor/llama.cpp/ggml"
    if not ggml.exists():
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", work,
                        f"llama-cpp-python=={PEER_VERSION}"], check=True)
        with tarfile.open(next(work.glob("llama_cpp_python-*.tar.gz"))) as archive:
            archive.extractall(work, filter="data")
    return ggml


def disassembly(ggml, name, march, folder):
    """Function -> its instructions as (address, text). Of the object, since part of the source is inline assembly."""
    source = ggml / "src/ggml-cpu/arch/arm" / name
    compiler, standard = ("g++", "c++17") if name.endswith(".cpp") else ("gcc", "gnu11")
    obj = f"{folder}/object.o"
    subprocess.run(
        [f"aarch64-linux-gnu-{compiler}", f"-std={standard}", "-O3", f"-march={march}", "-w", "-c", "-I", ggml / "include",
         "-I", ggml / "src", "-I", ggml / "src/ggml-cpu", source, "-o", obj], check=True)
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", obj], capture_output=True, text=True,
                          check=True).stdout
    functions = {}
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        instruction = re.match(r"\s*([0-9a-f]+):\t(.*)$", line)
        if start:
            current = functions.setdefault(start[1], [])
        elif instruction:
            current.append((int(instruction[1], 16), instruction[2].split(" //")[0]))
    return functions


def macs(lines):
    return sum(count for line in lines for pattern, count in MACS if pattern.match(line))


def hot_loop(function):
    """The instructions of the loop with the most multiply-adds of those that have none inside."""
    places = {address: i for i, (address, _) in enumerate(function)}
    every = []
    for i, (_, text) in enumerate(function):
        branch = re.match(r"(?:b|b\.\w+|cbn?z|tbn?z)\t.*?\b([0-9a-f]+) <", text)
        if branch and places.get(int(branch[1], 16), i) < i:
            every.append((places[int(branch[1], 16)], i))
    inner = [(a, b) for a, b in every if not any((c, d) != (a, b) and a <= c and d <= b for c, d in every)]
    lines = [[re.sub(r"[0-9a-f]+ <.*>", ".Ltop", text) for _, text in function[a:b + 1]] for a, b in inner]
    return max(lines, key=macs)


def main():
    ggml = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else fetch()
    print("| set | format | tokens | processor | cycles a token and tile-block, ours / llama.cpp's | MAC per cycle | bytes per cycle | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for isa, formats in LOOPS.items():
        functions = {}
        for fmt, tokens, cpu, total, _ in figures(isa):
            name, one, many = formats[f"{fmt}_0"]
            if name not in functions:
                with tempfile.TemporaryDirectory() as folder:
                    functions[name] = disassembly(ggml, name, MARCH[isa], folder)
            lines = hot_loop(functions[name][one if tokens == 1 else many])
            theirs = macs(lines) / cycles(["\t" + line for line in lines], cpu)
            ours = BLOCK_MACS * tokens / total
            bytes_of = BLOCK_BYTES[fmt] / BLOCK_MACS
            read = f"{ours * bytes_of:.1f} / {theirs * bytes_of:.1f}" if tokens == 1 else ""
            print(f"| {isa} | {fmt} | {tokens} | {cpu} | {BLOCK_MACS / ours:.1f} / {BLOCK_MACS / theirs:.1f} | "
                  f"{ours:.1f} / {theirs:.1f} | {read} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
