"""Every exit code, and that a refusal says what, got, wanted on stderr and nothing on stdout."""
import resource
import shutil
import unittest

from programs import DATA, FOLDER, call, models


class ExitCodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = models()

    def refused(self, code, *args, says=()):
        result = call(*args)
        self.assertEqual(result.code, code, (args, result))
        self.assertEqual(result.out, b"", args)
        for text in (says,) if isinstance(says, str) else says:
            self.assertIn(text, result.err, args)

    def test_help_and_version(self):
        for program in ("ml_run", "ml_convert", "ml_eval", "ml_bench"):
            version = call(program, "--version")
            self.assertEqual(version.code, 0)
            self.assertRegex(version.out.decode(), rf"^{program} \d+\.\d+\.\d+ \(\w+, arithmetic \d+\)\n$")
            self.assertEqual(version.err, "")
            self.assertEqual(call(program, "--help").code, 0)

    def test_arguments(self):
        model = self.models["chat.mlb"]
        self.refused(2, "ml_run", says="MODEL")
        self.refused(2, "ml_eval", says="command")
        self.refused(2, "ml_eval", "drift", model, says="--ref")
        self.refused(2, "ml_convert", "hf", model, says="OUT.mlb")
        self.refused(2, "ml_run", model, "--bogus", says="--bogus")
        self.refused(2, "ml_run", model, "stray", "-p", "x", says="stray")
        self.refused(2, "ml_bench", model, "-p", "12,x", says=('"x"', "want"))
        self.refused(2, "ml_eval", "logits", model, "--ids", "1,,2", "--out", FOLDER / "f", says="want")
        self.refused(2, "ml_eval", "logits", model, "--ids", "1,99999", "--out", FOLDER / "f", says="99999")
        self.refused(2, "ml_convert", "gguf", model, FOLDER / "x.mlb", "--wtype", "z9", says=("z9", "want"))
        self.refused(2, "ml_convert", "gguf", model, FOLDER / "x.mlb", "--q8", "v,w", says=('"w"', "want"))
        self.refused(2, "ml_convert", "gguf", model, FOLDER / "none" / "x.mlb", says="folder")

    def test_options_of_a_conversion(self):
        source, out, text = DATA / "models" / "tiny-chat", FOLDER / "options.mlb", FOLDER / "few.txt"
        text.write_text("a few words " * 40)
        for options, says in ((["--formats", "attention=q9"], ("ml_convert: weight format q9", "want")),
                              (["--formats", "q=q8,q=q4"], ("formats: q", "two")),
                              (["--mix", "q9+10%q6a"], ("ml_convert: weight format q9", "want")),
                              (["--mix", "q4+10%q6a", "--wtype", "q4"], ("--mix", "--wtype")),
                              (["--mix-score", "class"], "--mix"), (["--target-size", "3MiB"], "--mix"),
                              (["--wtype", "q4", "--calib", FOLDER / "none"], f"ml_convert: {FOLDER / 'none'}: no such"),
                              (["--wtype", "q4", "--calib", FOLDER], f"ml_convert: {FOLDER}: "),
                              (["--wtype", "q4", "--calib", text], (f"ml_convert: {text}: text: got", "want 2048")),
                              (["--wtype", "q8", "--self-calib"], "calibration"), (["--solver", "hqq"], "solver"), (["--calib-sequences", "3"], "--self-calib"),
                              (["--seed", "3"], "--self-calib")):
            self.refused(2, "ml_convert", "hf", source, out, *options, says=says)
        self.assertEqual([*FOLDER.glob("options*")], [])

    def test_unexpected_arguments(self):
        self.refused(2, "ml_eval", "ppl", "a", "b", "c", "d", says="c d")
        self.refused(2, "ml_bench", "a", "b", "c", says="b c")
        help_text = call("ml_eval", "drift", "--help").out.decode()
        self.assertEqual(help_text.count("TEXT REQUIRED"), 1, help_text)
        self.assertNotIn("--text", help_text)
        self.assertNotIn("{", call("ml_eval", "quality", "--help").out.decode())

    def test_hostile_numbers(self):
        model = self.models["chat.mlb"]
        hostile = ["nan", "inf", "-inf", "1e400", "", "x", "1x", " 1"]
        for option in ("-T", "--top-k", "--top-p", "--min-p", "--repeat-penalty", "--typical", "--top-n-sigma",
                       "--xtc-probability", "--xtc-threshold", "--frequency-penalty", "--dry-multiplier",
                       "--dry-base", "--dry-allowed-length", "--dynatemp-range", "--dynatemp-exp"):
            for value in [*hostile, "-5"]:
                self.refused(2, "ml_run", model, "-p", "x", option, value, says="want")
        for option in ("-n", "-t", "--batch", "--ctx", "--seed"):
            for value in [*hostile, "-99999999999999999999" if option == "--seed" else "-5", "1.5", "99999999999999999999999"]:
                self.refused(2, "ml_run", model, "-p", "x", option, value, says="want")
        self.refused(2, "ml_run", model, "-p", "x", "-n", "-2", says=("-n", '"-2"', "from -1"))
        self.refused(2, "ml_run", model, "-p", "x", "--mirostat", "2", "--mirostat-ent", "0", says="tau")
        self.refused(2, "ml_run", model, "-p", "x", "--mirostat-ent", "4", says="--mirostat 2")
        for bias in ("x", "12", "12+", "-1+2", "12+nan", "12+inf", "12+1e9", "99999999999+1", "12+1x"):
            self.refused(2, "ml_run", model, "-p", "x", "--logit-bias", bias, says="want")
        self.refused(2, "ml_run", model, "-p", "x", "--dry-multiplier", "1", "--dry-sequence-breaker", "",
                     says="breaker 0")
        self.refused(2, "ml_run", model, "-p", "x", "--kv", "q5", says="want")
        self.refused(2, "ml_run", model, "-p", "x", "--chat", "bogus", says="want")

    def test_prompts_that_do_not_fit(self):
        model = self.models["chat.mlb"]
        self.refused(2, "ml_run", model, "-p", "a b c d e f g h", "--ctx", "8", says=("tokens", "at most 8", "--ctx"))
        result = call("ml_run", model, stdin=b"x" * (9 << 20))
        self.assertEqual(result.code, 2, result)
        self.refused(2, "ml_run", model, "-p", b"caf\xe9", says=("0xe9", "offset 3", "UTF-8"))
        self.refused(2, "ml_run", model, "-p", "x", "--system", b"\xff", says="UTF-8")
        self.refused(2, "ml_run", model, "-p", "x", "--chat", "none", "--system", "y", says="template")

    def test_model_files(self):
        for args in (["ml_run", FOLDER / "none.mlb", "-p", "x"], ["ml_bench", FOLDER / "none.mlb"],
                     ["ml_eval", "tokenize", FOLDER / "none.mlb"], ["ml_convert", "check", FOLDER / "none.mlb"],
                     ["ml_convert", "gguf", FOLDER / "none.gguf", FOLDER / "x.mlb"],
                     ["ml_run", self.models["chat.mlb"], "-z", FOLDER / "none.mlt", "-p", "x"]):
            self.refused(4, *args, says="none.")
        broken = FOLDER / "broken.mlb"
        whole = self.models["chat.mlb"].read_bytes()
        for content in (b"", b"hello", whole[:100], b"\0" * 4096, whole[: len(whole) // 2]):
            broken.write_bytes(content)
            self.refused(4, "ml_run", broken, "-p", "x", says="broken.mlb")
        self.refused(4, "ml_run", FOLDER, "-p", "x")

    def test_outputs_that_are_refused(self):
        source = DATA / "models" / "tiny-chat"
        for out in ("/dev/full", FOLDER):
            self.refused(2, "ml_convert", "hf", source, out, says="regular")
        self.refused(1, "ml_convert", "hf", source, "/proc/x", says="/proc/x")
        with open("/dev/full", "wb") as full:
            self.assertEqual(call("ml_run", "--help", stdout=full).code, 1)

    def test_limit_on_the_size_of_files(self):
        folder = FOLDER / "limited"
        folder.mkdir()
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))}
        for args in (["ml_convert", "hf", DATA / "models" / "tiny-chat", folder / "x.mlb"],
                     ["ml_eval", "logits", self.models["bare.mlb"], "--ids", "1,2,3,4", "--out", folder / "x.f32"]):
            result = call(*args, **limit)
            self.assertEqual((result.code, list(folder.iterdir())), (1, []), result)

    def test_broken_template(self):
        source = FOLDER / "broken template"
        shutil.copytree(DATA / "models" / "tiny-chat", source)
        (source / "chat_template.jinja").write_text("{% for %}")
        result = call("ml_convert", "tokenizer", source / "tokenizer.json", FOLDER / "broken.mlt")
        if result.code == 0:
            for warned in (result, call("ml_convert", "check", FOLDER / "broken.mlt")):
                self.assertEqual(warned.code, 0, warned)
                self.assertIn("warning", warned.err)
                self.assertIn("broken.mlt: the chat template", warned.err)
            self.refused(4, "ml_eval", "template", FOLDER / "broken.mlt", says="template")
            self.refused(4, "ml_run", self.models["chat.mlb"], "-z", FOLDER / "broken.mlt", "-p", "x", says="none")

    def test_text_without_tokenizer(self):
        bare = self.models["bare.mlb"]
        self.refused(4, "ml_run", bare, "-p", "x", says=("no tokenizer", "-z"))
        self.refused(4, "ml_eval", "tokenize", bare, says="tokenizer")
        with_other = call("ml_run", bare, "-z", self.models["tok.mlt"], "-p", "x", "-n", "4")
        self.assertEqual(with_other.code, 0, with_other)

    def test_check(self):
        for name in ("chat.mlb", "bare.mlb", "tok.mlt"):
            result = call("ml_convert", "check", self.models[name])
            self.assertEqual(result.code, 0, result)
        damaged = FOLDER / "damaged.mlb"
        content = bytearray(self.models["chat.mlb"].read_bytes())
        content[-200] ^= 1
        damaged.write_bytes(content)
        self.refused(4, "ml_convert", "check", damaged, says="damaged.mlb")
