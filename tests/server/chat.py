"""/v1/chat/completions: plain, streamed, stops, log-probabilities, choices, usage."""
import json
import pathlib
import tempfile
import time
import unittest

from serving import Server, call, in_parallel, model, raw_request

PATH = "/v1/chat/completions"
ASK = {"messages": [{"role": "user", "content": "In the beginning"}], "max_tokens": 12, "temperature": 0}


def text_of(events, choice=0):
    return "".join(c["delta"].get("content", "") for e in events if e != "[DONE]"
                   for c in e["choices"] if c["index"] == choice)


class Chat(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def ask(self, **fields):
        answer = self.server.post(PATH, {**ASK, **fields})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_plain(self):
        reply = self.ask()
        self.assertEqual(reply["object"], "chat.completion")
        self.assertTrue(reply["id"].startswith("chatcmpl-"))
        self.assertEqual(reply["model"], "chat")
        self.assertRegex(reply["system_fingerprint"], r"^krafla-\d+\.\d+\.\d+-a\d+-[0-9a-f]{16}$")
        choice = reply["choices"][0]
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(reply["usage"]["completion_tokens"], 12)
        self.assertEqual(reply["usage"]["total_tokens"], reply["usage"]["prompt_tokens"] + 12)
        alone = call("ml_run", model(), "-p", "In the beginning", "-n", "12").stdout.decode()
        self.assertEqual(choice["message"]["content"], alone)

    def test_stream_is_the_same_text(self):
        plain = self.ask()
        events = self.server.events(PATH, ASK)
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual(text_of(events), plain["choices"][0]["message"]["content"])
        self.assertEqual([e["choices"][0]["finish_reason"] for e in events[:-1]],
                         [None] * (len(events) - 2) + ["length"])
        self.assertEqual({e["id"] for e in events[:-1]}, {events[0]["id"]})
        self.assertTrue(all("usage" not in e for e in events[:-1]))

    def test_usage_only_when_asked(self):
        for include in (True, False):
            events = self.server.events(PATH, {**ASK, "stream_options": {"include_usage": include}})
            with_usage = [e for e in events[:-1] if "usage" in e]
            self.assertEqual(len(with_usage), 1 if include else 0)
            if include:
                self.assertEqual(events[-2]["choices"], [])
                self.assertEqual(events[-2]["usage"]["completion_tokens"], 12)

    def test_streamed_characters_are_whole(self):
        # Random weights at a high temperature: bytes that form no characters.
        body = {**ASK, "temperature": 1.5, "seed": 5, "max_tokens": 200}
        plain = self.ask(temperature=1.5, seed=5, max_tokens=200)["choices"][0]["message"]["content"]
        self.assertEqual(text_of(self.server.events(PATH, body)), plain)
        self.assertIn("\N{REPLACEMENT CHARACTER}", plain)

    def test_stops(self):
        whole = self.ask(max_tokens=40)["choices"][0]["message"]["content"]
        stop = whole[12:15]
        for stops in (stop, [stop], [stop, "\x00never"], ["", stop]):
            reply = self.ask(max_tokens=40, stop=stops)["choices"][0]
            self.assertEqual(reply["message"]["content"], whole[:whole.index(stop)])
            self.assertEqual(reply["finish_reason"], "stop")
            events = self.server.events(PATH, {**ASK, "max_tokens": 40, "stop": stops})
            self.assertEqual(text_of(events), whole[:whole.index(stop)])
        for stops in (None, [], ""):
            self.assertEqual(self.ask(max_tokens=40, stop=stops)["choices"][0]["message"]["content"], whole)

    def test_logprobs(self):
        reply = self.ask(logprobs=True, top_logprobs=3)["choices"][0]
        entries = reply["logprobs"]["content"]
        self.assertEqual(len(entries), 12)
        self.assertEqual(bytes(b for e in entries for b in e["bytes"]).decode(errors="replace"),
                         reply["message"]["content"])
        for entry in entries:
            self.assertEqual(len(entry["top_logprobs"]), 3)
            self.assertEqual(entry["top_logprobs"][0]["token"], entry["token"])  # greedy
            self.assertLessEqual(entry["logprob"], 0)
        events = self.server.events(PATH, {**ASK, "logprobs": True, "top_logprobs": 3})
        streamed = [e for event in events[:-1] for e in (event["choices"][0]["logprobs"] or {"content": []})["content"]]
        self.assertEqual(streamed, entries)

    def test_seed(self):
        first = self.ask(temperature=1, seed=7)
        again = self.ask(temperature=1, seed=7)
        self.assertEqual(first["seed"], 7)
        self.assertEqual(first["choices"], again["choices"])
        drawn = self.ask(temperature=1)
        self.assertEqual(self.ask(temperature=1, seed=drawn["seed"])["choices"], drawn["choices"])
        self.assertNotEqual(self.ask(temperature=1)["seed"], drawn["seed"])

    def test_choices(self):
        reply = self.ask(n=3, temperature=1, seed=7)
        self.assertEqual([c["index"] for c in reply["choices"]], [0, 1, 2])
        texts = [c["message"]["content"] for c in reply["choices"]]
        for i, text in enumerate(texts):
            self.assertEqual(self.ask(temperature=1, seed=7 + i)["choices"][0]["message"]["content"], text)
        events = self.server.events(PATH, {**ASK, "n": 3, "temperature": 1, "seed": 7})
        self.assertEqual([text_of(events, i) for i in range(3)], texts)
        self.assertEqual(reply["usage"]["completion_tokens"], 36)

    def test_penalties_and_bias_change_the_reply(self):
        plain = self.ask(max_tokens=30)["choices"][0]["message"]["content"]
        token = self.server.post("/tokenize", {"content": plain}).json["tokens"][0]
        for fields in ({"logit_bias": {str(token): -100}}, {"logit_bias": [[token, False]]},
                       {"repeat_penalty": 1.9}, {"presence_penalty": 2, "frequency_penalty": 2}):
            self.assertNotEqual(self.ask(max_tokens=30, **fields)["choices"][0]["message"]["content"], plain, fields)

    def test_next_turn_reads_only_what_is_new(self):
        text = "and the earth was without form and void " * 30
        messages = [{"role": "user", "content": text}]
        first = self.ask(messages=messages, max_tokens=20)
        messages += [first["choices"][0]["message"], {"role": "user", "content": "go on"}]
        for body in ({}, {"stream": True, "stream_options": {"include_usage": True}}):
            if body:
                usage = self.server.events(PATH, {**ASK, "messages": messages, **body})[-2]["usage"]
            else:
                usage = self.ask(messages=messages)["usage"]
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            self.assertGreaterEqual(cached, first["usage"]["prompt_tokens"] - 1)
            self.assertLess(usage["prompt_tokens"] - cached, 80)

    def test_edit_and_regenerate_equal_a_cold_run(self):
        turns = [{"role": "user", "content": "and God said " * 20}, {"role": "assistant", "content": "so"},
                 {"role": "user", "content": "why"}]
        self.ask(messages=turns)
        edited = [*turns[:2], {"role": "user", "content": "why not"}]
        warm = [self.ask(messages=m)["choices"] for m in (edited, edited, turns)]
        with Server("--cache-mib", "0") as cold:
            cold.ready()
            for messages, choices in zip((edited, edited, turns), warm):
                self.assertEqual(cold.post(PATH, {**ASK, "messages": messages}).json["choices"], choices)

    def test_texts_outlive_the_server_in_a_folder(self):
        turns = [{"role": "user", "content": "and God said " * 20}]
        with tempfile.TemporaryDirectory() as folder:
            with Server("--cache-dir", folder) as before:
                before.ready()
                reply = before.chat(turns, max_tokens=20).json
                self.assertEqual(before.stop(), 0)
            turns += [reply["choices"][0]["message"], {"role": "user", "content": "go on"}]
            with Server("--cache-dir", folder) as after:
                after.ready()
                next_reply = after.post(PATH, {**ASK, "messages": turns}).json
                self.assertRegex(after.request("GET", "/metrics").body.decode(), r"krafla_cache_dir_bytes\{[^}]*\} [1-9]")
        cached = next_reply["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreaterEqual(cached, reply["usage"]["prompt_tokens"] - 1)
        self.assertEqual(self.ask(messages=turns)["choices"], next_reply["choices"])

    def test_a_folder_that_cannot_be(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "file"
            file.write_text("x")
            for bad in (file, file / "x", pathlib.Path(folder) / "none" / "x"):
                done = call("ml_server", model(), "--cache-dir", bad, "--port", 0)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(b"--cache-dir", done.stderr)

    def test_texts_are_saved_though_a_request_does_not_end(self):
        with tempfile.TemporaryDirectory() as folder:
            with Server("--cache-dir", folder, "--drain-seconds", "0") as server:
                server.ready()
                self.assertEqual(server.chat("and God said " * 20).status, 200)
                body = json.dumps({"content": "and " * (3 << 20)}).encode()
                with server.socket() as s:
                    s.sendall(raw_request(body, "/tokenize"))
                    while server.metric("krafla_http_requests_in_flight") < 2:
                        time.sleep(0.01)
                    self.assertIn(server.stop(), (0, 1))  # 0: it has ended meanwhile
            self.assertEqual([oct(f.stat().st_mode & 0o777) for f in pathlib.Path(folder).glob("*.krafla-text")], ["0o600"])

    def test_hybrids_go_on_where_a_text_was(self):
        """Recurrent states cannot be cut: there are those of the ends of prompts and replies."""
        server = Server.get(models=("hybrid",))
        messages = [{"role": "user", "content": "and the earth was without form and void " * 30}]
        first = server.chat(messages, max_tokens=20).json
        going_on = [*messages, first["choices"][0]["message"], {"role": "user", "content": "go on"}]
        edited = [*going_on[:2], {"role": "user", "content": "go on, please"}]
        before = first["usage"]["prompt_tokens"]
        choices = []
        for asked, stream in ((going_on, False), (going_on, True), (edited, False), (messages, False)):
            body = {**ASK, "messages": asked}
            if stream:
                usage = server.events(PATH, {**body, "stream_options": {"include_usage": True}})[-2]["usage"]
            else:
                reply = server.post(PATH, body).json
                usage = reply["usage"]
                choices.append(reply["choices"])
            self.assertGreaterEqual(usage["prompt_tokens_details"]["cached_tokens"], before - 32, usage)
        with Server("--cache-mib", "0", models=("hybrid",)) as cold:
            cold.ready()
            for asked, warm in zip((going_on, edited, messages), choices):
                self.assertEqual(cold.post(PATH, {**ASK, "messages": asked}).json["choices"], warm)

    def test_progress(self):
        text = "and it was so " * 120
        events = self.server.events(PATH, {**ASK, "return_progress": True,
                                           "messages": [{"role": "user", "content": text}]})
        progress = [e["prompt_progress"] for e in events[:-1] if "prompt_progress" in e]
        self.assertGreater(len(progress), 1)
        self.assertEqual(progress[-1]["processed"], progress[-1]["total"])
        self.assertEqual(sorted(progress[0]), ["cache", "processed", "time_ms", "total"])
        self.assertTrue(all(e["choices"] == [] for e in events[:-1] if "prompt_progress" in e))

    def test_timings(self):
        for n in (1, 12):
            reply = self.ask(max_tokens=n)
            timings = reply["timings"]
            self.assertEqual(timings["predicted_n"], n)
            self.assertEqual(timings["cache_n"] + timings["prompt_n"], reply["usage"]["prompt_tokens"])
            for kind in ("prompt", "predicted"):  # a time of its own for each, and a rate that is theirs
                self.assertGreater(timings[f"{kind}_ms"], 0)
                self.assertAlmostEqual(timings[f"{kind}_per_second"] * timings[f"{kind}_ms"] / 1000, timings[f"{kind}_n"], places=6)
            self.assertEqual(self.server.events(PATH, {**ASK, "max_tokens": n})[-2]["timings"]["predicted_n"], n)

    def test_message_contents(self):
        same = self.ask()["choices"]
        parts = [{"type": "text", "text": "In the "}, {"type": "text", "text": "beginning"}]
        self.assertEqual(self.ask(messages=[{"role": "user", "content": parts}])["choices"], same)
        for empty in ("", None, []):
            self.ask(messages=[{"role": "user", "content": empty}])
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
        answer = self.server.chat([{"role": "user", "content": [image]}])
        self.assertEqual(answer.status, 400)
        self.assertIn("image_url", answer.error["message"])

    def test_markers_in_messages_stay_text(self):
        marked = self.server.post("/apply-template", {"messages": [{"role": "user", "content": "<|im_end|>"}]}).json
        end = self.server.post("/tokenize", {"content": "<|im_end|>", "parse_special": True}).json["tokens"]
        plain = self.server.post("/apply-template", {"messages": [{"role": "user", "content": "x"}]}).json
        self.assertEqual(marked["tokens"].count(end[0]), plain["tokens"].count(end[0]))

    def test_full_context_ends_with_length(self):
        with Server("--ctx", "64") as server:
            server.ready()
            reply = server.chat("x", max_tokens=1000).json
            self.assertEqual(reply["choices"][0]["finish_reason"], "length")
            self.assertLessEqual(reply["usage"]["total_tokens"], 64)

    def test_each_of_several_has_the_whole_context(self):
        with Server("--ctx", "1024", "--parallel", "4") as server:
            server.ready()
            prompts = ["and the earth " * n for n in (50, 60, 70, 400)]
            answers = in_parallel([lambda p=p: server.chat(p, max_tokens=2000) for p in prompts])
            for answer in answers[:3]:
                self.assertEqual(answer.json["choices"][0]["finish_reason"], "length")
                self.assertIn(answer.json["usage"]["total_tokens"], (1023, 1024))
            self.assertEqual((answers[3].status, answers[3].error["code"]), (400, "context_length_exceeded"))

    def test_logprobs_with_tools_in_a_stream(self):
        tools = [{"type": "function", "function": {"name": "f"}}]
        plain = [e["choices"][0]["logprobs"] for e in self.server.events(PATH, {**ASK, "logprobs": True, "top_logprobs": 2})[:-1]]
        events = self.server.events(PATH, {**ASK, "logprobs": True, "top_logprobs": 2, "tools": tools})[:-1]
        count = lambda all: sum(len(some["content"]) for some in all if some)  # noqa: E731
        self.assertEqual(count(e["choices"][0]["logprobs"] for e in events), count(plain))

    def test_a_template_that_refuses_system_messages(self):
        server = Server.get(models=("begins",))
        for stream in (False, True):
            answer = server.chat([{"role": "system", "content": "x"}, {"role": "user", "content": "y"}], stream=stream)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn("System role not supported", answer.error["message"])
        self.assertEqual(server.chat("y").status, 200)

    def test_too_long_a_prompt_is_refused_before_the_stream(self):
        for stream in (False, True):
            answer = self.server.chat("and " * 7000, stream=stream)
            self.assertEqual(answer.status, 400, answer)
            self.assertEqual(answer.error["code"], "context_length_exceeded")
            self.assertEqual(answer.error["n_ctx"], 4096)
            self.assertIn("maximum context length is 4096 tokens", answer.error["message"])
            self.assertGreater(answer.error["n_prompt_tokens"], 4096)

    def test_reasoning(self):
        server = Server.get(models=("thinks",))
        reply = server.chat("x", max_tokens=10).json
        thinking = reply["choices"][0]
        self.assertIn(reply["usage"]["completion_tokens_details"]["reasoning_tokens"], range(6, 11))  # the last may wait for the rest of a character
        self.assertEqual(thinking["finish_reason"], "length")
        self.assertEqual(thinking["message"]["content"], "")
        self.assertTrue(thinking["message"]["reasoning_content"])
        events = server.events(PATH, {**ASK, "messages": [{"role": "user", "content": "x"}], "max_tokens": 10})
        self.assertEqual("".join(e["choices"][0]["delta"].get("reasoning_content", "") for e in events[:-1]),
                         thinking["message"]["reasoning_content"])
        for off in ({"chat_template_kwargs": {"enable_thinking": False}}, {"reasoning_effort": "none"}):
            reply = server.chat("x", max_tokens=10, **off).json
            self.assertEqual(reply["usage"]["completion_tokens_details"], {"reasoning_tokens": 0})
            plain = reply["choices"][0]["message"]
            self.assertTrue(plain["content"])
            self.assertNotIn("reasoning_content", plain)
            self.assertNotIn("think>", plain["content"])
