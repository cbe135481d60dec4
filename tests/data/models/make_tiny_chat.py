#!/usr/bin/env python3
"""Makes tiny-chat/: a Llama checkpoint of random weights with a trained 512-token tokenizer and a template.

Usage: make_tiny_chat.py TEXT OUT_DIR. TEXT trains the tokenizer (King James Bible, public domain). Needs
numpy and tokenizers. The tests use it wherever a complete but small model is wanted.
"""
import json
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

text, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train([str(text)], trainers.BpeTrainer(
    vocab_size=512, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False))
tokenizer.save(str(out / "tokenizer.json"), pretty=False)

VOCAB, EMBD, FF, LAYERS, HEADS, KV_HEADS, HEAD_DIM = tokenizer.get_vocab_size(), 64, 96, 2, 4, 2, 16
(out / "config.json").write_text(json.dumps({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": EMBD, "intermediate_size": FF, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
    "vocab_size": VOCAB, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}, indent=1) + "\n")
(out / "tokenizer_config.json").write_text(json.dumps({
    "bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "tokenizer_class": "GPT2Tokenizer",
    "chat_template": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
                     "message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
                     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    indent=1) + "\n")

random = np.random.default_rng(20030101)
tensors = {"model.embed_tokens.weight": (VOCAB, EMBD, 1.0), "model.norm.weight": (EMBD,)}
for i in range(LAYERS):
    at = f"model.layers.{i}."
    tensors[at + "input_layernorm.weight"] = (EMBD,)
    tensors[at + "post_attention_layernorm.weight"] = (EMBD,)
    for name, rows, cols in (("self_attn.q_proj", HEADS * HEAD_DIM, EMBD),
                             ("self_attn.k_proj", KV_HEADS * HEAD_DIM, EMBD),
                             ("self_attn.v_proj", KV_HEADS * HEAD_DIM, EMBD),
                             ("self_attn.o_proj", EMBD, HEADS * HEAD_DIM),
                             ("mlp.gate_proj", FF, EMBD), ("mlp.up_proj", FF, EMBD),
                             ("mlp.down_proj", EMBD, FF)):
        tensors[f"{at}{name}.weight"] = (rows, cols, 2.0 / cols ** 0.5)
header, blobs, offset = {}, [], 0
for name, spec in sorted(tensors.items()):
    if len(spec) == 1:
        values = np.float32(1 + 0.1 * random.standard_normal(spec))
    else:
        values = np.float32(spec[2] * random.standard_normal(spec[:2]))
    blob = (values.view(np.uint32) >> 16).astype("<u2").tobytes()  # bf16
    header[name] = {"dtype": "BF16", "shape": list(spec[:2] if len(spec) == 3 else spec),
                    "data_offsets": [offset, offset + len(blob)]}
    blobs.append(blob)
    offset += len(blob)
raw = json.dumps(header).encode()
raw += b" " * (-len(raw) % 8)
(out / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + b"".join(blobs))
