"""What a server does when its clients break the rules: a line for each fault, as a Markdown table.

Usage: faults.py URL [--pid PID] [--check] [--long TOKENS] [--only WORD]

The server has a model whose replies may be long (a prompt of 3,000 tokens and a reply of as many are asked for and left). --pid: resident
memory before and after each. --check: ours, which must answer with the status in FAULTS, live, serve the next request as the first one,
and have its memory back; the exit status says whether it does. Without: any server that speaks OpenAI's API.
"""
import argparse
import http.client
import json
import pathlib
import re
import socket
import sys
import time
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("--pid")
parser.add_argument("--check", action="store_true")
parser.add_argument("--long", type=int, default=3000, help="words of a long prompt, tokens of a long reply")
parser.add_argument("--only", default="")
ARGS = parser.parse_args()
HOST = urllib.parse.urlsplit(ARGS.url)
PATH = "/v1/chat/completions"
PATIENCE = 90  # seconds for whatever a fault brings
GROWTH_MIB = 24


def connect():
    return socket.create_connection((HOST.hostname, HOST.port), timeout=PATIENCE)


def body(content="Hello", **fields):
    return json.dumps({"messages": [{"role": "user", "content": content}], "max_tokens": 4, "temperature": 0, **fields}).encode()


def head(length, path=PATH, more="", host="localhost"):
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n{framing}\r\n{more}\r\n".encode()


def status_of(data):
    found = re.match(rb"HTTP/1\.[01] (\d+)", data)
    return int(found.group(1)) if found else ("closed" if not data else "no HTTP")


def read(s, seconds=PATIENCE):
    """All that comes until the server closes; what came until then where it does not."""
    data, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            s.settimeout(max(0.1, end - time.monotonic()))
            more = s.recv(65536)
            if not more:
                break
            data += more
    except TimeoutError:
        return data or None
    except OSError:
        pass
    return data


def send(data, seconds=PATIENCE, half=False):
    """The status of the answer to some bytes."""
    with connect() as s:
        try:
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = read(s, seconds)
        return "hangs" if got is None else status_of(got)


def post(data, **more):
    return send(head(len(data), **more) + data)


def leave(data, when=0.2, until=b""):
    """Sends, waits, closes without a word. Nothing is answered to that."""
    with connect() as s:
        s.sendall(data)
        s.settimeout(PATIENCE)
        got = b""
        while until not in got and (more := s.recv(65536)):
            got += more
        time.sleep(when)
    return "-"


def long_prompt(**fields):
    data = body("word " * ARGS.long, **fields)
    return head(len(data)) + data


def long_reply(**fields):
    data = body(max_tokens=ARGS.long, ignore_eos=True, **fields)
    return head(len(data)) + data


def leave_the_queue():
    held = []
    for _ in range(12):
        held.append(connect())
        held[-1].sendall(long_reply())
    time.sleep(0.3)
    leave(long_reply())
    for s in held:
        s.close()
    return "-"


def slowly(data, pause, seconds, before=b""):
    """A byte at a time, until the server has had enough."""
    begin = time.monotonic()
    with connect() as s:
        s.sendall(before)
        s.settimeout(pause)
        got = b""
        for byte in data:
            try:
                s.sendall(bytes([byte]))
                got += s.recv(65536)
                break
            except TimeoutError:
                pass
            except OSError:
                break
            if time.monotonic() - begin > seconds:
                return f"holds a connection beyond {seconds} s"
        return status_of(got)


def reads_nothing():
    with connect() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(long_reply(stream=True, logprobs=True, top_logprobs=5))
        time.sleep(1)
        return f"others: {post(body())}"


def many_connections():
    held = []
    try:
        for _ in range(300):
            held.append(connect())
        return f"the 301st: {send(head(len(body())) + body(), seconds=10)}"
    except OSError as error:
        return str(error)
    finally:
        for s in held:
            s.close()


def huge_chunked():
    with connect() as s:
        try:
            s.sendall(head(None))
            megabyte = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
            for _ in range(100):
                s.sendall(megabyte)
            s.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        got = read(s)
        return "hangs" if got is None else status_of(got)


def get(target, more=""):
    return send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n".encode())


def several(statuses):
    return "/".join(dict.fromkeys(str(s) for s in statuses))


def fields(*literals):
    return several(post(b'{"messages":[{"role":"user","content":"x"}],"max_tokens":4,' + text.encode() + b"}") for text in literals)


DEEP = b'{"messages":[{"role":"user","content":"x"}],"tools":' + b"[" * 3000 + b"]" * 3000 + b"}"
# Name, what it does, what ours answers.
FAULTS = [
    ("leaves in the middle of a head", lambda: leave(head(50)[:40]), "-"),
    ("leaves in the middle of a body", lambda: leave(head(5000) + b'{"messages": ['), "-"),
    ("leaves while it waits behind 12 others", leave_the_queue, "-"),
    ("leaves while its prompt is read", lambda: leave(long_prompt(max_tokens=1)), "-"),
    ("leaves while its prompt is read, streamed", lambda: leave(long_prompt(max_tokens=1, stream=True)), "-"),
    ("leaves while its reply is made", lambda: leave(long_reply(), 0.5), "-"),
    ("leaves its stream", lambda: leave(long_reply(stream=True), until=b'"content"'), "-"),
    ("reads nothing of its stream", reads_nothing, "others: 200"),
    ("slow loris: a byte of the head a second", lambda: slowly(head(50), 1, 40), "408"),
    ("a byte of the body every two seconds", lambda: slowly(b" " * 500, 2, 80, before=head(500)), "408"),
    ("half a body, then no more", lambda: send(head(500) + b'{"messages"', half=True), "closed"),
    ("garbage; TLS; another protocol", lambda: several(send(d, 20) for d in (b"\x00\xff" * 50 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\x01" * 99 + b"\r\n\r\n",
                                                                             b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), "400/505"),
    ("two lengths (request smuggling)", lambda: several(send(d, 20) for d in (
        head(5).replace(b"\r\n\r\n", b"\r\nContent-Length: 6\r\n\r\n") + b"x" * 6, head(5).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n") + b"0\r\n\r\n")), "400"),
    ("a body of 100 MB", lambda: send(head(100 << 20) + b" " * (100 << 20)), "413"),
    ("a body of 100 MB in chunks", huge_chunked, "413"),
    ("an empty body; half a document", lambda: several(post(d) for d in (b"", b"{", b'{"messages": [')), "400"),
    ("JSON 3,000 deep", lambda: several(post(d) for d in (DEEP, b"[" * 100000)), "400"),
    ("NaN, Infinity", lambda: fields('"temperature":NaN', '"temperature":Infinity', '"top_p":-Infinity'), "400"),
    ("negative numbers", lambda: fields('"temperature":-1', '"max_tokens":-5', '"top_p":-0.5', '"n":-1', '"top_logprobs":-1,"logprobs":true'), "400"),
    ("huge numbers", lambda: fields('"temperature":1e400', '"max_tokens":1e300', '"seed":' + "9" * 400, '"n":1000000'), "400"),
    ("invalid UTF-8; a lone surrogate", lambda: several(post(b'{"messages":[{"role":"user","content":"' + t + b'"}],"max_tokens":4}') for t in (b"\xff\xfe", b"\\ud800")), "400"),
    ("a page elsewhere (Origin)", lambda: post(body(), more="Origin: https://evil.example\r\n"), "403"),
    ("DNS rebinding (Host)", lambda: post(body(), host="evil.example"), "403"),
    ("paths upwards, escaped, with NUL, of links", lambda: several(get(t) for t in (
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/models/..%2f..%2fetc%2fpasswd", "/x%00y", "/proc/self/root/etc/passwd", "/CON")), "404/400"),
    ("a prompt far beyond the context, streamed", lambda: post(body("word " * 300000, stream=True)), "400"),
    ("300 connections that say nothing", many_connections, "the 301st: 503"),
]


def reply():
    connection = http.client.HTTPConnection(HOST.hostname, HOST.port, timeout=PATIENCE)
    try:
        connection.request("POST", PATH, body(max_tokens=12, seed=1), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return json.loads(answer.read())["choices"][0]["message"]["content"] if answer.status == 200 else f"status {answer.status}"
    except (OSError, http.client.HTTPException) as error:
        return f"none: {error}"
    finally:
        connection.close()


def resident_mib():
    if not ARGS.pid:
        return 0.0
    text = pathlib.Path(f"/proc/{ARGS.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def settled(before):
    """Memory beyond what it was; that of a large request goes back a moment after its answer."""
    for _ in range(20):
        if (grown := resident_mib() - before) < GROWTH_MIB / 4:
            break
        time.sleep(0.1)
    return grown


def next_reply(want):
    """How the next request fares, and after how many seconds: what was left behind may still hold the server up."""
    begin = time.monotonic()
    got = reply()
    while got != want and time.monotonic() - begin < PATIENCE:
        time.sleep(0.2)
        got = reply()
    return got == want, time.monotonic() - begin


def main():
    usual = reply()
    assert not usual.startswith(("status", "none")), usual
    reply()
    failures = 0
    print("| fault | answer | the next request | memory, MiB |\n|---|---|---|---|")
    for name, act, want in FAULTS:
        if ARGS.only not in name:
            continue
        before = resident_mib()
        try:
            got = str(act())
        except OSError as error:
            got = str(error)
        right, seconds = next_reply(usual)
        grown = settled(before)
        print(f"| {name} | {got} | {'right' if right else 'WRONG'}{f', {seconds:.1f} s later' if seconds > 1 else ''} | {grown:+.1f} |", flush=True)
        if ARGS.check and (got != want or not right or grown > GROWTH_MIB):
            print(f"FAULT: {name}: got {got!r}, want {want!r}; next {right}; {grown:+.1f} MiB", file=sys.stderr)
            failures += 1
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
