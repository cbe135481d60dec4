"""GGUF files of mixtures of experts and hybrids: what llama.cpp's converter makes of their tensors."""
import re

import gguf
import numpy
import torch
import transformers
from safetensors.torch import load_file

from variants.core import SMALL, make, variant
from variants.experts import MOE
from variants.gguf_files import PERMUTED, add_keys, permute
from variants.hybrid import EXPERTS, FULL, HYBRID, LINEAR


def stack_experts(tensors):
    """[experts, rows, cols] of each matrix, fused or not."""
    out, experts = {}, {}
    for name, value in tensors.items():
        match = re.fullmatch(r"(.*\.experts)\.(\d+)\.(\w+)\.weight", name)
        if match:
            experts.setdefault(f"{match[1]}.{match[3]}.weight", {})[int(match[2])] = value
        else:
            out[name] = value
    for name, values in experts.items():
        out[name] = torch.stack([values[i] for i in range(len(values))])
    return out


def split_interleaved(tensors):
    """gpt-oss: gate and up are every other column, or row of a bias."""
    out = {}
    for name, value in tensors.items():
        if name.endswith("experts.gate_up_proj"):
            value = value.transpose(1, 2)
            out[name.replace("gate_up_proj", "gate_proj.weight")] = value[:, 0::2]
            out[name.replace("gate_up_proj", "up_proj.weight")] = value[:, 1::2]
        elif name.endswith("experts.gate_up_proj_bias"):
            out[name.replace("gate_up_proj_bias", "gate_proj.bias")] = value[:, 0::2]
            out[name.replace("gate_up_proj_bias", "up_proj.bias")] = value[:, 1::2]
        elif name.endswith("experts.down_proj"):
            out[name + ".weight"] = value.transpose(1, 2)
        elif name.endswith("experts.down_proj_bias"):
            out[name.replace("_bias", ".bias")] = value
        else:
            out[name] = value
    return out


def split_by_head(tensors, config):
    """Qwen3-Next: q, k, v, z of each key head become q of all, k of all, v of all, and z of all."""
    heads, k_dim = config.linear_num_key_heads, config.linear_key_head_dim
    v_rows = config.linear_num_value_heads // heads * config.linear_value_head_dim
    out = {}
    for name, value in tensors.items():
        if not name.endswith("in_proj_qkvz.weight"):
            out[name] = value
            continue
        parts = value.reshape(heads, -1, value.shape[1]).split([k_dim, k_dim, v_rows, v_rows], dim=1)
        q, k, v, z = (part.reshape(-1, value.shape[1]) for part in parts)
        out[name.replace("qkvz", "qkv")] = torch.cat([q, k, v])
        out[name.replace("qkvz", "z")] = z
    return out


def tile_heads(tensors, config):
    """Qwen3.5: value heads in the order 0 of each key head, then 1 of each, ..."""
    keys, heads, dim = config.linear_num_key_heads, config.linear_num_value_heads, config.linear_value_head_dim
    first = 2 * keys * config.linear_key_head_dim

    def tiled(value, size):
        shape = value.shape
        return value.reshape(keys, heads // keys, size, *shape[1:]).transpose(0, 1).reshape(shape)
    out = {}
    for name, value in tensors.items():
        if name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
            value = torch.cat([value[:first], tiled(value[first:], dim)])
        elif name.endswith("in_proj_z.weight"):
            value = tiled(value, dim)
        elif name.endswith(("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias")):
            value = tiled(value, 1)
        elif "linear_attn.out_proj" in name:
            value = tiled(value.T.contiguous(), dim).T
        out[name] = value
    return out


def add_mixer_keys(writer, config, kind):
    if getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0):
        writer.add_expert_count(getattr(config, "num_experts", None) or config.num_local_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        if kind != "llama":
            writer.add_expert_feed_forward_length(getattr(config, "moe_intermediate_size", config.intermediate_size))
    if hasattr(config, "shared_expert_intermediate_size"):
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if hasattr(config, "linear_num_key_heads"):
        writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
        writer.add_ssm_state_size(config.linear_key_head_dim)
        writer.add_ssm_group_count(config.linear_num_key_heads)
        writer.add_ssm_time_step_rank(config.linear_num_value_heads)
        writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
        writer.add_full_attention_interval(config.layer_types.index(FULL) + 1)
    if kind == "gpt-oss":
        writer.add_sliding_window(config.sliding_window)


def gguf_tensor(name, value, config, kind, names):
    """Its name and content there; None: not there."""
    plus_one = kind in ("qwen3next", "qwen35", "qwen35moe") and "linear_attn" not in name
    if name.endswith("A_log"):
        return names.get_name(name), -numpy.exp(value)
    if name.endswith("dt_bias"):
        return names.get_name(name.replace("dt_bias", "dt_proj")) + ".bias", value
    if name.endswith("e_score_correction_bias"):
        return names.get_name(name.removesuffix("_bias")) + ".bias", value
    if name.endswith("sinks"):
        return names.get_name(name) + ".weight", value
    if "conv1d" in name:
        value = value.squeeze(1)
    if "shared_expert_gate" in name:
        value = value.reshape(-1)
    stem, end = name.rsplit(".", 1)
    if plus_one and "norm" in stem:
        value = value + 1
    if kind in PERMUTED and stem.endswith(("q_proj", "k_proj")):
        value = permute(value, config.num_attention_heads if stem.endswith("q_proj") else config.num_key_value_heads)
    return f"{names.get_name(stem)}.{end}", value


def make_gguf(name, config, kind, tokens=40):
    folder = make(name, config, tokens=tokens)
    arch = next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == kind)
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    writer = gguf.GGUFWriter(folder / "model.gguf", kind)
    if getattr(config, "intermediate_size", None) is None:
        config.intermediate_size = config.moe_intermediate_size
    add_keys(writer, config, kind)
    add_mixer_keys(writer, config, kind)
    tensors = {n: v.float() for n, v in load_file(folder / "model.safetensors").items()}
    if kind == "gpt-oss":
        tensors = split_interleaved(tensors)
    if kind == "qwen3next":
        tensors = split_by_head(tensors, config)
    if kind in ("qwen35", "qwen35moe"):
        tensors = tile_heads(tensors, config)
    for hf_name, weight in stack_experts(tensors).items():
        gguf_name, value = gguf_tensor(hf_name, weight.numpy(), config, kind, names)
        small = value.ndim == 1 or any(part in gguf_name for part in ("ssm_conv1d", "ffn_gate_inp", "_exps.bias"))
        writer.add_tensor(gguf_name, numpy.ascontiguousarray(value if small else value.astype(numpy.float16)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()


@variant
def gguf_qwen3moe():
    make_gguf("gguf_qwen3moe", transformers.Qwen3MoeConfig(
        **MOE, head_dim=16, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True), "qwen3moe")


@variant
def gguf_mixtral():
    make_gguf("gguf_mixtral", transformers.MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2), "llama")


@variant
def gguf_qwen3next():
    make_gguf("gguf_qwen3next", transformers.Qwen3NextConfig(**dict(HYBRID, **EXPERTS)), "qwen3next")


@variant
def gguf_qwen35():
    make_gguf("gguf_qwen35", transformers.Qwen3_5TextConfig(**dict(HYBRID, layer_types=[LINEAR, FULL] * 2)), "qwen35")


@variant
def gguf_qwen35moe():
    make_gguf("gguf_qwen35moe", transformers.Qwen3_5MoeTextConfig(**dict(
        dict(HYBRID, **EXPERTS), linear_num_value_heads=6)), "qwen35moe")


@variant
def gguf_gpt_oss():
    make_gguf("gguf_gpt_oss", transformers.GptOssConfig(**dict(
        SMALL, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=9)), "gpt-oss")
