"""MiniMax-M2: a router of sigmoids with a bias of the choice; names and keys of the published files; a GGUF."""
import transformers

from variants.core import SMALL, edit_config, make, variant
from variants.gguf_experts import make_gguf

SIZES = dict(SMALL, head_dim=16, intermediate_size=24, num_local_experts=7, num_experts_per_tok=3)


def config(**more):
    rope = {"rope_type": "default", "rope_theta": 5000000.0, "partial_rotary_factor": 0.5}
    return transformers.MiniMaxM2Config(**dict(SIZES, rope_parameters=rope, **more))


@variant
def minimax_m2_plain():
    make("minimax_m2_plain", config())


@variant
def minimax_m2_published():
    folder = make("minimax_m2_published", config(num_experts_per_tok=2, num_hidden_layers=3))

    def published(values):
        rope = values.pop("rope_parameters")
        values.update(rope_theta=rope["rope_theta"], rotary_dim=8, scoring_func="sigmoid", use_routing_bias=True)
    edit_config(folder, published)


@variant
def gguf_minimax_m2():
    make_gguf("gguf_minimax_m2", config(), "minimax-m2")
