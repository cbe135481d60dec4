#!/usr/bin/env python3
"""What krafla.hpp must not let compile. Usage: compile_failures.py COMPILER... -- INCLUDE"""
import subprocess
import sys

compiler, include = sys.argv[1:sys.argv.index("--")], sys.argv[-1]
# Each with the declarations below in scope; the first must compile.
CASES = {
    "nothing wrong": "session.Append({1, 2}); krafla::Session other = session.Fork();",
    "a session is copied": "krafla::Session other = session;",
    "a session is copied into": "session = session.Fork(), krafla::Session(session);",
    "a model is copied": "krafla::Model other(model);",
    "a sampler is copied": "krafla::Sampler other = sampler;",
    "a range of tokens is copied": "krafla::Tokens a(session, sampler); krafla::Tokens b = a;",
    "a session of a tokenizer": "krafla::Session other(tokenizer);",
    "a session from a raw handle": "krafla_session* raw = nullptr; krafla::Session other(raw);",
    "a temporary's tokens": "krafla::Tokens tokens(krafla::Session(model), sampler);",
    "a seed that is text": "krafla::Sampler other(\"7\");",
    "ids that are text": "session.Append(\"text\");",
    "a logit that is written": "session.logits().data[0] = 1;",
    "a stage that is a number": "sampler.Add(7);",
}
PROGRAM = """#include "krafla/krafla.hpp"
void f(krafla::Model& model, krafla::Session& session, krafla::Sampler& sampler, krafla::Tokenizer& tokenizer) {
  (void)model, (void)session, (void)sampler, (void)tokenizer;
  %s
}
"""
failed = False
for number, (name, code) in enumerate(CASES.items()):
    done = subprocess.run([*compiler, "-std=c++17", "-fsyntax-only", f"-I{include}", "-xc++", "-"],
                          input=PROGRAM % code, text=True, capture_output=True, check=False)
    if (done.returncode == 0) != (number == 0):
        print(f"{name}: {'compiles' if done.returncode == 0 else done.stderr}")
        failed = True
sys.exit(failed)
