#!/usr/bin/env python3
"""Qwen2.5-Coder-0.5B-Instruct (a Q4_K_M GGUF): perplexity against transformers' on the same weights, and a function it writes.

Usage: test_qwen_coder.py [unittest arguments]. KRAFLA_ISA names the build (build/<isa>, made by scripts/build). KRAFLA_FULL=1
scores all 60,000 characters instead of 6,000 and q4 too. The reference is what tests/families/perplexity.py prints.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISA = os.environ.get("KRAFLA_ISA") or subprocess.run([ROOT / "scripts/best-isa"], capture_output=True, text=True,
                                                     check=True).stdout.strip()
FULL = bool(os.environ.get("KRAFLA_FULL"))
CHARACTERS = 60000 if FULL else 6000
EXPECTED = json.loads((ROOT / "tests/data/real/qwen2.5-coder-perplexity.json").read_text())[str(CHARACTERS)]
PROMPT = ("Write a Python function is_prime(n) that returns True if n is a prime number and False otherwise. "
          "Answer with one code block and nothing else.")


def run(program, *args):
    done = subprocess.run([ROOT / "build" / ISA / program, *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {args}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def model(wtype):
    path = subprocess.run([ROOT / "scripts/fetch-model", wtype, ISA, "qwen2.5-coder"], capture_output=True, text=True,
                          check=True)
    return ROOT / path.stdout.strip()


def perplexity(wtype, *args):
    text = (ROOT / "tests/data/text/handbook-a.txt").read_text()[:CHARACTERS]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return json.loads(run("ml_eval", "ppl", model(wtype), file.name, *args))


class Perplexity(unittest.TestCase):
    def test_f32_equals_transformers(self):
        ours = perplexity("f32", "--kv", "f32")
        print(f"f32: {ours}, transformers {EXPECTED}")
        self.assertEqual(ours["targets"], EXPECTED["targets"])
        self.assertLess(abs(ours["ppl"] / EXPECTED["ppl"] - 1), 0.001)

    def test_quantised(self):
        for wtype in ("q8", "q4") if FULL else ("q8",):
            ours = perplexity(wtype)
            print(f"{wtype}: {ours}, {100 * (ours['ppl'] / EXPECTED['ppl'] - 1):+.2f} %")
            if wtype == "q8":
                self.assertLess(abs(ours["ppl"] / EXPECTED["ppl"] - 1), 0.02)


class WritesCode(unittest.TestCase):
    def test_a_function_passes_its_asserts(self):
        reply = run("ml_run", model("q8"), "-p", PROMPT, "-n", "300")
        code = re.search(r"```(?:python)?\n(.*?)```", reply, re.DOTALL)
        source = code.group(1) if code else reply
        scope = {}
        exec(compile(source, "reply", "exec"), scope)  # pylint: disable=exec-used
        for n, prime in ((0, False), (1, False), (2, True), (3, True), (4, False), (17, True), (25, False), (49, False),
                         (97, True), (7919, True), (7917, False)):
            self.assertEqual(bool(scope["is_prime"](n)), prime, f"is_prime({n}) of:\n{source}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
