#!/usr/bin/env python3
"""Writes tests/data/tokenizer/: small tokenizers of every kind we read, and what Hugging Face's `tokenizers`
makes of a few strings (goldens.jsonl). The vocabulary is cut from a tokenizer trained on the King James
Bible (kjv.json, public domain), which must be there already.

  make_goldens.py FOLDER
"""
import copy
import json
import pathlib
import random
import sys

from oracle import random_text, without
from tokenizers import Tokenizer, __version__

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level(prefix=False, regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior, invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(key, *steps):
    return {"type": "Sequence", key: list(steps)}


def template(before, after):
    names = dict(before + after)
    piece = [{"SpecialToken": {"id": n, "type_id": 0}} for n, _ in before]
    piece += [{"Sequence": {"id": "A", "type_id": 0}}]
    piece += [{"SpecialToken": {"id": n, "type_id": 0}} for n, _ in after]
    pair = piece + [{"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": piece, "pair": pair,
            "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in names.items()}}


def added(first_id):
    """Tokens with every flag, alone and together, some overlapping."""
    flags = {"<|plain|>": {}, "<|left|>": {"lstrip": True}, "<|right|>": {"rstrip": True},
             "<|both|>": {"lstrip": True, "rstrip": True}, "<|norm|>": {"normalized": True},
             "word": {"single_word": True, "special": False}, "wordy": {"special": False},
             "the Lord": {"special": False, "normalized": True, "single_word": True},
             "  ": {"special": False}, "    ": {"special": False}, "\n\n": {"special": False, "rstrip": True},
             "caf\u00e9": {"special": False, "normalized": True}, "e\u0301t": {"special": False},
             "\ufb01n": {"special": False, "normalized": True, "lstrip": True},
             "<|plain|>x": {"special": False}, "<|pl": {"special": False},
             "\U0001f600": {"special": False, "rstrip": True, "lstrip": True},
             "<sp>": {"single_word": True, "lstrip": True, "normalized": True}}
    tokens = []
    for i, (content, f) in enumerate(flags.items()):
        token = {"id": first_id + i, "content": content, "single_word": False, "lstrip": False,
                 "rstrip": False, "normalized": False, "special": True}
        token.update(f)
        tokens.append(token)
    return tokens


def small(base, n_merges):
    """The byte alphabet and the first merges, with ids of their own; id 0 is <|endoftext|>."""
    model = base["model"]
    merges = model["merges"][:n_merges]
    letters = sorted((t for t in model["vocab"] if len(t) == 1), key=model["vocab"].get)
    vocab = {}
    for token in ["<|endoftext|>"] + letters + ["".join(m) for m in merges]:
        vocab.setdefault(token, len(vocab))
    result = copy.deepcopy(base)
    result["added_tokens"] = [t for t in base["added_tokens"] if t["content"] == "<|endoftext|>"]
    result["model"].update(vocab=vocab, merges=merges)
    return result


def sentencepiece(base):
    """Words of the same text in the manner of Llama 2: word marks, byte fallback, an unknown token."""
    letters = [chr(c) for c in range(0x21, 0x7F)] + ["\u2581", "\u00e9", "\u4e2d"]
    plain = [(a.replace("\u0120", "\u2581"), b.replace("\u0120", "\u2581")) for a, b in base["model"]["merges"][:150]]
    vocab = {}
    for token in ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)] + letters:
        vocab.setdefault(token, len(vocab))
    merges = []
    for a, b in plain:
        if a in vocab and b in vocab:
            merges.append([a, b])
            vocab.setdefault(a + b, len(vocab))
    result = copy.deepcopy(base)
    result["added_tokens"] = [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False,
                               "normalized": False, "special": True}
                              for i, c in enumerate(["<unk>", "<s>", "</s>"])]
    result["model"].update(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    result["normalizer"] = sequence("normalizers", {"type": "Prepend", "prepend": "\u2581"},
                                    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})
    result["pre_tokenizer"] = None
    result["post_processor"] = template([("<s>", 1)], [])
    result["decoder"] = sequence("decoders",
                                 {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                                 {"type": "ByteFallback"}, {"type": "Fuse"},
                                 {"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return result


# A SentencePiece map of characters made with `--normalization_rule_tsv` of the sentencepiece package from: e and e
# with an acute accent to e, a full-width A to A, a half to 1/2, the ideographic space to a space, a zero-width
# space to nothing, an ellipsis to three dots, "ab" to X.
CHARSMAP = (
    "AAQAAACAAQBhgAEADQAAgGIFAADMDAIAZTQDAIEFAAAPAACAvQUAAAcAAICpNQAAgDQCAAAAAICLBQAAAwAAgIB8AgCABQAAAQAA"
    "gLyAAgChHQAACwAAgBQAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAprkAACAAAAAjAAAAIgAAACUA"
    "AAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2"
    "AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAA"
    "SwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAA"
    "AFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4A"
    "AABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAADi"
    "JAAA4zAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAA74QAAJEAAACQAAAAkwAAAJIAAACVAAAA"
    "lAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAMJcAADDAAAApQAAAKQAAACnAAAApgAA"
    "AKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsA"
    "AAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADM"
    "AAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA"
    "4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAA"
    "APIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAuLi4AMS8yAEEAWABlAA==")


def unigram(base, **model):
    """Words of the same text with scores; ids 0 to 2 as SentencePiece has them."""
    words = ["\u2581"] + [chr(c) for c in range(0x21, 0x7F)]
    words += ["".join(m).replace("\u0120", "\u2581") for m in base["model"]["merges"][:150]]
    vocab = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0]]
    known = {text for text, _ in vocab}
    for rank, word in enumerate(words):
        if word not in known:
            known.add(word)
            # Equal scores now and then: ties must go the same way.
            vocab.append([word, -2.0 - (rank % 40) / 8 - 3 * (len(word) == 1)])
    if model.get("byte_fallback"):
        vocab += [["<0x%02X>" % b, 0.0] for b in range(256)]
    result = sentencepiece(base)
    result["model"] = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False, **model}
    result["normalizer"] = sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
                                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    result.update(pre_tokenizer=metaspace, decoder=metaspace, post_processor=template([], [("</s>", 2)]))
    return result


def behind_metaspace(base, scheme, normalizer, *steps):
    """Metaspace behind other pre-tokenizers: `first` asks what of the original text a word begins with."""
    result = sentencepiece(base)
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}
    result.update(normalizer=normalizer, pre_tokenizer=sequence("pretokenizers", *steps, metaspace), decoder=metaspace)
    result["model"].update(byte_fallback=False, fuse_unk=False)
    return result


# Where the first character becomes several, goes, moves or is one with the next.
FIRSTS = ["\u00bd x", " a", "  a b", "\u00bd\u00bd 1", "\u200b1 2", "e\u03011", "\u00e9\u03161", "\ufb01n fin",
          "1\u2153 \u2153", "\u3000x\u3000y", "\u2026a", "\ufdfa 12"]


def variants(base):
    def variant(n_merges=120, **parts):
        result = small(base, n_merges)
        result["model"]["ignore_merges"] = parts.pop("ignore_merges", False)
        if parts.pop("flags", False):
            result["added_tokens"] += added(len(result["model"]["vocab"]))
        result.update(parts)
        return result

    yield "kjv", base
    yield "flags", variant(flags=True, normalizer=None, pre_tokenizer=byte_level(True, True),
                           post_processor=template([("<|plain|>", 1 + 256 + 120)], [("<|endoftext|>", 0)]))
    yield "flags_nfkc", variant(flags=True, normalizer={"type": "NFKC"}, pre_tokenizer=byte_level(False, True))
    yield "flags_nfd", variant(flags=True, normalizer=sequence(
        "normalizers", {"type": "NFD"}, {"type": "Strip", "strip_left": True, "strip_right": True}),
        pre_tokenizer=byte_level(False, True))
    yield "llama3", variant(ignore_merges=True, normalizer=None, pre_tokenizer=sequence(
        "pretokenizers", split(LLAMA3, "Isolated"), byte_level()), post_processor=sequence(
            "processors", byte_level(), template([("<|endoftext|>", 0)], [])))
    yield "tekken", variant(ignore_merges=True, normalizer={"type": "NFKD"}, pre_tokenizer=sequence(
        "pretokenizers", split(TEKKEN, "Isolated"), byte_level()))
    yield "digits", variant(pre_tokenizer=sequence(
        "pretokenizers", {"type": "Digits", "individual_digits": True}, byte_level(False, True)),
        post_processor={"type": "RobertaProcessing", "sep": ["<|endoftext|>", 0], "cls": ["<|endoftext|>", 0],
                        "trim_offsets": True, "add_prefix_space": False})
    yield "splits", variant(pre_tokenizer=sequence(
        "pretokenizers", split("\n", "Removed", kind="String"), split(r"\p{Lu}", "MergedWithNext"),
        split(r"[,.]\s?", "MergedWithPrevious"), split(r"\s", "Contiguous"), split(r"\w+|\W", "Removed", True),
        split(r"x*", "Isolated"), {"type": "Digits", "individual_digits": False}, byte_level(True)))
    yield "falcon", variant(pre_tokenizer=sequence(
        "pretokenizers", byte_level(True, True), {"type": "Digits", "individual_digits": False},
        split(r"[0-9]{3}+", "Isolated")))
    yield "sentencepiece", sentencepiece(base)
    metaspace = sentencepiece(base)
    metaspace.update(normalizer=None, pre_tokenizer={"type": "Metaspace", "replacement": "\u2581",
                                                     "prepend_scheme": "first", "split": True},
                     decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first",
                              "split": True})
    metaspace["model"].update(byte_fallback=False, fuse_unk=False)
    yield "metaspace", metaspace
    yield "unigram", unigram(base)
    fallback = unigram(base, byte_fallback=True)
    fallback.update(pre_tokenizer=None, normalizer=sequence(
        "normalizers", {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        {"type": "Replace", "pattern": {"Regex": "\\A\u2581|x*$"}, "content": "\u2581\u2581"}),
        decoder=sequence("decoders", {"type": "ByteFallback"}, {"type": "Strip", "content": "s", "start": 0, "stop": 1},
                         {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False},
                         {"type": "Fuse"}))
    yield "unigram_bytes", fallback
    words = sequence("pretokenizers", {"type": "CharDelimiterSplit", "delimiter": "|"}, {"type": "Whitespace"},
                     {"type": "Punctuation", "behavior": "MergedWithPrevious"}, byte_level())
    yield "words", variant(normalizer=sequence("normalizers", {"type": "NFD"}, {"type": "StripAccents"},
                                               {"type": "Lowercase"}), pre_tokenizer=words)
    yield "bert_words", variant(pre_tokenizer=sequence(
        "pretokenizers", {"type": "BertPreTokenizer"}, {"type": "Punctuation", "behavior": "Contiguous"},
        byte_level()))
    yield "white_words", variant(pre_tokenizer=sequence(
        "pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "MergedWithNext"},
        byte_level()))
    nfkc = {"type": "NFKC"}
    yield "first_digits", behind_metaspace(base, "first", nfkc, split(r"\d", "Isolated"))
    yield "first_words", behind_metaspace(base, "first", None, {"type": "WhitespaceSplit"},
                                          {"type": "Digits", "individual_digits": True})
    yield "first_characters", behind_metaspace(base, "first", sequence(
        "normalizers", {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}, {"type": "NFKD"},
        {"type": "Replace", "pattern": {"Regex": "  +|^-"}, "content": " "}), split(r"[\s\S]", "Isolated"))
    yield "always_digits", behind_metaspace(base, "always", nfkc, split(" ", "Removed", kind="String"),
                                            split(r"\d", "Isolated"))
    yield "never_digits", behind_metaspace(base, "never", nfkc, split(r"\d", "Isolated"))


def main():
    folder = pathlib.Path(sys.argv[1])
    base = json.loads((folder / "kjv.json").read_text())
    rng = random.Random(7)
    with open(folder / "goldens.jsonl", "w") as out:
        for name, data in variants(base):
            path = folder / (name + ".json")
            if name != "kjv":
                path.write_text(json.dumps(data, ensure_ascii=True, separators=(",", ":")) + "\n")
            tokenizer = Tokenizer.from_file(str(path))
            markers = [t["content"] for t in data["added_tokens"]]
            texts = ["", " ", "In the beginning God created the heaven and the earth.",
                     "Hello world! Caf\u00e9 de\u0301ja\u0300 vu \u2014 123 \U0001f600", "\u2026\u00a0\u00a0", "\r\n\r\n x"]
            if name.startswith(("first_", "always_", "never_")):
                texts += FIRSTS
            texts += [random_text(rng, markers) for _ in range(50 - len(texts))]
            for i, text in enumerate(texts):
                special, parse = i % 3 == 2, i % 2 == 1
                if data["model"]["type"] == "Unigram" and not parse:
                    text = without(text, markers)
                tokenizer.encode_special_tokens = not parse
                ids = tokenizer.encode(text, add_special_tokens=special).ids
                line = {"tokenizer": name, "text": text, "special": special, "parse_special": parse, "ids": ids,
                        "decoded": tokenizer.decode(ids, skip_special_tokens=False)}
                out.write(json.dumps(line) + "\n")
    print("made with tokenizers", __version__)


if __name__ == "__main__":
    main()
