"""Every field's type and bounds: 400 with its name; unknown fields change nothing."""
import unittest

from serving import Server

HUGE = "1" * 400
# Field: values that are refused. Strings stand for JSON that Python's json cannot write.
REFUSED = {
    "temperature": [-1, "1", [], {}, True, "1e400", "-1e400", 1e7],
    "top_p": [-0.1, 1.1, "x", "1e400"],
    "min_p": [-0.1, 1.1, "x"],
    "top_k": [-2, 1.5, "x", HUGE, 1e300],
    "typical_p": [-0.1, 1.1],
    "presence_penalty": [-2.1, 2.1, "x", "1e400"],
    "frequency_penalty": [-2.1, 2.1],
    "repeat_penalty": [0, -1, 10],
    "repetition_penalty": [0, 10],
    "repeat_last_n": [-2, 1.5],
    "xtc_probability": [-1, 2],
    "dry_multiplier": [-1, 101],
    "dry_allowed_length": [0, 1.5],
    "mirostat": [1, 3, "x"],
    "seed": [1.5, "x", HUGE, [], 2 ** 64, -2 ** 63 - 1],
    "max_tokens": [0, -2, 1.5, "x", HUGE, 1e300],
    "max_completion_tokens": [0, -2, 1.5, "x"],
    "n_predict": [0, -2, 1.5, "x"],
    "samplers": [[], ["top_k"]],
    "lora": [[{"id": 0, "scale": 1}], "x"],
    "t_max_predict_ms": [1, 5000, "x"],
    "n": [0, -1, 17, 1.5, "x"],
    "stop": [3, [3], {}, ["x"] * 65, "x" * 5000],
    "logprobs": [3, "x"],
    "top_logprobs": [-1, 21, "x"],
    "stream": ["yes", 1],
    "logit_bias": [3, "x", {"x": 1}, {"-1": 1}, {"512": 1}, {"1.0": 1}, {" 1": 1}, {"+1": 1}, {"": 1}, "text", True,
                   [[i, False] for i in range(512)], {"1": "x"}, {"1": 1e9}, {"1": True}, [[1]], [1], [[1, 2, 3]]],
    "model": [3, []],
    "messages": [None, [], {}, "x", 3],
    "stream_options": [3, "x"],
    "response_format": [3, "x", []],
    "tools": [3, "x", {}],
    "chat_template_kwargs": [3, "x", [], {"messages": []}, {"tools": None}, {"continue_final_message": True},
                             *({"add_generation_prompt": v} for v in (False, None, 0, ""))],
    "ignore_eos": ["x"],
    "parallel_tool_calls": ["x"],
    "add_generation_prompt": [False],
    "continue_final_message": [True],
    "functions": [[{"name": "f"}]],
    "best_of": [2],
}


class Fields(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def test_bounds(self):
        import json
        for field, values in REFUSED.items():
            for value in values:
                raw = isinstance(value, str) and value.lstrip("-")[:1].isdigit() and len(value) > 3
                body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
                body.pop(field, None)
                text = json.dumps(body)[:-1] + f', "{field}": {value if raw else json.dumps(value)}}}'
                answer = self.server.post("/v1/chat/completions", text)
                self.assertEqual(answer.status, 400, (field, value, answer))
                self.assertTrue((answer.error["param"] or "").startswith(field), (field, value, answer))
                self.assertEqual(answer.error["type"], "invalid_request_error")

    def test_not_a_number(self):
        for literal in ("NaN", "nan", "Infinity", "-Infinity", "+1", "0x1", ".5", "1.", "01"):
            answer = self.server.post("/v1/chat/completions", '{"messages":[],"temperature":%s}' % literal)
            self.assertEqual(answer.status, 400, literal)

    def test_taken(self):
        for fields in ({"top_k": 9999999}, {"top_k": 0}, {"top_k": -1}, {"temperature": 1e6}, {"top_p": 0},
                       {"max_completion_tokens": 2, "max_tokens": None}, {"max_completion_tokens": 2, "max_tokens": -1}, {"n_predict": 3, "max_tokens": 2},
                       {"samplers": None, "lora": [], "t_max_predict_ms": -1}, {"seed": -1}, {"seed": 0}, {"seed": 2 ** 63 - 1}, {"seed": 2 ** 64 - 1},
                       {"max_tokens": 3.0}, {"user": "u", "metadata": {"a": "b"}, "store": True, "service_tier": "auto"},
                       {"unknown": {"deep": [1]}}, {"response_format": {"type": "text"}}, {"tool_choice": "auto"},
                       {"tools": []}, {"tool_choice": "none"}, {"reasoning_effort": "low"}, {"mirostat": 2, "mirostat_tau": 3},
                       {"dry_multiplier": 0.8}, {"presence_penalty": None, "logit_bias": None, "tools": None},
                       {"chat_template_kwargs": {"enable_thinking": False, "add_generation_prompt": True}}, {"logit_bias": {}}, {"best_of": 1}):
            answer = self.server.chat("x", **{"temperature": 1, "max_tokens": 2, **fields})
            self.assertEqual(answer.status, 200, (fields, answer))
            self.assertLessEqual(answer.json["usage"]["completion_tokens"], 3)

    def test_null_in_a_tool_is_absent(self):
        def ask(function):
            answer = self.server.chat("x", tools=[{"type": "function", "function": function, "strict": None}])
            self.assertEqual(answer.status, 200, answer)
            prompt = self.server.post("/apply-template", {"messages": [{"role": "user", "content": "x"}], "tools": [
                {"type": "function", "function": function}]}).json["tokens"]
            return prompt, answer.json["choices"]

        self.assertEqual(ask({"name": "f", "description": None, "parameters": None}), ask({"name": "f"}))
        for tool in ({"type": "function", "function": None}, {"type": "function", "function": {"name": None}},
                     {"type": "function", "function": {"name": "f", "parameters": 3}}, None):
            answer = self.server.chat("x", tools=[tool])
            self.assertEqual(answer.status, 400, (tool, answer))
            self.assertTrue(answer.error["param"].startswith("tools[0]"), answer)
        answer = self.server.post("/v1/responses", {"input": "x", "max_output_tokens": 2, "tools": [
            {"type": "function", "name": "f", "description": None, "parameters": None, "strict": None}]})
        self.assertEqual(answer.status, 200, answer)

    def test_the_reported_seed_gives_the_text_again(self):
        for seed in (-2, -2 ** 63, 2 ** 63, 2 ** 64 - 1, 7, -1):
            first = self.server.chat("x", temperature=1.5, seed=seed).json
            self.assertEqual(first["seed"] % 2 ** 64, seed % 2 ** 64 if seed != -1 else first["seed"])
            again = self.server.chat("x", temperature=1.5, seed=first["seed"]).json
            self.assertEqual((again["choices"], again["seed"]), (first["choices"], first["seed"]), seed)

    def test_no_limit(self):
        for field in ("max_tokens", "max_completion_tokens", "n_predict"):
            for path, prompt in (("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
                                 ("/v1/completions", {"prompt": "x"})):
                server = Server.get("--ctx", "64")
                reply = server.post(path, {**prompt, field: -1, "temperature": 0})
                self.assertEqual((reply.status, reply.json["choices"][0]["finish_reason"]), (200, "length"), reply)
                self.assertGreaterEqual(reply.json["usage"]["total_tokens"], 63)

    def test_completions_take_every_name_of_the_limit(self):
        for fields in ({"max_completion_tokens": 3}, {"n_predict": 3}, {"max_tokens": 9, "max_completion_tokens": 3}):
            reply = self.server.post("/v1/completions", {"prompt": "x", "temperature": 0, **fields}).json
            self.assertEqual(reply["usage"]["completion_tokens"], 3, fields)

    def test_messages_say_what_was_got(self):
        for field, value, said in (("logit_bias", {"x": 1}, 'got "x", want a token id'), ("logit_bias", "x", 'got "x", want an object'),
                                   ("max_tokens", 0, "got 0, want 1 or more"), ("messages", [5], "got a number, want an object"),
                                   ("messages", [{"role": "user", "content": 5}], "got a number"), ("tools", [5], "got a number, want an object"),
                                   ("messages", [{"role": "assistant", "content": None, "tool_calls": "x"}], "got a string, want an array")):
            answer = self.server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, field: value})
            self.assertEqual(answer.status, 400, (field, value))
            self.assertIn(said, answer.error["message"])

    def test_messages(self):
        for message in ({}, {"role": "user"}, {"role": 3, "content": "x"}, {"content": "x"}, 3, None, [],
                        {"role": "user", "content": 3}, {"role": "user", "content": [3]},
                        {"role": "user", "content": [{"type": "text"}]},
                        {"role": "assistant", "content": None, "tool_calls": 3}):
            answer = self.server.chat([message])
            self.assertIn(answer.status, (200, 400), (message, answer))  # an absent content is an empty one
        broken = {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}]}
        answer = self.server.chat([{"role": "user", "content": "x"}, broken, {"role": "user", "content": "x"}])
        self.assertEqual((answer.status, answer.error["param"]), (400, "messages[1].tool_calls[0].function.arguments"), answer)
        answer = self.server.chat("x", chat_template_kwargs={"messages": []})
        self.assertEqual((answer.status, answer.error["param"]), (400, "chat_template_kwargs"), answer)
