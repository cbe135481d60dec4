"""What stands on the `openai` package, against a running ml_server by its base URL alone: LangChain, LiteLLM, and the program `llm`.

Usage: test_frameworks.py URL [unittest's arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks a server elsewhere
import langchain_openai  # noqa: E402
from langchain_core.messages import ToolMessage  # noqa: E402
import litellm  # noqa: E402

litellm.suppress_debug_info = True
URL = sys.argv.pop(1)
BASE = URL + "v1"
TEXT = "In the beginning"
MOST = 16  # tokens of a reply; LiteLLM asks for no fewer of a response
SCHEMA = {"title": "person", "description": "Who it is", "type": "object", "properties": {"name": {"enum": ["Ada", "Bob"]}, "old": {"type": "boolean"}},
          "required": ["name", "old"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}}}


def plain_reply():
    """What all of them must show, by LiteLLM."""
    return litellm.completion(model="openai/tiny", api_base=BASE, api_key="none", messages=[{"role": "user", "content": TEXT}], max_tokens=MOST,
                              temperature=0).choices[0].message.content


class LangChain(unittest.TestCase):
    def chat(self, **fields):
        return langchain_openai.ChatOpenAI(base_url=BASE, api_key="none", model="tiny", max_retries=0, **{"temperature": 0, "max_tokens": MOST, **fields})

    def test_chat(self):
        reply = self.chat().invoke(TEXT)
        self.assertEqual(reply.content, plain_reply())
        self.assertEqual(reply.usage_metadata["output_tokens"], MOST)
        self.assertEqual(reply.response_metadata["finish_reason"], "length")
        chunks = list(self.chat(stream_usage=True).stream(TEXT))
        self.assertEqual("".join(chunk.content for chunk in chunks), reply.content)
        self.assertEqual(sum((chunk.usage_metadata or {}).get("output_tokens", 0) for chunk in chunks), MOST)
        self.assertEqual([r.content for r in self.chat().batch([TEXT] * 4)], [reply.content] * 4)

    def test_tools_and_schemas(self):
        bound = self.chat(max_tokens=200).bind_tools([WEATHER], tool_choice="any")
        reply = bound.invoke(TEXT)
        self.assertEqual(reply.tool_calls[0]["name"], "get_weather")
        self.assertIn(reply.tool_calls[0]["args"]["city"], ("Paris", "Rome"))
        history = [("user", TEXT), reply, *(ToolMessage("sunny", tool_call_id=call["id"]) for call in reply.tool_calls)]
        self.assertTrue(self.chat().bind_tools([WEATHER]).invoke(history).content)
        for method in ("json_schema", "function_calling"):
            person = self.chat(max_tokens=200).with_structured_output(SCHEMA, method=method).invoke(TEXT)
            self.assertIn(person["name"], ("Ada", "Bob"))

    def test_responses(self):
        reply = self.chat(use_responses_api=True).invoke(TEXT)
        self.assertEqual(reply.text if isinstance(reply.text, str) else reply.text(), plain_reply())

    def test_completions_and_embeddings(self):
        text = langchain_openai.OpenAI(base_url=BASE, api_key="none", model="tiny", temperature=0, max_tokens=8).invoke(TEXT)
        self.assertTrue(text)
        # Its own default cuts texts by another model's tokenizer.
        vectors = langchain_openai.OpenAIEmbeddings(base_url=BASE, api_key="none", model="tiny", check_embedding_ctx_length=False)
        rows = vectors.embed_documents(["one", "two"])
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0], vectors.embed_query("one"))


class LiteLLM(unittest.TestCase):
    def call(self, function, **fields):
        return function(model="openai/tiny", api_base=BASE, api_key="none", max_retries=0, **fields)

    def chat(self, **fields):
        return self.call(litellm.completion, **{"messages": [{"role": "user", "content": TEXT}], "max_tokens": MOST, "temperature": 0, **fields})

    def test_chat(self):
        reply = self.chat()
        self.assertEqual((reply.choices[0].finish_reason, reply.usage.completion_tokens), ("length", MOST))
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), reply.choices[0].message.content)

    def test_tools_and_schemas(self):
        call = self.chat(tools=[WEATHER], tool_choice="required", max_tokens=200).choices[0].message.tool_calls[0]
        self.assertIn(json.loads(call.function.arguments)["city"], ("Paris", "Rome"))
        form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}
        self.assertIn(json.loads(self.chat(response_format=form, max_tokens=200).choices[0].message.content)["name"], ("Ada", "Bob"))

    def test_others(self):
        self.assertTrue(self.call(litellm.text_completion, prompt=TEXT, max_tokens=8, temperature=0).choices[0].text)
        rows = self.call(litellm.embedding, input=["one", "two"], encoding_format="float").data
        self.assertEqual(len(rows), 2)
        response = self.call(litellm.responses, input=TEXT, max_output_tokens=MOST, temperature=0)
        self.assertEqual(response.output[0].content[0].text, plain_reply())

    def test_errors(self):
        for fields, kind in (({"temperature": -1}, litellm.BadRequestError), ({"messages": [{"role": "user", "content": "word " * 50000}]},
                                                                               litellm.ContextWindowExceededError)):
            with self.assertRaises(kind):
                self.chat(**fields)


class Llm(unittest.TestCase):
    """Of Simon Willison."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        pathlib.Path(cls.folder.name, "extra-openai-models.yaml").write_text(
            f'- model_id: here\n  model_name: tiny\n  api_base: "{BASE}"\n  supports_tools: true\n  supports_schema: true\n')

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def llm(self, *arguments):
        done = subprocess.run([pathlib.Path(sys.executable).parent / "llm", *arguments], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "LLM_USER_PATH": self.folder.name})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def ask(self, *arguments):
        return self.llm("-m", "here", "-o", "temperature", "0", *arguments)

    def test_prompts(self):
        plain = plain_reply().strip()
        self.assertEqual(self.ask("-o", "max_tokens", str(MOST), "--no-stream", TEXT), plain)
        self.assertEqual(self.ask("-o", "max_tokens", str(MOST), TEXT), plain)
        self.assertTrue(self.llm("-c", "-o", "max_tokens", "12", "go on"))

    def test_schemas(self):
        self.assertIn(json.loads(self.ask("--schema", json.dumps(SCHEMA), "-o", "max_tokens", "200", TEXT))["name"], ("Ada", "Bob"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main(verbosity=2, warnings="ignore")
