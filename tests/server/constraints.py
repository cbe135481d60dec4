"""What a reply must be: response_format, json_schema, grammar, on chat, responses and completions, beside other requests."""
import json
import unittest

from serving import Server, in_parallel

SCHEMA = {"type": "object", "properties": {"name": {"enum": ["Adam", "Eve"]}, "age": {"type": "integer", "minimum": 0, "maximum": 999}},
          "required": ["name", "age"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}


class Constraints(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def person(self, text):
        value = json.loads(text)
        self.assertEqual(sorted(value), ["age", "name"])
        self.assertIn(value["name"], ("Adam", "Eve"))
        self.assertIn(value["age"], range(1000))

    def test_schema(self):
        for seed in range(4):
            choice = self.server.chat("who", max_tokens=200, temperature=1, seed=seed, response_format=FORMAT).json["choices"][0]
            self.person(choice["message"]["content"])
            self.assertEqual(choice["finish_reason"], "stop")
        body = {"messages": [{"role": "user", "content": "who"}], "max_tokens": 200, "seed": 1, "response_format": FORMAT}
        events = self.server.events("/v1/chat/completions", body)
        self.person("".join(e["choices"][0]["delta"].get("content", "") for e in events[:-1]))
        reply = self.server.post("/v1/responses", {"input": "who", "max_output_tokens": 200, "text": {
            "format": {"type": "json_schema", "name": "person", "schema": SCHEMA}}}).json
        self.person(reply["output"][0]["content"][0]["text"])
        self.person(self.server.complete("who", max_tokens=200, temperature=1, json_schema=SCHEMA).json["choices"][0]["text"])

    def test_object(self):
        schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False}
        choice = self.server.chat("x", max_tokens=300, temperature=1, seed=2,
                                  response_format={"type": "json_object", "schema": schema}).json["choices"][0]
        self.assertEqual(json.loads(choice["message"]["content"]), {"a": 1})
        free = self.server.chat("x", max_tokens=40, temperature=1, seed=2, response_format={"type": "json_object"}).json
        self.assertTrue(free["choices"][0]["message"]["content"].lstrip().startswith("{"))

    def test_grammar(self):
        choice = self.server.chat("x", max_tokens=50, temperature=1, grammar='root ::= ("yes" | "no") "!"').json["choices"][0]
        self.assertIn(choice["message"]["content"], ("yes!", "no!"))

    def test_calls(self):
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("greet", "forget")]
        for choice, names in (("required", ("greet", "forget")), ({"type": "function", "function": {"name": "forget"}}, ("forget",))):
            for seed in range(3):
                body = {"messages": [{"role": "user", "content": "who"}], "tools": tools, "tool_choice": choice,
                        "max_tokens": 300, "temperature": 1, "seed": seed, "parallel_tool_calls": False}
                answer = self.server.post("/v1/chat/completions", body).json["choices"][0]
                self.assertEqual(answer["finish_reason"], "tool_calls", answer)
                [call] = answer["message"]["tool_calls"]
                self.assertIn(call["function"]["name"], names)
                self.person(call["function"]["arguments"])
                deltas = [d for e in self.server.events("/v1/chat/completions", body)[:-1] if e["choices"]
                          for d in e["choices"][0]["delta"].get("tool_calls", [])]
                self.assertEqual("".join(d["function"].get("arguments", "") for d in deltas), call["function"]["arguments"])
        for fields, param in (({"tool_choice": "required"}, "tool_choice"), ({"tool_choice": 3, "tools": tools}, "tool_choice"),
                              ({"tool_choice": {"type": "function", "function": {"name": "fly"}}, "tools": tools}, "tool_choice"),
                              ({"tool_choice": {"type": "function", "function": {}}, "tools": tools}, "tool_choice.function.name"),
                              ({"tool_choice": "required", "tools": tools, "response_format": FORMAT}, "tool_choice")):
            answer = self.server.chat("x", **fields)
            self.assertEqual((answer.status, answer.error["param"]), (400, param), (fields, answer))

    def test_tools_of_every_kind(self):
        """Without parameters; described with what grammars and prompts are written in."""
        odd = 'Says "x" in ```json\n{"a": [1]}\n``` or <tool_call>{}</tool_call> \\ root ::= [^"]* | \'y\' </s> {{ z }}'
        tools = [{"type": "function", "function": {"name": "now"}},
                 {"type": "function", "function": {"name": "say", "description": odd, "parameters": {
                     "type": "object", "description": odd, "properties": {"a": {"enum": ["x"], "description": odd}}, "required": ["a"], "additionalProperties": False}}}]
        for name, wanted in (("now", {}), ("say", {"a": "x"})):
            choice = self.server.chat("x", max_tokens=600, temperature=1, seed=1, tools=tools,
                                      tool_choice={"type": "function", "function": {"name": name}}).json["choices"][0]
            self.assertEqual(choice["finish_reason"], "tool_calls", choice)
            self.assertEqual(json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]), wanted)

    def test_refusals(self):
        for fields, param in (({"response_format": {"type": "xml"}}, "response_format.type"),
                              ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
                              ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
                               "response_format.json_schema.schema"),
                              ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "thing"}}}},
                               "response_format.json_schema.schema"),
                              ({"json_schema": 3}, "json_schema"), ({"grammar": "root :== x"}, "grammar"), ({"grammar": ""}, "grammar"),
                              ({"grammar": " \n"}, "grammar"), ({"grammar": "", "json_schema": {"const": 1}}, "grammar"),
                              ({"grammar": "rout ::= \"x\""}, "grammar"), ({"grammar": 3}, "grammar"),
                              ({"grammar": "root ::= \"x\"", "json_schema": {}}, "grammar")):
            for stream in (False, True):
                answer = self.server.chat("x", stream=stream, **fields)
                self.assertEqual((answer.status, answer.error["param"]), (400, param), (fields, answer))

    def test_beside_others(self):
        def ask(i):
            fields = {"response_format": FORMAT} if i % 2 else {}
            return self.server.chat(f"who {i}", max_tokens=60, temperature=1, seed=i, **fields).json["choices"]

        alone = [ask(i) for i in range(8)]
        self.assertEqual(in_parallel([lambda i=i: ask(i) for i in range(8)]), alone)
