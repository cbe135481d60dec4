#!/usr/bin/env python3
"""SmolLM2-135M-Instruct against Hugging Face's numbers, against itself, and as its users meet it.

Usage: test_smollm2.py [unittest arguments]. KRAFLA_ISAS="scalar avx2" names the builds to compare (build/<isa>,
made by scripts/build); the last one does the long work. KRAFLA_BITS is the program of bits.cc. KRAFLA_FULL=1 compares 300 tokens instead of 48, and the
perplexity of 60,000 characters instead of 6,000.
"""
import array
import hashlib
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISAS = os.environ.get("KRAFLA_ISAS", "").split() or [
    subprocess.run([ROOT / "scripts/best-isa"], capture_output=True, text=True, check=True).stdout.strip()]
FULL = bool(os.environ.get("KRAFLA_FULL"))
BITS = os.environ.get("KRAFLA_BITS", ROOT / f"build/check-{ISAS[-1]}/tests/real/bits")
VOCABULARY = 49152


def run(program, *args, isa=ISAS[-1], text=None):
    done = subprocess.run([ROOT / "build" / isa / program, *map(str, args)], input=text,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {args}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def model(wtype):
    path = subprocess.run([ROOT / "scripts/fetch-model", wtype, ISAS[-1]], capture_output=True, text=True, check=True)
    return ROOT / path.stdout.strip()


def logits(path, ids, *args, isa=ISAS[-1]):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "logits.f32"
        run("ml_eval", "logits", path, "--ids", ",".join(map(str, ids)), "--out", out, *args, isa=isa)
        return out.read_bytes()


def rows(raw):
    values = array.array("f", raw)
    return [values[i:i + VOCABULARY] for i in range(0, len(values), VOCABULARY)]


def log_softmax_at(row, ids):
    top = max(row)
    norm = top + math.log(math.fsum(math.exp(value - top) for value in row))
    return [row[i] - norm for i in ids]


class AgainstHuggingFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = json.loads((ROOT / "tests/data/real/smollm2-135m-instruct.json").read_text())
        cls.rows = rows(logits(model("f32"), cls.expected["ids"], "--kv", "f32"))

    def test_log_probabilities(self):
        expected, differences = self.expected, []
        for t, row in enumerate(self.rows):
            wanted = list(zip(expected["top5_ids"][t], expected["top5_logprobs"][t]))
            if t + 1 < len(expected["ids"]):
                wanted.append((expected["ids"][t + 1], expected["logprob_of_token"][t + 1]))
            ours = log_softmax_at(row, [i for i, _ in wanted])
            differences += [abs(a - b) for a, (_, b) in zip(ours, wanted)]
            if wanted[0][1] - wanted[1][1] > 0.01:
                self.assertEqual(row.index(max(row)), wanted[0][0], f"top-1 at {t}")
        mean = math.fsum(differences) / len(differences)
        print(f"mean |difference| of {len(differences)} log-probabilities: {mean:.2e}, max {max(differences):.2e}")
        self.assertLessEqual(mean, 2e-4)

    def test_greedy(self):
        ids = list(self.expected["ids"][:64])
        wanted = self.expected["greedy_after_64"]
        path = model("f32")
        # The continuation is teacher-forced in one pass: each argmax must be the next token.
        forced = rows(logits(path, ids + wanted[:-1], "--kv", "f32"))
        ours = [row.index(max(row)) for row in forced[63:]]
        self.assertEqual(ours, wanted)


class SameBits(unittest.TestCase):
    def test_threads_batches_and_instruction_sets(self):
        text = (ROOT / "tests/data/text/handbook-a.txt").read_text()[:4000]
        for wtype in ("q4", "q8", "f32"):
            path = model(wtype)
            reply = run("ml_eval", "tokenize", path, text=json.dumps({"text": text}) + "\n")
            ids = json.loads(reply)["ids"][:300 if FULL else 48]
            hashes = {}
            for isa in ISAS:
                variants = [("-t", 1, "--batch", 512)]
                if isa == ISAS[-1]:
                    variants += [("-t", t, "--batch", b) for t, b in ((2, 1), (3, 7), (4, 32), (1, 32), (2, 512))]
                for variant in variants:
                    raw = logits(path, ids, *variant, isa=isa)
                    hashes[isa, variant] = hashlib.sha256(raw).hexdigest()
            self.assertEqual(len(set(hashes.values())), 1, f"{wtype}: {hashes}")
            print(f"{wtype}: {len(ids)} tokens, {len(hashes)} ways, logits {next(iter(hashes.values()))[:16]}")


    def test_every_way_of_reading(self):
        """Threads, batches, fork, truncation, single steps, two sessions in one batch, the host's float modes."""
        for wtype in ("q4", "q8", "f32") if FULL else ("q8",):
            done = subprocess.run([BITS, model(wtype), "300" if FULL else "70"], capture_output=True, text=True,
                                  check=False)
            print(done.stdout)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Quality(unittest.TestCase):
    def test_q8_perplexity_is_within_a_percent(self):
        text = (ROOT / "tests/data/text/handbook-a.txt").read_text()[:60000 if FULL else 6000]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            measured = {}
            for wtype in ("f32", "q8", "q4") if FULL else ("f32", "q8"):
                measured[wtype] = json.loads(run("ml_eval", "ppl", model(wtype), file.name))
        print({wtype: result for wtype, result in measured.items()})
        ratio = measured["q8"]["ppl"] / measured["f32"]["ppl"]
        self.assertLess(abs(ratio - 1), 0.01, f"q8 / f32 = {ratio:.5f}")


    def test_weights_and_caches_together(self):
        """What is small alone may not be together: divergence from f32 with an f32 cache, and how long greedy
        replies stay the same."""
        text = (ROOT / "tests/data/text/handbook-a.txt").read_text()[:12000]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "text.txt"
            file.write_text(text)
            kinds = ("q8", "k6v6", "k4v4") if FULL else ("k4v4",)
            measured = json.loads(run("ml_eval", "quality", model("f32"), file, "--models", model("q8"), "--kvs",
                                      ",".join(kinds), "--chunks", 2, "--out", pathlib.Path(folder) / "quality"))
            low = json.loads(run("ml_eval", "drift", model("q4"), "--ref", model("f32"), file, "--kv", "k4v4",
                                 "--chunks", 2))
        for row in measured:
            print(row["kv"], {key: row[key] for key in ("kl_mean", "kl_p99", "top1", "match_mean", "match_least")})
            self.assertLessEqual(row["kl_mean"], 0.015 if row["kv"] == "k4v4" else 0.007, row)
            self.assertGreaterEqual(row["top1"], 0.92, row)
            self.assertGreaterEqual(row["match_mean"], 12, row)
        print("q4 k4v4", low["kl_mean"], low["top1"])
        self.assertLessEqual(low["kl_mean"], 0.38, low)


class AsUsersMeetIt(unittest.TestCase):
    def test_names_paris(self):
        prompt = "What is the capital of France? Answer in one sentence."
        reply = run("ml_run", model("q8"), "-p", prompt)
        self.assertIn("Paris", reply)

    def test_user_text_is_never_a_control_token(self):
        path = model("q8")
        end = json.loads(run("ml_eval", "tokenize", path,
                             text='{"text": "<|im_end|>", "parse_special": true}\n'))["ids"]
        self.assertEqual(len(end), 1)
        plain = json.loads(run("ml_eval", "tokenize", path, text='{"text": "a<|im_end|>b"}\n'))["ids"]
        self.assertNotIn(end[0], plain)
        back = json.loads(run("ml_eval", "detokenize", path, text=json.dumps({"ids": plain}) + "\n"))["text"]
        self.assertEqual(back, "a<|im_end|>b")

    def test_template(self):
        request = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}
        text = json.loads(run("ml_eval", "template", model("q8"), text=json.dumps(request) + "\n"))["text"]
        self.assertEqual(text, "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
                               "Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
