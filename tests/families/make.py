#!/usr/bin/env python3
"""Makes tests/data/models/variants/: tiny random models of every family in the forms in which checkpoints are published.

Usage: make.py [NAME...]   (needs transformers 5.24, torch, safetensors, gguf)
Each folder has a checkpoint (or model.gguf) and expected.safetensors with what transformers computes from it in f32:
prompt, logits of every position, a greedy continuation and its margins; `context` where the session's context matters.
"""
import json
import pathlib
import shutil
import sys

import gguf
import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file

OUT = pathlib.Path(__file__).resolve().parents[1] / "data/models/variants"
SMALL = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2,
             pad_token_id=0)
VARIANTS = {}


def variant(function):
    VARIANTS[function.__name__] = function
    return function


def random_model(config, seed):
    """Weights that bf16 holds exactly, and large enough for every term to show in the logits."""
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    plus_one = config.model_type.startswith("gemma")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                value = 0.2 * torch.randn_like(weight) + (0 if plus_one else 1)
            elif name.endswith("bias"):
                value = 0.3 * torch.randn_like(weight)
            else:
                value = torch.randn_like(weight) * (1.2 / weight.shape[-1] ** 0.5)
            weight.copy_(value.to(torch.bfloat16).float())
    model.tie_weights()
    return model


def expected(model, tokens, seed):
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(3, model.config.vocab_size, (tokens,), generator=generator)
    with torch.no_grad():
        logits = model(prompt[None]).logits[0]
        ids, greedy, margin = prompt, [], []
        for _ in range(8):
            row = model(ids[None], use_cache=False).logits[0, -1]
            top = row.topk(2).values
            greedy.append(row.argmax())
            margin.append(top[0] - top[1])
            ids = torch.cat([ids, greedy[-1][None]])
    return {"prompt": prompt, "logits": logits.contiguous(), "greedy": torch.stack(greedy),
            "margin": torch.stack(margin)}


def make(name, config, tokens=40, dtype=torch.bfloat16, context=None, **save):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seed = sum(name.encode())
    model = random_model(config, seed)
    values = expected(model, tokens, seed)
    if context:
        values["context"] = torch.tensor([context])
    model.to(dtype).save_pretrained(folder, **save)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(values, folder / "expected.safetensors")
    return folder


def edit_config(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config = change(config) or config
    path.write_text(json.dumps(config, indent=1) + "\n")


def edit_tensors(folder, change):
    path = folder / "model.safetensors"
    save_file({name: value.clone().contiguous() for name, value in change(load_file(path)).items()}, path,
              {"format": "pt"})


def old_rope_keys(config):
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    if rope["rope_type"] != "default":
        config["rope_scaling"] = {"type": rope.pop("rope_type"), **rope}
    config["torch_dtype"] = config.pop("dtype")


# --- number types, shards, keys ---

@variant
def llama_f16():
    make("llama_f16", transformers.LlamaConfig(**SMALL), dtype=torch.float16)


@variant
def llama_f32_bias():
    make("llama_f32_bias", transformers.LlamaConfig(**SMALL, attention_bias=True, mlp_bias=True), dtype=torch.float32)


@variant
def llama_linear():
    make("llama_linear", transformers.LlamaConfig(**SMALL, head_dim=12, rope_parameters={
        "rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}))


@variant
def llama_tied_with_head():
    """The flag says tied; a stored head is not looked at."""
    folder = make("llama_tied_with_head", transformers.LlamaConfig(**SMALL, tie_word_embeddings=True))
    edit_tensors(folder, lambda tensors: {**tensors, "lm_head.weight": torch.zeros(96, 32, dtype=torch.bfloat16)})


@variant
def qwen2_shards_old_keys():
    folder = make("qwen2_shards_old_keys", transformers.Qwen2Config(**SMALL, rope_parameters={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 10000.0}),
        max_shard_size="20KB")
    edit_config(folder, old_rope_keys)


@variant
def qwen2_untied_f16():
    make("qwen2_untied_f16", transformers.Qwen2Config(**{**SMALL, "num_key_value_heads": 4}), dtype=torch.float16)


@variant
def qwen3_published():
    """A multimodal checkpoint: nested text_config, `model.language_model.`, vision and MTP tensors."""
    folder = make("qwen3_published", transformers.Qwen3Config(**SMALL, head_dim=24, tie_word_embeddings=True))
    nest(folder, "Qwen3VLForConditionalGeneration", "model.language_model.", "model.visual.blocks.0.norm1.weight")
    edit_tensors(folder, lambda tensors: {**tensors, "mtp.fc.weight": torch.ones(4, 8)})


@variant
def mistral_published():
    folder = make("mistral_published", transformers.MistralConfig(**SMALL, head_dim=16, sliding_window=None))
    nest(folder, "Mistral3ForConditionalGeneration", "language_model.model.", "vision_tower.ln_pre.weight")


@variant
def gemma3_published():
    """What published files leave out is the family's default; old rope keys, and the pattern as a number."""
    sizes = {**SMALL, "num_hidden_layers": 7, "num_key_value_heads": 1}
    folder = make("gemma3_published", transformers.Gemma3TextConfig(
        **sizes, head_dim=16, sliding_window=9, query_pre_attn_scalar=16,
        rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}), tokens=40)

    def sparse(config):
        for key in ("rope_parameters", "layer_types", "_sliding_window_pattern", "rms_norm_eps", "hidden_activation",
                    "attention_bias", "tie_word_embeddings", "use_bidirectional_attention"):
            config.pop(key, None)
        config["rope_scaling"] = {"factor": 8.0, "rope_type": "linear"}
    edit_config(folder, sparse)
    nest(folder, "Gemma3ForConditionalGeneration", "language_model.model.", "multi_modal_projector.mm_soft_emb_norm.weight")


def nest(folder, architecture, prefix, extra):
    def config(text):
        outer = {"architectures": [architecture], "model_type": "outer", "text_config": text,
                 "vision_config": {"hidden_size": 8, "model_type": "vision"}}
        text.pop("architectures")
        for key in ("bos_token_id", "eos_token_id", "dtype"):
            outer[key] = text.pop(key)
        return outer

    def rename(name):
        if name.startswith("model."):
            return prefix + name[len("model."):]
        return "language_model." + name if prefix == "language_model.model." else name

    edit_config(folder, config)
    edit_tensors(folder, lambda tensors: {**{rename(n): v for n, v in tensors.items()}, extra: torch.ones(8)})


# --- sliding windows ---

def mistral_window(window, tokens=40, heads=4):
    make(f"mistral_window_{window}", transformers.MistralConfig(
        **{**SMALL, "num_attention_heads": heads, "max_position_embeddings": 1024}, sliding_window=window), tokens=tokens)


@variant
def mistral_window_1():
    mistral_window(1, 12)


@variant
def mistral_window_39():  # the prompt is one longer; with 40 equal, with 41 one shorter
    mistral_window(39)


@variant
def mistral_window_40():
    mistral_window(40)


@variant
def mistral_window_41():
    mistral_window(41)


@variant
def mistral_window_250():  # blocks of 256 positions come and go
    mistral_window(250, 620, heads=8)


@variant
def mistral_default_window():
    """A configuration without the key has the family's window of 4096; null has none (fixture mistral)."""
    folder = make("mistral_default_window", transformers.MistralConfig(**SMALL, sliding_window=4096), tokens=16)
    edit_config(folder, lambda config: {k: v for k, v in config.items() if k != "sliding_window"})


@variant
def qwen2_upper_windows():
    folder = make("qwen2_upper_windows", transformers.Qwen2Config(
        **{**SMALL, "num_hidden_layers": 3}, use_sliding_window=True, sliding_window=7, max_window_layers=1))
    edit_config(folder, lambda config: {k: v for k, v in config.items() if k != "layer_types"})


@variant
def qwen3_windows_bias():
    make("qwen3_windows_bias", transformers.Qwen3Config(
        **SMALL, head_dim=8, attention_bias=True, use_sliding_window=True, sliding_window=5, max_window_layers=0,
        layer_types=["sliding_attention", "full_attention"]))


# --- further families ---

@variant
def smollm3_interval():
    folder = make("smollm3_interval", transformers.SmolLM3Config(
        **{**SMALL, "num_hidden_layers": 3}, no_rope_layer_interval=3, tie_word_embeddings=False))
    edit_config(folder, lambda config: {k: v for k, v in config.items() if k not in ("no_rope_layers", "layer_types")})


@variant
def gemma2_odd():
    make("gemma2_odd", transformers.Gemma2Config(
        **{**SMALL, "hidden_size": 44, "intermediate_size": 52, "num_hidden_layers": 3}, head_dim=20, sliding_window=11,
        query_pre_attn_scalar=23))


@variant
def gemma2_long():  # the window's end passes a block of 256 positions
    make("gemma2_long", transformers.Gemma2Config(**{**SMALL, "max_position_embeddings": 512}, head_dim=8,
                                                 sliding_window=100, query_pre_attn_scalar=8), tokens=290)


@variant
def phi3_plain():
    make("phi3_plain", transformers.Phi3Config(**SMALL))


def phi3_longrope(name, tokens, context):
    half = 3  # 12 of 16 entries of a head turn: 6 frequencies
    config = transformers.Phi3Config(
        **{**SMALL, "hidden_size": 64, "max_position_embeddings": 128}, original_max_position_embeddings=32,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
                         "short_factor": [1.0, 1.05, 1.1] + [1.2] * half, "long_factor": [1.1, 1.7, 2.5] + [3.5] * half})
    return make(name, config, tokens=tokens, context=context)


@variant
def phi3_longrope_short():
    phi3_longrope("phi3_longrope_short", 20, 32)


@variant
def phi3_longrope_long():
    folder = phi3_longrope("phi3_longrope_long", 60, 128)

    def old(config):
        old_rope_keys(config)
        config["rope_scaling"]["type"] = "su"
        config["partial_rotary_factor"] = config["rope_scaling"].pop("partial_rotary_factor")
        config["rope_scaling"].pop("original_max_position_embeddings", None)
    edit_config(folder, old)


@variant
def olmo2_plain():
    make("olmo2_plain", transformers.Olmo2Config(**SMALL))


@variant
def granite_scales():
    make("granite_scales", transformers.GraniteConfig(
        **SMALL, embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=4.0,
        tie_word_embeddings=True))


# --- GGUF: tensor names from the gguf package, rows of Llama kinds permuted as its converters do ---

PERMUTED = {"llama", "mistral", "smollm3", "granite"}


def permute(weight, heads):
    shape = weight.shape
    return weight.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def add_keys(writer, config, kind):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    rope = config.rope_parameters.get("full_attention") or config.rope_parameters
    writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        factor = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors((1 + numpy.log(factor) / numpy.log(original)) ** 0.5)
        for end in ("long", "short"):
            writer.add_tensor(f"rope_factors_{end}.weight", numpy.array(rope[f"{end}_factor"], numpy.float32))
    if kind.startswith("gemma"):
        writer.add_sliding_window(config.sliding_window)
    if kind == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if kind == "granite":
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)


def make_gguf(name, config, kind, tokens=40, context=None):
    folder = make(name, config, tokens=tokens, context=context)
    arch = next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == kind)
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    writer = gguf.GGUFWriter(folder / "model.gguf", kind)
    add_keys(writer, config, kind)
    for hf_name, weight in load_file(folder / "model.safetensors").items():
        value = weight.float().numpy()
        stem, end = hf_name.rsplit(".", 1)
        if kind in PERMUTED and stem.endswith(("q_proj", "k_proj")):
            value = permute(value, config.num_attention_heads if stem.endswith("q_proj") else config.num_key_value_heads)
        if kind.startswith("gemma") and "norm" in stem:
            value = value + 1
        writer.add_tensor(f"{names.get_name(stem)}.{end}", value if value.ndim == 1 else value.astype(numpy.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()


@variant
def gguf_llama():
    make_gguf("gguf_llama", transformers.LlamaConfig(**SMALL, attention_bias=True), "llama")


@variant
def gguf_qwen2():
    make_gguf("gguf_qwen2", transformers.Qwen2Config(**SMALL, rope_parameters={
        "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 128, "rope_theta": 10000.0}), "qwen2")


@variant
def gguf_qwen3():
    make_gguf("gguf_qwen3", transformers.Qwen3Config(**SMALL, head_dim=16, tie_word_embeddings=True), "qwen3")


@variant
def gguf_smollm3():
    make_gguf("gguf_smollm3", transformers.SmolLM3Config(**{**SMALL, "num_hidden_layers": 4}), "smollm3")


@variant
def gguf_gemma2():
    make_gguf("gguf_gemma2", transformers.Gemma2Config(**SMALL, head_dim=16, sliding_window=9,
                                                       query_pre_attn_scalar=16), "gemma2")


@variant
def gguf_gemma3():
    make_gguf("gguf_gemma3", transformers.Gemma3TextConfig(**{**SMALL, "num_hidden_layers": 7}, head_dim=16,
                                                           sliding_window=9, query_pre_attn_scalar=16), "gemma3")


@variant
def gguf_phi3():
    config = transformers.Phi3Config(
        **{**SMALL, "max_position_embeddings": 128}, original_max_position_embeddings=32,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0,
                         "short_factor": [1.0, 1.05, 1.1, 1.2], "long_factor": [1.1, 1.7, 2.5, 3.5]})
    make_gguf("gguf_phi3", config, "phi3", tokens=50, context=128)


@variant
def gguf_olmo2():
    make_gguf("gguf_olmo2", transformers.Olmo2Config(**SMALL), "olmo2")


@variant
def gguf_granite():
    make_gguf("gguf_granite", transformers.GraniteConfig(
        **SMALL, embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=4.0),
        "granite")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    for wanted in sys.argv[1:] or VARIANTS:
        VARIANTS[wanted]()
        print(wanted)
