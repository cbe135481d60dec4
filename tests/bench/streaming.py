#!/usr/bin/env python3
"""What streaming of experts reaches: the figures of docs/streaming.md, one table a part.

Usage: streaming.py MODEL.mlb [PART...] [--isa avx2] [--gguf MODEL.gguf --peer PYTHON] [--threads 2]

MODEL and its GGUF come from tests/bench/random_moe.py. PYTHON is one that has llama-cpp-python (versus.py builds one in
build/llama-<isa>). Needs root for the memory cgroups (v1 or v2) and fio. Parts, all by default:
  disk     the readers beside fio with the same block size and depth
  decode   tokens/s by the fraction of experts in memory, beside the cost model
  prefill  a prompt of 4,096 tokens with a quarter of the experts, beside all of them
  map      half and a quarter of the experts beside the whole file mapped, both in a cgroup of that size
  memory   the resident set, looked at every 10 ms
  hog      another process takes memory of the same cgroup in the middle, and gives it back
  peer     llama.cpp (mapped) and Krafla in cgroups of one size
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRACTIONS = (1, 0.5, 0.25, 0.125)
MIB = 1 << 20
ROOM = 512 * MIB  # of a cgroup beside the weights: scratch, cache, program
HOG = "import sys, time; held = bytearray(int(sys.argv[1])); held[::4096] = b'x' * len(held[::4096]); time.sleep(float(sys.argv[2]))"


class Group:
    """A memory cgroup of this size."""

    def __init__(self, limit):
        old = pathlib.Path("/sys/fs/cgroup/memory")
        self.path = (old if old.is_dir() else pathlib.Path("/sys/fs/cgroup")) / f"krafla-bench-{os.getpid()}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")).write_text(str(limit))
        self.events = self.path / ("memory.oom_control" if old.is_dir() else "memory.events")

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def kills(self):
        return int(re.search(r"^oom_kill (\d+)", self.events.read_text(), re.M).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(50):  # until its last process is gone
            with contextlib.suppress(OSError):
                return self.path.rmdir()
            time.sleep(0.1)


class Watch:
    """A process's resident set every 10 ms."""

    def __init__(self, process):
        self.samples = []
        self.thread = threading.Thread(target=self.look, args=(process,))
        self.thread.start()

    def look(self, process):
        while process.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                pages = pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]
                self.samples.append((time.monotonic(), int(pages) * 4096))
            time.sleep(0.01)


class Bench:
    def __init__(self, args):
        self.args, self.model = args, args.model
        self.build = ROOT / "build" / args.isa
        self.dense = self.plan(1)["weights read"]
        self.all = self.plan("4096G")["weights read"]

    def plan(self, budget, *options):
        done = subprocess.run([self.build / "ml_run", self.model, "--dry-run", "--ram-budget", str(budget), *options],
                              capture_output=True, text=True, check=False)
        return {key: int(value) for key, value in re.findall(r"^(\w[\w ]*?) +(\d+)", done.stdout, re.M)}

    def budget(self, fraction):
        return int(self.dense + fraction * (self.all - self.dense))

    def forget(self):
        """The files are not in the page cache any more."""
        for path in filter(None, (self.model, self.args.gguf)):
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)

    def start(self, *options, group=None, command=None):
        self.forget()
        command = command or [self.build / "ml_bench", self.model, "-t", self.args.threads, "--json", *options]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                                preexec_fn=group.join if group else None)

    def rows(self, *options, group=None):
        process = self.start(*options, group=group)
        out, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"ml_bench {options}: exit code {process.returncode}")
        return json.loads(out)

    def streamed(self, fractions, *options, group=None, reader="uring"):
        budgets = ",".join(str(f) for f in fractions)
        return self.rows("--ram-budget", budgets, "--reader", reader, *options, group=group)

    def in_group(self, fraction, run):
        with Group(self.budget(fraction) + ROOM) as group:
            return run(group)


def table(title, head, rows):
    print(f"\n### {title}\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
    sys.stdout.flush()


def disk(bench):
    def fio():
        bench.forget()
        done = subprocess.run(["fio", "--name=read", f"--filename={bench.model}", "--readonly", "--rw=randread", "--bs=512k",
                               "--iodepth=32", "--ioengine=io_uring", "--direct=1", "--runtime=8", "--time_based",
                               "--output-format=json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"] / 1e9

    name = "tests/session/test_streaming"
    program = next(p for p in (bench.build / name, ROOT / f"build/check-{bench.args.isa}" / name) if p.exists())

    def reader(name):
        bench.forget()
        done = subprocess.run([program, f"reading with {name}"], text=True,
                              env={**os.environ, "KRAFLA_STREAM_FILE": str(bench.model)}, capture_output=True, check=True)
        return float(re.search(r"([\d.]+) GB/s", done.stdout).group(1))

    rounds = [(fio(), reader("uring"), reader("pool")) for _ in range(3)]
    theirs, ring, pool = (statistics.median(column) for column in zip(*rounds))
    table("Reads of 512 KiB, 32 in flight, GB/s", ("fio, io_uring", "uring", "of fio's", "pool of 8", "of fio's"),
          [(theirs, ring, ring / theirs, pool, pool / theirs)])


def decode(bench):
    rows = bench.streamed(FRACTIONS, "-p", "0", "-n", "48")
    table("Decoding", ("experts in memory", "hit rate", "read, GB/s", "tokens/s", "cost model", "measured / model"),
          [(r["fraction"], r["hit_rate"], r["read_gb_s"], r["tokens_per_s"], r["model_tokens_per_s"],
            r["tokens_per_s"] / r["model_tokens_per_s"]) for r in rows])


def prefill(bench):
    rows = [bench.streamed((f,), "-p", "4096", "-n", "0", "--batch", "4096")[0] for f in (1, 0.25)]
    full = rows[0]["tokens_per_s"]
    table("A prompt of 4,096", ("experts in memory", "tokens/s", "of all in memory", "GB read", "GB/s", "waited s"),
          [(r["fraction"], r["tokens_per_s"], r["tokens_per_s"] / full, r["bytes_read"] / 1e9, r["read_gb_s"], r["stall_s"])
           for r in rows])


def mapped(bench):
    # Not ml_bench, which measures memory in buffers as large as the model.
    def seconds(group, n):
        ids = ",".join(str(i * 7919 % 30000) for i in range(n))
        begin = time.monotonic()
        process = bench.start(group=group, command=[bench.build / "ml_eval", "logits", bench.model, "--ids", ids, "--out",
                                                    "/dev/null", "--batch", 1, "-t", bench.args.threads, "--load", "map"])
        process.communicate()
        return time.monotonic() - begin

    rows = []
    for fraction in (0.5, 0.25):
        streamed = bench.in_group(fraction, lambda group: bench.streamed((fraction,), "-p", "0", "-n", "32", group=group)[0])
        whole = bench.in_group(fraction, lambda group: 32 / (seconds(group, 48) - seconds(group, 16)))
        rows.append((fraction, streamed["tokens_per_s"], whole, streamed["tokens_per_s"] / whole))
    table("Decoding in the memory of some experts", ("experts' memory", "streamed, tokens/s", "mapped, tokens/s", "ratio"), rows)


def memory(bench):
    rows = []
    for fraction, test in ((0.5, ("-p", "0", "-n", "32")), (0.125, ("-p", "0", "-n", "32")), (0.25, ("-p", "1024", "-n", "0"))):
        process = bench.start("--ram-budget", fraction, "--reader", "uring", *test)
        watch = Watch(process)
        out, _ = process.communicate()
        watch.thread.join()
        budget = bench.budget(fraction)
        cache = bench.plan(budget, "--ctx", str(2 * int(test[1]) + 2 * int(test[3]) + 130))["attention cache"]
        peak = max(size for _, size in watch.samples)
        rows.append((" ".join(test), fraction, budget / MIB, peak / MIB, (peak - budget - cache) / MIB, len(watch.samples),
                     json.loads(out)[0]["tokens_per_s"]))
    table("Resident set, MiB", ("test", "fraction", "budget", "peak", "above budget and cache (64 allowed)", "samples",
                                "tokens/s"), rows)


def hog(bench):
    taken = int(0.25 * (bench.all - bench.dense)) + ROOM
    with Group(bench.budget(0.5) + ROOM) as group:
        process = bench.start("--ram-budget", 0.5, "--reader", "uring", "-p", "0", "-n", bench.args.hog_tokens, group=group)
        watch = Watch(process)
        time.sleep(bench.args.hog_after)
        before = watch.samples[-1][1]
        begin = time.monotonic()
        other = subprocess.Popen([sys.executable, "-c", HOG, str(taken), "15"], preexec_fn=group.join)
        code = other.wait()
        end = time.monotonic()
        out, _ = process.communicate()
        watch.thread.join()
        least = min(size for at, size in watch.samples if begin < at < end)
        last = watch.samples[-20][1]
        row = json.loads(out)[0] if process.returncode == 0 else {}
        table("Another process takes memory of the same cgroup, MiB",
              ("limit", "taken", "resident before", "least meanwhile", "at the end", "shrinks", "grows", "exit codes", "OOM kills"),
              [((bench.budget(0.5) + ROOM) / MIB, taken / MIB, before / MIB, least / MIB, last / MIB, row.get("shrinks"),
                row.get("grows"), f"{process.returncode}, {code}", group.kills())])


def peer(bench):
    from versus import PEER_RUN  # pylint: disable=import-outside-toplevel
    rows = []
    prompt, tokens = 512, 24
    for fraction in (1, 0.5, 0.25):
        def theirs(group):
            process = bench.start(group=group, command=[bench.args.peer, "-c", PEER_RUN, bench.args.gguf, bench.args.threads,
                                                        prompt, tokens, 0, "mapped"])
            return json.loads(process.communicate()[0].strip().splitlines()[-1])

        def ours(group):
            return bench.streamed((fraction,), "-p", prompt, "-n", tokens, "--batch", prompt, group=group)

        krafla = {row["test"]: row["tokens_per_s"] for row in bench.in_group(fraction, ours)}
        llama = bench.in_group(fraction, theirs)
        rows.append((fraction, krafla["prompt"], llama["prompt"], krafla["prompt"] / llama["prompt"], krafla["decode"],
                     llama["decode"], krafla["decode"] / llama["decode"]))
    table(f"Beside llama.cpp, mapped, in cgroups of one size: prompt of {prompt}, {tokens} tokens, tokens/s",
          ("experts' memory", "prompt", "llama.cpp", "ratio", "decode", "llama.cpp", "ratio"), rows)


PARTS = {"disk": disk, "decode": decode, "prefill": prefill, "map": mapped, "memory": memory, "hog": hog, "peer": peer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--isa", default="avx2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--peer", help="a Python that has llama-cpp-python")
    parser.add_argument("--hog-tokens", type=int, default=500)
    parser.add_argument("--hog-after", type=float, default=30)
    args = parser.parse_args()
    bench = Bench(args)
    for part in args.parts or [p for p in PARTS if p != "peer" or args.peer]:
        PARTS[part](bench)


if __name__ == "__main__":
    main()
