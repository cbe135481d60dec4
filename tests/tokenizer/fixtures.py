#!/usr/bin/env python3
"""Ids and decoded texts that Hugging Face transformers made (tests/data/tokenizer/families.json) with the families'
own files, the tokenizer's configuration included:

  fixtures.py build/avx2/tests/tokenizer/tokenize_lines FOLDER_WITH_TOKENIZER_FILES FAMILY
"""
import json
import pathlib
import subprocess
import sys


def main():
    driver, folder, family = sys.argv[1:]
    data = pathlib.Path(__file__).parent.parent / "data" / "tokenizer" / "families.json"
    cases = json.loads(data.read_text(encoding="utf-8")).get(family, [])
    lines = []
    for case in cases:
        lines += [{"text": case["text"], "parse_special": True},
                  {"text": case["text"], "parse_special": True, "special": True}, {"decode": case["ids"]}]
    files = [f"{folder}/tokenizer.json", f"{folder}/tokenizer_config.json"]
    run = subprocess.run([driver, "--json", *files], input="".join(json.dumps(line) + "\n" for line in lines),
                         capture_output=True, encoding="utf-8", check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    bad = 0 if len(answers) == len(lines) else 1
    if bad:
        print(run.stderr)
    for case, plain, special, decoded in zip(cases, answers[0::3], answers[1::3], answers[2::3]):
        text = bytes.fromhex(decoded.get("hex", "")).decode("utf-8", "replace")
        if (plain.get("ids"), special.get("ids"), text) != (case["ids"], case["ids_with_special"], case["decoded"]):
            bad += 1
            print("DIFFERENT", json.dumps(case), plain, special, repr(text))
    print(f"{family}: {len(cases)} texts of transformers, {bad} different")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
