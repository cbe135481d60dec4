"""Health, models, properties, counters, tokens; several models; starting and stopping."""
import re
import signal
import time
import unittest

from serving import CONTEXT, FOLDER, Server, call, in_parallel, model
import serving


class About(unittest.TestCase):
    def test_health_and_models(self):
        server = Server.get()
        for path in ("/health", "/v1/health"):
            self.assertEqual(server.get_json(path), {"status": "ok"})
        listed = server.get_json("/v1/models")
        self.assertEqual([m["id"] for m in listed["data"]], ["chat"])
        self.assertEqual(listed["data"][0]["meta"]["n_ctx"], 4096)
        self.assertEqual(listed["data"][0]["meta"]["n_ctx_train"], CONTEXT)
        self.assertEqual(server.get_json("/v1/models/chat")["id"], "chat")
        self.assertEqual(server.request("GET", "/v1/models/other").status, 404)
        self.assertEqual(server.get_json("/props")["model"], "chat")

    def test_metrics(self):
        server = Server.get()
        before = server.metric("krafla_reply_tokens_total")
        server.chat(max_tokens=5)
        self.assertEqual(server.metric("krafla_reply_tokens_total"), before + 5)
        text = server.request("GET", "/metrics").body.decode()
        for line in text.strip().split("\n"):
            self.assertRegex(line, r"^(# (HELP|TYPE) krafla_\w+ .+|krafla_\w+(\{[^}]*\})? [0-9.e+-]+)$")

    def test_experts_read_from_the_file(self):
        path = FOLDER / "mixture.mlb"
        self.assertEqual(call("ml_convert", "hf", serving.DATA / "trained" / "kjv-moe", path, "--wtype", "q8").returncode, 0)
        refused = call("ml_server", path, "--port", "0", "--ram-budget", "1")
        least = re.search(rb"want at least (\d+)", refused.stderr).group(1).decode()
        replies = []
        for options in ((), ("--ram-budget", least), ("--ram-budget", least, "--reader", "cache")):
            with Server(*options, models=(f"m={path}",)) as server:
                server.ready()
                replies.append(server.post("/v1/completions", {"prompt": "And the", "max_tokens": 20,
                                                               "seed": 1}).json["choices"])
                self.assertEqual(server.metric("krafla_expert_misses_total") > 0, bool(options))
        self.assertEqual(replies[1:], replies[:1] * 2)
        self.assertEqual(call("ml_server", path, f"b={path}", "--port", "0", "--ram-budget", "1G",
                              "--heat-map", "h").returncode, 2)

    def test_tokens(self):
        server = Server.get()
        tokens = server.post("/tokenize", {"content": "In the beginning é"}).json["tokens"]
        self.assertEqual(server.post("/detokenize", {"tokens": tokens}).json["content"], "In the beginning é")
        pieces = server.post("/tokenize", {"content": "In the", "with_pieces": True}).json["tokens"]
        self.assertEqual("".join(p["piece"] for p in pieces), "In the")
        self.assertGreater(len(server.post("/tokenize", {"content": "<|im_end|>"}).json["tokens"]), 1)
        self.assertEqual(len(server.post("/tokenize", {"content": "<|im_end|>", "parse_special": True}).json["tokens"]), 1)
        prompt = server.post("/apply-template", {"messages": [{"role": "user", "content": "x"}]}).json["prompt"]
        self.assertEqual(prompt, "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n")
        self.assertEqual(server.post("/detokenize", {"tokens": [1, 512]}).error["param"], "tokens")

    def test_page(self):
        server = Server.get("--api-key", "page")
        page = server.request("GET", "/")
        self.assertEqual((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        again = server.request("GET", "/?x=1", None, {"If-None-Match": page.headers["ETag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertEqual(server.request("HEAD", "/").body, b"")
        self.assertEqual(server.request("GET", "/", None, {"Host": "evil.example"}).status, 403)
        self.assertEqual(server.request("GET", "/v1/models").status, 401)

    def test_several_models(self):
        with Server(models=("chat", f"other={model()}")) as server:
            server.ready()
            self.assertEqual([m["id"] for m in server.get_json("/v1/models")["data"]], ["chat", "other"])
            answers = in_parallel([lambda name=name: server.chat(model=name, max_tokens=60).json
                                   for name in ("chat", "other") * 4])
            self.assertEqual([a["model"] for a in answers], ["chat", "other"] * 4)
            self.assertEqual(len({a["choices"][0]["message"]["content"] for a in answers}), 1)
            wrong = server.chat(model="gpt-4")
            self.assertEqual((wrong.status, wrong.error["code"]), (404, "model_not_found"))
            self.assertIn("chat, other", wrong.error["message"])


class Running(unittest.TestCase):
    def test_exit_codes(self):
        for args, code in (([], 2), ([model(), "--port", "99999"], 2), ([model(), "--host", "256.0.0.1"], 2),
                           ([serving.FOLDER / "none.mlb", "--port", "0"], 4), ([model(), model(), "--port", "0"], 2),
                           ([model(), "--api-key", "", "--port", "0"], 2), ([model(), "--ctx", "1"], 2),
                           ([model(), "--ctx", "100000", "--port", "0"], 2)):
            done = call("ml_server", *args)
            self.assertEqual(done.returncode, code, (args, done))
            self.assertTrue(done.stderr)

    def test_port_in_use(self):
        server = Server.get()
        done = call("ml_server", model(), "--port", server.port)
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(server.port), done.stderr.decode())

    def test_stop_lets_requests_end(self):
        with Server() as server:
            server.ready()
            answers = []

            def ask():
                answers.append(server.chat(max_tokens=400))

            def stop():
                while server.metric("krafla_running") == 0:
                    time.sleep(0.005)
                server.process.send_signal(signal.SIGTERM)

            in_parallel([ask, stop])
            self.assertEqual(answers[0].json["usage"]["completion_tokens"], 400)
            self.assertEqual(server.process.wait(timeout=60), 0)

    def test_stop_cuts_what_takes_too_long(self):
        with Server("--drain-seconds", "0", "--ctx", str(CONTEXT)) as server:
            server.ready()
            answers = []

            def stop():
                while server.metric("krafla_running") == 0:
                    time.sleep(0.005)
                server.process.send_signal(signal.SIGTERM)

            in_parallel([lambda: answers.append(server.chat(max_tokens=CONTEXT)), stop])
            self.assertEqual(server.process.wait(timeout=60), 0)
            self.assertIn(answers[0].status, (200, 503))

    def test_stop_cuts_work_of_a_session(self):
        long = [5] * (CONTEXT - 1)
        with Server("--drain-seconds", "0", "--ctx", str(CONTEXT)) as server:
            server.ready()
            asks = [("/v1/embeddings", {"input": [long] * 15}),
                    ("/v1/completions", {"prompt": [long] * 10, "max_tokens": 0, "echo": True, "logprobs": 1})]

            def stop():
                while server.metric("krafla_http_requests_in_flight") < 5:  # the question itself is one
                    time.sleep(0.005)
                server.process.send_signal(signal.SIGTERM)

            answers = in_parallel([lambda a=a: server.post(*a) for a in asks * 2] + [stop])[:-1]
            self.assertEqual(server.process.wait(timeout=60), 0)
            # The first may have ended before the server was told to.
            ends = [(a.status, None if a.status == 200 else a.error["code"]) for a in answers]
            self.assertLessEqual(set(ends), {(200, None), (503, "cancelled")})
            self.assertIn((503, "cancelled"), ends)

    def test_idle_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server() as server:
                server.ready()
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(timeout=60), 0)
