"""Clients that break the rules or leave: the right status, a server that lives, and a next request that is right."""
import json
import socket
import time
import unittest

from serving import CONTEXT, Server, in_parallel, raw_request

PATH = "/v1/chat/completions"
SMALL = json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}).encode()


class Hostile(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def tearDown(self):
        self.assertEqual(self.server.chat("x", max_tokens=1).status, 200)

    def status(self, data):
        got = self.server.raw(data)
        return int(got.split(b" ")[1]) if got.startswith(b"HTTP/1.1 ") else got

    def post(self, body, headers=b""):
        return self.status(raw_request(body, headers=headers))

    def test_bodies(self):
        deep = b'{"messages":[{"role":"user","content":"x"}],"tools":' + b"[" * 3000 + b"]" * 3000 + b"}"
        for body in (b"", b"{:", b"{", b"nonsense", b"[]", b"3", b"null", b'"x"', b"\x00", b"\xff\xfe{", b'{"a":"\xff"}',
                     b'{"a":"\\ud800"}', b"{'a':1}", b'{"a":1}}', deep, b"[" * 100000, b'{"a":' * 100000, b"\xef\xbb\xbf[",
                     b"{" + b",".join(b'"k%d":1' % i for i in range(5000)) + b"}"):
            self.assertEqual(self.post(body), 400, body[:40])

    def test_sizes(self):
        filler = b'{"unknown":"' + b"x" * (1 << 20) + b'",' + SMALL[1:]
        self.assertEqual(self.post(filler), 200)
        self.assertEqual(self.post(b'{"unknown":"' + b"x" * (10 << 20) + b'",' + SMALL[1:]), 200)
        self.assertEqual(self.status(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n"), 413)
        self.assertEqual(self.status(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n"
                                     + b"x" * (100 << 20)), 413)

    def test_chunked(self):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(SMALL[i:i + 7]), SMALL[i:i + 7]) for i in range(0, len(SMALL), 7))
        self.assertEqual(self.status(head + pieces + b"0\r\n\r\n"), 200)
        self.assertEqual(self.status(head + pieces + b"0;x=y\r\nTrailer: z\r\n\r\n"), 200)
        for broken in (b"x\r\n", b"-1\r\n", b" 1\r\n", b"+1\r\n", b"0x1\r\n", b"1;\x00\r\n", b"1;a\rb\r\n", b"ffffffffffffffffff\r\n", b"1\r\nab\r\n", b"5\nhello\r\n0\r\n\r\n", b"\r\n",
                       b"1;" + b"x" * 10000):
            self.assertEqual(self.status(head + broken), 400, broken[:20])
        self.assertEqual(self.status(head + b"fffffff\r\n"), 413)
        megabyte = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        self.assertEqual(self.status(head + megabyte * 20), 413)

    def test_heads(self):
        for head, status in ((b"nonsense\r\n\r\n", 400), (b"GET / HTTP/9.9\r\n\r\n", 505), (b"GET /health HTTP/1.1\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                             (b"GET /health x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"GET http://x/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"GET /%0d%0a HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"G\x00T /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: b\x00c\r\n\r\n", 400),
                             (b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
                             (b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 20000 + b"\r\n\r\n", 431),
                             (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415),
                             (b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nExpect: magic\r\nContent-Length: 1\r\n\r\nx", 417)):
            self.assertEqual(self.status(head), status, head[:80])
        self.assertEqual(self.server.raw(b"\x16\x03\x01\x02\x00" + b"\x01" * 100 + b"\r\n\r\n").split(b" ")[1], b"400")  # TLS

    def test_pipelined_and_keep_alive(self):
        one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        self.assertEqual(self.server.raw(one * 3 + last).count(b'{"status":"ok"}'), 4)
        self.assertEqual(self.server.raw(b"GET /health HTTP/1.0\r\n\r\n").count(b'{"status":"ok"}'), 1)

    def test_expect_continue(self):
        with self.server.socket() as s:
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(SMALL))
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 100 "))
            s.sendall(SMALL)
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200 "))

    def test_half_requests(self):
        for part in (b"", b"P", b"POST / HTTP/1.1\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"):
            with self.server.socket() as s:
                s.sendall(part)
            with self.server.socket() as s:
                s.sendall(part)
                s.shutdown(socket.SHUT_WR)
                self.assertEqual(s.recv(100), b"")

    def test_bytes_one_by_one(self):
        with self.server.socket() as s:
            for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n":
                s.sendall(bytes([byte]))
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200 "))

    def leave(self, stream, when, server):
        """A request that would take long, whose client goes away; seconds until nothing runs."""
        long = when == "prompt"
        body = json.dumps({"messages": [{"role": "user", "content": "and " * (5000 if long else 3)}], "temperature": 0,
                           "max_tokens": 1 if long else CONTEXT, "stream": stream, "ignore_eos": True}).encode()
        counter = {"prompt": "krafla_running", "decode": "krafla_running", "queue": "krafla_waiting"}[when]
        with server.socket() as s:
            s.sendall(raw_request(body))
            end = time.monotonic() + 60
            while server.metric(counter) == 0:
                self.assertLess(time.monotonic(), end)
            if when == "decode" and stream:
                while b"content" not in s.recv(65536):
                    pass
        begin = time.monotonic()
        server.wait_idle()
        return time.monotonic() - begin

    def test_leaving(self):
        with Server("--ctx", CONTEXT, "--cache-mib", "0") as server:
            server.ready()
            for when in ("prompt", "decode"):
                for stream in (False, True):
                    self.assertLess(self.leave(stream, when, server), 10)
            self.assertEqual(server.metric("krafla_clients_left_total"), 4)

    def test_leaving_work_of_a_session(self):
        """Embeddings and scores, at work and waiting for their turn."""
        long = [5] * (CONTEXT - 1)
        asks = (("/v1/embeddings", {"input": [long] * 40}),
                ("/v1/completions", {"prompt": [long] * 40, "max_tokens": 0, "echo": True, "logprobs": 1}))
        with Server("--ctx", CONTEXT) as server:
            server.ready()
            for path, body in asks:
                data = raw_request(json.dumps(body).encode(), path)
                with server.socket() as working, server.socket() as waiting:
                    for s, n in ((working, 1), (waiting, 2)):
                        s.sendall(data)
                        while server.metric("krafla_http_requests_in_flight") < n + 1:  # the question itself is one
                            time.sleep(0.005)
                    left = server.metric("krafla_clients_left_total")
                    waiting.close()
                    self.all_left(server, left + 1)
                    working.close()
                    self.all_left(server, left + 2)
            self.assertEqual(server.post("/v1/embeddings", {"input": "x"}).status, 200)

    def all_left(self, server, n):
        end = time.monotonic() + 10
        while server.metric("krafla_clients_left_total") < n:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_leaving_the_queue(self):
        with Server("--ctx", CONTEXT, "--parallel", "1") as server:
            server.ready()
            body = json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": CONTEXT, "ignore_eos": True}).encode()
            with server.socket() as busy:
                busy.sendall(raw_request(body))
                while server.metric("krafla_running") == 0:
                    pass
                for stream in (False, True):
                    with server.socket() as s:
                        s.sendall(raw_request(json.dumps({**json.loads(body), "stream": stream}).encode()))
                        while server.metric("krafla_waiting") == 0:
                            pass
                    while server.metric("krafla_waiting") > 0:
                        pass
                    self.assertEqual(server.metric("krafla_running"), 1)
            server.wait_idle()

    def test_full_queue(self):
        with Server("--ctx", CONTEXT, "--parallel", "1", "--queue", "1") as server:
            server.ready()
            body = json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": CONTEXT, "ignore_eos": True}).encode()
            held = []
            for counter in ("krafla_running", "krafla_waiting"):
                held.append(server.socket())
                held[-1].sendall(raw_request(body))
                while server.metric(counter) == 0:
                    pass
            answer = server.chat("x")
            self.assertEqual((answer.status, answer.error["code"]), (429, "queue_full"))
            self.assertEqual(answer.headers["Retry-After"], "1")
            for s in held:
                s.close()
            server.wait_idle()
            self.assertEqual(server.chat("x").status, 200)

    def test_far_too_long_prompts_are_not_read(self):
        text = "in the beginning " * (7 << 16)  # 7.8 MB: a template makes 8 at most
        server = Server.get("--ctx", "4096")
        for ask in (server.chat, server.complete):
            begin = time.monotonic()
            answer = ask(text)
            self.assertEqual((answer.status, answer.error["code"], answer.error["n_ctx"]), (400, "context_length_exceeded", 4096), answer)
            self.assertIn("maximum context length", answer.error["message"])
            self.assertLess(time.monotonic() - begin, 10)
        answer = server.complete("x y " * 4096)  # counted
        self.assertEqual(answer.error["n_prompt_tokens"], len(server.post("/tokenize", {"content": "x y " * 4096}).json["tokens"]))
        rendered = server.post("/apply-template", {"messages": [{"role": "user", "content": text[:1 << 20]}]})
        self.assertGreater(len(rendered.json["tokens"]), 8192)

    def test_more_choices_than_places(self):
        with Server("--parallel", "2", "--queue", "3") as server:
            server.ready()
            answer = server.complete(["x"] * 3, n=2)
            self.assertEqual((answer.status, answer.error["param"]), (400, "prompt"), answer)
            answer = server.chat("x", n=6)
            self.assertEqual((answer.status, answer.error["param"]), (400, "n"), answer)
            for _ in range(3):  # all of its places, when nobody else is there
                self.assertEqual(server.complete(["x"] * 5, max_tokens=2).status, 200)
                server.wait_idle()

    def test_connections_beyond_the_limit(self):
        with Server("--max-connections", "4") as server:
            server.ready()
            held = [server.socket() for _ in range(4)]
            while True:  # the last of them may not be counted yet
                got = server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if got.startswith(b"HTTP/1.1 503"):
                    break
            for s in held:
                s.close()
            end = time.monotonic() + 30
            while server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[9:12] != b"200":
                self.assertLess(time.monotonic(), end)

    def test_a_client_that_reads_nothing(self):
        with self.server.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            body = json.loads(SMALL)
            s.sendall(raw_request(json.dumps({**body, "stream": True, "max_tokens": 50, "logprobs": True, "top_logprobs": 20}).encode()))
            self.assertEqual(self.server.chat("x", max_tokens=2).status, 200)

    def test_garbage(self):
        import random
        source = random.Random(7)
        good = raw_request(SMALL)

        def one():
            data = bytearray(good)
            for _ in range(source.randint(1, 8)):
                at = source.randrange(len(data))
                data[at:at + source.randint(0, 3)] = source.randbytes(source.randint(0, 3))
            with self.server.socket() as s:
                s.sendall(bytes(data))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass

        for _ in range(200):
            one()
