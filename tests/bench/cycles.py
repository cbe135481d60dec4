#!/usr/bin/env python3
"""Cycles of the quantised inner loops, as llvm-mca models them: no machine of the kind is needed.

Usage: cycles.py [--isa sse2 ...]

Compiles the matmul kernels of every set (the ARM ones with Debian's cross compiler), finds the loop over the blocks of a tile in the assembly (one token, and
the tile of a prompt), and prints the cycles that a 16 x 32 tile-block takes per token, the multiply-adds per cycle, the
bytes of weights per cycle (one token), and how many vector registers the loop spills.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK_MACS = 16 * 32
BLOCK_BYTES = {"q4": 288, "q8": 544}
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fsigned-char", "-fno-tree-reassoc",
         "-fno-tree-ter", "-w", "-fno-inline-functions", "-fno-asynchronous-unwind-tables", "-S"]
ISAS = {  # flags, processors (llvm-mca has no model of its own for core2)
    "sse2": (["-msse2"], ["core2", "znver3"]),
    "sse41": (["-msse4.1"], ["core2", "znver3"]),
    "avx2": (["-mavx2", "-mf16c"], ["haswell", "znver3"]),
    "avxvnni": (["-mavx2", "-mf16c", "-mavxvnni"], ["alderlake"]),
    "avx512vnni": (["-mavx2", "-mf16c", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512vnni"],
                   ["cascadelake", "icelake-server"]),
    "neon": ([], ["cortex-a53", "cortex-a76", "neoverse-v1", "neoverse-n2"]),
    "neon_dotprod": (["-march=armv8.2-a+dotprod"], ["cortex-a76", "neoverse-v1", "neoverse-n2"]),
    "neon_i8mm": (["-march=armv8.2-a+dotprod+i8mm"], ["neoverse-v1", "neoverse-n2"]),
}
ARM_CHAIN = ["neon_i8mm", "neon_dotprod", "neon", "arm"]
CONSTANT = re.compile(r"constexpr size_t (\w+) = (\d+);")
JUMP = re.compile(r"\t(?:j[a-z]+|b\.?[a-z]*|cbn?z|tbn?z)\t(?:[wx]\d+, )?(?:#?\d+, )?(\.L\d+)")
SPILL = re.compile(r"\tv?mov[a-z0-9]+\t%[xyz]mm\d+, -?\d*\(%r[sb]p\)|\tst[rp]\tq\d+.*\[(?:sp|x29)")


def is_arm(isa):
    return isa in ARM_CHAIN


def folders(isa):
    """The set's folder and those that it builds on."""
    if is_arm(isa):
        return ARM_CHAIN[ARM_CHAIN.index(isa):]
    return [isa, *{"sse41": ["sse2"], "avxvnni": ["avx2"], "avx512vnni": ["avx2"]}.get(isa, [])]


def constants(isa):
    """kGemmTokens and so on, as the set's headers give them."""
    found = {}
    for folder in folders(isa):
        for name in ("lanes.h", "vec.h"):
            path = ROOT / "kernels" / folder / name
            if path.exists():
                found = dict(CONSTANT.findall(path.read_text())) | found
    return {name: int(value) for name, value in found.items()}


def function(assembly, fmt, tokens):
    """The lines of matmul_tile<fmt, tokens>."""
    start = re.search(rf"^_Z\w*matmul_tileINS1_2{fmt.upper()}ELm{tokens}E\w*(\.\w+)*:$", assembly, re.M)
    rest = assembly[start.end():]
    return rest[:rest.index("\t.size\t")].splitlines()


def loops(lines):
    """(first, last) of every backward jump."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\.L\d+:", line)}
    found = []
    for i, line in enumerate(lines):
        jump = JUMP.match(line)
        if jump and labels.get(jump[1], i) < i:
            found.append((labels[jump[1]], i))
    return found


def cycles(lines, cpu):
    """Of one turn of a loop with these instructions."""
    arm = cpu.startswith(("cortex", "neoverse"))
    model = ["llvm-mca-16", "-mtriple=aarch64"] if arm else ["llvm-mca-14"]
    code = "\n".join(line for line in lines if line.startswith("\t") and not line.startswith("\t."))
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write(code + "\n")
        file.flush()
        report = subprocess.run([*model, f"-mcpu={cpu}", "-iterations=200", file.name], capture_output=True,
                                text=True, check=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1]) / 200


def measure(lines, cpu, turns):
    """Cycles of the loop over blocks, the longest one; a loop inside it is over vectors of rows, `turns` of them."""
    first, last = max(loops(lines), key=lambda loop: loop[1] - loop[0])
    inner = [loop for loop in loops(lines[first:last]) if loop[1] - loop[0] > 20]
    body = lines[first:last + 1]
    total, spills = 0.0, 0
    if inner and turns > 1:
        a, b = max(inner, key=lambda loop: loop[1] - loop[0])
        total += turns * cycles(body[a:b + 1], cpu)
        spills += sum(bool(SPILL.match(line)) for line in body[a:b + 1])
        body = body[:a] + body[b + 1:]
    else:
        spills += sum(bool(SPILL.match(line)) for line in body)
    return total + cycles(body, cpu), spills


def figures(isa):
    """(format, tokens, processor, cycles of a tile-block with all tokens, spills) of each loop of a set."""
    flags, cpus = ISAS[isa]
    values = constants(isa)
    quotes = [part for folder in [*folders(isa), "generic/defaults"] for part in ("-iquote", ROOT / "kernels" / folder)]
    turns = 16 // values["kLanes"] // values["kPartsTogether"]
    for fmt in ("q4", "q8"):
        assembly = subprocess.run(
            ["aarch64-linux-gnu-g++" if is_arm(isa) else "g++", *FLAGS, *flags, "-I", ROOT, *quotes,
             ROOT / f"kernels/generic/matmul_{fmt}.cc", "-o", "-"], capture_output=True, text=True, check=True).stdout
        for tokens in (1, values["kGemmTokens"]):
            lines = function(assembly, fmt, tokens)
            for cpu in cpus:
                yield fmt, tokens, cpu, *measure(lines, cpu, turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--isa", nargs="*", default=list(ISAS), choices=list(ISAS))
    args = parser.parse_args()
    print("| set | format | tokens | processor | cycles per token and tile-block | MAC per cycle | bytes per cycle | spills |")
    print("|---|---|---|---|---|---|---|---|")
    for isa in args.isa:
        for fmt, tokens, cpu, total, spills in figures(isa):
            per_token = total / tokens
            read = f"{BLOCK_BYTES[fmt] / total:.1f}" if tokens == 1 else ""
            print(f"| {isa} | {fmt} | {tokens} | {cpu} | {per_token:.1f} | {BLOCK_MACS / per_token:.1f} | {read} | {spills} |")


if __name__ == "__main__":
    main()
