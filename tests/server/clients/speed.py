"""Clients at once: tokens a second of one and of eight, the time to the first token, and that of a short request beside a long prompt.

Usage: speed.py URL [--tokens N] [--long TOKENS] [--rounds N]. Any server that speaks OpenAI's API. Every reply of the eight is compared with the same
request's alone (greedy).
"""
import argparse
import json
import statistics
import threading
import time
import urllib.parse

from chat_post import post

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("--tokens", type=int, default=64, help="of a reply")
parser.add_argument("--long", type=int, default=4000, help="words of the long prompt")
parser.add_argument("--clients", type=int, default=8)
parser.add_argument("--rounds", type=int, default=3)
ARGS = parser.parse_args()
URL = urllib.parse.urlsplit(ARGS.url)
STORIES = ["a lighthouse", "a clockmaker", "two rivers", "the last train", "a red kite", "an old map", "winter bread", "a lost dog"]


def ask(content, max_tokens, stream=True):
    """Text, tokens, seconds to the first token, seconds in all."""
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": max_tokens, "temperature": 0, "stream": stream}
    begin = time.perf_counter()
    answer = post(URL, body)
    if not stream:
        reply = json.loads(answer.read())
        return reply["choices"][0]["message"]["content"], reply["usage"]["completion_tokens"], 0, time.perf_counter() - begin
    text, first = "", None
    for line in answer:
        if line.startswith(b"data: {") and (choices := json.loads(line[6:])["choices"]) and choices[0]["delta"].get("content"):
            first = first or time.perf_counter() - begin
            text += choices[0]["delta"]["content"]
    seconds = time.perf_counter() - begin
    return text, 0, first or seconds, seconds  # a reply may be an end token alone


def story(round, i):
    return f"Write a long story about {STORIES[i]}, number {round}."


def at_once(functions):
    results = [None] * len(functions)

    def run(i):
        results[i] = functions[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


ask("Hello", 4)
one, many, first, equal = [], [], [], True
for n in range(ARGS.rounds):
    alone = [ask(story(n, i), ARGS.tokens, stream=False) for i in range(ARGS.clients)]
    one.append(sum(r[1] for r in alone) / sum(r[3] for r in alone))
    begin = time.perf_counter()
    together = at_once([lambda i=i: ask(story(n, i), ARGS.tokens, stream=False) for i in range(ARGS.clients)])
    many.append(sum(r[1] for r in together) / (time.perf_counter() - begin))
    equal &= [r[0] for r in alone] == [r[0] for r in together]
    first.append(ask(f"Number {n}: say something kind.", 4)[2])
print(f"1 client {statistics.median(one):.1f} tokens/s, {ARGS.clients} clients {statistics.median(many):.1f}, "
      f"{statistics.median(many) / statistics.median(one):.2f} times; replies {'equal' if equal else 'DIFFERENT'}")
print(f"first token of a short request: {1000 * statistics.median(first):.0f} ms")

waits, longs = [], []
for n in range(ARGS.rounds):
    def late():
        time.sleep(0.3)
        return [ask(f"Number {n}, {k}: and now?", 4)[2] for k in range(3)]

    long, short = at_once([lambda: ask(f"{n}: " + "word " * ARGS.long, 4), late])
    longs.append(long[2])
    waits += short
print(f"beside a prompt of {ARGS.long} words (first token after {statistics.median(longs):.1f} s): {1000 * statistics.median(waits):.0f} ms, at most {1000 * max(waits):.0f}")
