#!/usr/bin/env python3
"""A conversation in the terminal. Usage: chat.py [MODEL.mlb]

Ctrl-C stops the reply, Ctrl-D ends the conversation. When the context is full the oldest turns go.
"""
import sys

import krafla

path = sys.argv[1] if len(sys.argv) > 1 else "models/smollm2-135m-instruct-q8.mlb"
with krafla.Model(path) as model, model.session() as session:
    print(f"{model.info['name']}, {krafla.isa}", file=sys.stderr)
    chat = krafla.Chat(model, full="drop", reserve=400)
    for line in iter(lambda: sys.stdin.readline() if not sys.stdin.isatty() else input("> ") + "\n", ""):
        chat.add("user", line.strip())
        try:
            for event in chat.reply(session, krafla.Sampler(temperature=0.7, top_p=0.9), max_tokens=400):
                print(event.text, end="", flush=True)
        except KeyboardInterrupt:
            pass
        print()
