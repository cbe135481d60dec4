"""What the tests of ml_server share: models, running servers, and HTTP without mercy.

Only the standard library. `configure` gets the paths from Meson through test_server.py.
"""
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

PROGRAMS = {}
DATA = None
FOLDER = None
TIMEOUT = 120
CONTEXT = 6000


def configure(server, run, convert, data):
    global DATA, FOLDER
    PROGRAMS.update(ml_server=server, ml_run=run, ml_convert=convert)
    DATA = pathlib.Path(data)
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="krafla server "))


def clean_up():
    for server in list(Server.shared.values()):
        server.stop()
    shutil.rmtree(FOLDER, ignore_errors=True)


def call(program, *args):
    return subprocess.run([PROGRAMS[program], *map(str, args)], capture_output=True, timeout=TIMEOUT)


def change(path, **members):
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def model(name="chat"):
    """chat: tokenizer and template, long context, no end token; thinks: its prompts open the reasoning; begins: its tokenizer puts a token before every
    text, and its template refuses system messages; ends: three end tokens; hybrid: a Qwen 3.5 with recurrent layers; bare: no tokenizer."""
    path = FOLDER / f"{name}.mlb"
    if path.exists():
        return path
    source = DATA / "models" / "smollm2"
    if name in ("chat", "thinks", "begins", "ends"):
        source = FOLDER / f"tiny {name}"
        shutil.copytree(DATA / "models" / "tiny-chat", source)
        change(source / "config.json", max_position_embeddings=CONTEXT, eos_token_id=[2, 0, 77] if name == "ends" else None)
        change(source / "tokenizer_config.json", eos_token=None)
    if name == "hybrid":
        source = FOLDER / "tiny hybrid"
        shutil.copytree(DATA / "models" / "qwen3_5", source)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(DATA / "models" / "tiny-chat" / file, source)
        change(source / "config.json", max_position_embeddings=CONTEXT, eos_token_id=None)
        change(source / "tokenizer_config.json", eos_token=None)
    if name == "thinks":
        settings = json.loads((source / "tokenizer_config.json").read_text())
        settings["chat_template"] = settings["chat_template"].replace(
            "'<|im_start|>assistant\n'", "'<|im_start|>assistant\n' + ('<think>\n' if enable_thinking is not false "
            "else '<think>\n</think>\n')")
        (source / "tokenizer_config.json").write_text(json.dumps(settings))
    if name == "begins":
        tokenizer = json.loads((source / "tokenizer.json").read_text())
        begin = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
        tokenizer["post_processor"] = {
            "type": "TemplateProcessing", "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}}
        (source / "tokenizer.json").write_text(json.dumps(tokenizer))
        settings = json.loads((source / "tokenizer_config.json").read_text())
        settings["chat_template"] = ("{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
                                     + settings["chat_template"])
        (source / "tokenizer_config.json").write_text(json.dumps(settings))
    done = call("ml_convert", "hf", source, path, "--wtype", "f32")
    assert done.returncode == 0, done.stderr
    return path


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Server:
    shared = {}

    def __init__(self, *options, models=("chat",)):
        paths = [m if "=" in str(m) else model(m) for m in models]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([PROGRAMS["ml_server"], *map(str, paths), "--port", "0", *map(str, options)],
                                        stderr=self.log, stdout=self.log)
        self.port = int(self.wait_for(r"listening at http://[^ ]*:(\d+)\n").group(1))

    @classmethod
    def get(cls, *options, models=("chat",)):
        """One that several tests share."""
        key = options + models
        if key not in cls.shared or cls.shared[key].process.poll() is not None:
            cls.shared[key] = cls(*options, models=models).ready()
        return cls.shared[key]

    def output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def wait_for(self, pattern, seconds=TIMEOUT):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.output())):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"waited for {pattern!r}, saw {self.output()!r}")
            time.sleep(0.02)
        return found

    def ready(self):
        self.wait_for(r"\nready\n")
        return self

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=TIMEOUT)
        Server.shared = {k: s for k, s in Server.shared.items() if s is not self}
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def request(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json", **dict(headers)})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def post(self, path, body=None, **headers):
        return self.request("POST", path, {} if body is None else body, headers)

    def get_json(self, path):
        answer = self.request("GET", path)
        assert answer.status == 200, answer
        return answer.json

    def chat(self, content="In the beginning", **fields):
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        return self.post("/v1/chat/completions", {"messages": messages, "max_tokens": 8, "temperature": 0, **fields})

    def complete(self, prompt, **fields):
        return self.post("/v1/completions", {"prompt": prompt, "max_tokens": 8, "temperature": 0, **fields})

    def events(self, path, body):
        """The data of a stream's events, "[DONE]" included."""
        answer = self.post(path, {**body, "stream": True})
        assert answer.status == 200, answer
        lines = [line[6:] for line in answer.body.decode().split("\n") if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    def metric(self, name):
        text = self.request("GET", "/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.split("\n") if re.match(rf"{name}[ {{]", line))

    def wait_idle(self, seconds=30):
        """Until nothing runs or waits."""
        end = time.monotonic() + seconds
        while self.metric("krafla_running") + self.metric("krafla_waiting") > 0:
            assert time.monotonic() < end, "requests still run"
            time.sleep(0.02)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)

    def raw(self, data, read=True):
        """Sends bytes as they are; what comes back until the server closes."""
        with self.socket() as s:
            try:
                s.sendall(data)
            except OSError:  # the server has closed already
                pass
            got = b""
            while read:
                try:
                    more = s.recv(65536)
                except OSError:
                    break
                if not more:
                    break
                got += more
            return got

    def memory(self):
        """Resident, in MiB."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def raw_request(body, path="/v1/chat/completions", headers=b""):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n").encode() + headers + b"\r\n" + body


def in_parallel(functions):
    """Their results, all at once; the first exception is raised."""
    results = [None] * len(functions)

    def run(i):
        try:
            results[i] = functions[i]()
        except BaseException as error:  # noqa: BLE001: raised below
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
