#!/usr/bin/env python3
"""Steady decoding makes no system calls but thread wake-ups. Usage: test_system_calls.py STRACE PROGRAM MODEL"""
import re
import subprocess
import sys
import tempfile

ALLOWED = {"futex", "sched_yield", "restart_syscall"}

strace, program, model = sys.argv[1:]
with tempfile.NamedTemporaryFile("r") as trace:
    done = subprocess.run([strace, "-f", "-o", trace.name, program, model], capture_output=True, text=True,
                          check=False)
    text = trace.read()
if "ptrace" in done.stderr and "getppid(" not in text:
    print("strace is not permitted here")
    sys.exit(77)  # skipped
assert done.returncode == 0, done.stdout + done.stderr
lines = text.splitlines()
marks = [i for i, line in enumerate(lines) if "getppid(" in line]
assert len(marks) == 2, f"marks: got {len(marks)}, want 2"
steady = "\n".join(lines[marks[0] + 1:marks[1]])
calls = re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)", steady, re.M)
others = sorted({call for call in calls if call not in ALLOWED} - {"getppid"})
print(f"{len(calls)} calls in 100 tokens: {', '.join(sorted(set(calls)))}")
sys.exit(bool(others))
