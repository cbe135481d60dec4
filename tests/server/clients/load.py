"""Short requests by the thousand: the server's resident memory stays what it was after the first of them.

Usage: load.py URL PID COUNT. Eight clients with a connection each.
"""
import http.client
import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse

URL, PID, COUNT = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], int(sys.argv[3])
CLIENTS = 8
WARM = max(200, COUNT // 10)
GROWTH_MIB = 4


def resident_mib():
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{PID}/status").read_text()).group(1)) / 1024


def ask(count):
    failures = []

    def client(number):
        connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=300)
        for i in range(number, count, CLIENTS):
            body = {"messages": [{"role": "user", "content": f"text {i % 97}"}], "max_tokens": 1 + i % 3, "temperature": 0, "stream": i % 2 == 0}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200 or not answer.read():
                failures.append(answer.status)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:5]


ask(WARM)
before, start = resident_mib(), time.monotonic()
ask(COUNT - WARM)
after, seconds = resident_mib(), time.monotonic() - start
print(f"{COUNT} requests: {(COUNT - WARM) / seconds:.0f} a second, resident memory {before:.1f} MiB after {WARM}, {after:.1f} MiB at the end")
sys.exit(after > before + GROWTH_MIB)
