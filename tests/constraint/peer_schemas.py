#!/usr/bin/env python3
"""llama.cpp's grammars (PyPI's llama-cpp-python) on the schemas of measure_schemas.py: which are taken, time to
compile, time of a mask over the whole vocabulary.

    peer_schemas.py MODEL.gguf

A walk of up to 40 tokens, each a random one of those that the mask leaves. llama.cpp masks the whole vocabulary only
where the token that was sampled without the grammar does not fit; what it takes then is what is measured here.
"""
import ctypes
import json
import math
import random
import statistics
import sys
import time

import llama_cpp
from llama_cpp.llama_grammar import json_schema_to_gbnf

from measure_schemas import schemas

N_TOKENS = 40


class Masks:
    def __init__(self, model):
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self.model = llama_cpp.llama_model_load_from_file(model.encode(), parameters)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.n = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self.data = (llama_cpp.llama_token_data * self.n)()
        self.array = llama_cpp.llama_token_data_array(data=self.data, size=self.n, selected=-1, sorted=False)

    def walk(self, gbnf, seed):
        """Microseconds to compile, and of each mask; None where it does not parse."""
        start = time.perf_counter()
        sampler = llama_cpp.llama_sampler_init_grammar(self.vocab, gbnf.encode(), b"root")
        compile_us = 1e6 * (time.perf_counter() - start)
        if not sampler:
            return None
        choose = random.Random(seed)
        masks = []
        for _ in range(N_TOKENS):
            for i in range(self.n):
                self.data[i].id, self.data[i].logit = i, 0
            start = time.perf_counter()
            llama_cpp.llama_sampler_apply(sampler, ctypes.byref(self.array))
            masks.append(1e6 * (time.perf_counter() - start))
            left = [entry.id for entry in self.data if entry.logit != -math.inf]
            if not left:
                break
            token = choose.choice(left)
            if llama_cpp.llama_vocab_is_eog(self.vocab, token):
                break
            llama_cpp.llama_sampler_accept(sampler, token)
        llama_cpp.llama_sampler_free(sampler)
        return compile_us, masks


def main():
    masks = Masks(sys.argv[1])
    compiled, all_masks, total = [], [], 0
    for seed, (name, schema) in enumerate(schemas()):
        total += 1
        start = time.perf_counter()
        try:
            gbnf = json_schema_to_gbnf(json.dumps(schema))
        except Exception as error:  # of any kind: it is the peer's answer
            print(f"{name}: no grammar: {type(error).__name__}: {str(error)[:100]}")
            continue
        convert_us = 1e6 * (time.perf_counter() - start)
        walked = masks.walk(gbnf, seed)
        if walked is None:
            print(f"{name}: its grammar does not parse")
            continue
        compiled.append((convert_us + walked[0]) / 1000)
        all_masks += walked[1]
    print(f"{total} schemas, {len(compiled)} taken; compile: median {statistics.median(compiled):.2f} ms, largest {max(compiled):.1f} ms")
    print(f"masks of {masks.n} tokens: median {statistics.median(all_masks) / 1000:.2f} ms, mean "
          f"{statistics.mean(all_masks) / 1000:.2f} ms, largest {max(all_masks) / 1000:.1f} ms ({len(all_masks)} masks)")


if __name__ == "__main__":
    main()
