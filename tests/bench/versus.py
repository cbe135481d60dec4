#!/usr/bin/env python3
"""Krafla beside llama.cpp: the same weights, the same instruction set, runs interleaved, ratios of medians.

Usage: versus.py [--isa sse2,avx2,...] [--models qwen2.5-coder,smollm2] [--formats q4,q8] [--threads 1] [--prompt 128]
                 [--decode 64] [--depth 0] [--rounds 5] [--peer ISA=FOLDER ...] [--write]

Builds llama.cpp for each set through pip (PyPI's llama-cpp-python, CMAKE_ARGS) into build/llama-<isa> unless it is
there; --peer names a folder of ready llama.cpp libraries instead. Its own quantiser makes Q8_0 and Q4_0 files of the
models (every matrix, head included); ml_convert takes their values as they are. Prints a table; --write puts it into
docs/comparison.md and draws docs/speed.svg (needs matplotlib).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER_VERSION = "0.3.36"
_OFF = dict.fromkeys(("SSE42", "AVX", "AVX2", "FMA", "F16C", "BMI2", "AVX_VNNI", "AVX512", "AVX512_VNNI"), "OFF")
_AVX2 = _OFF | dict.fromkeys(("SSE42", "AVX", "AVX2", "FMA", "F16C", "BMI2"), "ON")
PEER_SETS = {  # the options of llama.cpp that make a build for the same processors
    "sse2": _OFF,
    "sse41": _OFF | {"SSE42": "ON"},
    "avx2": _AVX2,
    "avxvnni": _AVX2 | {"AVX_VNNI": "ON"},
    "avx512vnni": _AVX2 | {"AVX512": "ON", "AVX512_VNNI": "ON"},
}
FORMATS = {"q4": ("Q4_0", 2), "q8": ("Q8_0", 7)}  # llama.cpp's LLAMA_FTYPE numbers
MARKS = ("<!-- versus.py writes from here -->", "<!-- to here -->")

PEER_QUANTISE = """
import ctypes, sys
import llama_cpp as l
p = l.llama_model_quantize_default_params()
p.ftype = int(sys.argv[3]); p.pure = True; p.allow_requantize = True; p.quantize_output_tensor = True
assert l.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), ctypes.byref(p)) == 0
"""

# The C interface itself: the wrapper's own class costs time for every token.
PEER_RUN = """
import ctypes, json, sys, time
import llama_cpp as l
path, threads, prompt, decode, depth = sys.argv[1], *map(int, sys.argv[2:6])
quiet = l.llama_log_callback(lambda *_: None)
l.llama_log_set(quiet, ctypes.c_void_p(0))
model_params = l.llama_model_default_params()
model_params.use_extra_bufts = "mapped" not in sys.argv  # weights in another order lie in memory twice
model = l.llama_model_load_from_file(path.encode(), model_params)
params = l.llama_context_default_params()
params.n_ctx = depth + prompt + decode + 8
params.n_batch = depth + prompt + 1
params.n_threads = params.n_threads_batch = threads
context = l.llama_init_from_model(model, params)
def read(ids):
    tokens = (l.llama_token * len(ids))(*ids)
    assert l.llama_decode(context, l.llama_batch_get_one(tokens, len(ids))) == 0
    l.llama_synchronize(context)
ids = [(i * 7919 + 13) % 30000 for i in range(prompt + depth)]
for warm in (True, False):
    l.llama_memory_clear(l.llama_get_memory(context), True)
    if depth: read(ids[:depth])
    start = time.perf_counter()
    read(ids[depth:])
    middle = time.perf_counter()
    for i in range(decode): read([17 + i])
    end = time.perf_counter()
print(json.dumps({"prompt": prompt / (middle - start), "decode": decode / (end - middle)}))
"""


class Peer:
    """llama.cpp of one instruction set."""

    def __init__(self, isa, folder):
        venv = ROOT / f"build/llama-{'ready' if folder else isa}"
        self.python = venv / "bin/python"
        self.environment = dict(os.environ)
        if folder:
            self.environment["LLAMA_CPP_LIB_PATH"] = str(folder)
        if not self.python.exists():
            subprocess.run(["python3", "-m", "venv", venv], check=True)
        if self.run("import llama_cpp", check=False).returncode != 0:
            options = " ".join(f"-DGGML_{name}={value}" for name, value in ({"NATIVE": "OFF"} | PEER_SETS[isa]).items())
            build = dict(self.environment, CMAKE_ARGS=options)
            subprocess.run([self.python, "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python",
                            f"llama-cpp-python=={PEER_VERSION}"], env=build, check=True)

    def run(self, code, *arguments, check=True):
        return subprocess.run([self.python, "-c", code, *map(str, arguments)], env=self.environment,
                              capture_output=True, text=True, check=check)

    def measure(self, path, args):
        done = self.run(PEER_RUN, path, args.threads, args.prompt, args.decode, args.depth)
        return json.loads(done.stdout.strip().splitlines()[-1])


def files(peer, isa, model, fmt):
    """The model in one format, as each of the two reads it."""
    source = ROOT / subprocess.run([ROOT / "scripts/fetch-model", "gguf", isa, model], capture_output=True, text=True,
                                   check=True).stdout.strip()
    name, ftype = FORMATS[fmt]
    theirs = ROOT / f"models/{source.name.split('.Q')[0]}.{name}.pure.gguf"
    ours = theirs.with_suffix(".mlb")
    if not theirs.exists():
        peer.run(PEER_QUANTISE, source, theirs, ftype)
    if not ours.exists():
        subprocess.run([ROOT / f"build/{isa}/ml_convert", "gguf", theirs, ours, "--wtype", fmt], check=True,
                       capture_output=True)
    return ours, theirs


def measure(isa, path, args):
    done = subprocess.run([ROOT / f"build/{isa}/ml_bench", path, "-t", str(args.threads), "-p", str(args.prompt), "-n",
                           str(args.decode), "-d", str(args.depth), "-r", "1", "--json"], capture_output=True,
                          text=True, check=True)
    return {row["test"]: row for row in json.loads(done.stdout)}


def compare(peer, isa, model, fmt, args):
    """One row of the table: medians of both, test by test."""
    ours_file, theirs_file = files(peer, isa, model, fmt)
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(measure(isa, ours_file, args))
        theirs.append(peer.measure(theirs_file, args))
    row = {"isa": isa, "model": model, "format": fmt}
    for test in ("decode", "prompt"):
        row[test] = statistics.median(run[test]["tokens_per_s"] for run in ours)
        row[f"{test}_peer"] = statistics.median(run[test] for run in theirs)
        row[f"{test}_ratio"] = row[test] / row[f"{test}_peer"]
    row["read_fraction"] = statistics.median(run["decode"]["read_fraction"] for run in ours)
    row["int8_fraction"] = statistics.median(run["prompt"]["int8_fraction"] for run in ours)
    return row


def table(rows, args):
    decode = f"decode {args.decode}" + (f" at depth {args.depth}" if args.depth else "")
    prompt = f"prompt {args.prompt}"
    lines = [f"`tests/bench/versus.py --threads {args.threads} --prompt {args.prompt} --decode {args.decode} --depth "
             f"{args.depth} --rounds {args.rounds}`; tokens a second, ours / llama.cpp's:", "",
             f"| model | set | weights | {decode} | ratio | of the read bandwidth | {prompt} | ratio | of the int8 peak |",
             "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['model']} | {r['isa']} | {r['format']} | {r['decode']:.1f} / {r['decode_peer']:.1f} | "
                     f"{r['decode_ratio']:.2f} | {r['read_fraction']:.2f} | {r['prompt']:.1f} / {r['prompt_peer']:.1f} | "
                     f"{r['prompt_ratio']:.2f} | {r['int8_fraction']:.2f} |")
    return "\n".join(lines)


def draw(rows, path):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("svg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    matplotlib.rcParams["svg.hashsalt"] = "krafla"  # the same file from the same figures
    model = rows[0]["model"]
    rows = [row for row in rows if row["model"] == model]
    isas = list(dict.fromkeys(row["isa"] for row in rows))
    series = [(test, fmt) for test in ("decode", "prompt") for fmt in FORMATS]
    figure, axes = pyplot.subplots(figsize=(8, 3.2))
    for i, (test, fmt) in enumerate(series):
        values = [next(r[f"{test}_ratio"] for r in rows if r["isa"] == isa and r["format"] == fmt) for isa in isas]
        bars = axes.bar([x + 0.2 * (i - 1.5) for x in range(len(isas))], values, 0.19, label=f"{test} {fmt}")
        axes.bar_label(bars, fmt="%.1f", fontsize=7)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(isas)), isas)
    axes.set_ylabel("times the speed of llama.cpp")
    axes.set_title(f"{model}, 1 thread, same weights, same instruction set", fontsize=10)
    axes.legend(fontsize=8, ncols=4, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default="avx2", help="comma-separated, of " + " ".join(PEER_SETS))
    parser.add_argument("--models", default="qwen2.5-coder,smollm2")
    parser.add_argument("--formats", default="q4,q8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", nargs="*", default=[], metavar="ISA=FOLDER")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()

    ready = dict(item.split("=", 1) for item in args.peer)
    rows = []
    for model in args.models.split(","):
        for isa in args.isa.split(","):
            peer = Peer(isa, ready.get(isa))
            rows += [compare(peer, isa, model, fmt, args) for fmt in args.formats.split(",")]
            print(table(rows[-len(args.formats.split(",")):], args).splitlines()[-1], flush=True)
    print("\n" + table(rows, args))
    if args.write:
        path = ROOT / "docs/comparison.md"
        before, rest = path.read_text().split(MARKS[0])
        path.write_text(f"{before}{MARKS[0]}\n{table(rows, args)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")
        draw(rows, ROOT / "docs/speed.svg")


if __name__ == "__main__":
    main()
