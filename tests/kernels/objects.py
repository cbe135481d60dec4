#!/usr/bin/env python3
"""What kernel objects may not have, since they hold instructions that this processor may lack.

Usage: objects.py LIBKERNELS.A

No static constructor, which would run when the library is opened; no symbol that the linker merges (inline functions, templates),
of which the copy with the set's instructions could become everybody's.
"""
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


symbols = output("nm", sys.argv[1])
assert len(re.findall(r"^[0-9a-f]+ T ", symbols, re.M)) > 25, "no kernels there?"
merged = re.findall(r"^[0-9a-f]+ [WVui] (.*)", symbols, re.M)
assert not merged, f"symbols that the linker merges: {merged}"
sections = re.findall(r"\.(?:init_array|ctors)\S*", output("readelf", "-SW", sys.argv[1]))
assert not sections, f"static constructors: {sections}"
