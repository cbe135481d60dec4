#!/usr/bin/env python3
"""Makes a checkpoint of random weights as large as a small hybrid mixture of experts: about 1.5 G parameters (840 MB as
q4), of which a token reads about 170 M. For measuring speed; it writes nothing sensible. Its layers have the
proportions of Qwen3-Next's: products with weights for each cell of recurrent state.

Usage: random_hybrid.py qwen3_5_moe|qwen3_next FOLDER [EXPERTS]      then  ml_convert hf FOLDER OUT.mlb --wtype q4
"""
import json
import pathlib
import struct
import sys

import numpy

HIDDEN, LAYERS, INNER, VOCAB = 2048, 8, 256, 8192
EXPERTS = int(sys.argv[3]) if len(sys.argv) > 3 else 112
HEADS, KV_HEADS, HEAD = 8, 2, 128
K_HEADS, V_HEADS, DIM, TAPS = 4, 8, 128, 4
CONFIG = {
    "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": VOCAB, "max_position_embeddings": 32768,
    "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "rms_norm_eps": 1e-6,
    "num_experts": EXPERTS, "num_experts_per_tok": 6, "moe_intermediate_size": INNER, "intermediate_size": INNER,
    "shared_expert_intermediate_size": INNER, "norm_topk_prob": True, "tie_word_embeddings": True,
    "linear_num_key_heads": K_HEADS, "linear_num_value_heads": V_HEADS, "linear_key_head_dim": DIM,
    "linear_value_head_dim": DIM, "linear_conv_kernel_dim": TAPS, "full_attention_interval": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.25}}
CLASSES = {"qwen3_5_moe": "Qwen3_5MoeForCausalLM", "qwen3_next": "Qwen3NextForCausalLM"}


def shapes(kind):
    yield "model.embed_tokens.weight", (VOCAB, HIDDEN)
    yield "model.norm.weight", (HIDDEN,)
    keys, values = K_HEADS * DIM, V_HEADS * DIM
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (HIDDEN,)
        yield prefix + "post_attention_layernorm.weight", (HIDDEN,)
        if (layer + 1) % 4:
            own = prefix + "linear_attn."
            if kind == "qwen3_next":
                yield own + "in_proj_qkvz.weight", (2 * keys + 2 * values, HIDDEN)
                yield own + "in_proj_ba.weight", (2 * V_HEADS, HIDDEN)
            else:
                yield own + "in_proj_qkv.weight", (2 * keys + values, HIDDEN)
                yield own + "in_proj_z.weight", (values, HIDDEN)
                yield own + "in_proj_a.weight", (V_HEADS, HIDDEN)
                yield own + "in_proj_b.weight", (V_HEADS, HIDDEN)
            yield own + "conv1d.weight", (2 * keys + values, 1, TAPS)
            yield own + "A_log", (V_HEADS,)
            yield own + "dt_bias", (V_HEADS,)
            yield own + "norm.weight", (DIM,)
            yield own + "out_proj.weight", (HIDDEN, values)
        else:
            own = prefix + "self_attn."
            yield own + "q_proj.weight", (2 * HEADS * HEAD, HIDDEN)
            yield own + "k_proj.weight", (KV_HEADS * HEAD, HIDDEN)
            yield own + "v_proj.weight", (KV_HEADS * HEAD, HIDDEN)
            yield own + "o_proj.weight", (HIDDEN, HEADS * HEAD)
            yield own + "q_norm.weight", (HEAD,)
            yield own + "k_norm.weight", (HEAD,)
        yield prefix + "mlp.gate.weight", (EXPERTS, HIDDEN)
        yield prefix + "mlp.experts.gate_up_proj", (EXPERTS, 2 * INNER, HIDDEN)
        yield prefix + "mlp.experts.down_proj", (EXPERTS, HIDDEN, INNER)
        yield prefix + "mlp.shared_expert.gate_proj.weight", (INNER, HIDDEN)
        yield prefix + "mlp.shared_expert.up_proj.weight", (INNER, HIDDEN)
        yield prefix + "mlp.shared_expert.down_proj.weight", (HIDDEN, INNER)
        yield prefix + "mlp.shared_expert_gate.weight", (1, HIDDEN)


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    config = dict(CONFIG, architectures=[CLASSES[kind]], model_type=kind)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    random = numpy.random.default_rng(1)
    # One pool of bf16 numbers, from which each tensor takes some: gigabytes of fresh ones would take minutes.
    pool = (random.standard_normal(1 << 24, numpy.float32) * 0.03).view(numpy.uint32) >> 16
    pool = pool.astype(numpy.uint16)
    header, at = {}, 0
    tensors = list(shapes(kind))
    for name, shape in tensors:
        size = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors:
            left = int(numpy.prod(shape))
            while left:
                first = int(random.integers(len(pool) // 2))
                part = pool[first:first + min(left, len(pool) // 2)]
                file.write(part.tobytes())
                left -= len(part)
    print(f"{at // 2 / 1e9:.2f} G parameters")


if __name__ == "__main__":
    main()
