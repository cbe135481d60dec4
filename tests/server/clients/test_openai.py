"""The `openai` package of Python against every endpoint of a running ml_server.

Usage: test_openai.py URL [unittest's arguments]. The model is a tiny one whose replies mean nothing: what is tested is that the library
reads each of them, and that limits, tools and schemas hold.
"""
import json
import sys
import unittest

import openai

URL = sys.argv.pop(1)
ASK = [{"role": "user", "content": "In the beginning"}]
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": 'The "weather" of a <city>: ```json {}```', "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}}}
TIME = {"type": "function", "function": {"name": "get_time"}}
SCHEMA = {"type": "object", "properties": {"name": {"enum": ["Ada", "Bob"]}, "old": {"type": "boolean"}}, "required": ["name", "old"],
          "additionalProperties": False}


class OpenAI(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(base_url=URL + "v1", api_key="none", max_retries=0, timeout=300)
        self.model = self.client.models.list().data[0].id

    def chat(self, **fields):
        return self.client.chat.completions.create(**{"model": self.model, "messages": ASK, "max_tokens": 12, "temperature": 0, **fields})

    def test_models(self):
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("none such")

    def test_chat(self):
        reply = self.chat()
        self.assertEqual(reply.choices[0].finish_reason, "length")
        self.assertEqual(reply.usage.completion_tokens, 12)
        self.assertIsNotNone(reply.system_fingerprint)
        again = self.chat()
        self.assertEqual(again.choices[0].message.content, reply.choices[0].message.content)
        self.assertGreater(again.usage.prompt_tokens_details.cached_tokens, 0)
        parts = [{"role": "user", "content": [{"type": "text", "text": "In the "}, {"type": "text", "text": "beginning"}]}]
        self.assertEqual(self.chat(messages=parts).usage.prompt_tokens, reply.usage.prompt_tokens)

    def test_streamed_chat_is_the_same(self):
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.assertEqual(text, self.chat().choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].usage.completion_tokens, 12)
        self.assertEqual(chunks[-2].choices[0].finish_reason, "length")

    def test_a_stream_that_is_left(self):
        for _ in range(3):
            with self.chat(stream=True, max_tokens=2000) as stream:
                next(iter(stream))
        self.assertEqual(self.chat().usage.completion_tokens, 12)

    def test_choices_seeds_and_log_probabilities(self):
        reply = self.chat(n=3, temperature=1, seed=5, logprobs=True, top_logprobs=2)
        self.assertEqual(len(reply.choices), 3)
        for choice in reply.choices:
            self.assertEqual(len(choice.logprobs.content), 12)
            for token in choice.logprobs.content:
                self.assertEqual(len(token.top_logprobs), 2)
                self.assertLessEqual(token.logprob, 0)
        self.assertEqual([choice.message.content for choice in self.chat(n=3, temperature=1, seed=5).choices],
                         [choice.message.content for choice in reply.choices])

    def constrained(self, **fields):
        """A chat whose reply must have a form; a server that cannot hold it to that refuses by name."""
        try:
            return self.chat(**fields)
        except openai.BadRequestError as error:
            if "known here" not in str(error):
                raise
            self.skipTest(str(error))

    def test_tools(self):
        self.assertIn(self.chat(tools=[WEATHER, TIME]).choices[0].finish_reason, ("length", "stop", "tool_calls"))
        self.assertIsNone(self.chat(tools=[WEATHER], tool_choice="none").choices[0].message.tool_calls)

    def test_tools_that_must_be_called(self):
        for choice, name in (("required", None), ({"type": "function", "function": {"name": "get_weather"}}, "get_weather")):
            reply = self.constrained(tools=[WEATHER, TIME], tool_choice=choice, max_tokens=200).choices[0]
            self.assertEqual(reply.finish_reason, "tool_calls")
            call = reply.message.tool_calls[0]
            self.assertEqual(call.function.name, name or call.function.name)
            arguments = json.loads(call.function.arguments)
            if call.function.name == "get_weather":
                self.assertIn(arguments["city"], ("Paris", "Rome"))
            chunks = list(self.chat(tools=[WEATHER, TIME], tool_choice=choice, max_tokens=200, stream=True))
            pieces = [piece for chunk in chunks for piece in (chunk.choices[0].delta.tool_calls or []) if piece.index == 0]
            self.assertEqual("".join(piece.function.name or "" for piece in pieces), call.function.name)
            self.assertEqual("".join(piece.function.arguments or "" for piece in pieces), call.function.arguments)
            self.assertTrue(all(piece.id for piece in pieces[:1]))

    def test_a_long_loop_of_tools(self):
        """What a coding agent sends: thirty turns of a call and its result, each request with all before it."""
        messages = [{"role": "system", "content": "You edit files."}, *ASK]
        usages = []
        for turn in range(30):
            usages.append(self.chat(messages=messages, tools=[WEATHER], max_tokens=2).usage)
            identity = f"call{turn:05}"
            messages += [{"role": "assistant", "content": "", "tool_calls": [{"id": identity, "type": "function", "function": {
                             "name": "get_weather", "arguments": json.dumps({"city": "Rome"})}}]},
                         {"role": "tool", "tool_call_id": identity, "content": f"line {turn}"}]
        # A turn's prompt begins with the one before it but for the mark that asked for the reply.
        for before, now in zip(usages, usages[1:]):
            self.assertGreater(now.prompt_tokens, before.prompt_tokens)
            self.assertGreaterEqual(now.prompt_tokens_details.cached_tokens, before.prompt_tokens - 16)

    def test_schemas(self):
        reply = self.constrained(response_format={"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}, max_tokens=200)
        person = json.loads(reply.choices[0].message.content)
        self.assertIn(person["name"], ("Ada", "Bob"))
        self.assertIsInstance(person["old"], bool)
        reply = self.chat(response_format={"type": "json_object"}, max_tokens=400, temperature=1, seed=1).choices[0]
        if reply.finish_reason == "stop":
            self.assertIsInstance(json.loads(reply.message.content), dict)

    def test_completions(self):
        one = self.client.completions.create(model=self.model, prompt="In the beginning", max_tokens=8, temperature=0, logprobs=2, echo=True)
        self.assertTrue(one.choices[0].text.startswith("In the beginning"))
        self.assertGreaterEqual(len(one.choices[0].logprobs.tokens), 8)
        two = self.client.completions.create(model=self.model, prompt=["In the", "beginning"], max_tokens=4, temperature=0)
        self.assertEqual([choice.index for choice in two.choices], [0, 1])
        chunks = self.client.completions.create(model=self.model, prompt="In the beginning", max_tokens=8, temperature=0, stream=True)
        self.assertEqual("In the beginning" + "".join(chunk.choices[0].text for chunk in chunks if chunk.choices), one.choices[0].text)

    def test_embeddings(self):
        plain = self.client.embeddings.create(model=self.model, input=["one", "two"], encoding_format="float")
        packed = self.client.embeddings.create(model=self.model, input=["one", "two"])  # base64, the library's own default
        self.assertEqual(len(plain.data), 2)
        for a, b in zip(plain.data, packed.data):
            self.assertAlmostEqual(sum(x * x for x in a.embedding), 1, places=4)
            self.assertTrue(all(abs(x - y) < 1e-6 for x, y in zip(a.embedding, b.embedding)))

    def test_responses(self):
        reply = self.client.responses.create(model=self.model, input="In the beginning", max_output_tokens=12, temperature=0)
        self.assertEqual(reply.output_text, self.chat().choices[0].message.content)
        with self.client.responses.stream(model=self.model, input="In the beginning", max_output_tokens=12, temperature=0) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        self.assertEqual(text, reply.output_text)

    def test_errors(self):
        for fields, param in (({"temperature": -1}, "temperature"), ({"max_tokens": 0}, "max_tokens"), ({"messages": []}, "messages"),
                              ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]}, None),
                              ({"messages": [{"role": "user", "content": "word " * 20000}]}, None)):
            for stream in (False, True):
                with self.assertRaises(openai.BadRequestError) as caught:
                    self.chat(**fields, stream=stream)
                if param:
                    self.assertIn(param, caught.exception.body["param"])
        with self.assertRaises(openai.NotFoundError):
            self.chat(model="none such")
        self.assertEqual(self.chat().usage.completion_tokens, 12)


if __name__ == "__main__":
    unittest.main(verbosity=2)
