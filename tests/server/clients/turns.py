"""What a further turn of a long chat costs: prompt tokens, how many of them were read, and the time until the reply's first token.

Usage: turns.py URL [--words N] [--turns N]. A chat grows to some 3,000 tokens; then it goes on, plain and streamed, its last message is
edited, its reply is asked for again, and its first message is edited (nothing but the template's beginning is then as before).
"""
import argparse
import json
import time
import urllib.parse

from chat_post import post

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("--words", type=int, default=260, help="of each of the user's messages")
parser.add_argument("--turns", type=int, default=9)
ARGS = parser.parse_args()
URL = urllib.parse.urlsplit(ARGS.url)
WORDS = "The harbour was quiet that morning and the boats lay still beside the long stone wall while gulls circled over empty nets".split()


def ask(messages, stream, max_tokens=16):
    """The reply's text, its usage, timings, and milliseconds to the first token (streamed) or to the end."""
    body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": stream, "stream_options": {"include_usage": True}}
    begin = time.perf_counter()
    answer = post(URL, body)
    if not stream:
        reply = json.loads(answer.read())
        return reply["choices"][0]["message"]["content"], reply["usage"], reply["timings"], 1000 * (time.perf_counter() - begin)
    text, first, usage, timings = "", None, None, None
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        usage, timings = chunk.get("usage") or usage, chunk.get("timings") or timings
        for choice in chunk["choices"]:
            if choice["delta"].get("content"):
                first = first or time.perf_counter()
                text += choice["delta"]["content"]
    return text, usage, timings, 1000 * (first - begin)


def text(seed, words=None):
    return " ".join(WORDS[(seed * 7 + i * (1 + seed % 5)) % len(WORDS)] for i in range(words or ARGS.words))


def row(name, asked):
    _, usage, timings, ms = asked
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    print(f"| {name} | {usage['prompt_tokens']} | {usage['prompt_tokens'] - cached} | {timings['prompt_ms']:.0f} | {ms:.0f} |", flush=True)


print("| turn | prompt tokens | of these read | server's prompt_ms | client's ms to the first token (plain: to the end) |\n|---|---|---|---|---|")
chat = []
for turn in range(ARGS.turns):
    chat.append({"role": "user", "content": text(turn)})
    reply = ask(chat, turn % 2 == 1)
    if turn in (0, ARGS.turns - 1):
        row(f"turn {turn + 1}, {'streamed' if turn % 2 else 'plain'}", reply)
    chat.append({"role": "assistant", "content": reply[0]})
short = {"role": "user", "content": "Go on, please."}
row("next turn, plain", ask([*chat, short], False))
row("next turn, streamed", reply := ask([*chat, {"role": "user", "content": "What then?"}], True))
row("the same again (regenerate)", again := ask([*chat, {"role": "user", "content": "What then?"}], True))
assert reply[0] == again[0]
row("its last message edited", ask([*chat, {"role": "user", "content": "What then happened to the boats?"}], True))
row("an older message edited", ask([*chat[:8], {"role": "user", "content": "Tell me of the gulls."}], True))
row("the first message edited: all anew", ask([{"role": "user", "content": "Once " + text(0)}, *chat[1:], short], True))
