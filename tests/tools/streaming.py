"""Experts read from the file: the options of ml_run and ml_bench, and that the reply never depends on them."""
import json
import re
import unittest

from programs import DATA, FOLDER, call

PROMPT = ("-p", "And the LORD said", "-n", "24", "-t", "2", "--chat", "none")


class Streaming(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = FOLDER / "mixture.mlb"
        if not cls.model.exists():
            made = call("ml_convert", "hf", DATA / "trained" / "kjv-moe", cls.model, "--wtype", "q8")
            assert made.code == 0, made
        cls.reply = call("ml_run", cls.model, *PROMPT).out
        plan = call("ml_run", cls.model, "--dry-run", "--ram-budget", "1G")
        assert plan.code == 0, plan
        cls.plan = {key: int(value) for key, value in re.findall(r"^(\w[\w ]*?) +(\d+)", plan.out.decode(), re.M)}

    def streamed(self, *options):
        result = call("ml_run", self.model, *PROMPT, *options)
        self.assertEqual((result.code, result.out), (0, self.reply), result)
        return result.err

    def test_the_plan(self):
        self.assertEqual(set(self.plan), {"weights mapped", "weights read", "attention cache", "recurrent state",
                                          "scratch", "memory in all", "experts", "least budget"})
        least = self.plan["least budget"]
        self.assertEqual(self.plan["weights mapped"], 0)
        self.assertLess(least, self.plan["weights read"])
        tight = call("ml_run", self.model, "--dry-run", "--ram-budget", least)
        experts, of = map(int, re.search(rb"experts +(\d+) of (\d+)", tight.out).groups())
        self.assertEqual(tight.code, 0, tight)
        self.assertLess(experts, of)
        less = call("ml_run", self.model, "--dry-run", "--ram-budget", least - 1)
        self.assertEqual(less.code, 5, less)
        self.assertIn(f"want at least {least}", less.err)
        self.assertIn(b"least budget", less.out)

    def test_plan_before_conversion(self):
        told = call("ml_convert", "hf", DATA / "trained" / "kjv-moe", FOLDER / "never.mlb", "--wtype", "q8", "--dry-run")
        self.assertEqual(told.code, 0, told)
        least = int(re.search(rb"least memory +(\d+)", told.out).group(1))
        self.assertEqual(least, self.plan["least budget"])

    def test_replies(self):
        self.assertTrue(self.reply)
        least = self.plan["least budget"]
        for options in ((), ("--reader", "cache"), ("--reader", "auto"), ("--batch", "1")):
            said = self.streamed("--ram-budget", least, *options)
            self.assertRegex(said, r"experts: \d+ of \d+ in memory, hit rate [\d.]+ %, read [\d.]+ GB at [\d.]+ GB/s "
                                   r"\((uring|pool|cache)\), waited [\d.]+ s")
        self.streamed("--ram-budget", "0")
        for reader in ("uring", "pool"):
            result = call("ml_run", self.model, *PROMPT, "--ram-budget", least, "--reader", reader)
            if result.code == 0:
                self.assertEqual(result.out, self.reply)
                self.assertIn(f"({reader})", result.err)
            else:  # the system has no such reads
                self.assertEqual((result.code, result.out), (1, b""), result)

    def test_heat_map(self):
        heat = FOLDER / "heat map"
        for _ in range(2):
            self.streamed("--ram-budget", self.plan["least budget"], "--heat-map", heat)
            self.assertEqual(heat.read_bytes()[:8], b"KRAFLAH\n")
        kept = heat.read_bytes()
        heat.write_bytes(kept[:-3])
        self.assertIn("heat map", self.streamed("--ram-budget", "1G", "--heat-map", heat))
        self.assertEqual(len(heat.read_bytes()), len(kept))  # written anew
        model = self.model.read_bytes()
        result = call("ml_run", self.model, "-p", "x", "-n", "1", "--ram-budget", "1G", "--heat-map", self.model)
        self.assertEqual((result.code, self.model.read_bytes() == model), (2, True), result)

    def test_refusals(self):
        for value in ("x", "-1", "nan", "1.5X", "", "1e400"):
            result = call("ml_run", self.model, *PROMPT, "--ram-budget", value)
            self.assertEqual((result.code, result.out), (2, b""), (value, result))
            self.assertIn("want", result.err)
        for options, says in ((("--ram-budget", "1G", "--reader", "tape"), "tape"),
                              (("--reader", "pool"), "--ram-budget"), (("--heat-map", "h"), "--ram-budget")):
            result = call("ml_run", self.model, *PROMPT, *options)
            self.assertEqual((result.code, result.out), (2, b""), result)
            self.assertIn(says, result.err)
        least = self.plan["least budget"]
        result = call("ml_run", self.model, *PROMPT, "--ram-budget", least - 1)
        self.assertEqual((result.code, result.out), (5, b""), result)
        self.assertIn(str(least), result.err)

    def test_bench(self):
        sizes = ("-p", "16", "-n", "4", "-t", "1")
        result = call("ml_bench", self.model, *sizes, "--ram-budget", "1,0.5", "--json")
        self.assertEqual(result.code, 0, result)
        rows = json.loads(result.out)
        self.assertEqual([(row["budget"], row["test"], row["n"]) for row in rows],
                         [(budget, test, n) for budget in ("1", "0.5") for test, n in (("prompt", 16), ("decode", 4))])
        for row in rows:
            self.assertGreater(row["tokens_per_s"], 0)
            self.assertGreater(row["model_tokens_per_s"], 0)
            self.assertLessEqual(row["fraction"], float(row["budget"]) + 0.25)
        self.assertEqual(rows[1]["fraction"], 1)
        table = call("ml_bench", self.model, *sizes, "--ram-budget", self.plan["least budget"])
        self.assertEqual((table.code, len(table.out.splitlines())), (0, 3), table)
        self.assertEqual(call("ml_bench", self.model, *sizes, "--ram-budget", "2.5").code, 5)  # bytes
        for value in ("1,", "x", "-1", "nan", "0.5,,1"):
            result = call("ml_bench", self.model, *sizes, "--ram-budget", value)
            self.assertEqual((result.code, result.out), (2, b""), (value, result))
        self.assertEqual(call("ml_bench", self.model, *sizes, "--ram-budget", "1", "--csv").code, 2)

