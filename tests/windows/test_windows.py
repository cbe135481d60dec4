#!/usr/bin/env python3
"""The Windows build under wine, beside the native one: the same bytes, names and prompts of any script, consoles,
Ctrl-C, killed conversions, and what the files need of the system.

Usage: test_windows.py WINDOWS_BUILD NATIVE_BUILD [MODEL.mlb...]. Models are compared over 40 tokens. Only the
standard library.
"""
import fcntl
import filecmp
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINE = ROOT / "scripts/wine"
WINDOWS, NATIVE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
MODELS = [pathlib.Path(path).resolve() for path in sys.argv[3:]]
CHECKPOINTS = sorted(path.parent for path in (ROOT / "tests/data/models").glob("*/config.json"))
PREFIX = "x86_64-w64-mingw32-"
TIMEOUT = 300
# DLLs of Windows itself, from Windows 10 on.
SYSTEM = {"kernel32.dll", "msvcrt.dll", "shell32.dll", "advapi32.dll", "user32.dll", "psapi.dll",
          "dbghelp.dll", "ws2_32.dll", "api-ms-win-core-synch-l1-2-0.dll"}

FOLDER = None  # of this run, laid out as an installed program: programs and DLLs together


def setUpModule():
    global FOLDER
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="krafla тест 日本 😀 "))
    for path in [*WINDOWS.glob("tools/*.exe"), *WINDOWS.glob("capi/*.dll")]:
        shutil.copy(path, FOLDER)
    native("ml_convert", "hf", ROOT / "tests/data/models/tiny-chat", FOLDER / "tiny.mlb", "--wtype", "q8")


def tearDownModule():
    shutil.rmtree(FOLDER, ignore_errors=True)


def run(command, stdin=b"", environment=None, **options):
    return subprocess.run([str(part) for part in command], input=stdin, capture_output=True, timeout=TIMEOUT,
                          check=False, env={**os.environ, **(environment or {})}, **options)


def checked(done):
    if done.returncode != 0:
        raise AssertionError(f"{done.args}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def native(program, *args, **options):
    return checked(run([NATIVE / "tools" / program, *args], **options))


def windows(program, *args, **options):
    return run([WINE, FOLDER / f"{program}.exe", *args], **options)


def logits(runner, model, ids, *options):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.f32"
        runner("ml_eval", "logits", model, "--ids", ",".join(map(str, ids)), "--out", out, *options)
        return hashlib.sha256(out.read_bytes()).hexdigest()


def good(*args, **options):
    return checked(windows(*args, **options))


class Console:
    """A program of Windows on a terminal of its own."""

    def __init__(self, *command):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm"
            os.execv(WINE, [str(WINE), *map(str, command)])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.seen = b""

    def wait_for(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > end:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            if not select.select([self.terminal], [], [], 0.2)[0]:
                continue
            try:
                self.seen += os.read(self.terminal, 1 << 16)
            except OSError:
                break
        return self.seen

    def send(self, text):
        os.write(self.terminal, text)

    def exit_code(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.terminal, 1 << 16)
                except OSError:
                    pass
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.process, signal.SIGKILL)
        raise AssertionError(f"does not end: {self.seen!r}")


class Files(unittest.TestCase):
    def needs(self, path):
        table = checked(run([PREFIX + "objdump", "-p", path])).decode()
        return {name.lower() for name in re.findall(r"DLL Name: (\S+)", table)}

    def test_nothing_is_needed_beside_ours(self):
        files = [*FOLDER.glob("*.exe"), *FOLDER.glob("*.dll")]
        self.assertGreaterEqual(len(files), 6)
        for path in files:
            self.assertLessEqual(self.needs(path), SYSTEM | {"krafla.dll", "krafla-tools.dll"}, path)

    def test_wide_registers_are_kept_with_unaligned_moves(self):
        aligned = re.compile(r"\bvmov(aps|apd|dqa|dqa32|dqa64)\b.*\(%.*%[yz]mm|\bvmov(aps|apd|dqa|dqa32|dqa64)\b.*%[yz]mm\d+,.*\(%")
        kept = re.compile(r"\bvmov(ups|upd|dqu|dqu8|dqu32|dqu64)\b.*\(%r[sb]p")
        objects = [*WINDOWS.glob("kernels/libkernels.a.p/*.obj")]
        self.assertTrue(objects)
        spills = 0
        for path in objects:
            code = checked(run([PREFIX + "objdump", "-d", "--no-show-raw-insn", path])).decode().splitlines()
            self.assertEqual([line for line in code if aligned.search(line)], [], path)
            spills += sum(bool(kept.search(line)) for line in code)
        print(f"{spills} moves of vector registers to and from the stack, none aligned")

    def compile(self, source, out, *args):
        checked(run([PREFIX + "gcc-posix", "-std=c99", "-Wall", "-Werror", "-I", ROOT / "include", "-I",
                     WINDOWS / "include", ROOT / "tests/windows" / source, "-o", out, *args]))

    def test_a_c_program_links_the_import_library(self):
        self.compile("link.c", FOLDER / "link.exe", WINDOWS / "capi/krafla.dll.a")
        isa, token = good("link", "tiny.mlb", cwd=FOLDER).decode().split()
        self.assertTrue(token.isdigit(), isa)
        self.compile("link.c", FOLDER / "link_lib.exe", WINDOWS / "capi/krafla.lib")
        self.assertEqual(good("link_lib", "tiny.mlb", cwd=FOLDER).decode().split(), [isa, token])
        self.compile("link.c", FOLDER / "link_static.exe", "-DKRAFLA_STATIC", WINDOWS / "capi/libkrafla.a",
                     *WINDOWS.glob("subprojects/*/lib*.a"), "-static", "-lstdc++", "-lssp", "-lsynchronization", "-ldbghelp")
        self.assertEqual(good("link_static", "tiny.mlb", cwd=FOLDER).decode().split(), [isa, token])
        self.assertFalse(self.needs(FOLDER / "link_static.exe") & {"krafla.dll"})

    def test_a_library_is_opened_and_let_go_many_times(self):
        self.compile("load_many.c", FOLDER / "load_many.exe", "-lpsapi")
        isa = re.search(r"\((\w+),", good("ml_run", "--version").decode())[1]
        folder = FOLDER / "наборы"
        folder.mkdir()
        shutil.copy(WINDOWS / "capi/krafla.dll", folder / f"krafla-{isa}.dll")
        # Relative names: the arguments of a plain C main are in the system's code page.
        done = run([WINE, FOLDER / "load_many.exe", ".", "../tiny.mlb", "200"],
                   environment={"KRAFLA_ISA": isa}, cwd=folder)
        print(done.stdout.decode().replace("\r\n", "; "))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class SameBytes(unittest.TestCase):
    def test_checkpoints_and_their_logits(self):
        for checkpoint in CHECKPOINTS:
            for wtype in ("q4", "q8"):
                ours, theirs = FOLDER / "here.mlb", FOLDER / "there.mlb"
                native("ml_convert", "hf", checkpoint, ours, "--wtype", wtype)
                good("ml_convert", "hf", checkpoint, theirs, "--wtype", wtype)
                self.assertTrue(filecmp.cmp(ours, theirs, shallow=False), f"{checkpoint.name} {wtype}")
                ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
                here, there = logits(native, theirs, ids), logits(good, ours, ids)
                self.assertEqual(here, there, f"{checkpoint.name} {wtype}")
        print(f"{len(CHECKPOINTS)} checkpoints in q4 and q8: files and logits are the same bytes")

    def test_models(self):
        text = (ROOT / "tests/data/text/handbook-a.txt").read_text()[:4000]
        for model in MODELS:
            line = json.dumps({"text": text}).encode() + b"\n"
            reply = good("ml_eval", "tokenize", model, stdin=line)
            self.assertEqual(reply, native("ml_eval", "tokenize", model, stdin=line))
            ids = json.loads(reply)["ids"][:40]
            here = logits(native, model, ids)
            for options in (["-t", "1"], ["-t", "2", "--batch", "7"]):
                self.assertEqual(here, logits(good, model, ids, *options), model.name)
            prompt = ["-p", "Name three rivers of Europe — in « French ».", "-n", "24"]
            for more in ([], ["-T", "0.8", "--seed", "5"]):
                ours = native("ml_run", model, *prompt, *more)
                self.assertEqual(good("ml_run", model, *prompt, *more), ours, model.name)
            print(f"{model.name}: 40 tokens, logits {here[:16]}; answers {ours.decode()[:60]!r}...")

    def test_a_model_in_a_gguf(self):
        gguf = next(iter((ROOT / "models").glob("SmolLM2*Q4_1.gguf")), None)
        if gguf is None or not MODELS:
            self.skipTest("no model")
        native("ml_convert", "gguf", gguf, FOLDER / "here.mlb", "--wtype", "q8")
        good("ml_convert", "gguf", gguf, FOLDER / "there.mlb", "--wtype", "q8")
        self.assertTrue(filecmp.cmp(FOLDER / "here.mlb", FOLDER / "there.mlb", shallow=False))
        good("ml_convert", "check", FOLDER / "there.mlb")


class Programs(unittest.TestCase):
    def test_arguments_of_any_script(self):
        for text in ("Grüße, Ωμέγα, 日本語 и 😀", 'a "quoted" word', "back\\slash\\", "", " spaces  "):
            reply = ["-p", text, "-n", "5"]
            self.assertEqual(good("ml_run", FOLDER / "tiny.mlb", *reply), native("ml_run", FOLDER / "tiny.mlb", *reply), text)

    def test_names_of_any_script_and_length(self):
        plain = native("ml_run", FOLDER / "tiny.mlb", "-p", "Hi", "-n", "5")
        for name in ("Модель 日本語 😀.mlb", "x y.mlb"):
            shutil.copy(FOLDER / "tiny.mlb", FOLDER / name)
            for load in ("map", "read"):
                self.assertEqual(good("ml_run", name, "--load", load, "-p", "Hi", "-n", "5", cwd=FOLDER), plain)
        deep = FOLDER
        for i in range(8):
            deep = deep / f"{'длинное имя папки' * 2} {i}"
        deep.mkdir(parents=True)
        shutil.copy(FOLDER / "tiny.mlb", deep)
        path = "Z:" + str(deep / "tiny.mlb").replace("/", "\\")
        self.assertGreater(len(path), 300)
        self.assertEqual(good("ml_run", path, "-p", "Hi", "-n", "5"), plain)
        self.assertEqual(good("ml_run", path.replace("Z:", "\\\\?\\Z:"), "-p", "Hi", "-n", "5"), plain)
        out = "Z:" + str(deep / "out.f32").replace("/", "\\")
        good("ml_eval", "logits", path, "--ids", "1,2", "--out", out)
        self.assertTrue((deep / "out.f32").exists())
        good("ml_convert", "hf", ROOT / "tests/data/models/tiny-chat", path.replace("tiny.mlb", "второй.mlb"))
        self.assertTrue((deep / "второй.mlb").exists())
        self.assertEqual([entry.name for entry in deep.iterdir() if "partial" in entry.name], [])

    def test_pipes(self):
        given = "Ein Satz — mit Öl,\nund noch 日本語 😀\n".encode()
        self.assertEqual(good("ml_run", FOLDER / "tiny.mlb", "-n", "9", stdin=given),
                         native("ml_run", FOLDER / "tiny.mlb", "-n", "9", stdin=given))
        lines = b'{"text": "\\u0001 a\\r\\n b \\u65e5"}\r\n{"text": 5}\n'
        self.assertEqual(good("ml_eval", "tokenize", FOLDER / "tiny.mlb", stdin=lines),
                         native("ml_eval", "tokenize", FOLDER / "tiny.mlb", stdin=lines))
        # No byte is changed on its way out.
        ids = b'{"ids": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}\n'
        self.assertEqual(good("ml_eval", "detokenize", FOLDER / "tiny.mlb", stdin=ids),
                         native("ml_eval", "detokenize", FOLDER / "tiny.mlb", stdin=ids))

    def test_exit_codes(self):
        (FOLDER / "bad.mlb").write_bytes(b"no model")
        for args, code in ((["--help"], 0), (["--version"], 0), ([], 2), (["m", "-n", "x"], 2), (["nowhere.mlb", "-p", "x"], 4),
                           ([FOLDER / "bad.mlb", "-p", "x"], 4), ([FOLDER, "-p", "x"], 4), (["NUL", "-p", "x"], 4)):
            done = windows("ml_run", *args)
            self.assertEqual(done.returncode, code, (args, done.stderr))
            self.assertEqual(bool(done.stderr), code != 0)

    def test_an_output_is_replaced_at_once_or_not_at_all(self):
        out = FOLDER / "replaced.mlb"
        out.write_bytes(b"old")
        good("ml_convert", "hf", ROOT / "tests/data/models/tiny-chat", out)
        self.assertGreater(out.stat().st_size, 1000)
        done = windows("ml_convert", "hf", ROOT / "tests/data/models/tiny-chat", FOLDER / "no/such.mlb")
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_killed_conversion_goes_on(self):
        gguf = next(iter((ROOT / "models").glob("SmolLM2*Q4_1.gguf")), None)
        if gguf is None or not MODELS:
            self.skipTest("no model")
        out = FOLDER / "killed.mlb"
        process = subprocess.Popen([WINE, FOLDER / "ml_convert.exe", "gguf", gguf, out, "--wtype", "f32"],
                                   stderr=subprocess.DEVNULL)
        partial = FOLDER / "killed.mlb.partial"
        end = time.monotonic() + 60
        while not partial.exists() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
        process.kill()
        process.wait()
        self.assertFalse(out.exists())
        good("ml_convert", "gguf", gguf, out, "--wtype", "f32")
        native("ml_convert", "gguf", gguf, FOLDER / "whole.mlb", "--wtype", "f32")
        self.assertTrue(filecmp.cmp(out, FOLDER / "whole.mlb", shallow=False))
        self.assertFalse(partial.exists())
        for path in (out, FOLDER / "whole.mlb"):
            path.unlink()


class Server(unittest.TestCase):
    """ml_server's sockets; what it answers is the same code on every system."""

    def start(self, command):
        process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = int(re.search(r":(\d+)\s*$", process.stderr.readline())[1])
        while process.stderr.readline().strip() != "ready":
            self.assertIsNone(process.poll())
        return port

    def ask(self, port, **fields):
        body = {"messages": [{"role": "user", "content": "Ça va, 日本?"}], "max_tokens": 12, "temperature": 1, "seed": 5}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps({**body, **fields}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            return reply.read().decode()

    def test_replies_are_the_native_ones(self):
        options = [FOLDER / "tiny.mlb", "--port", "0", "--ctx", "256"]
        ports = [self.start([WINE, FOLDER / "ml_server.exe", *options]), self.start([NATIVE / "tools/ml_server", *options])]
        texts = [json.loads(self.ask(port))["choices"][0]["message"]["content"] for port in ports]
        self.assertEqual(*texts)
        streams = [re.findall(r'"delta":(\{[^}]*\})', self.ask(port, stream=True)) for port in ports]
        self.assertEqual(*streams)
        # One that leaves in the middle of its reply, and one that sends half a request.
        for sent in (b"GET /health HT", b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"):
            with socket.create_connection(("127.0.0.1", ports[0])) as connection:
                connection.sendall(sent)
        self.assertEqual(json.loads(self.ask(ports[0]))["choices"][0]["message"]["content"], texts[0])
        busy = windows("ml_server", FOLDER / "tiny.mlb", "--port", str(ports[0]))
        self.assertEqual(busy.returncode, 2, busy)
        self.assertIn(b"Address already in use", busy.stderr)

    def test_ctrl_c(self):
        console = Console(FOLDER / "ml_server.exe", FOLDER / "tiny.mlb", "--port", "0")
        console.wait_for(b"ready")
        console.send(b"\x03")
        console.wait_for(b"stopping")
        self.assertEqual(console.exit_code(), 0, console.seen)


class Consoles(unittest.TestCase):
    def test_the_words_appear_as_they_are(self):
        console = Console(FOLDER / "ml_run.exe", FOLDER / "нет такой модели 日本.mlb", "-p", "x")
        console.wait_for("нет такой модели 日本.mlb".encode())
        self.assertEqual(console.exit_code(), 4)

    def test_a_chat(self):
        model = MODELS[0] if MODELS else FOLDER / "tiny.mlb"
        console = Console(FOLDER / "ml_run.exe", model, "-n", "12")
        console.wait_for(b"/help lists commands")
        console.wait_for(b"\x1b[?25l>")  # the prompt; the console draws its space by moving the cursor
        console.send("Ça va, 日本?\r".encode())
        console.wait_for("Ça va, 日本?".encode())
        time.sleep(2)
        console.send(b"/quit\r")
        self.assertEqual(console.exit_code(), 0)
        self.assertIn(b"reply: ", console.seen)

    @unittest.skipUnless(MODELS, "a prompt that takes seconds needs a model of some size")
    def test_ctrl_c(self):
        model = MODELS[0]
        text = "word " * 3000
        console = Console(FOLDER / "ml_run.exe", model, "-p", text, "--ctx", "8192")
        time.sleep(3)
        console.send(b"\x03")
        self.assertEqual(console.exit_code(), 130, console.seen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
