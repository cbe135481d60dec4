"""Variants with mixtures of experts: counts, choices, forms in which experts are stored, sinks, MXFP4."""
import torch
import transformers

from variants.core import SMALL, edit_config, edit_tensors, make, nest, variant

MOE = dict(SMALL, moe_intermediate_size=24)


def fuse_experts(tensors):
    """One tensor an expert and matrix into [experts, 2 * inner, hidden] and [experts, hidden, inner]."""
    fused, parts = {}, {}
    for name, value in tensors.items():
        if ".experts." not in name:
            fused[name] = value
            continue
        prefix, rest = name.split(".experts.")
        number, matrix = rest.split(".")[:2]
        parts.setdefault(prefix, {}).setdefault(matrix, {})[int(number)] = value
    for prefix, matrices in parts.items():
        stack = {m: torch.stack([v[i] for i in range(len(v))]) for m, v in matrices.items()}
        fused[prefix + ".experts.gate_up_proj"] = torch.cat([stack["gate_proj"], stack["up_proj"]], dim=1)
        fused[prefix + ".experts.down_proj"] = stack["down_proj"]
    return fused


def qwen3_moe(name, tokens=40, **more):
    values = dict(MOE, head_dim=16, num_experts=6, num_experts_per_tok=2, norm_topk_prob=True)
    return make(name, transformers.Qwen3MoeConfig(**dict(values, **more)), tokens=tokens)


@variant
def qwen3_moe_all_experts():
    qwen3_moe("qwen3_moe_all_experts", num_experts=3, num_experts_per_tok=3)


@variant
def qwen3_moe_one_expert():
    qwen3_moe("qwen3_moe_one_expert", num_experts=17, num_experts_per_tok=1, norm_topk_prob=False)


@variant
def qwen3_moe_no_norm():
    qwen3_moe("qwen3_moe_no_norm", norm_topk_prob=False, num_experts_per_tok=3)


@variant
def qwen3_moe_default_norm():
    """A configuration that does not say has weights that sum to 1."""
    folder = qwen3_moe("qwen3_moe_default_norm")
    edit_config(folder, lambda config: {k: v for k, v in config.items() if k != "norm_topk_prob"})


@variant
def qwen3_moe_dense_layers():
    qwen3_moe("qwen3_moe_dense_layers", num_hidden_layers=5, decoder_sparse_step=2, mlp_only_layers=[3])


@variant
def qwen3_moe_fused():
    """Experts in one tensor, a multimodal checkpoint, draft layers behind the last one."""
    folder = qwen3_moe("qwen3_moe_fused", tie_word_embeddings=True)
    edit_tensors(folder, fuse_experts)
    edit_config(folder, lambda config: {**config, "num_nextn_predict_layers": 1})
    nest(folder, "Qwen3VLMoeForConditionalGeneration", "model.language_model.", "model.visual.merger.norm.weight")
    edit_tensors(folder, lambda t: {**t, "model.language_model.layers.2.mlp.gate.weight": torch.ones(2, 4)})


def mixtral(name, **more):
    values = dict(SMALL, num_local_experts=4, num_experts_per_tok=2, intermediate_size=40)
    return make(name, transformers.MixtralConfig(**dict(values, **more)))


@variant
def mixtral_plain():
    mixtral("mixtral_plain")


@variant
def mixtral_window():
    mixtral("mixtral_window", sliding_window=9, num_local_experts=3, head_dim=12)


@variant
def mixtral_fused():
    """Experts in one tensor under the names that transformers has for them now."""
    folder = mixtral("mixtral_fused")

    def new_name(name):
        for new, short in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")):
            name = name.replace(f".{short}.", f".{new}.")
        return name.replace(".block_sparse_moe.", ".mlp.")
    edit_tensors(folder, lambda tensors: fuse_experts({new_name(n): v for n, v in tensors.items()}))
