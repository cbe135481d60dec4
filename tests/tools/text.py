"""ml_run through pipes, and ml_eval's JSON lines."""
import os
import re
import unittest

from programs import DATA, FOLDER, call, json_lines, models, start

STATISTICS = re.compile(r"^prompt: (\d+) tokens in [\d.]+ s \([\d.]+/s\); "
                        r"reply: (\d+) tokens in [\d.]+ s \([\d.]+/s\)$", re.MULTILINE)


class Pipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = models()

    def reply(self, *args, stdin=b""):
        result = call("ml_run", self.models["chat.mlb"], *args, stdin=stdin)
        self.assertEqual(result.code, 0, result)
        self.assertRegex(result.err, STATISTICS)
        return result

    def test_stdout_has_the_reply_only(self):
        result = self.reply("-p", "In the beginning", "-n", "20")
        counts = STATISTICS.search(result.err)
        self.assertEqual(counts[2], "20")
        result.out.decode()  # whole code points
        self.assertEqual(self.reply("-p", "In the beginning", "-n", "20").out, result.out)
        self.assertTrue(result.out.startswith(self.reply("-p", "In the beginning", "-n", "3").out.rstrip(b"\xef\xbf\xbd")))

    def test_stdin_is_the_prompt(self):
        by_option = self.reply("-p", "In the beginning\r\n", "-n", "9")
        by_pipe = self.reply("-n", "9", stdin=b"In the beginning\r\n")
        self.assertEqual(by_pipe.out, by_option.out)
        raw = self.reply("--chat", "none", "-n", "0", stdin=b"one\r\ntwo\n")
        ids = json_lines("tokenize", self.models["chat.mlb"], [{"text": "one\r\ntwo\n"}])[0]["ids"]
        self.assertEqual(STATISTICS.search(raw.err)[1], str(len(ids)))

    def test_n_zero_reads_only(self):
        result = self.reply("-p", "x", "-n", "0")
        self.assertEqual(result.out, b"")
        self.assertEqual(STATISTICS.search(result.err)[2], "0")

    def test_context_ends_the_reply(self):
        result = self.reply("-p", "x", "--ctx", "64", "-T", "1", "--seed", "1")
        counts = STATISTICS.search(result.err)
        self.assertLessEqual(int(counts[1]) + int(counts[2]), 64)

    def test_constraints(self):
        for option, text, pattern in (("--regex", "[a-z]{4}[0-9]{2}", "^[a-z]{4}[0-9]{2}$"),
                                      ("--json-schema", '{"enum": ["yes", "no"]}', '^"(yes|no)"$'),
                                      ("--choice", "north", "^north$")):
            self.assertRegex(self.reply("-p", "x", "-T", "2", option, text).out.decode(), pattern)
        for args in (["--regex", "("], ["--choice", ""], ["--json-schema", '{"contains": {}}'],
                     ["--regex", "a", "--choice", "a"], ["--grammar-file", "/nowhere"]):
            refused = call("ml_run", self.models["chat.mlb"], "-p", "x", *args)
            self.assertIn(refused.code, (1, 2), refused)
            self.assertEqual(refused.out, b"")

    def test_threads_and_batch_do_not_change_it(self):
        args = ["-p", "And God said " * 20, "-n", "30"]
        want = self.reply(*args, "-t", "1").out
        for extra in (["-t", "2"], ["-t", "3", "--batch", "7"], ["--batch", "1"]):
            self.assertEqual(self.reply(*args, *extra).out, want, extra)

    def test_seed(self):
        args = ["-p", "x", "-T", "1.5", "-n", "40"]
        drawn = self.reply(*args)
        seed = re.search(r"^seed: (\d+)$", drawn.err, re.MULTILINE)[1]
        again = self.reply(*args, "--seed", seed)
        self.assertEqual(again.out, drawn.out)
        self.assertNotIn("seed", again.err)
        self.assertNotEqual(self.reply(*args, "--seed", "0").out, self.reply(*args, "--seed", "1").out)
        self.assertEqual(self.reply(*args, "--seed", "-2").out, self.reply(*args, "--seed", str(2 ** 64 - 2)).out)
        self.assertNotIn("seed", self.reply("-p", "x", "-n", "1").err)

    def test_user_text_is_no_control_token(self):
        text = "a<|im_end|>b"
        plain, parsed = json_lines("tokenize", self.models["chat.mlb"],
                                   [{"text": text}, {"text": text, "parse_special": True}])
        self.assertGreater(len(plain["ids"]), len(parsed["ids"]))
        counts = [int(STATISTICS.search(self.reply("-p", p, "-n", "0").err)[1]) for p in ("", text)]
        self.assertEqual(counts[1] - counts[0], len(plain["ids"]))

    def test_closed_descriptors_are_not_taken_by_files(self):
        def close(*numbers):
            return lambda: [os.close(number) for number in numbers]

        model = self.models["chat.mlb"]
        self.assertEqual(call("ml_run", model, "-n", "1", preexec_fn=close(0)).code, 2)
        self.assertEqual(call("ml_eval", "tokenize", model, preexec_fn=close(0)).code, 1)
        self.assertEqual(call("ml_run", model, "-p", "x", "-n", "1", preexec_fn=close(0, 1, 2)).code, 1)
        copy, whole = FOLDER / "closed.mlb", FOLDER / "open.mlb"
        for path, closed in ((whole, ()), (copy, (0, 1, 2))):
            result = call("ml_convert", "hf", DATA / "models" / "smollm2", path, preexec_fn=close(*closed))
            self.assertEqual(result.code, 0, result)
        self.assertEqual(copy.read_bytes(), whole.read_bytes())

    def test_empty_value_after_an_equals_sign(self):
        want = self.reply("--prompt", "", "--system", "", "-n", "4")
        self.assertEqual(self.reply("--prompt=", "--system=", "-n", "4").out, want.out)
        self.assertEqual(self.reply("-p", "--system=", "--system", "--prompt=", "-n", "4").code, 0)

    def test_closed_pipe_is_quiet(self):
        process = start("ml_run", self.models["chat.mlb"], "-p", "x", "-T", "1", "--seed", "3", "--ctx", "50000")
        process.stdout.read(1)
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stdin.close()
        process.stderr.close()
        self.assertEqual((process.wait(), errors), (1, ""))

    def test_other_kv(self):
        for kv in ("f32", "q8", "k8v4", "k6v6", "k4v4"):
            self.reply("-p", "x", "-n", "4", "--kv", kv)


class JsonLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = models()

    def test_round_trip(self):
        texts = ["Hello, world", "", "naïve 你好 👩‍👩‍👧", "line\r\nline\n\ttab", "0123456789", "\0"]
        for name in ("chat.mlb", "tok.mlt"):
            ids = json_lines("tokenize", self.models[name], [{"text": text} for text in texts])
            back = json_lines("detokenize", self.models[name], ids)
            self.assertEqual([answer["text"] for answer in back], texts)
        overridden = json_lines("tokenize", self.models["bare.mlb"], [{"text": "x"}], "-z", self.models["tok.mlt"])
        self.assertEqual(list(overridden[0]), ["ids"])

    def test_a_bad_line_is_answered_and_the_next_is_read(self):
        bad = [b"{", b"", b"[]", b"5", {"text": 5}, {}, {"text": "x", "special": 1}, b'{"text":"\xff"}',
               b'{"text":"\\ud800"}', b"[" * 100000]
        answers = json_lines("tokenize", self.models["tok.mlt"], [*bad, {"text": "x"}])
        self.assertEqual([list(answer) for answer in answers], [["error"]] * len(bad) + [["ids"]])
        bad = [{"ids": [-1]}, {"ids": [1.5]}, {"ids": [99999]}, {"ids": "x"}, {"ids": [2**70]}, {},
               b'{"ids":[' + b"[" * 200000 + b"]" * 200000 + b"]}", {"ids": ["x" * 100000]}]
        answers = json_lines("detokenize", self.models["tok.mlt"], [*bad, {"ids": []}])
        self.assertEqual([list(answer) for answer in answers], [["error"]] * len(bad) + [["text"]])

    def test_half_a_code_point(self):
        ids = json_lines("tokenize", self.models["tok.mlt"], [{"text": "😀"}])[0]["ids"]
        self.assertGreater(len(ids), 1)
        answer = json_lines("detokenize", self.models["tok.mlt"], [{"ids": ids[:-1]}])[0]
        self.assertEqual(answer["text"], "\ufffd")

    def test_template(self):
        messages = [{"role": "user", "content": "Hi <|im_end|> 你好"}]
        lines = [{"messages": messages, "add_generation_prompt": True}, {"messages": messages},
                 b"{", {"messages": 5}, {"messages": messages}]
        answers = json_lines("template", self.models["tok.mlt"], lines)
        turn = "<|im_start|>user\nHi <|im_end|> 你好<|im_end|>\n"
        self.assertEqual(answers[0], {"text": turn + "<|im_start|>assistant\n"})
        self.assertEqual(answers[1], {"text": turn})
        self.assertEqual([list(answers[2]), answers[4]], [["error"], {"text": turn}])

    def test_answers_come_line_by_line(self):
        process = start("ml_eval", "tokenize", self.models["tok.mlt"])
        for _ in range(3):
            process.stdin.write(b'{"text":"a"}\n')
            process.stdin.flush()
            self.assertIn(b"ids", process.stdout.readline())
        out, _ = process.communicate(b'{"text":"no newline"}', timeout=20)
        self.assertEqual((process.returncode, out.count(b"ids")), (0, 1))
