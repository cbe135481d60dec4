#!/usr/bin/env python3
"""Compares our tokenizer with Hugging Face's `tokenizers` (pip install tokenizers gguf), id for id.

  oracle.py --driver "build/avx2/tests/tokenizer/tokenize_lines --json FILE" --json FILE [TEXT ...]
  oracle.py --driver "... tokenize_lines --gguf /tmp/dump.json" --gguf MODEL.gguf --dump /tmp/dump.json
  oracle.py --driver "build/avx2/ml_eval tokenize MODEL.mlb" --gguf MODEL.gguf [TEXT ...]
  oracle.py --driver "... tokenize_lines --gguf /tmp/dump.json" --json FILE --as-gguf qwen2 --dump /tmp/dump.json

The last one writes the arrays that a GGUF of the same tokenizer has (--as-gguf: its tokenizer.ggml.pre, or llama for
a SentencePiece vocabulary with scores), reads those, and compares with the tokenizer.json all the same.

The driver reads JSON lines {"text", "special", "parse_special"} and answers {"ids"}. Random strings of all
planes and scripts, whole texts, and (with tokenize_lines) decoding and pieces are compared.
"""
import argparse
import json
import random
import shlex
import subprocess
import sys
import time

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SNIPPETS = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u2026\u00a0\u00a0", "\u3000",
            "\u2003", "\u180e", "\u200b", "\u200d", "\ufeff", "\0", "\x7f", "'s", "'S", "'ll", "'\u017f",
            "'re", "'VE", "don't", "I'M", "123", "4567890", "\u0661\u0662", "\u00bd", "\u2167", "x\u00b2",
            "\ud55c\uae00", "\u1112\u1161\u11ab", "\u4e2d\u6587", "\u65e5\u672c\u8a9e\u3067\u3059",
            "\u041f\u0440\u0438\u0432\u0435\u0442", "caf\u00e9", "cafe\u0301", "a\u0316\u0301", "\u1e9b\u0323",
            "\ufb01", "\uff21\uff22", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "\U0001f1e9\U0001f1ea", "\U00031350", "\U0001e4d0", "\U00011de3", "the", " the", "Hello", " world",
            "ing", "_", "__init__", "def f(x):\n    return x", "!!", "...", "\u2014", "\u201cquoted\u201d",
            "$%^&*", "</", "<|", "|>", "<0x0A>", "\u2581", "\u0120", "aaaaaaaaaaaaaaaaaaaaaaaaa"]
PLANES = [(0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF),
          (0xE00, 0x11FF), (0x1E00, 0x206F), (0x2070, 0x2BFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF),
          (0xAC00, 0xD7A3), (0x0, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x3FFFF),
          (0x40000, 0x10FFFF)]


def random_text(rng, markers):
    kind = rng.random()
    out = []
    for _ in range(rng.randint(0, 24)):
        pick = rng.random()
        if markers and pick < 0.12:
            marker = rng.choice(markers)
            cut = rng.random()
            if cut < 0.15:
                marker = marker[:rng.randint(0, len(marker))]
            elif cut < 0.3:
                marker = " " * rng.randint(0, 2) + marker + rng.choice(["", " ", "\n", "x", "_"])
            out.append(marker)
        elif pick < 0.55:
            out.append(rng.choice(SNIPPETS))
        else:
            low, high = rng.choice(PLANES[:1] * 6 + PLANES if kind < 0.5 else PLANES)
            out.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
    return "".join(out).encode("utf-8", "ignore").decode()


def without(text, markers):
    """Hugging Face's Unigram makes control tokens of their spelling in a text, special or not; ours never does."""
    while any(m in text for m in markers):
        for marker in markers:
            text = text.replace(marker, "")
    return text


def from_gguf(path, dump):
    import gguf
    fields = gguf.GGUFReader(path).fields

    def get(key, default=None):
        return fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default

    tokens, merges, types = get("tokens"), get("merges"), get("token_type")
    if dump:
        data = {"model": get("model"), "pre": get("pre"), "tokens": tokens, "token_types": types,
                "merges": merges, "bos_id": get("bos_token_id"), "eos_id": get("eos_token_id"),
                "add_bos": get("add_bos_token"), "add_space_prefix": get("add_space_prefix")}
        json.dump({k: v for k, v in data.items() if v is not None}, open(dump, "w"))
    assert get("pre") == "smollm", "only this pre-tokenizer is built here"
    vocab = {t: i for i, t in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab, [tuple(m.split(" ")) for m in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                  for t, kind in zip(tokens, types) if kind == 3])
    return tokenizer


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


BYTES, GPT2 = ({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": regex} for regex in (False, True))
DIGITS, NFC = {"type": "Digits", "individual_digits": True}, {"type": "NFC"}
HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
# What the tokenizer.json files of the families behind these names of tokenizer.ggml.pre hold, as published.
PUBLISHED = {
    "gpt-2": (None, [GPT2]), "phi-2": (None, [GPT2]), "mpt": (NFC, [GPT2]), "olmo": (NFC, [GPT2]),
    "starcoder": (None, [DIGITS, GPT2]), "refact": (None, [DIGITS, GPT2]), "command-r": (NFC, [DIGITS, GPT2]),
    "smollm": (None, [DIGITS, GPT2]), "qwen35": (NFC, [split(QWEN35), BYTES]),
    "falcon": (None, [{"type": "Punctuation", "behavior": "Contiguous"}, GPT2, {**DIGITS, "individual_digits": False},
                      split("[0-9][0-9][0-9]")]),
    "deepseek-coder": (None, [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(HAN), DIGITS, BYTES]),
    "bloom": (None, [split(" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"), BYTES]),
}


def published(name, base, path):
    """A tokenizer.json with the steps of PUBLISHED and the vocabulary of base."""
    data = json.load(open(base, encoding="utf-8"))
    normalizer, steps = PUBLISHED[name]
    data.update(normalizer=normalizer, pre_tokenizer={"type": "Sequence", "pretokenizers": steps}, post_processor=None)
    data["model"]["ignore_merges"] = False
    json.dump(data, open(path, "w", encoding="utf-8"))


def as_gguf(path, pre, dump):
    """The arrays that llama.cpp's convert_hf_to_gguf.py makes of a tokenizer.json."""
    data = json.load(open(path, encoding="utf-8"))
    model = data["model"]
    vocab = model["vocab"]
    n = 1 + max([*vocab.values(), *(t["id"] for t in data["added_tokens"])])
    tokens, types = [f"[PAD{i}]" for i in range(n)], [5] * n
    for text, i in vocab.items():
        tokens[i], types[i] = text, 1
    for token in data["added_tokens"]:
        tokens[token["id"]], types[token["id"]] = token["content"], 3 if token["special"] else 4
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    out = {"model": "gpt2", "pre": pre, "tokens": tokens, "token_types": types, "bos_id": 0, "add_bos": False}
    if pre == "llama":
        # Score by the first merge that makes the token; real files give user-defined ones -1000.
        scores = [-1000.0 if kind == 4 else -1e6 for kind in types]
        for rank, (left, right) in enumerate(pairs):
            i = vocab[left + right]
            if types[i] != 4:
                scores[i] = max(scores[i], -float(rank))
        for i, text in enumerate(tokens):
            if len(text) == 6 and text.startswith("<0x"):
                types[i] = 6
            if types[i] == 4:
                tokens[i] = text.replace("\u2581", " ")
        types[vocab[model["unk_token"]]] = 2
        prefix = '"Prepend"' in json.dumps(data["normalizer"])
        out.update(model="llama", pre="default", scores=scores, unk_id=vocab[model["unk_token"]],
                   add_space_prefix=prefix)
    else:
        out["merges"] = [" ".join(pair) for pair in pairs]
    json.dump(out, open(dump, "w", encoding="utf-8"))


class Driver:
    def __init__(self, command):
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8")

    def ask(self, **line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Comparison:
    """Asks theirs and ours the same, prints the first differences and counts all."""

    def __init__(self, theirs, driver, seed, no_special):
        self.theirs, self.ours, self.rng, self.no_special = theirs, Driver(driver), random.Random(seed), no_special
        self.markers = [token.content for token in theirs.get_added_tokens_decoder().values()]
        self.unigram = isinstance(theirs.model, models.Unigram)
        self.decodes = "tokenize_lines" in driver
        self.bad = {"ids": 0, "decoded": 0, "pieces": 0}

    def want(self, text, special, parse):
        self.theirs.encode_special_tokens = not parse
        return self.theirs.encode(text, add_special_tokens=special).ids

    def differ(self, kind, *told):
        self.bad[kind] += 1
        if self.bad[kind] <= 5:
            print("DIFFERENT", kind, *told)

    def random_strings(self, count):
        rng = self.rng
        for _ in range(count):
            text = random_text(rng, self.markers)
            if rng.random() < 0.03:  # a long run of something
                text += (rng.choice(SNIPPETS + self.markers[:8] + ["a", "\u0939\u093f"]) * rng.randint(50, 400) +
                         rng.choice(SNIPPETS))
            special, parse = rng.random() < 0.3 and not self.no_special, rng.random() < 0.5
            if self.unigram and not parse:
                text = without(text, self.markers)
            want = self.want(text, special, parse)
            got = self.ours.ask(text=text, special=special, parse_special=parse)
            if got.get("ids") != want:
                self.differ("ids", json.dumps(text), special, parse, "\n want", want, "\n got ", got)
            elif self.decodes:
                self.decoding_and_pieces(text, want, special, parse)
        print(f"{count} random strings: {self.bad['ids']} different, {self.bad['decoded']} decoded differently, "
              f"{self.bad['pieces']} different in pieces")

    def decoding_and_pieces(self, text, ids, special, parse):
        want = self.theirs.decode(ids, skip_special_tokens=False)
        got = bytes.fromhex(self.ours.ask(decode=ids)["hex"]).decode("utf-8", "replace")
        if got != want:
            self.differ("decoded", json.dumps(text), ids, "\n want", repr(want), "\n got ", repr(got))
        # A text that is trusted, or not, throughout gives the same in any pieces.
        cuts = sorted(self.rng.randint(0, len(text)) for _ in range(3))
        parts = [text[a:b] for a, b in zip([0] + cuts, cuts + [len(text)])]
        got = self.ours.ask(pieces=[[p, parse] for p in parts], special=special)
        if got.get("ids") != ids:
            self.differ("pieces", json.dumps(parts), special, parse, "\n want", ids, "\n got ", got)

    def whole_text(self, path):
        text = open(path, encoding="utf-8", newline="").read()
        start = time.time()
        want = self.want(text, False, False)
        seconds = time.time() - start
        got = self.ours.ask(text=text)
        size = len(text.encode())
        print(f"{path}: {size} bytes, {len(want)} tokens, equal: {got.get('ids') == want}; "
              f"theirs {size / seconds / 1e6:.1f} MB/s"
              + (f", ours {size / got['seconds'] / 1e6:.1f} MB/s" if "seconds" in got else ""))
        self.bad["ids"] += got.get("ids") != want

    def limits(self):
        """1 MB of one kind of character: less than a second."""
        letters = "".join(self.rng.choice("abcdefgh") for _ in range(1000000))
        for name, text in [("letter", "a" * 1000000), ("spaces", " " * 1000000), ("newlines", "\n" * 1000000),
                           ("spaces, letter", " " * 1000000 + "x"), ("emoji", "\U0001f600" * 250000),
                           ("marks", "a" + "\u0301\u0316" * 250000), ("digits", "1" * 1000000),
                           ("Devanagari", "\u0939\u093f\u0928\u094d\u0926\u0940" * 55556),
                           ("apostrophes", "'" * 1000000), ("markers", "<|" * 500000), ("random letters", letters)]:
            got = self.ours.ask(text=text, parse_special=True)
            want = self.want(text, False, True) if name in ("letter", "spaces", "emoji", "Devanagari") else None
            self.bad["ids"] += want is not None and got.get("ids") != want
            self.bad["ids"] += "seconds" in got and got["seconds"] > 1.0
            print(f"{name}: {len(text.encode())} bytes, {len(got.get('ids', []))} tokens, "
                  f"{got.get('seconds', got)} s" + ("" if want is None else f", equal: {got.get('ids') == want}"))


def compare_published(args):
    for name in PUBLISHED:
        print(name)
        published(name, args.json, args.dump + ".json")
        subprocess.run([sys.executable, sys.argv[0], "--driver", args.driver, "--json", args.dump + ".json",
                        "--as-gguf", name, "--dump", args.dump, "--count", str(args.count)], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--json")
    parser.add_argument("--gguf")
    parser.add_argument("--dump")
    parser.add_argument("--as-gguf")
    parser.add_argument("--published", action="store_true", help="the names of PUBLISHED with the vocabulary of --json")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-special", action="store_true", help="compare without what the post-processor adds")
    parser.add_argument("--limits", action="store_true", help="time 1 MB of one kind of character")
    parser.add_argument("texts", nargs="*")
    args = parser.parse_args()
    if args.published:
        compare_published(args)
        return 0
    theirs = Tokenizer.from_file(args.json) if args.json else from_gguf(args.gguf, args.dump)
    if args.as_gguf:
        as_gguf(args.json, args.as_gguf, args.dump)
        args.no_special = True  # a GGUF's post-processor is two flags
    comparison = Comparison(theirs, args.driver, args.seed, args.no_special)
    comparison.random_strings(args.count)
    for path in args.texts:
        comparison.whole_text(path)
    if args.limits:
        comparison.limits()
    return any(comparison.bad.values())


if __name__ == "__main__":
    sys.exit(main())
