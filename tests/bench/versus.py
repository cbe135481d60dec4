#!/usr/bin/env python3
"""Krafla beside llama.cpp: the same weights, the same instruction set, runs interleaved, ratios of medians.

Usage: versus.py [--isa avx2] [--threads 1] [--prompt 128] [--decode 64] [--rounds 5] [--venv DIR]

Builds llama.cpp through pip (PyPI's llama-cpp-python, CMAKE_ARGS for the instruction set) into build/llama-<isa>
unless it is there, makes Q8_0 and Q4_0 files of SmolLM2 with its own quantiser (every matrix, head included),
converts those with ml_convert, which takes their values as they are, and prints a table in Markdown.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE_ARGS = {
    "avx2": "-DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON "
            "-DGGML_BMI2=ON",
}
FORMATS = {"q8": ("Q8_0", 7), "q4": ("Q4_0", 2)}  # llama.cpp's LLAMA_FTYPE numbers


def peer_python(isa, venv):
    venv = pathlib.Path(venv) if venv else ROOT / f"build/llama-{isa}"
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run(["python3", "-m", "venv", venv], check=True)
    if subprocess.run([python, "-c", "import llama_cpp"], capture_output=True, check=False).returncode != 0:
        environment = dict(os.environ, CMAKE_ARGS=CMAKE_ARGS[isa])
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python",
                        "llama-cpp-python"], env=environment, check=True)
    return python


def peer_file(python, source, fmt):
    """The model requantised by the peer itself, every matrix in one format."""
    name, ftype = FORMATS[fmt]
    out = ROOT / f"models/{source.stem.split('.')[0]}.{name}.pure.gguf"
    if not out.exists():
        code = (f"import llama_cpp as l, ctypes\np = l.llama_model_quantize_default_params()\n"
                f"p.ftype = {ftype}; p.pure = True; p.allow_requantize = True; p.quantize_output_tensor = True\n"
                f"assert l.llama_model_quantize(b'{source}', b'{out}', ctypes.byref(p)) == 0")
        subprocess.run([python, "-c", code], check=True, capture_output=True)
    return out


PEER_RUN = """
import json, sys, time
import llama_cpp as l
path, threads, prompt, decode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = l.Llama(path, n_ctx=prompt + decode + 8, n_threads=threads, n_threads_batch=threads, n_batch=512,
                verbose=False)
ids = [(i * 7919 + 13) % 30000 for i in range(prompt)]
for warm in (True, False):
    model.reset()
    start = time.perf_counter()
    model.eval(ids)
    middle = time.perf_counter()
    for i in range(decode):
        model.eval([17 + i])
    end = time.perf_counter()
print(json.dumps({"prompt": prompt / (middle - start), "decode": decode / (end - middle)}))
"""


def run_peer(python, path, args):
    done = subprocess.run([python, "-c", PEER_RUN, path, str(args.threads), str(args.prompt), str(args.decode)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_ours(path, args):
    done = subprocess.run([ROOT / f"build/{args.isa}/ml_bench", path, "-t", str(args.threads), "-p", str(args.prompt),
                           "-n", str(args.decode), "-r", "1", "--json"], capture_output=True, text=True, check=True)
    return {row["test"]: row for row in json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default="avx2", choices=sorted(CMAKE_ARGS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--venv", help="an environment that has llama-cpp-python already")
    args = parser.parse_args()

    source = ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf"
    python = peer_python(args.isa, args.venv)
    print(f"| format | test | Krafla, tokens/s | llama.cpp, tokens/s | ratio | fraction of the read bandwidth | "
          f"of the int8 rate |\n|---|---|---|---|---|---|---|")
    for fmt in FORMATS:
        theirs_file = peer_file(python, source, fmt)
        ours_file = theirs_file.with_suffix(".mlb")
        if not ours_file.exists():
            subprocess.run([ROOT / f"build/{args.isa}/ml_convert", "gguf", theirs_file, ours_file, "--wtype", fmt],
                           check=True, capture_output=True)
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(run_ours(ours_file, args))
            theirs.append(run_peer(python, theirs_file, args))
        for test in ("prompt", "decode"):
            a = statistics.median(run[test]["tokens_per_s"] for run in ours)
            b = statistics.median(run[test] for run in theirs)
            read = statistics.median(run[test].get("read_fraction") or 0 for run in ours)
            int8 = statistics.median(run[test].get("int8_fraction") or 0 for run in ours)
            n = args.prompt if test == "prompt" else args.decode
            print(f"| {fmt} | {test} {n}, {args.threads} thread{'s' if args.threads > 1 else ''} | {a:.1f} | {b:.1f} | "
                  f"{a / b:.2f} | {read:.2f} | {int8:.2f} |")


if __name__ == "__main__":
    main()
