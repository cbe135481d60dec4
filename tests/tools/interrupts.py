"""Ctrl-C outside a chat: 130, soon, and nothing half-done left behind."""
import json
import os
import signal
import struct
import time
import unittest

from programs import DATA, FOLDER, TIMEOUT, call, interrupt_and_wait, models, start, wait_until_it_minds

SOON = 5.0  # seconds, on a busy machine under a sanitizer


def large_checkpoint():
    """A gigabyte of zeros, which takes no disk."""
    source = FOLDER / "large"
    if source.exists():
        return source
    source.mkdir()
    rows, cols = 4_000_000, 64
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
              "hidden_size": cols, "intermediate_size": cols, "num_hidden_layers": 1, "head_dim": 64,
              "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": rows,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": True}
    (source / "config.json").write_text(json.dumps(config))
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [rows, cols], "model.norm.weight": [cols]}
    shapes.update({layer + name + ".weight": [cols] for name in ("input_layernorm", "post_attention_layernorm")})
    shapes.update({layer + name + "_proj.weight": [cols, cols] for name in
                   ("self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate", "mlp.up", "mlp.down")})
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(source / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    return source


class Interrupts(unittest.TestCase):
    def test_reply(self):
        process = start("ml_run", models()["chat.mlb"], "-p", "x", "-T", "1", "--seed", "3", "--ctx", "50000")
        first = process.stdout.read(1)
        seconds, result = interrupt_and_wait(process)
        self.assertEqual(result.code, 130, result)
        (first + result.out).decode()
        self.assertNotIn("ml_run:", result.err)
        self.assertLess(seconds, SOON)

    def test_prompt(self):
        process = start("ml_run", models()["chat.mlb"], "--ctx", "60000", "-n", "0", "-t", "1")
        process.stdin.write(b"and the earth was without form and void " * 1500)
        process.stdin.close()
        process.stdin = None
        wait_until_it_minds(process, signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll(), "the prompt was read too fast for this test")
        seconds, result = interrupt_and_wait(process)
        self.assertEqual((result.code, result.out), (130, b""), result)
        self.assertLess(seconds, SOON)

    def test_waiting_for_stdin(self):
        for program in (["ml_run", models()["chat.mlb"]], ["ml_eval", "tokenize", models()["tok.mlt"]]):
            process = start(*program)
            wait_until_it_minds(process, signal.SIGINT)
            seconds, result = interrupt_and_wait(process)
            self.assertEqual((result.code, result.out), (130, b""), result)
            self.assertLess(seconds, SOON)

    def test_nohup(self):
        process = start("ml_run", models()["chat.mlb"], "-n", "0",
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_until_it_minds(process, signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        process.communicate(b"x", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)

    def test_twice(self):
        process = start("ml_run", models()["chat.mlb"], "-p", "x", "-T", "1", "--seed", "3", "--ctx", "50000")
        process.stdout.read(1)
        _, result = interrupt_and_wait(process, times=2)
        self.assertEqual(result.code, 130, result)

    def test_convert_goes_on_after_an_interrupt(self):
        source, out = large_checkpoint(), FOLDER / "out"
        out.mkdir()
        process = start("ml_convert", "hf", source, out / "model.mlb")
        limit = time.monotonic() + TIMEOUT
        while not os.listdir(out) and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.005)
        self.assertIsNone(process.poll(), "the conversion was too fast for this test")
        seconds, result = interrupt_and_wait(process)
        self.assertEqual((result.code, os.listdir(out)), (130, ["model.mlb.partial"]), result)
        self.assertIn("model.mlb.partial is kept", result.err)
        self.assertLess(seconds, SOON)
        result = call("ml_convert", "hf", source, out / "model.mlb")
        self.assertEqual((result.code, os.listdir(out)), (0, ["model.mlb"]), result)
        (out / "model.mlb").unlink()

    def test_convert_leaves_no_working_copy(self):
        out = FOLDER / "work"
        out.mkdir()
        partial, copy = "model.mlb.partial", "model.mlb.work.partial"
        for number, left in ((signal.SIGTERM, [partial]), (signal.SIGHUP, [partial]), (signal.SIGKILL, [partial, copy]),
                             (signal.SIGTERM, [partial])):
            process = start("ml_convert", "hf", large_checkpoint(), out / "model.mlb", "--wtype", "q4", "--self-calib")
            wait_until_it_minds(process, signal.SIGTERM)
            limit = time.monotonic() + TIMEOUT
            while copy not in os.listdir(out) and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.005)
            time.sleep(0.1)
            self.assertIsNone(process.poll(), "the conversion was too fast for this test")
            seconds, result = interrupt_and_wait(process, number=number)
            self.assertEqual((result.code, sorted(os.listdir(out))), (-number, left), result)
            self.assertLess(seconds, SOON)
        (out / partial).unlink()

    def test_measurements(self):
        model, text, cache, out = models()["chat.mlb"], FOLDER / "long.txt", FOLDER / "rows", FOLDER / "measured"
        text.write_text((DATA / "text" / "handbook-a.txt").read_text() * 4)
        common = [text, "-t", "1", "--ctx", "20000"]  # one chunk takes longer than SOON
        for arguments in (["ppl", model], ["drift", model, "--ref", model, "--cache", cache],
                          ["quality", model, "--models", model, "--out", out]):
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)):
                process = start("ml_eval", *arguments[:2], *common, *arguments[2:])
                wait_until_it_minds(process, number)
                time.sleep(1)
                self.assertIsNone(process.poll(), "the chunk was read too fast for this test")
                seconds, result = interrupt_and_wait(process, number=number)
                self.assertEqual((result.code, result.out, result.err), (code, b"", ""), arguments)
                self.assertLess(seconds, SOON)
        self.assertEqual([*FOLDER.glob("rows*"), *FOLDER.glob("measured*")], [])

    def test_convert_refuses_its_own_input(self):
        model = FOLDER / "same.gguf"
        model.write_bytes(b"GGUF" + b"\0" * 100)
        result = call("ml_convert", "gguf", model, model)
        self.assertIn(result.code, (2, 4), result)
        self.assertEqual(model.read_bytes(), b"GGUF" + b"\0" * 100)
        for name in ("text", "text.partial", "text.work", "text.work.partial"):
            text, out = FOLDER / name, FOLDER / "text"
            text.write_bytes(b"words " * 4000)
            result = call("ml_convert", "hf", DATA / "models" / "tiny-chat", out, "--wtype", "q4", "--calib", text)
            self.assertEqual((result.code, text.read_bytes()), (2, b"words " * 4000), result)
            text.unlink()
