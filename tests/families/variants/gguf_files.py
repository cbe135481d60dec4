"""GGUF files: tensor names from the gguf package, rows of Llama kinds permuted as its converters do."""
import gguf
import numpy
import transformers
from safetensors.torch import load_file

from variants.core import SMALL, make, variant

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
