"""/v1/completions and /v1/embeddings: prompts as text and ids, echo, scores, vectors."""
import base64
import math
import struct
import unittest

from serving import Server, call, model

TEXT = "In the beginning"


class Completions(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def complete(self, prompt, **fields):
        answer = self.server.complete(prompt, **fields)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_text_and_ids_are_one(self):
        reply = self.complete(TEXT)
        alone = call("ml_run", model(), "--chat", "none", "-p", TEXT, "-n", "8").stdout.decode()
        self.assertEqual(reply["choices"][0]["text"], alone)
        ids = self.server.post("/tokenize", {"content": TEXT, "add_special": True}).json["tokens"]
        self.assertEqual(self.complete(ids)["choices"], reply["choices"])

    def test_arrays_and_choices(self):
        ids = self.server.post("/tokenize", {"content": "and God"}).json["tokens"]
        many = self.complete([TEXT, ids, "and God"], n=2)
        self.assertEqual(len(many["choices"]), 6)
        for i, prompt in enumerate((TEXT, ids, "and God")):
            alone = self.complete(prompt)["choices"][0]["text"]
            self.assertEqual([c["text"] for c in many["choices"][2 * i:2 * i + 2]], [alone, alone])

    def test_default_length(self):
        self.assertEqual(self.complete(TEXT, max_tokens=None)["usage"]["completion_tokens"], 16)

    def test_stream(self):
        events = self.server.events("/v1/completions", {"prompt": TEXT, "max_tokens": 20, "temperature": 0, "echo": True})
        text = "".join(e["choices"][0]["text"] for e in events[:-1])
        self.assertEqual(text, self.complete(TEXT, max_tokens=20, echo=True)["choices"][0]["text"])
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "length")

    def test_a_stream_of_no_token(self):
        for echo in (False, True):
            whole = self.complete([TEXT, "and"], max_tokens=0, echo=echo)["choices"]
            events = self.server.events("/v1/completions", {"prompt": [TEXT, "and"], "max_tokens": 0, "echo": echo})
            self.assertEqual([e["choices"][0] for e in events[:-1]], whole)
            self.assertEqual([(c["finish_reason"], c["text"]) for c in whole], [("length", TEXT if echo else ""), ("length", "and" if echo else "")])

    def test_stream_with_stop(self):
        whole = self.complete(TEXT, max_tokens=30)["choices"][0]["text"]
        stop = whole[9:11]
        events = self.server.events("/v1/completions", {"prompt": TEXT, "max_tokens": 30, "temperature": 0, "stop": stop})
        self.assertEqual("".join(e["choices"][0]["text"] for e in events[:-1]), whole[:whole.index(stop)])

    def test_scores_of_a_prompt_equal_those_of_its_generation(self):
        made = self.complete(TEXT, max_tokens=10, logprobs=2)["choices"][0]
        ids = self.server.post("/tokenize", {"content": TEXT, "add_special": True}).json["tokens"]
        entries = self.server.chat(TEXT, max_tokens=1, logprobs=True).json["choices"][0]["logprobs"]["content"]
        self.assertIn("id", entries[0])
        more = self.complete(ids, max_tokens=10, logprobs=2, echo=True)["choices"][0]
        lists = more["logprobs"]
        self.assertEqual(len(lists["tokens"]), len(ids) + 10)
        self.assertIsNone(lists["token_logprobs"][0])
        self.assertEqual(lists["token_logprobs"][len(ids):], made["logprobs"]["token_logprobs"])
        scored = self.complete(more["text"], max_tokens=0, logprobs=2, echo=True)["choices"][0]
        self.assertEqual(scored["text"], more["text"])
        self.assertEqual(scored["finish_reason"], "length")
        for text, offset in zip(lists["tokens"], lists["text_offset"]):
            if "\N{REPLACEMENT CHARACTER}" not in more["text"]:
                self.assertEqual(more["text"][offset:offset + len(text)], text)

    def test_empty_prompts(self):
        self.assertEqual(self.server.complete("").json["usage"]["prompt_tokens"], 1)  # the token that begins texts
        for prompt in ([], [[]]):
            answer = self.server.complete(prompt)
            self.assertEqual(answer.status, 400, answer)
            self.assertEqual(answer.error["param"], "prompt")

    def test_an_empty_prompt_where_texts_begin_with_a_token(self):
        server = Server.get(models=("begins",))
        reply = server.complete("").json
        self.assertEqual((reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]), (1, 8))
        self.assertEqual(server.complete([0]).json["choices"], reply["choices"])
        self.assertEqual(server.complete([]).status, 400)

    def test_the_longest_prompts(self):
        with Server("--ctx", "256") as server:
            server.ready()
            for fields, most in (({"max_tokens": 1}, 255), ({"max_tokens": 0, "echo": True, "logprobs": 1}, 256), ({"max_tokens": 0}, 256)):
                self.assertEqual(server.complete([5] * most, **fields).status, 200, fields)
                error = server.complete([5] * (most + 1), **fields).error
                self.assertEqual((error["code"], error["n_prompt_tokens"], error["n_ctx"]), ("context_length_exceeded", most + 1, 256))
                self.assertIn("maximum context length is 256 tokens", error["message"])
                self.assertIn(f"the prompt has {most + 1}, want at most {most}", error["message"])
                self.assertEqual("for the reply" in error["message"], most == 255)
            self.assertEqual(server.post("/v1/embeddings", {"input": [5] * 256}).status, 200)
            for given in ([5] * 257, [[5], [5] * 257]):
                error = server.post("/v1/embeddings", {"input": given}).error
                self.assertEqual((error["code"], error["n_prompt_tokens"], error["n_ctx"]), ("context_length_exceeded", 257, 256))
                self.assertIn("maximum context length is 256 tokens: the prompt has 257, want at most 256", error["message"])
                self.assertNotIn("reply", error["message"])

    def test_every_end_token_ends(self):
        server = Server.get(models=("ends",))
        for token in (2, 0, 77):
            forced = {"logit_bias": {str(token): 1000}}
            for answer in (server.complete(TEXT, **forced), server.chat(TEXT, **forced)):
                choice = answer.json["choices"][0]
                text = choice["text"] if "text" in choice else choice["message"]["content"]
                self.assertEqual((choice["finish_reason"], text), ("stop", ""), (token, answer))
            body = {"prompt": TEXT, "messages": [{"role": "user", "content": TEXT}], "max_tokens": 8, **forced}
            for path in ("/v1/completions", "/v1/chat/completions"):
                choices = [e["choices"][0] for e in server.events(path, body)[:-1]]
                self.assertEqual(choices[-1]["finish_reason"], "stop")
                self.assertEqual("".join(c["text"] if "text" in c else c["delta"].get("content", "") for c in choices), "")
            reply = server.complete(TEXT, ignore_eos=True, **forced).json
            self.assertEqual((reply["choices"][0]["finish_reason"], reply["usage"]["completion_tokens"]), ("length", 8))
        other = server.complete(TEXT, logit_bias={"78": 1000}).json
        self.assertEqual((other["choices"][0]["finish_reason"], other["usage"]["completion_tokens"]), ("length", 8))

    def test_bounds(self):
        for fields, param in (({"max_tokens": -2}, "max_tokens"), ({"n": -2}, "n"), ({"best_of": 2}, "best_of"), ({"logprobs": 21}, "logprobs"),
                              ({"echo": "yes"}, "echo"), ({"logprobs": True}, "logprobs")):
            answer = self.server.complete(TEXT, **fields)
            self.assertEqual((answer.status, answer.error["param"]), (400, param), answer)

    def test_suffix_needs_a_model_with_markers(self):
        answer = self.server.complete("a", suffix="b")
        self.assertEqual((answer.status, answer.error["param"]), (400, "suffix"))

    def test_model_without_tokenizer(self):
        server = Server.get(models=("bare",))
        self.assertEqual(server.complete([1, 2, 3]).status, 200)
        for answer in (server.complete("text"), server.chat("x")):
            self.assertEqual(answer.status, 400)
            self.assertIn("bare", answer.error["message"])


class Embeddings(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def embed(self, given, **fields):
        answer = self.server.post("/v1/embeddings", {"input": given, **fields})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_forms(self):
        one = self.embed(TEXT)
        vector = one["data"][0]["embedding"]
        self.assertEqual(len(vector), 64)
        self.assertAlmostEqual(math.fsum(x * x for x in vector), 1, places=5)
        packed = self.embed(TEXT, encoding_format="base64")["data"][0]["embedding"]
        self.assertEqual(struct.unpack("<64f", base64.b64decode(packed)),
                         struct.unpack("<64f", struct.pack("<64f", *vector)))
        ids = self.server.post("/tokenize", {"content": TEXT, "add_special": True}).json["tokens"]
        self.assertEqual(self.embed(ids)["data"], one["data"])
        both = self.embed([TEXT, ids, "other"])
        self.assertEqual([d["index"] for d in both["data"]], [0, 1, 2])
        self.assertEqual(both["data"][0]["embedding"], vector)
        self.assertEqual(both["data"][1]["embedding"], vector)
        self.assertNotEqual(both["data"][2]["embedding"], vector)
        self.assertEqual(both["usage"]["prompt_tokens"], both["usage"]["total_tokens"])

    def test_dimensions_and_pooling(self):
        self.assertEqual(len(self.embed(TEXT, dimensions=8)["data"][0]["embedding"]), 8)
        rows = [self.embed(TEXT, pooling=p)["data"][0]["embedding"] for p in ("mean", "last", "first")]
        self.assertEqual(len({tuple(row) for row in rows}), 3)

    def test_refusals(self):
        for fields, param in (({}, "input"), ({"input": []}, "input"), ({"input": ""}, "input"),
                              ({"input": [1, 99999]}, "input"), ({"input": [{}]}, "input"), ({"input": 3}, "input"),
                              ({"input": "a", "dimensions": 65}, "dimensions"),
                              ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
                              ({"input": "a", "pooling": "max"}, "pooling")):
            answer = self.server.post("/v1/embeddings", fields)
            self.assertEqual((answer.status, answer.error["param"]), (400, param), fields)
        self.assertEqual(self.server.post("/v1/embeddings", {"input": "and " * 7000}).error["code"],
                         "context_length_exceeded")
