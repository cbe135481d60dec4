"""What the tests of the programs share: where they are, running them, and a terminal of their own.

Only the standard library. `configure` gets the paths from Meson through test_programs.py.
"""
import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

PROGRAMS = {}
DATA = None
FOLDER = None  # of this run; its name has spaces and other scripts on purpose
TIMEOUT = 120
LONG_CONTEXT = 60000


def configure(run, convert, evaluate, bench, data):
    global DATA, FOLDER
    PROGRAMS.update(ml_run=run, ml_convert=convert, ml_eval=evaluate, ml_bench=bench)
    DATA = pathlib.Path(data)
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="krafla тест 日本 😀 "))


def clean_up():
    shutil.rmtree(FOLDER, ignore_errors=True)


def start(program, *args, **options):
    args = [arg if isinstance(arg, bytes) else str(arg) for arg in args]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([PROGRAMS[program], *args], **{**pipes, **options})


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode(errors="replace")

    def __repr__(self):
        return f"exit {self.code}\nstdout {self.out[:500]!r}\nstderr {self.err[:2000]}"


def call(program, *args, stdin=b"", **options):
    process = start(program, *args, **options)
    out, err = process.communicate(stdin, timeout=TIMEOUT)
    return Result(process.returncode, out, err)


def json_lines(command, model, lines, *options):
    """The answers of ml_eval to lines, which are objects or bytes."""
    given = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
                     for line in lines)
    result = call("ml_eval", command, model, *options, stdin=given)
    assert result.code == 0, result
    return [json.loads(line) for line in result.out.decode().splitlines()]


def models():
    """chat: tokenizer and template, long context, no end token; bare: no tokenizer; tok: a .mlt."""
    paths = {name: FOLDER / name for name in ("chat.mlb", "bare.mlb", "tok.mlt")}
    if all(path.exists() for path in paths.values()):
        return paths
    source = FOLDER / "tiny chat"
    shutil.copytree(DATA / "models" / "tiny-chat", source)
    config = json.loads((source / "config.json").read_text())
    config.update(max_position_embeddings=LONG_CONTEXT)
    del config["eos_token_id"]
    (source / "config.json").write_text(json.dumps(config))
    settings = json.loads((source / "tokenizer_config.json").read_text())
    del settings["eos_token"]
    (source / "tokenizer_config.json").write_text(json.dumps(settings))
    for args in (["hf", source, paths["chat.mlb"], "--wtype", "f32"],
                 ["hf", DATA / "models" / "smollm2", paths["bare.mlb"], "--wtype", "f32"],
                 ["tokenizer", source / "tokenizer.json", paths["tok.mlt"]]):
        result = call("ml_convert", *args)
        assert result.code == 0, result
    return paths


class Terminal:
    """A program on a pseudo-terminal, as a person sees it."""

    def __init__(self, program, *args, term="xterm", columns=80):
        self.seen = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAMS[program], *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "TERM": term}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def send(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            more = os.read(self.master, 65536)
        except OSError:  # the other side has closed
            return False
        self.seen = (self.seen + more).replace(b"\r\r\n", b"\r\n")  # the terminal adds a \r to each \n
        return bool(more)

    def expect(self, text, seconds=30):
        """Waits for text, forgets all up to its end and returns what came before it."""
        wanted = text if isinstance(text, bytes) else text.encode()
        end = time.monotonic() + seconds
        while wanted not in self.seen:
            if time.monotonic() > end or not self.read(1) and self.process.poll() is not None:
                raise AssertionError(f"waited for {wanted!r}, saw {self.seen[-2000:]!r}")
        before, _, self.seen = self.seen.partition(wanted)
        return before

    def end(self, seconds=30):
        """The exit code, once it has ended."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < limit:
            self.read(0.1)
        while self.read(0.1):
            pass
        return self.process.poll()

    def echoes(self):
        """Whether the terminal is as a shell wants it."""
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)


def wait_until_it_minds(process, number):
    """Until a program just started has its own handler for a signal: before that the signal kills it."""
    for _ in range(TIMEOUT * 100):
        with open(f"/proc/{process.pid}/status") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
        if caught >> (number - 1) & 1:
            return
        assert process.poll() is None, "it ended before it had a handler"
        time.sleep(0.01)
    raise AssertionError("no handler in time")


def interrupt_and_wait(process, times=1, number=signal.SIGINT):
    """Sends Ctrl-C's signal, or another; the seconds it took to end, what it wrote, its code."""
    begin = time.monotonic()
    for i in range(times):
        if i:
            time.sleep(0.02)
        process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT)
    return time.monotonic() - begin, Result(process.returncode, out, err)
