#!/usr/bin/env python3
"""Renders chat templates with Jinja2, set up as transformers does, and with ours, and compares: every conversation
of CONVERSATIONS through every template given.

  templates_oracle.py --driver build/avx2/tests/chat/render_lines [--fixture FILE.json] FILE...

FILE: a template (*.jinja), or a tokenizer_config.json with one. A fixture holds conversations with what transformers
made of them ({"chat": {name: {messages, tools, add_generation_prompt, extra, rendered}}}) for the one FILE.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from jinja_oracle import env

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a \"city\" <b>&'", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "City name"},
                                     "days": {"type": "integer", "enum": [1, 2], "default": 1},
                                     "opts": {"type": ["object", "null"], "properties": {}}},
    "required": ["city"]}}}
CALL = {"type": "function", "id": "abc123def", "function": {"name": "get_weather", "arguments": {"city": "Paris \u00e9", "days": 1}}}
USER, REPLY = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
CONVERSATIONS = {
    "one": dict(messages=[USER]),
    "one, prompt": dict(messages=[USER], add_generation_prompt=True),
    "system": dict(messages=[{"role": "system", "content": "Be brief."}, USER], add_generation_prompt=True),
    "turns": dict(messages=[USER, REPLY, {"role": "user", "content": " Bye \n"}], add_generation_prompt=True),
    "system, turns": dict(messages=[{"role": "system", "content": "S"}, USER, REPLY, USER], add_generation_prompt=True),
    "ends with reply": dict(messages=[USER, REPLY], add_generation_prompt=False),
    "tools": dict(messages=[USER], tools=[TOOL], add_generation_prompt=True),
    "tools, system": dict(messages=[{"role": "system", "content": "S"}, USER], tools=[TOOL, TOOL], add_generation_prompt=True),
    "called": dict(messages=[USER, {"role": "assistant", "content": "", "tool_calls": [CALL]},
                             {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": "sunny"}],
                   tools=[TOOL], add_generation_prompt=True),
    "called, null": dict(messages=[USER, {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
                                   {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": "{\"t\": 1}"},
                                   {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": "2"}, REPLY, USER],
                         tools=[TOOL], add_generation_prompt=True),
    "thinking": dict(messages=[USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello"}, USER], add_generation_prompt=True),
    "reasoning": dict(messages=[USER, {"role": "assistant", "content": "A", "reasoning_content": "hm", "thinking": "hm"}, USER],
                      add_generation_prompt=True),
    "no thinking": dict(messages=[USER], add_generation_prompt=True, enable_thinking=False),
    "parts": dict(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
                  add_generation_prompt=True),
    "empty": dict(messages=[], add_generation_prompt=True),
    "two users": dict(messages=[USER, USER], add_generation_prompt=True),
    "odd role": dict(messages=[{"role": "critic", "content": "x"}], add_generation_prompt=True),
    "text": dict(messages=[{"role": "user", "content": "it's <|im_end|> \"q\" {{ x }} \\n \u4e16\u754c \U0001f600\t"}], add_generation_prompt=True),
    "documents": dict(messages=[USER], documents=[{"title": "T", "text": "x", "content": "x", "doc_id": 1}], add_generation_prompt=True),
    "developer": dict(messages=[{"role": "developer", "content": "D"}, USER], add_generation_prompt=True, reasoning_effort="high"),
}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def read(path):
    """[(name, template)], tokens"""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if not str(path).endswith(".json"):
        return [(str(path), text)], TOKENS
    config = json.loads(text)
    found = config.get("chat_template") or []
    named = [(path, found)] if isinstance(found, str) else [(f"{path} {t['name']}", t["template"]) for t in found]
    plain = {k: config[k]["content"] if isinstance(config[k], dict) else config[k] for k in TOKENS if config.get(k)}
    return named, plain


def theirs(template, tokens, variables):
    given = {"tools": None, "documents": None, "add_generation_prompt": False, **tokens, **variables}
    try:
        return env.from_string(template).render(**given)
    except Exception as error:  # any error of theirs must be one of ours
        return error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--fixture")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    driver = subprocess.Popen([args.driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    compared = errors = bad = 0
    for path in args.files:
        templates, tokens = read(path)
        for name, template in templates:
            conversations = [(n, c, None) for n, c in CONVERSATIONS.items()]
            if args.fixture:
                for case, chat in json.load(open(args.fixture, encoding="utf-8"))["chat"].items():
                    keys = {k: chat[k] for k in ("messages", "tools", "add_generation_prompt")}
                    conversations.append(("fixture " + case, {**keys, **chat["extra"]}, chat["rendered"]))
            for case, variables, rendered in conversations:
                want = theirs(template, tokens, variables)
                if rendered is not None and rendered != want:
                    print(f"OURS OF JINJA2 DIFFERS FROM THE FIXTURE: {name}, {case}")
                    bad += 1
                given = {"tools": None, "documents": None, "add_generation_prompt": False, **variables}
                driver.stdin.write(json.dumps({"template": template, "tokens": tokens, "input": given}) + "\n")
                driver.stdin.flush()
                answer = json.loads(driver.stdout.readline())
                got = bytes.fromhex(answer.get("text", answer.get("error"))).decode("utf-8", "replace")
                compared += 1
                if isinstance(want, Exception):
                    errors += 1
                    same = "error" in answer
                else:
                    same = "text" in answer and got == want
                if not same:
                    bad += 1
                    print(f"DIFFERENT {name}, {case}\n want {want!r}\n got  {got!r}"[:1500])
    print(f"{compared} renderings compared, {errors} of them errors, {bad} different")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
