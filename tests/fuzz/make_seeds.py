#!/usr/bin/env python3
"""Writes the first inputs of every fuzz target, from which fuzzing makes the corpora of tests/data/fuzz.

    make_seeds.py ML_CONVERT OUT_FOLDER

Needs numpy and gguf, and the built ml_convert for .mlb and .mlt files.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
CONVERT, OUT = sys.argv[1], pathlib.Path(sys.argv[2])
EMBD, FF, VOCAB = 32, 32, 12


def put(target, name, data):
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def matrix(random, kind, rows, cols):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    if kind == gguf.GGMLQuantizationType.F32:
        return random.standard_normal((rows, cols)).astype(np.float32), None
    data = random.integers(0, 60, (rows, cols // elements * size), dtype=np.uint8)
    return data, kind


def llama(path, kind, tokenizer):
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(EMBD)
    writer.add_feed_forward_length(FF)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    if tokenizer:
        tokens = ["<unk>", "<s>", "</s>", "a", "b", "c", "ab", "abc", "\u0120", "d", "e", "f"]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list(tokens)
        writer.add_token_types([3, 3, 3] + [1] * 9)
        writer.add_token_merges(["a b", "ab c"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_chat_template("{{ messages[0].content }}")
    else:
        writer.add_vocab_size(VOCAB)
    tensors = [("token_embd.weight", VOCAB, EMBD), ("output_norm.weight", 0, EMBD), ("output.weight", VOCAB, EMBD)]
    for name, rows, cols in (("attn_norm", 0, EMBD), ("attn_q", EMBD, EMBD), ("attn_k", EMBD // 2, EMBD),
                             ("attn_v", EMBD // 2, EMBD), ("attn_output", EMBD, EMBD), ("ffn_norm", 0, EMBD),
                             ("ffn_gate", FF, EMBD), ("ffn_up", FF, EMBD), ("ffn_down", EMBD, FF)):
        tensors.append((f"blk.0.{name}.weight", rows, cols))
    for name, rows, cols in tensors:
        if rows == 0:
            writer.add_tensor(name, np.ones(cols, np.float32))
            continue
        data, raw = matrix(random, kind, rows, cols)
        writer.add_tensor(name, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    kinds = gguf.GGMLQuantizationType
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i, (kind, tokenizer) in enumerate([(kinds.Q4_0, True), (kinds.Q8_0, False), (kinds.Q5_1, True)]):
            path = folder / f"{i}.gguf"
            llama(path, kind, tokenizer)
            put("gguf", f"llama-{kind.name}", path.read_bytes())
            subprocess.run([CONVERT, "gguf", path, folder / "a.mlb", "--wtype", "q4"], check=True)
            put("mlb", f"llama-{kind.name}", (folder / "a.mlb").read_bytes())
        blocks = (DATA / "convert" / "blocks.gguf").read_bytes()
        put("gguf", "blocks", blocks)
        for source in ("digits", "metaspace", "flags_nfkc", "llama3", "sentencepiece", "tekken"):
            text = (DATA / "tokenizer" / f"{source}.json").read_text()
            put("tokenizer_json", source, text)
            mlt = folder / "a.mlt"
            subprocess.run([CONVERT, "tokenizer", DATA / "tokenizer" / f"{source}.json", mlt], check=True)
            raw = mlt.read_bytes()
            put("tokenizer_table", source, raw[raw.index(b"KRAFTOK1"):])
            if source == "digits":
                put("mlb", "tokenizer", raw)
        put("tokenizer_json", "config", (DATA / "models/tiny-chat/tokenizer.json").read_text() + "\0" +
            (DATA / "models/tiny-chat/tokenizer_config.json").read_text())
    f32 = np.arange(6, dtype=np.float32).tobytes()
    put("safetensors", "two", safetensors([("model.a.weight", "F32", [2, 3], f32), ("b", "BF16", [2], b"abcd")]))
    put("safetensors", "more", safetensors([("a", "F64", [1], b"12345678"), ("b", "F16", [0, 5], b""),
                                            ("c", "I64", [], b"12345678"), ("d", "F8_E4M3", [3], b"123")],
                                           {"format": "pt"}))
    put("safetensors", "none", safetensors([]))
    for path in sorted(DATA.glob("models/*/config.json")):
        put("config", path.parent.name, path.read_text())
    put("config", "old-rope", json.dumps({"architectures": ["LlamaForCausalLM"], "rope_scaling": {
        "type": "linear", "factor": 2.0}, "eos_token_id": [1, 2], "chat_template": [{"name": "default", "template": "x"}]}))
    families = json.loads((DATA / "chat" / "families.json").read_text())
    for family, entry in families.items():
        if len(entry["template"]) < 8000:
            put("template", family, entry["template"])
    lines = (DATA / "chat" / "expressions.txt").read_text().splitlines()
    for i in range(0, len(lines), 24):
        put("template", f"expressions-{i}", "".join("{{ %s }}\n" % line for line in lines[i:i + 24]))
    put("template", "input", '{% for m in messages %}{{ m.x | tojson }}{% endfor %}\0{"messages":[{"x":[1,"\\u00e9",null]}]}')
    call = '{"name": "add", "arguments": {"a": [1, {"b": "\\u00e9"}]}, "id": "x"}'
    for name, reply in {
            "tagged": f"<think>\nhm</think>\n\nLook:\n<tool_call>\n{call}\n</tool_call>\n<tool_call>{call}",
            "xml": "<tool_call>\n<function=add>\n<parameter=text>\n<b>\n</parameter>\n<parameter=n>\n1\n"
                   "</parameter>\n</function>\n</tool_call>",
            "mistral": f"[TOOL_CALLS][{call}, {call}]", "args": '[TOOL_CALLS]add[CALL_ID]x[ARGS]{"a": 1}',
            "llama": '<|python_tag|>{"name": "add", "parameters": {}}; ' + call, "json": f"[{call},{call}]",
            "fenced": f"```json\n{call}\n```",
            "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
                       'to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>',
            "plain": "Hello {world} [1] <b>"}.items():
        put("reply", name, reply)
    # The first byte says what it is and with which options.
    node = '{"type":"object","properties":{"v":{"const":1},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},'
    for name, kind, text in (
            ("choices", 0, "north\nsouth\n\nwait é"),
            ("regex", 1, r"^(ab|[^c-e\d]){2,5}\w+?(?:x|\u{1F600}){0,3}\x41$"),
            ("regex_json", 1, r'"([^"\\]|\\["\\/bfnrt])*"'),
            ("gbnf", 2, 'root ::= "[" ws (item ("," ws item){0,40})? "]" # list\n'
                        'item ::= [0-9]+ | root | "\\"" [^"\\\\]{0,9} "\\""\nws ::= [ \\n]?\n'),
            ("gbnf_recursive", 2, 'root ::= e\ne ::= t ("+" t)*\nt ::= [0-9]+ | "(" e ")"\n'),
            ("schema_object", 3, '{"type":"object","properties":{"a":{"type":"integer","minimum":-5,"maximum":300},"b":{'
                                 '"type":"array","items":{"enum":["x",1,null]},"minItems":1,"maxItems":3,"uniqueItems":true}},'
                                 '"required":["a"],"additionalProperties":{"type":"boolean"}}'),
            ("schema_ref", 7, '{"$defs":{"n":' + node + '"required":["v"],"additionalProperties":false}},"$ref":"#/$defs/n"}'),
            ("schema_string", 15, '{"type":"string","pattern":"^[A-Z]{2}-[0-9]+$","minLength":4,"maxLength":9}'),
            ("schema_combine", 27, '{"oneOf":[{"type":"integer","multipleOf":2},{"type":"string","format":"date"}],'
                                   '"not":{"const":4},"if":{"type":"string"},"then":{"minLength":3}}')):
        put("constraint", name, bytes([kind]) + text.encode())
    head = "POST /v1/chat/completions?x=%41 HTTP/1.1\r\nHost: localhost:8080\r\n"
    chunks = "5\r\nhello\r\n00A;name=\"value\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
    for name, message in {
            "chunked": head + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n" + chunks,
            "length": head + "Content-Length: 5\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\nrest",
            "both": head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
            "old": "GET /%7Ea/b%20c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "fields": "OPTIONS * HTTP/1.1\r\nHost:\t[::1]:80 \r\nOrigin: null\r\nAccept: */*\r\nX-\u00e9: y\r\n\r\n",
            "body": chunks + "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "large": "3e8\r\n" + "x" * 1000 + "\r\n1\r\ny\r\n0\r\n\r\n"}.items():
        put("http", name, message)
    put("utf8", "mixed", "aé日😀".encode() + b"\xff\xe2\x82\xf0\x9f\xed\xa0\x80\xc0\x80")
    put("utf8", "plain", "plain text")


main()
