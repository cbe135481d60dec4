"""Requests at once: each has the bits of the same request alone, and none waits for another's long prompt."""
import os
import time
import unittest

from serving import Server, in_parallel


def ask(server, i):
    """A request of a kind that depends on i; what must not depend on the others."""
    kind = i % 4
    if kind == 0:
        return server.chat(f"In the beginning {i}", max_tokens=20, temperature=1, seed=i, logprobs=True).json["choices"]
    if kind == 1:
        events = server.events("/v1/chat/completions", {"messages": [{"role": "user", "content": f"and God {i}"}],
                                                        "temperature": 0.8, "top_p": 0.9, "seed": i, "max_tokens": 24})
        return [e["choices"] for e in events[:-1]]
    if kind == 2:
        return server.complete(f"the earth {i} " * 30, n=2, temperature=1, seed=i, max_tokens=12, logprobs=2).json["choices"]
    return server.post("/v1/embeddings", {"input": [f"light {i}", "darkness"]}).json["data"]


class Parallel(unittest.TestCase):
    def test_bits_are_those_of_a_request_alone(self):
        server = Server.get()
        alone = [ask(server, i) for i in range(24)]
        self.assertEqual(in_parallel([lambda i=i: ask(server, i) for i in range(24)]), alone)
        with Server("--cache-mib", "0", "--parallel", "2", "--rows", "8", "-t", "1") as other:
            other.ready()
            self.assertEqual(in_parallel([lambda i=i: ask(other, i) for i in range(24)]), alone)

    def test_second_stream_begins_while_the_first_ends(self):
        server = Server.get()
        body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 30, "temperature": 0}
        for _ in range(5):
            texts = in_parallel([lambda: server.events("/v1/chat/completions", body)] * 4)
            self.assertEqual(len({len(events) for events in texts}), 1)

    def test_a_long_prompt_does_not_hold_up_others(self):
        server = Server.get()
        times = {}

        def long():
            server.chat("and the waters " * 700, max_tokens=1)
            times["long"] = time.monotonic()

        def short():
            while server.metric("krafla_running") == 0 and "long" not in times:
                pass
            server.chat("y", max_tokens=1)
            times["short"] = time.monotonic()

        in_parallel([long, short])
        self.assertLess(times["short"], times["long"] + 1)

    def test_memory_stays(self):
        server = Server.get()

        def some():
            for i in range(100):
                self.assertEqual(server.chat(f"{i}", max_tokens=1).status, 200)

        in_parallel([some] * 2)
        before = server.memory()
        in_parallel([some] * 4)
        if os.environ.get("KRAFLA_MEMORY_MEASURED") != "no":
            self.assertLess(server.memory() - before, 24)
