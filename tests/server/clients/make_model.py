"""The model that other people's clients talk to: tiny and of random weights, with the template of Qwen 2.5, which has tools.

Usage: make_model.py ML_CONVERT OUT.mlb. Its context has room for a long loop of tools, and it has no end token: replies are as long as asked for.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
CONTEXT = 32768

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name, "tiny")
    shutil.copytree(DATA / "models" / "tiny-chat", folder)
    config = json.loads((folder / "config.json").read_text())
    config["max_position_embeddings"] = CONTEXT
    del config["eos_token_id"]
    (folder / "config.json").write_text(json.dumps(config))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["eos_token"]
    settings["chat_template"] = json.loads((DATA / "chat" / "families.json").read_text())["qwen2_5"]["template"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    subprocess.run([sys.argv[1], "hf", folder, sys.argv[2], "--wtype", "f32"], check=True, stdout=subprocess.DEVNULL)
