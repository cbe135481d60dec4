#!/usr/bin/env python3
"""Checks the direction of includes (docs/architecture.md): a folder includes only what lies below it."""
import re
import subprocess
import sys

# Folder -> the project's folders that it may include, besides itself.
BASE = {"lib/base", "include/krafla"}
ALLOWED = {
    "include/krafla": set(),
    "kernels": set(),
    "lib/base": set(),
    "lib/runtime": BASE,
    "lib/file": BASE | {"lib/quant"},
    "lib/quant": BASE | {"kernels"},
    "lib/weights": BASE | {"kernels", "lib/runtime", "lib/file", "lib/quant"},
    "lib/tokenizer": BASE,
    "lib/chat": BASE,
    "lib/constraint": BASE | {"lib/tokenizer"},
    "lib/sampler": BASE,
}
ALLOWED["lib/model"] = ALLOWED["lib/weights"] | {"lib/weights"}
ALLOWED["lib/session"] = ALLOWED["lib/model"] | {"lib/model"}
ALLOWED["lib/batch"] = ALLOWED["lib/session"] | {"lib/session", "lib/sampler"}
ALLOWED["lib/eval"] = ALLOWED["lib/session"] | {"lib/session", "lib/tokenizer"}
ALLOWED["lib/calibrate"] = ALLOWED["lib/eval"] | {"lib/eval", "lib/sampler"}
ALLOWED["lib/convert"] = ALLOWED["lib/calibrate"] | {"lib/calibrate"}
ALLOWED["capi"] = set().union(*ALLOWED.values()) | set(ALLOWED)
for outer in ("tools", "examples", "bindings"):
    ALLOWED[outer] = {"include/krafla"}
# The launchers judge the processor as the builds do.
ALLOWED["tools/launch"] = {"include/krafla", "kernels"}
# The container headers would put inline functions compiled with ISA flags in the linker's reach.
KERNEL_SYSTEM = {"stdint.h", "stddef.h", "string.h", "immintrin.h", "emmintrin.h", "smmintrin.h", "arm_neon.h", "arm_sve.h",
                 "cpuid.h", "sys/auxv.h"}


def folder_of(path):
    if path.startswith("krafla/"):
        return "include/krafla"
    return max((f for f in ALLOWED if path.startswith(f + "/")), key=len, default=None)


failures = 0
names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cc", "*.h", "*.hpp", "*.c"],
                       capture_output=True, text=True, check=True).stdout.split()
for name in names:
    folder = folder_of(name)
    if folder is None:
        continue
    try:
        text = open(name, encoding="utf-8").read()
    except FileNotFoundError:
        continue
    for kind, target in re.findall(r'^#include ([<"])([^>"]+)[>"]', text, re.M):
        inner = folder_of(target)
        if kind == '"' and inner not in (None, folder) and inner not in ALLOWED[folder]:
            print(f"{name}: includes {target}, but {folder} may not use {inner}")
            failures += 1
        if kind == "<" and folder == "kernels" and target not in KERNEL_SYSTEM:
            print(f"{name}: includes <{target}>; kernels use only {', '.join(sorted(KERNEL_SYSTEM))}")
            failures += 1
print(f"{len(names)} files, {failures} includes against the direction")
sys.exit(failures != 0)
