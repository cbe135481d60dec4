#!/usr/bin/env python3
"""A conversation in the terminal. Usage: chat.py [MODEL.mlb]

Ctrl-C stops the reply, Ctrl-D ends the conversation.
"""
import sys

import krafla

path = sys.argv[1] if len(sys.argv) > 1 else "models/smollm2-135m-instruct-q8.mlb"
messages = []
with krafla.Model(path) as model, model.session() as session:
    print(f"{model.info['name']}, {krafla.isa}", file=sys.stderr)
    for line in iter(lambda: sys.stdin.readline() if not sys.stdin.isatty() else input("> ") + "\n", ""):
        messages.append({"role": "user", "content": line.strip()})
        session.edit(model.chat(messages))  # reads only what is new
        reply = ""
        try:
            for token in session.generate(krafla.Sampler(temperature=0.7, top_p=0.9), max_tokens=400):
                print(token.text, end="", flush=True)
                reply += token.text
        except KeyboardInterrupt:
            pass
        print()
        messages.append({"role": "assistant", "content": reply})
