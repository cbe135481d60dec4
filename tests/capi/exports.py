#!/usr/bin/env python3
"""The shared library exports exactly the names of its list. Usage: exports.py LIBRARY LIST..."""
import re
import subprocess
import sys

library, lists = sys.argv[1], sys.argv[2:]
wanted = {line.strip() for path in lists for line in open(path, encoding="utf-8") if line.strip()}


def output(*command):
    return subprocess.run([*command, library], capture_output=True, text=True, check=True).stdout


if library.endswith(".dll"):
    exported = set(re.findall(r"^\s+\[ *\d+\] (?:\+base\[ *\d+\] +\w+ )?(\w+)$", output("objdump", "-p"), re.M))
else:
    table = output("nm", "--dynamic", "--defined-only", "--extern-only")
    exported = {line.split()[2].split("@")[0] for line in table.splitlines() if len(line.split()) == 3}
for name in sorted(exported - wanted):
    print(f"exported, not listed: {name}")
for name in sorted(wanted - exported):
    print(f"listed, not exported: {name}")
sys.exit(exported != wanted)
