"""What the makers of variants share: random weights, what transformers computes from them, edits of a saved checkpoint."""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

OUT = pathlib.Path(__file__).resolve().parents[2] / "data/models/variants"
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
    plus_one = config.model_type.startswith(("gemma", "qwen3_5", "qwen3_next"))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                value = 0.2 * torch.randn_like(weight) + (0 if plus_one and "linear_attn" not in name else 1)
            elif name.endswith("A_log"):
                value = torch.randn_like(weight)
            elif name.endswith(("bias", "sinks")):
                value = 0.3 * torch.randn_like(weight)
            else:
                value = torch.randn_like(weight) * (1.2 / weight.shape[-1] ** 0.5)
            weight.copy_(value.to(torch.bfloat16).float())
        for name, weight in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                weight.copy_((0.3 * torch.randn_like(weight)).to(torch.bfloat16).float())
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
