"""ml_eval logits and ppl, ml_bench: files and JSON; bits for any threads and batch."""
import json
import math
import os
import resource
import struct
import unittest

from programs import DATA, FOLDER, call, models

IDS = [(7 * i * i + 3 * i + 1) % 512 for i in range(300)]


class Logits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = models()

    def logits(self, model, ids, *options):
        out = FOLDER / "logits.f32"
        result = call("ml_eval", "logits", model, "--ids", ",".join(map(str, ids)), "--out", out, *options)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(json.loads(result.out), {"tokens": len(ids), "vocab": 512})
        return out.read_bytes()

    def test_bits(self):
        bare = self.models["bare.mlb"]
        want = self.logits(bare, IDS, "-t", "1")
        self.assertEqual(len(want), len(IDS) * 512 * 4)
        self.assertTrue(all(map(math.isfinite, struct.unpack(f"<{len(want) // 4}f", want))))
        for threads in (1, 2, 3, 4):
            for batch in (1, 7, 32, 512):
                self.assertEqual(self.logits(bare, IDS, "-t", threads, "--batch", batch), want, (threads, batch))
        self.assertEqual(self.logits(bare, IDS[:100]), want[: 100 * 512 * 4])
        self.assertNotEqual(self.logits(bare, IDS, "--kv", "f16"), want)

    def test_a_failure_keeps_the_file(self):
        model = FOLDER / "own.mlb"
        model.write_bytes(self.models["bare.mlb"].read_bytes())
        for name, make in (("symbolic", os.symlink), ("hard", os.link)):
            make(model, FOLDER / name)
        for out in (model, FOLDER / "symbolic", FOLDER / "hard"):
            result = call("ml_eval", "logits", model, "--ids", "1", "--out", out)
            self.assertEqual(result.code, 2, result)
        self.assertEqual(model.read_bytes(), self.models["bare.mlb"].read_bytes())
        kept = FOLDER / "kept.f32"
        kept.write_bytes(b"kept")
        result = call("ml_eval", "logits", model, "--ids", "1,512", "--out", kept)
        self.assertEqual((result.code, kept.read_bytes()), (2, b"kept"), result)
        self.assertEqual(call("ml_eval", "logits", model, "--ids", "1", "--out", "/dev/full").code, 1)

    def test_a_failure_leaves_no_file(self):
        out = FOLDER / "failed.f32"
        result = call("ml_eval", "logits", self.models["bare.mlb"], "--ids", "1,512", "--out", out)
        self.assertEqual((result.code, list(FOLDER.glob("failed*"))), (2, []), result)
        result = call("ml_eval", "logits", self.models["bare.mlb"], "--ids", "1", "--out", FOLDER / "no" / "f")
        self.assertEqual(result.code, 2, result)


class InputsStay(unittest.TestCase):
    """What a program reads, or is somebody else's, is never replaced by what it writes."""

    def refused(self, path, content, *arguments):
        path.write_bytes(content)
        result = call(*arguments)
        self.assertEqual(result.code, 2, result)
        self.assertIn(path.name, result.err)
        self.assertEqual(path.read_bytes(), content)

    def test_inputs_stay(self):
        chat = models()["chat.mlb"].read_bytes()
        text = b"In the beginning God created the heaven and the earth. " * 40
        model, words = FOLDER / "read.mlb", FOLDER / "words.txt"
        words.write_bytes(text)
        model.write_bytes(chat)
        drift = ("ml_eval", "drift", model, "--ref", model, words, "--ctx", "32", "--cache")
        for cache in (model, words, FOLDER / "words.txt.partial"):
            self.refused(cache, chat if cache == model else text, *drift, cache)
        source = FOLDER / "source.txt.partial"
        self.refused(source, text, *drift, FOLDER / "source.txt")
        report = FOLDER / "report.md"
        self.refused(report, text, "ml_eval", "quality", model, report, "--models", model, "--kvs", "f16",
                     "--out", FOLDER / "report")


class Perplexity(unittest.TestCase):
    def test_ppl(self):
        text = FOLDER / "text.txt"
        text.write_text((DATA / "text" / "handbook-a.txt").read_text()[:3000])
        results = [call("ml_eval", "ppl", models()["chat.mlb"], text, "--ctx", "64", *options)
                   for options in ([], ["-t", "2", "--batch", "7"], ["--kv", "f16"])]
        self.assertEqual([r.code for r in results], [0] * 3, results)
        values = [json.loads(r.out) for r in results]
        self.assertEqual(list(values[0]), ["ppl", "targets"])
        self.assertEqual(values[0], values[1])
        self.assertEqual(values[0]["targets"] % 31, 0)
        self.assertTrue(math.isclose(values[0]["ppl"], values[2]["ppl"], rel_tol=0.01))

    def test_refusals(self):
        short = FOLDER / "short.txt"
        short.write_text("short")
        self.assertEqual(call("ml_eval", "ppl", models()["chat.mlb"], short).code, 2)
        self.assertEqual(call("ml_eval", "ppl", models()["chat.mlb"], FOLDER / "none.txt").code, 2)
        self.assertEqual(call("ml_eval", "ppl", models()["chat.mlb"], "/dev/zero").code, 2)
        self.assertEqual(call("ml_eval", "ppl", models()["bare.mlb"], short).code, 4)


class Drift(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = FOLDER / "drift text.txt"
        cls.text.write_text((DATA / "text" / "handbook-a.txt").read_text()[:4000])
        cls.q8 = FOLDER / "chat q8.mlb"
        models()
        result = call("ml_convert", "hf", FOLDER / "tiny chat", cls.q8)
        assert result.code == 0, result

    def drift(self, model, *options):
        result = call("ml_eval", "drift", model, "--ref", models()["chat.mlb"], self.text, "--ctx", "64", *options)
        self.assertEqual(result.code, 0, result)
        return json.loads(result.out)

    def test_figures(self):
        same = self.drift(models()["chat.mlb"])
        self.assertEqual((same["kl_max"], same["top1"], same["nll_difference"]), (0, 1, 0))
        ours = self.drift(self.q8, "-t", "1")
        self.assertEqual(ours, self.drift(self.q8, "-t", "2", "--batch", "7"))
        self.assertTrue(0 < ours["kl_median"] <= ours["kl_mean"] < ours["kl_p99"] <= ours["kl_max"], ours)
        self.assertEqual(ours["targets"] % 31, 0)
        ppl = json.loads(call("ml_eval", "ppl", self.q8, self.text, "--ctx", "64").out)
        self.assertEqual(ours["targets"], ppl["targets"])
        self.assertTrue(math.isclose(ours["ppl"], ppl["ppl"], rel_tol=1e-6))
        all_of_two = self.drift(self.q8, "--from", "0", "--chunks", "2")
        self.assertEqual(all_of_two["targets"], 2 * 63)

    def test_cache(self):
        cache = FOLDER / "reference.rows"
        made = self.drift(self.q8, "--cache", cache)
        size = cache.stat().st_size
        self.assertEqual(made, self.drift(self.q8, "--cache", cache))
        exact = self.drift(self.q8)
        self.assertTrue(abs(made["kl_mean"] - exact["kl_mean"]) < 1e-6, (made, exact))
        whole = cache.read_bytes()
        for damage in (b"", whole[:-1], whole[:8] + bytes(size - 8)):  # of something else: made anew
            cache.write_bytes(damage)
            self.assertEqual(made, self.drift(self.q8, "--cache", cache))
            self.assertEqual(cache.stat().st_size, size)

    def test_places_of_errors(self):
        chat, other, missing = models()["chat.mlb"], FOLDER / "other.mlb", FOLDER / "missing" / "rows"
        result = call("ml_convert", "hf", DATA / "models" / "llama_odd", other)
        self.assertEqual(result.code, 0, result)
        drift = ["ml_eval", "drift", chat, self.text, "--ctx", "64", "--ref"]
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))}
        for arguments, options, code, begins in (
                ([chat, "--cache", missing], {}, 2, missing), ([chat, "--cache", FOLDER], {}, 2, FOLDER),
                ([chat, "--cache", FOLDER / "full"], limit, 1, FOLDER / "full"),
                ([other, "-z", models()["tok.mlt"]], {}, 2, other)):
            result = call(*drift, *arguments, **options)
            self.assertEqual(result.code, code, result)
            self.assertTrue(result.err.startswith(f"ml_eval: {begins}"), result)
        self.assertEqual([*FOLDER.glob("full*")], [])

    def test_quality(self):
        out = FOLDER / "quality"
        chat = models()["chat.mlb"]
        args = ["ml_eval", "quality", chat, self.text, "--models", f"{self.q8},{chat}", "--kvs", "f32,f16", "--ctx", "64",
                "--chunks", "3", "--needle", "400", "--out", out]
        first = call(*args)
        self.assertEqual(first.code, 0, first)
        rows = json.loads(first.out)
        self.assertEqual([(r["model"], r["kv"]) for r in rows],
                         [("chat q8", "f32"), ("chat q8", "f16"), ("chat", "f32"), ("chat", "f16")])
        self.assertEqual((rows[2]["kl_max"], rows[2]["match_mean"], rows[2]["match_complete"]), (0, 64, 8))
        self.assertTrue(0 <= rows[0]["match_least"] <= rows[0]["match_mean"] <= 64)
        self.assertEqual([r["needle_depths"] for r in rows], [5] * 4)
        lines = out.with_suffix(".jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 4)
        html = out.with_suffix(".html").read_text()
        self.assertIn("<svg", html)
        self.assertNotIn("href", html)
        self.assertEqual(len(out.with_suffix(".md").read_text().splitlines()), 6)
        out.with_suffix(".jsonl").write_text("\n".join(lines[:2]) + "\n{broken")  # as a kill leaves it
        for _ in range(2):
            again = call(*args)
            self.assertEqual(json.loads(again.out), rows)
        self.assertEqual(len(out.with_suffix(".jsonl").read_text().splitlines()), 5)

    def test_refusals(self):
        short = FOLDER / "short.txt"
        short.write_text("short")
        chat, bare = models()["chat.mlb"], models()["bare.mlb"]
        for args, code in (([chat, "--ref", chat, short], 2), ([chat, "--ref", bare, self.text], 4),
                           ([chat, self.text], 2),
                           ([chat, "--ref", chat, self.text, "--ctx", "64", "--from", "63"], 2),
                           ([chat, "--ref", FOLDER / "none.mlb", self.text], 4)):
            self.assertEqual(call("ml_eval", "drift", *args).code, code, args)


class Bench(unittest.TestCase):
    def test_json(self):
        result = call("ml_bench", models()["bare.mlb"], "-t", "1,2", "-p", "16", "-n", "4", "-d", "8", "-r", "2", "--json")
        self.assertEqual(result.code, 0, result)
        rows = json.loads(result.out)
        self.assertEqual([(r["threads"], r["test"], r["n"], r["depth"]) for r in rows],
                         [(1, "prompt", 16, 8), (1, "decode", 4, 8), (2, "prompt", 16, 8), (2, "decode", 4, 8)])
        keys = ["isa", "threads", "test", "n", "depth", "tokens_per_s", "sd", "bytes_per_token", "read_gb_s",
                "read_fraction", "gmac_s", "int8_fraction"]
        for row in rows:
            self.assertEqual(list(row), keys)
            self.assertTrue(all(row[key] > 0 for key in keys[5:] if key != "sd"), row)

    def test_csv_and_compare(self):
        arguments = [models()["bare.mlb"], "-t", "1", "-p", "16", "-n", "0", "-r", "2"]
        lines = call("ml_bench", *arguments, "--csv", "--load", "read").out.decode().splitlines()
        self.assertEqual([line.split(",")[1:5] for line in lines], [["threads", "test", "n", "depth"], ["1", "prompt", "16", "0"]])
        a, b = FOLDER / "a.json", FOLDER / "b.json"
        row = {"isa": "x", "threads": 1, "test": "prompt", "n": 16, "depth": 0, "tokens_per_s": 100, "sd": 3}
        a.write_text(json.dumps([row]))
        b.write_text(json.dumps([dict(row, tokens_per_s=150, sd=6), dict(row, n=17)]))
        self.assertIn(b"1.500 +- 0.075", call("ml_bench", "--compare", a, b).out)
        self.assertEqual(call("ml_bench", "--compare", a, b, "--json").code, 2)
        for text in ("", "{}", "[1]", '[{"isa": 1}]', json.dumps([dict(row, n="16")]), json.dumps([dict(row, n=18)]),
                     *(json.dumps([dict(row, **{key: value})]) for key, value in (
                         ("threads", 1e300), ("threads", 1.5), ("n", -1), ("n", 2**64), ("tokens_per_s", 0),
                         ("tokens_per_s", 1e308), ("sd", -1), ("isa", "\x1b[31m"), ("test", "prompt\n"), ("depth", None)))):
            b.write_text(text)
            self.assertEqual(call("ml_bench", "--compare", a, b).code, 2, text)
        self.assertEqual(call("ml_bench", "--compare", a, FOLDER / "none.json").code, 2)
        self.assertEqual(call("ml_bench", "--compare", a, FOLDER).code, 2)
        self.assertEqual(call("ml_bench").code, 2)

    def test_too_long(self):
        self.assertEqual(call("ml_bench", models()["bare.mlb"], "-t", "1", "-p", "100000").code, 2)
