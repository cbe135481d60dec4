"""gpt-oss: sinks beside windows, clamped SwiGLU, biases; experts as columns of 16-bit floats or as MXFP4."""
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from variants.core import SMALL, edit_config, expected, make, random_model, variant

SIZES = dict(SMALL, head_dim=16, intermediate_size=24, num_local_experts=4, num_experts_per_tok=2,
             max_position_embeddings=1024)


def gpt_oss(name, tokens=40, **more):
    return make(name, transformers.GptOssConfig(**dict(SIZES, **more)), tokens=tokens)


@variant
def gpt_oss_window_39():  # the prompt is one longer; with 40 equal, with 41 one shorter
    gpt_oss("gpt_oss_window_39", sliding_window=39)


@variant
def gpt_oss_window_40():
    gpt_oss("gpt_oss_window_40", sliding_window=40)


@variant
def gpt_oss_window_41():
    gpt_oss("gpt_oss_window_41", sliding_window=41)


@variant
def gpt_oss_long():
    """Beyond a block of 256 positions; weights that meet the clamp; the rope's keys in their old places."""
    folder = gpt_oss("gpt_oss_long", 300, sliding_window=20, swiglu_limit=0.75, num_attention_heads=8,
                     layer_types=["full_attention", "sliding_attention"])

    def old(config):
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = rope
    edit_config(folder, old)


@variant
def gpt_oss_mxfp4():
    """As it is published: 4-bit floats in blocks of 32 with a power of two each."""
    config = transformers.GptOssConfig(**dict(SIZES, hidden_size=64, intermediate_size=32, num_local_experts=5,
                                              num_experts_per_tok=3))
    folder = make("gpt_oss_mxfp4", config)
    generator = torch.Generator().manual_seed(7)
    model = random_model(config, 7)
    tensors = load_file(folder / "model.safetensors")
    for layer in range(config.num_hidden_layers):
        for part, rows, cols in (("gate_up_proj", 64, 64), ("down_proj", 64, 32)):
            name = f"model.layers.{layer}.mlp.experts.{part}"
            shape = (config.num_local_experts, rows, cols // 32)
            blocks = torch.randint(0, 256, (*shape, 16), generator=generator, dtype=torch.uint8)
            scales = torch.randint(121, 126, shape, generator=generator, dtype=torch.uint8)
            weight = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
            getattr(model.model.layers[layer].mlp.experts, part).data.copy_(weight)
            del tensors[name]
            tensors[name + "_blocks"], tensors[name + "_scales"] = blocks, scales
    for name, weight in model.named_parameters():
        if name in tensors:
            tensors[name] = weight.detach().to(torch.bfloat16).contiguous()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    save_file(expected(model, 40, 7), folder / "expected.safetensors")
    edit_config(folder, lambda config: {**config, "quantization_config": {"quant_method": "mxfp4"}})
