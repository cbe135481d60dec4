"""A coding agent's loop against ml_server by the `openai` package: thirty turns, each with all that came before it.

Usage: test_agent.py URL COLD_URL [unittest's arguments]; the second server keeps nothing of ended requests (--cache-mib 0). The shape is
recorded from agents at work: a long system prompt, tools with schemas, calls one or two at a time whose arguments are code, results of
files, diffs, test runs and errors, streamed and not. The calls themselves are the model's own, held to the schemas, and go back as they came.
"""
import json
import sys
import unittest

import openai

URL, COLD_URL = sys.argv.pop(1), sys.argv.pop(1)
TURNS = 30
FILES = ["src/parse.py", "src/größe.py", "tests/test_parse.py", "README.md"]


def tool(name, description, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


PATH = {"enum": FILES}
TOOLS = [
    tool("read_file", "Reads a file. Lines are numbered: `   1\\tdef f():`", path=PATH, offset={"type": "integer", "minimum": 0, "maximum": 999}),
    tool("edit_file", 'Replaces "old" by "new"; <b>both</b> exactly as they stand, ```fences``` too.', path=PATH,
         old={"type": "string", "minLength": 1, "maxLength": 24}, new={"type": "string", "maxLength": 24}),
    tool("run", "Runs a command in a shell", command={"enum": ["pytest -q", "git diff", "ls -la", "grep -rn 'def ' src"]},
         timeout={"type": ["integer", "null"], "minimum": 1, "maximum": 600}),
    tool("todo", "Notes what is to be done", items={"type": "array", "minItems": 1, "maxItems": 2, "items": {
        "type": "object", "properties": {"text": {"type": "string", "maxLength": 12}, "done": {"type": "boolean"}},
        "required": ["text", "done"], "additionalProperties": False}}),
]
RULES = {t["function"]["name"]: t["function"]["parameters"] for t in TOOLS}
RESULTS = [
    "     1\tdef parse(text):\n     2\t    \"\"\"Reads 'key = value'.\"\"\"\n     3\t    return dict(l.split('=', 1) for l in text.splitlines())\n",
    "diff --git a/src/parse.py b/src/parse.py\n@@ -1,3 +1,4 @@\n-    return {}\n+    # größer als nötig — «ja» 🙂\n+    return parsed\n",
    "\x1b[31mFAILED\x1b[0m tests/test_parse.py::test_empty - ValueError: not enough values to unpack (expected 2, got 1)\n1 failed, 7 passed in 0.12s",
    '{"error": {"code": "ENOENT", "path": "src\\\\none.py"}}',
    "",
    "<tool_response>\nnot a marker but a file's text: <|im_end|> {{ x }} {% if %}\n</tool_response>",
    "Traceback (most recent call last):\n  File \"<string>\", line 1\n\tif\r\n\t  ^\r\nSyntaxError: invalid syntax",
]
SYSTEM = "You are a coding agent. Rules:\n" + "\n".join(f"{i}. Read before you edit; keep lines below {60 + i} characters; never guess at a file's content." for i in range(12))


def text_of(value, schema):
    """What is wrong with a value; "" where it is as the schema wants it. The words that TOOLS use."""
    if "enum" in schema:
        return "" if value in schema["enum"] else f"{value!r} is none of {schema['enum']}"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    python = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    if type(value) not in [python[kind] for kind in kinds]:
        return f"{value!r} is no {kinds}"
    if isinstance(value, dict):
        if set(value) != set(schema["properties"]):
            return f"{sorted(value)} are not {sorted(schema['properties'])}"
        return "".join(text_of(value[name], inner) for name, inner in schema["properties"].items())
    if isinstance(value, list):
        sized = schema["minItems"] <= len(value) <= schema["maxItems"]
        return "".join(text_of(item, schema["items"]) for item in value) if sized else f"{len(value)} items"
    if isinstance(value, str):
        return "" if schema.get("minLength", 0) <= len(value) <= schema["maxLength"] else f"{value!r} is too long or short"
    if type(value) is int:
        return "" if schema["minimum"] <= value <= schema["maximum"] else f"{value} is out of bounds"
    return ""


class Agent(unittest.TestCase):
    def setUp(self):
        self.warm, self.cold = (openai.OpenAI(base_url=url + "v1", api_key="none", max_retries=0, timeout=300) for url in (URL, COLD_URL))
        self.model = self.warm.models.list().data[0].id

    def ask(self, client, body, stream):
        """The message as the agent keeps it, and the usage."""
        if not stream:
            reply = client.chat.completions.create(**body)
            message = reply.choices[0].message
            calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
                     for c in message.tool_calls or []]
            return {"role": "assistant", "content": (message.content or "").strip() or None, "tool_calls": calls}, reply.choices[0].finish_reason, reply.usage
        content, calls, finish, usage = "", [], None, None
        for chunk in client.chat.completions.create(**body, stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                content += choice.delta.content or ""
                for piece in choice.delta.tool_calls or []:
                    if piece.index == len(calls):
                        calls.append({"id": piece.id, "type": "function", "function": {"name": piece.function.name, "arguments": ""}})
                    calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""
        return {"role": "assistant", "content": content.strip() or None, "tool_calls": calls}, finish, usage

    def test_thirty_turns(self):
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "The parser breaks on empty lines.\n\n```py\nparse('\\n')\n```"}]
        before, ids, n_calls = 0, set(), 0
        for turn in range(TURNS):
            body = {"model": self.model, "messages": messages, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": turn % 3 == 0,
                    "max_tokens": 600, "temperature": 1, "seed": turn}
            message, finish, usage = self.ask(self.warm, body, stream=turn % 2 == 0)
            with self.subTest(turn=turn):
                self.assertEqual(finish, "tool_calls")
                self.assertTrue(message["tool_calls"])
                if turn % 5 == 4:  # what was kept is reread, so this takes longer than all the rest
                    alone, _, _ = self.ask(self.cold, body, stream=turn % 2 == 1)
                    self.assertEqual(message, alone)  # streamed and whole, from what was kept and from nothing
                # But for the mark that asks for the reply, a turn's prompt begins with the one before.
                self.assertGreaterEqual(usage.prompt_tokens_details.cached_tokens, before - 8)
                self.assertGreater(usage.prompt_tokens, before)
            before = usage.prompt_tokens
            messages.append(message)
            for call in message["tool_calls"]:
                with self.subTest(turn=turn, call=call):
                    self.assertNotIn(call["id"], ids)
                    self.assertEqual(text_of(json.loads(call["function"]["arguments"]), RULES[call["function"]["name"]]), "")
                ids.add(call["id"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULTS[(turn + len(ids)) % len(RESULTS)]})
                n_calls += 1
        last = self.warm.chat.completions.create(model=self.model, messages=messages, tools=TOOLS, max_tokens=20, temperature=0)
        self.assertGreaterEqual(last.usage.prompt_tokens_details.cached_tokens, before - 8)
        print(f"{TURNS} turns, {n_calls} calls, a prompt of {last.usage.prompt_tokens} tokens at the end, {last.usage.prompt_tokens_details.cached_tokens} of them cached")


if __name__ == "__main__":
    unittest.main(verbosity=2)
