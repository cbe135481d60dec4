#!/usr/bin/env python3
"""Speculation with ml_run: is the reply the same, and how much faster does it come?

speculation.py MODEL --ml-run build/avx2/ml_run                 a table: code edits, summaries, prose; --lookup on and off
speculation.py MODEL --ml-run ... --draft SMALLER               the same with a draft model
speculation.py MODEL --ml-run ... --equal 200                   replies of so many prompts, greedy and sampled, byte for byte
Runs with and without speculation take turns, so that other work on the machine hits both; the median of the ratios counts.
Texts are this repository's own.
"""
import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = [("lib/session/snapshots.h", "rename the member `memory_` to `bytes_`"),
        ("lib/base/duration.h", "rename the function `AtMostAYear` to `Bounded`"),
        ("lib/batch/lookup.cc", "rename the variable `best` to `longest`"),
        ("lib/sampler/top_k.cc", "add a comment above each function")]
TEXTS = ["docs/architecture.md", "docs/abi.md", "docs/reliability.md", "README.md"]
PROSE = ["Write a long story about a lighthouse keeper who finds a letter.", "Describe a walk through an old city at night.",
         "Explain to a child why the sky is blue, at length.", "Write an essay on friendship."]


def prompts(kind):
    if kind == "code edit":
        for path, edit in CODE:
            text = (ROOT / path).read_text(encoding="utf-8")[:2400]
            yield f"{text}\n\nRewrite this C++ code, with one change: {edit}. Answer with the whole code only."
    elif kind == "summary":
        for path in TEXTS:
            text = (ROOT / path).read_text(encoding="utf-8")[:3000]
            yield f"{text}\n\nSummarise the text above in a list. Quote its most important sentences word by word."
    else:
        yield from PROSE


def run(args, prompt, n, speculate, sampling=()):
    options = (["--draft", args.draft] if args.draft else ["--lookup"]) if speculate else []
    result = subprocess.run([args.ml_run, args.model, "-t", str(args.threads), "-n", str(n), "-p", prompt, *options, *sampling],
                            capture_output=True, check=False)
    if result.returncode != 0:
        sys.exit(result.stderr.decode(errors="replace"))
    line = result.stderr.decode(errors="replace").strip().splitlines()[-1]
    reply = re.search(r"reply: (\d+) tokens in ([\d.]+) s", line)
    drafted = re.search(r"drafted: (\d+), accepted: (\d+)", line)
    return result.stdout, int(reply[1]), float(reply[2]), tuple(map(int, drafted.groups())) if drafted else (0, 0)


def table(args):
    print("| text | tokens | drafted | right | times as fast |\n|---|---|---|---|---|")
    for kind in ("code edit", "summary", "prose"):
        ratios, tokens, drafted, right = [], 0, 0, 0
        for prompt in prompts(kind):
            for _ in range(args.rounds):
                off = run(args, prompt, args.n, False)
                on = run(args, prompt, args.n, True)
                if off[0] != on[0]:
                    sys.exit(f"another reply to {prompt!r}")
                ratios.append(off[2] / max(on[2], 1e-9))
            tokens, drafted, right = tokens + on[1], drafted + on[3][0], right + on[3][1]
        low, high = min(ratios), max(ratios)
        print(f"| {kind} | {tokens} | {drafted} | {right} | {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f}) |", flush=True)


def equal(args):
    sentences = [s for path in sorted((ROOT / "docs").glob("*.md")) for s in re.split(r"\n\n|\. ", path.read_text(encoding="utf-8"))
                 if 40 < len(s) < 600]
    choose = random.Random(1)
    drafted = right = 0
    for i in range(args.equal):
        prompt = choose.choice(["Repeat, then go on: ", "Summarise: ", "Continue: ", "Translate into French: "]) + choose.choice(sentences)
        sampling = () if i % 2 == 0 else ("-T", choose.choice(["0.3", "0.8", "1.2"]), "--seed", str(i), "--repeat-penalty",
                                          choose.choice(["1", "1.1"]))
        off, on = run(args, prompt, args.n, False, sampling), run(args, prompt, args.n, True, sampling)
        if off[0] != on[0]:
            sys.exit(f"another reply to {prompt!r} {sampling}")
        drafted, right = drafted + on[3][0], right + on[3][1]
    print(f"{args.equal} replies of up to {args.n} tokens the same; drafted {drafted}, right {right}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("--ml-run", required=True)
parser.add_argument("--draft", default="")
parser.add_argument("-t", dest="threads", type=int, default=1)
parser.add_argument("-n", type=int, default=256)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--equal", type=int, default=0)
parsed = parser.parse_args()
equal(parsed) if parsed.equal else table(parsed)
