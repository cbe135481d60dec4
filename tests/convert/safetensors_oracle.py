#!/usr/bin/env python3
"""Compares what we accept with what the reference implementation (the `safetensors` package) accepts.

    safetensors_oracle.py ACCEPTS_SAFETENSORS [COUNT]

Seeded mutations of small files. Whatever the reference refuses we must refuse; what we refuse alone is counted by
message: names that come twice, more than 8 dimensions, and the like.
"""
import collections
import json
import random
import re
import struct
import subprocess
import sys
import tempfile

from safetensors import SafetensorError, deserialize

SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U8": 1, "BOOL": 1, "F64": 8, "F8_E4M3": 1}


def good(rng):
    header, data = {}, b""
    if rng.random() < 0.3:
        header["__metadata__"] = {"format": "pt"}
    for i in range(rng.randrange(4)):
        dtype = rng.choice(list(SIZES))
        shape = [rng.randrange(4) for _ in range(rng.randrange(3))]
        size = SIZES[dtype]
        for dim in shape:
            size *= dim
        header[f"t{i}"] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    return header, data


def mutate(rng):
    header, data = good(rng)
    text = json.dumps(header)
    for _ in range(rng.randrange(3)):
        kind = rng.randrange(6)
        numbers = list(re.finditer(r"\d+", text))
        if kind == 0 and numbers:
            at = rng.choice(numbers)
            value = rng.choice(["0", "1", "-1", "1.0", "1e0", "18446744073709551615", "18446744073709551616", "null",
                                str(int(at[0]) + 1), "01", '"1"', "[]"])
            text = text[:at.start()] + value + text[at.end():]
        elif kind == 1 and text:
            i = rng.randrange(len(text))
            text = text[:i] + rng.choice('{}[]",: \\x\u00e9\n0') + text[i + rng.randrange(2):]
        elif kind == 2:
            text = text.replace(rng.choice(["dtype", "shape", "data_offsets", "F32", "t0", "__metadata__"]),
                                rng.choice(["dtype", "shape", "x", "F16", "t1", "F4", "C64", "__metadata__"]), 1)
        elif kind == 3:
            data = rng.choice([data + b"x", data[:-1], b""])
        elif kind == 4:
            text = rng.choice([" " + text, text + "  ", text + "\0", text[:-1], text + "}"])
        else:
            text = text.replace("}", rng.choice([',"x":1}', ',"shape":[1]}', ',"x":{"y":[]}}', "}"]), 1)
    raw = text.encode()
    length = rng.choice([len(raw)] * 20 + [0, len(raw) + 1, len(raw) - 1, 2 ** 64 - 1, 100_000_001])
    return struct.pack("<Q", max(length, 0)) + raw + data


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        files, theirs = [], []
        for i in range(count):
            raw = mutate(rng)
            name = f"{folder}/{i}"
            with open(name, "wb") as out:
                out.write(raw)
            files.append(name)
            try:
                deserialize(raw)
                theirs.append(True)
            except SafetensorError:
                theirs.append(False)
        answers = subprocess.run([sys.argv[1]], input="\n".join(files) + "\n", text=True, check=True,
                                 capture_output=True).stdout.split("\n")[:count]
        lax, strict = [], collections.Counter()
        for name, reference, answer in zip(files, theirs, answers):
            if answer[0] == "1" and not reference:
                lax.append(open(name, "rb").read())
            if answer[0] == "0" and reference:
                strict[re.sub(r"^0 \S+ |t\d|\d+", "", answer)] += 1
    print(f"{count} files, {sum(theirs)} accepted by the reference; we alone accept {len(lax)}, we alone refuse "
          f"{sum(strict.values())}")
    for message, n in strict.most_common():
        print(f"  {n} x {message}")
    for raw in lax[:10]:
        print("  accepted:", raw[:300])
    return 1 if lax else 0


sys.exit(main())
