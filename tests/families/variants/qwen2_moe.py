"""Qwen 1.5 and 2 with experts: a shared expert, biases, weights that do not sum to 1 by default; a GGUF."""
import transformers

from variants.core import edit_config, make, variant
from variants.experts import MOE
from variants.gguf_experts import make_gguf


def config(**more):
    return transformers.Qwen2MoeConfig(**dict(MOE, num_experts=6, num_experts_per_tok=3,
                                              shared_expert_intermediate_size=40, **more))


@variant
def qwen2_moe_default_norm():
    folder = make("qwen2_moe_default_norm", config())
    edit_config(folder, lambda values: {k: v for k, v in values.items() if k != "norm_topk_prob"})


@variant
def qwen2_moe_norm():
    make("qwen2_moe_norm", config(norm_topk_prob=True, mlp_only_layers=[0], num_hidden_layers=3))


@variant
def gguf_qwen2moe():
    make_gguf("gguf_qwen2moe", config(), "qwen2moe")
