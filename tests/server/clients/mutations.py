"""Requests over every endpoint, changed at random, from several clients at once; meant for a server built with sanitizers.

Usage: mutations.py URL SECONDS [SEED]. Documents are changed as trees and as bytes, sent whole, in chunks, in part, and left before their answer.
Every answer must be HTTP of a status that says what is wrong, never 500; between them a good request must have the reply it had at first.
What fails is written to the current folder as it was sent. The last line has the counts.
"""
import collections
import copy
import json
import pathlib
import random
import re
import socket
import sys
import threading
import time
import urllib.parse

URL = urllib.parse.urlsplit(sys.argv[1])
SECONDS = float(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
CLIENTS = 4
STATUSES = {200, 204, 304, 400, 403, 404, 405, 408, 413, 415, 417, 429, 431, 501, 503, 505}

ASK = [{"role": "system", "content": "Be short"}, {"role": "user", "content": "In the beginning"}]
PARAMETERS = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
              "required": ["city"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Of a city", "parameters": PARAMETERS, "strict": True}},
         {"type": "function", "function": {"name": "get_time"}}]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "call00000", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}]}
SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{1,3}$"}, "maxItems": 3}, "b": {"anyOf": [
    {"type": "null"}, {"type": "number", "minimum": -1.5}]}, "c": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"const": {"x": [1, "é"]}}}, "required": ["a", "c"],
    "additionalProperties": {"type": "boolean"}}
GRAMMAR = 'root ::= "[" item ("," item){0,3} "]"\nitem ::= [0-9]+ | "\\"" [^"\\\\]{0,5} "\\""\n'
SAMPLING = {"temperature": 0.8, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "typical_p": 0.9, "top_n_sigma": 2, "xtc_probability": 0.3, "xtc_threshold": 0.1,
            "dynatemp_range": 0.2, "dynatemp_exponent": 1, "presence_penalty": 0.5, "frequency_penalty": 0.5, "repeat_penalty": 1.1, "repeat_last_n": 64,
            "dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2, "dry_sequence_breakers": ["\n", "a"], "mirostat": 2, "mirostat_tau": 5,
            "mirostat_eta": 0.1, "seed": 7, "logit_bias": {"20": 1.5, "21": -100}, "stop": ["\n\n", "zz"], "ignore_eos": False}
CORPUS = [
    ("/v1/chat/completions", {"messages": ASK, "max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}, "return_progress": True}),
    ("/v1/chat/completions", {"messages": ASK, "max_completion_tokens": 4, "n": 2, "logprobs": True, "top_logprobs": 3, **SAMPLING}),
    ("/v1/chat/completions", {"messages": [*ASK, CALL, {"role": "tool", "tool_call_id": "call00000", "content": "sunny"}], "tools": TOOLS, "max_tokens": 40,
                              "tool_choice": "required", "parallel_tool_calls": False, "stream": True}),
    ("/v1/chat/completions", {"messages": ASK, "tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "get_weather"}}, "max_tokens": 60}),
    ("/v1/chat/completions", {"messages": ASK, "max_tokens": 60, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": "In "}, {"type": "text", "text": "the"}]}], "max_tokens": 4,
                              "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}, "response_format": {"type": "json_object"}}),
    ("/v1/completions", {"prompt": "In the beginning", "max_tokens": 6, "echo": True, "logprobs": 2, "stream": True, **SAMPLING}),
    ("/v1/completions", {"prompt": [[1, 20, 30], "text", [40]], "max_tokens": 3, "n": 2, "best_of": 2, "suffix": "", "parse_special": False}),
    ("/v1/completions", {"prompt": "x", "max_tokens": 30, "grammar": GRAMMAR}),
    ("/v1/completions", {"prompt": "x", "max_tokens": 30, "json_schema": SCHEMA}),
    ("/v1/completions", {"prompt": "In the beginning was", "max_tokens": 0, "echo": True, "logprobs": 1}),
    ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "In the"}]},
                                 {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
                                 {"type": "function_call_output", "call_id": "c", "output": "sunny"}, {"type": "reasoning", "summary": []}],
                       "instructions": "Be short", "tools": [{"type": "function", **TOOLS[0]["function"]}], "tool_choice": "auto", "max_output_tokens": 6,
                       "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"}, "stream": True}),
    ("/v1/embeddings", {"input": ["In the", [1, 20, 30]], "encoding_format": "base64", "dimensions": 8, "pooling": "mean"}),
    ("/tokenize", {"content": "In the <|im_end|> é", "add_special": True, "parse_special": True, "with_pieces": True}),
    ("/detokenize", {"tokens": [1, 20, 30]}),
    ("/apply-template", {"messages": ASK, "tools": TOOLS}),
]
READS = ["/", "/health", "/v1/models", "/v1/models/tiny", "/v1/models/%00", "/props", "/metrics", "/nope", "/page.js", "/../x"]
NAMES = sorted({name for _, given in CORPUS for name in given} | {"model", "functions", "continue_final_message", "previous_response_id", "user", "unknown"})
ODD = [None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 1e-320, 2 ** 31, 2 ** 32, 2 ** 63 - 1, -2 ** 63, 2 ** 64, 10 ** 40, 3.0, "", "x", "\0", "nan", "1", "é", "\U0001f600",
       "\ufffd", "<|im_start|>", "</think>", "<tool_call>", "{{ x }}", "a" * 3000, "\u200d" * 50, [], {}, [[]], [{}], {"": None}, [1, "a", None], list(range(600)), "root ::= root",
       {"type": "object"}, {"type": ["string", "null"], "pattern": "(a|b)*\\d{1,900}"}, {"$ref": "#"}, {"type": "text", "text": "x"}, {"type": "image_url"}, "none", "auto", "required"]


def nodes(tree, path=()):
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from nodes(value, path + (key,))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def odd_text(source, text):
    i = source.randrange(len(text) + 1)
    return text[:i] + source.choice(["\0", "é", "\U0001f600", "{", '"', "\\", "<|im_end|>", "\ud800", "x" * 200, text]) + text[i + source.randrange(3):]


def mutate(source, tree):
    """Changes one place."""
    paths = [path for path in nodes(tree) if path]
    if not paths or not isinstance(tree, dict):
        return tree
    path = source.choice(paths)
    holder, key = at(tree, path[:-1]), path[-1]
    kind = source.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == 2:
        other = copy.deepcopy(source.choice(CORPUS)[1])
        holder[key] = at(other, source.choice(list(nodes(other))))
    elif kind == 3:
        tree[source.choice(NAMES)] = copy.deepcopy(source.choice(ODD))
    elif kind == 4 and isinstance(holder[key], str):
        holder[key] = odd_text(source, holder[key])
    elif kind == 5 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = holder[key] + source.choice([-1, 1, 0.5, 1e6]) if abs(holder[key]) < 1e300 else 0
    else:
        holder[key] = copy.deepcopy(source.choice(ODD))
    return tree


def mutate_bytes(source, data):
    data = bytearray(data)
    for _ in range(source.randint(1, 4)):
        i = source.randrange(len(data) + 1)
        data[i:i + source.randrange(4)] = source.choice([source.randbytes(source.randrange(4)), b"[" * 200, b'"', b"\\u", b"\xff", b"1e999", b"-", b"\0"])
    return bytes(data)


def framed(source, path, document):
    """A whole request; mostly a well-formed message, whatever its body says."""
    odd = ["Origin: null\r\n", "Expect: 100-continue\r\n", "Content-Encoding: gzip\r\n", "Host: evil\r\n", "X-API-Key: \xe9\r\n"]
    more = source.choice(odd) if source.random() < 0.05 else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}"
    if source.random() < 0.1:
        size = source.randint(1, 200)
        pieces = [document[i:i + size] for i in range(0, len(document), size)]
        return head.encode("latin-1") + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
    return head.encode("latin-1") + f"Content-Length: {len(document)}\r\n\r\n".encode() + document


class Client(threading.Thread):
    def __init__(self, number, end, good):
        super().__init__()
        self.source, self.end, self.good = random.Random(SEED * 1000 + number), end, good
        self.counts, self.failures = collections.Counter(), []

    def request(self):
        source = self.source
        if source.random() < 0.03:
            return f"{source.choice(['GET', 'GET', 'HEAD', 'OPTIONS', 'DELETE'])} {source.choice(READS)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        path, tree = copy.deepcopy(source.choice(CORPUS))
        for _ in range(source.choice([0, 1, 1, 1, 2, 3, 6])):
            tree = mutate(source, tree)
        document = json.dumps(tree, ensure_ascii=source.random() < 0.5).encode(errors="surrogatepass")
        if source.random() < 0.15:
            document = mutate_bytes(source, document)
        data = framed(source, path, document)
        return data

    def exchange(self, data, leaves=False, ends=False):
        """What came back; None: it was left. ends: no more is sent, whatever the data promises."""
        with socket.create_connection((URL.hostname, URL.port), timeout=120) as s:
            try:
                s.sendall(data)
                if leaves:
                    time.sleep(self.source.random() * 0.05)
                    return None
                if ends:
                    s.shutdown(socket.SHUT_WR)
                got = b""
                while more := s.recv(65536):
                    got += more
                return got
            except ConnectionError:
                return b""

    def one(self):
        data, kind = self.request(), self.source.random()
        if kind < 0.03:
            data = data[:self.source.randrange(len(data))]
        elif kind < 0.08:
            data = mutate_bytes(self.source, data)
        got = self.exchange(data, leaves=kind < 0.03 or kind > 0.97, ends=kind < 0.08)
        if got is None:
            self.counts["left"] += 1
            return
        found = re.match(rb"HTTP/1\.1 (\d+) (?:Continue\r\n\r\nHTTP/1\.1 (\d+))?", got)
        status = int(found.group(2) or found.group(1)) if found else 0
        self.counts[status] += 1
        if status not in STATUSES | ({0, 100, 499} if kind < 0.08 else set()) or b'"internal_error"' in got:
            self.fail(data, got)

    def fail(self, data, got):
        name = f"failed-{SEED}-{len(self.failures)}-{threading.get_ident() % 1000}"
        pathlib.Path(name).write_bytes(data)
        self.failures.append(f"{name}: {got[:300]!r}")

    def run(self):
        n = 0
        while time.monotonic() < self.end:
            try:
                self.one()
                n += 1
                if n % 50 == 0 and (got := good_reply(self)) != self.good:
                    self.fail(b"the good request", got.encode())
            except OSError as error:
                self.failures.append(str(error))
                return


def good_reply(client):
    document = json.dumps({"messages": ASK, "max_tokens": 12, "temperature": 1, "seed": 3, "logprobs": True}).encode()
    while True:
        got = client.exchange(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(document) + document)
        if b" 429 " not in got[:20]:  # those of the other clients wait, too
            return json.dumps(json.loads(got.split(b"\r\n\r\n", 1)[1])["choices"])


def main():
    good = good_reply(Client(-1, 0, None))
    clients = [Client(number, time.monotonic() + SECONDS, good) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    counts = sum((client.counts for client in clients), collections.Counter())
    failures = [failure for client in clients for failure in client.failures]
    for failure in failures[:20]:
        print(failure)
    told = ", ".join(f"{n} {status or 'closed'}" for status, n in sorted(counts.items(), key=lambda item: -item[1]))
    print(f"{sum(counts.values())} requests in {SECONDS:.0f} s: {told}; {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
