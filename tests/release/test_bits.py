#!/usr/bin/env python3
"""The same bits on every platform: conversions, logits and sampled text of one model by every build.

Usage: test_bits.py WORK TEST-DATA BUILD... [--model MODEL.mlb ...]

BUILD is name=FOLDER:SUFFIX[:EMULATOR]: FOLDER has ml_convert, ml_eval and ml_run, each with SUFFIX. The first build
writes the files, which all others use in place; every build converts one checkpoint again, for the same bytes.
The logits of 40 tokens and a text with a seed go into one hash a model. Prints what it was, and every build that differs.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys

SEED = 7
TEXT = "The capital of France is"


class Build:
    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        folder, suffix, *emulator = rest.split(":")
        self.folder, self.suffix = folder, suffix
        self.emulator = emulator[0].split() if emulator else []

    def run(self, program, *args):
        command = [*self.emulator, f"{self.folder}/{program}{self.suffix}", *[str(a) for a in args]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(command)}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def convert(self, checkpoint, out, form):
        self.run("ml_convert", "hf", checkpoint, out, "--wtype", form)
        return hashlib.sha256(pathlib.Path(out).read_bytes()).hexdigest()

    def bits(self, model, n_vocab, text):
        """A hash of the logits of 40 tokens (f16 cache) and of a sampled text."""
        ids = ",".join(str((i * 7919 + 13) % n_vocab) for i in range(40))
        out = f"{model}.{self.name}.f32"
        self.run("ml_eval", "logits", model, "--ids", ids, "--out", out, "--kv", "f16", "-t", "1")
        digest = hashlib.sha256(pathlib.Path(out).read_bytes())
        os.remove(out)
        if text:
            digest.update(self.run("ml_run", model, "--chat", "none", "-p", TEXT, "-n", "24", "-T", "0.9", "--seed", SEED,
                                   "--top-p", "0.95", "-t", "1"))
        return digest.hexdigest()[:16]


def checkpoints(data):
    return sorted(p.parent for p in pathlib.Path(data).glob("**/config.json") if list(p.parent.glob("*.safetensors")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("work")
    parser.add_argument("data")
    parser.add_argument("builds", nargs="+", type=Build)
    parser.add_argument("--model", action="append", default=[])
    args = parser.parse_args()
    first = args.builds[0]
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)

    models = [(pathlib.Path(m).name, m, 30000, True) for m in args.model]
    converted = {}
    for checkpoint in checkpoints(args.data):
        name = str(checkpoint.relative_to(args.data)).replace("/", "-")
        for form in ("q8",) if "variants" in str(checkpoint) else ("f32", "q8", "q4"):
            out = work / f"{name}-{form}.mlb"
            out.unlink(missing_ok=True)
            converted[checkpoint, form] = first.convert(checkpoint, out, form)
            models.append((f"{name} {form}", out, 90, (checkpoint / "tokenizer.json").exists()))
    differ = 0
    again = next(c for c in checkpoints(args.data) if "tiny-chat" in str(c))
    for build in args.builds[1:]:
        out = work / f"again-{build.name}.mlb"
        for form in ("q8", "q4"):
            out.unlink(missing_ok=True)
            if build.convert(again, out, form) != converted[again, form]:
                print(f"{build.name}: {again} as {form} has other bytes")
                differ += 1
        out.unlink()
    for name, model, n_vocab, text in models:
        expected = first.bits(model, n_vocab, text)
        print(f"{name}: {expected}", flush=True)
        for build in args.builds[1:]:
            got = build.bits(model, n_vocab, text)
            if got != expected:
                print(f"{name}: {build.name} has {got}")
                differ += 1
    print(f"{len(models)} models, {len(args.builds)} builds ({', '.join(b.name for b in args.builds)}), {differ} differ")
    sys.exit(differ != 0)


if __name__ == "__main__":
    main()
