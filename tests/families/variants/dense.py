"""Variants of the dense families: number types, shards, keys, windows, ropes, biases."""
import torch
import transformers

from variants.core import SMALL, edit_config, edit_tensors, make, nest, old_rope_keys, variant


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
