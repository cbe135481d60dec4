#!/usr/bin/env python3
"""The perplexity that transformers gives for a GGUF's weights, dequantised to f32, by the rule of `ml_eval ppl`.

Usage: perplexity.py MODEL.gguf TEXT [CHARACTERS]   (needs transformers, torch, gguf)
Chunks of 512 tokens, where the tokenizer adds BOS one BOS and 511; positions 256 ... 510 of each are scored. Prints one JSON line.
"""
import json
import pathlib
import sys

import torch
import transformers

CONTEXT = 512


def main(model_path, text_path, characters):
    path = pathlib.Path(model_path)
    text = pathlib.Path(text_path).read_text()[:characters]
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    ids = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])
    bos = torch.tensor([tokenizer.bos_token_id] if tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id else [],
                       dtype=torch.long)
    step = CONTEXT - len(bos)
    total, targets = 0.0, 0
    with torch.no_grad():
        for text_chunk in ids[: len(ids) // step * step].view(-1, step):
            chunk = torch.cat([bos, text_chunk])
            hidden = model.model(chunk[None]).last_hidden_state[0, CONTEXT // 2:CONTEXT - 1]
            logits = model.lm_head(hidden).double()
            nll = torch.nn.functional.cross_entropy(logits, chunk[CONTEXT // 2 + 1:], reduction="sum")
            total += nll.item()
            targets += len(hidden)
            print(f"{targets} targets, perplexity {torch.tensor(total / targets).exp():.4f}", file=sys.stderr)
    print(json.dumps({"tokens": len(ids), "targets": targets, "ppl": torch.tensor(total / targets).exp().item(),
                      "mean_nll": total / targets, "first_ids": ids[:16].tolist()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 60000)
