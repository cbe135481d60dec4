#!/usr/bin/env python3
"""Checks that files can be read in one sitting: at most 800 lines each, median at most 150 a folder tree.

Prints every file beyond the soft limit of 400 lines; fails beyond the hard one.
"""
import statistics
import subprocess
import sys

HARD, SOFT, MEDIAN = 800, 400, 150
# Generated tables and data are exempt.
EXEMPT = (".inc", ".json", ".txt", ".md", ".safetensors", ".jinja", ".svg")

files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cc", "*.h", "*.hpp", "*.c",
                        "*.py", "*.js", "*.css", "scripts/*", "*.build"],
                       capture_output=True, text=True, check=True).stdout.split("\n")
sizes = {}
for name in files:
    if name and not name.endswith(EXEMPT):
        try:
            with open(name, encoding="utf-8") as file:
                sizes[name] = sum(1 for _ in file)
        except FileNotFoundError:
            pass  # deleted, not yet committed
failed = False
for name, lines in sorted(sizes.items(), key=lambda item: -item[1]):
    if lines > HARD:
        print(f"{name}: {lines} lines, want at most {HARD}")
        failed = True
    elif lines > SOFT:
        print(f"note: {name}: {lines} lines, soft limit {SOFT}")
median = statistics.median(sizes.values())
if median > MEDIAN:
    print(f"median of {len(sizes)} files is {median} lines, want at most {MEDIAN}")
    failed = True
print(f"{len(sizes)} files, median {median:g} lines, longest {max(sizes.values())}")
sys.exit(failed)
