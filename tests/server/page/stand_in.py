"""A server in ml_server's place that replies what a test wants, when it wants it: the page's files with the headers that page.h has, and
/v1/models and /v1/chat/completions as documented in docs/server.md.

The last message decides the reply: `/NAME ...` is a scenario below; anything else is told back word by word.
"""
import http.server
import json
import pathlib
import re
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "tools/server/page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}
HEADERS = [(name, "".join(re.findall(r'"([^"]*)"', value))) for name, value in
           re.findall(r'^    \{"([\w-]+)",\s*((?:"[^"]*"\s*)+)\}', (PAGE / "page.h").read_text(), re.M)]
SAMPLES = pathlib.Path(__file__).parent / "samples"


class StandIn(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0, key=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.key = key
        self.requests = []  # bodies of chat completions
        self.gone = threading.Event()  # a client left in the middle of a reply
        self.go = threading.Event()  # lets a /hold go on
        self.down = False  # closes connections without an answer
        self.pace = 0.0  # seconds between deltas
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, request, client_address):
        pass  # clients that leave


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", headers=()):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, status, message, code=None, headers=(), **more):
        self.answer(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code, **more}}, headers=headers)

    def allowed(self):
        if self.server.key is None or self.headers.get("Authorization") == f"Bearer {self.server.key}":
            return True
        self.refuse(401, "the API key is missing or wrong", "invalid_api_key")
        return False

    def parse_request(self):
        if self.server.down:
            self.close_connection = True
            return False
        return super().parse_request()

    def do_GET(self):
        path = self.path.split("?")[0]
        file = PAGE / ("index.html" if path == "/" else path[1:])
        if file.parent == PAGE and file.suffix in TYPES and file.exists():
            self.answer(200, file.read_bytes(), TYPES[file.suffix], HEADERS)
        elif path == "/v1/models" and self.allowed():
            self.answer(200, {"object": "list", "data": [
                {"id": name, "object": "model", "created": 1, "owned_by": "krafla", "meta": {"n_ctx": 4096}} for name in ("small", "large")]})
        elif path != "/v1/models":
            self.refuse(404, f"no such path: {path}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        self.server.requests.append(body)
        text = body["messages"][-1]["content"]
        scenario = re.match(r"/(\w+)", text)
        refusals = {"busy": lambda: self.refuse(429, "8 requests are waiting", headers=[("Retry-After", "3")]),
                    "full": lambda: self.refuse(400, "too long", "context_length_exceeded", n_prompt_tokens=5000, n_ctx=4096),
                    "bad": lambda: self.refuse(400, "temperature: 9, want 0 to 5"), "broken": lambda: self.refuse(500, "out of memory")}
        if scenario and scenario[1] in refusals:
            refusals[scenario[1]]()
            return
        try:
            self.stream(body, scenario[1] if scenario else "", text)
        except OSError:
            self.server.gone.set()

    def event(self, value):
        data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def chunk(self, delta=None, finish=None, **more):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        self.event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": choices, **more})

    def stream(self, body, scenario, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.chunk({"role": "assistant", "content": ""})
        finish, words = "stop", re.findall(r"\s*\S+\s*", text)
        if scenario == "sample":
            words = re.findall(r"\s*\S+\s*", (SAMPLES / text.split()[1]).read_text())
        if scenario == "think":
            for word in "First, I read the question. Then I think about *it*.".split():
                self.chunk({"reasoning_content": word + " "})
                time.sleep(self.server.pace)
            words = ["The ", "answer ", "is ", "4."]
        if scenario == "prompt":
            self.chunk(prompt_progress={"total": 3000, "cache": 1000, "processed": 1500, "time_ms": 10})
            self.server.go.wait(30)
        if scenario == "tool":
            finish = "tool_calls"
            words = []
            self.chunk({"tool_calls": [{"index": 0, "id": "call00000", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]})
            for piece in ('{"city": "Re', 'ykjavík", "days"', ": 3}"):
                self.chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        for at, word in enumerate(words):
            if scenario == "hold" and at == 2:
                while not self.server.go.wait(0.05):  # a reply that goes on until the test or the client ends it
                    self.chunk({"content": "… "})
            if scenario in ("cut", "fault") and at == 3:
                if scenario == "fault":
                    self.event({"error": {"message": "the model's file was changed", "type": "server_error", "code": 500}})
                return
            self.wfile.write(b": keep-alive\n\n")
            self.chunk({"content": word})
            time.sleep(self.server.pace)
        self.chunk({}, finish)
        sent = sum(len(str(message["content"])) for message in body["messages"]) // 4
        self.chunk(usage={"prompt_tokens": 20 + sent, "completion_tokens": max(1, len(words)), "total_tokens": 21 + sent,
                          "prompt_tokens_details": {"cached_tokens": 12}}, seed=7)
        self.event("[DONE]")


if __name__ == "__main__":
    import sys
    server = StandIn(int(sys.argv[1]) if len(sys.argv) > 1 else 8090, sys.argv[2] if len(sys.argv) > 2 else None)
    server.pace = 0.02
    print(server.url)
    threading.Event().wait()
