#!/usr/bin/env python3
"""Makes tests/data/models/variants/: tiny random models of every family in the forms in which checkpoints are published.

Usage: make.py [NAME...]   (needs transformers 5.24, torch, safetensors, gguf)
Each folder has a checkpoint (or model.gguf) and expected.safetensors with what transformers computes from it in f32:
prompt, logits of every position, a greedy continuation and its margins; `context` where the session's context matters.
The variants are functions of the other files of variants/, by theme.
"""
import importlib
import pathlib
import sys

import transformers

from variants.core import VARIANTS

for file in sorted((pathlib.Path(__file__).parent / "variants").glob("*.py")):
    importlib.import_module(f"variants.{file.stem}")

if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    for wanted in sys.argv[1:] or VARIANTS:
        VARIANTS[wanted]()
        print(wanted)
