"""Variants with gated delta nets: interleavings, head counts and sizes, taps, forms of the checkpoint."""
import transformers

from variants.experts import fuse_experts
from variants.core import SMALL, edit_config, edit_tensors, make, nest, variant

HYBRID = dict(SMALL, num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
              linear_key_head_dim=8, linear_value_head_dim=12, linear_conv_kernel_dim=4)
EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=20)
LINEAR, FULL = "linear_attention", "full_attention"


def qwen3_5(name, tokens=40, **more):
    return make(name, transformers.Qwen3_5TextConfig(**dict(HYBRID, **more)), tokens=tokens)


@variant
def qwen3_5_full_first():
    qwen3_5("qwen3_5_full_first", num_hidden_layers=3, layer_types=[FULL, LINEAR, LINEAR])


@variant
def qwen3_5_alternating():
    qwen3_5("qwen3_5_alternating", layer_types=[LINEAR, FULL, LINEAR, FULL], tie_word_embeddings=True)


@variant
def qwen3_5_interval():
    """Layer kinds by their interval alone, the share of a head that rotates by default."""
    folder = qwen3_5("qwen3_5_interval")

    def sparse(config):
        config["full_attention_interval"] = 4
        config.pop("layer_types")
        config["rope_parameters"].pop("partial_rotary_factor")
    edit_config(folder, sparse)


@variant
def qwen3_5_equal_heads():
    qwen3_5("qwen3_5_equal_heads", linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=40,
            linear_value_head_dim=33, linear_conv_kernel_dim=2, layer_types=[LINEAR] * 3 + [FULL])


@variant
def qwen3_5_long():
    """Longer than a block of attention and several of the reference's chunks of 64."""
    qwen3_5("qwen3_5_long", 300, linear_key_head_dim=16, linear_value_head_dim=16,
            layer_types=[LINEAR, LINEAR, FULL, LINEAR])


@variant
def qwen3_5_moe_published():
    """Experts in one tensor, nested text_config, vision and draft layers beside it."""
    folder = make("qwen3_5_moe_published", transformers.Qwen3_5MoeTextConfig(**dict(HYBRID, **EXPERTS)))
    edit_tensors(folder, fuse_experts)
    nest(folder, "Qwen3_5MoeForConditionalGeneration", "model.language_model.", "model.visual.merger.norm.weight")
    edit_tensors(folder, lambda tensors: {**tensors, "mtp.fc.weight": tensors["lm_head.weight"] * 0})


@variant
def qwen3_next_dense_layers():
    make("qwen3_next_dense_layers", transformers.Qwen3NextConfig(**dict(
        dict(HYBRID, **EXPERTS), norm_topk_prob=False, mlp_only_layers=[1], linear_num_value_heads=6)))
