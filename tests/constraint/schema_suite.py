#!/usr/bin/env python3
"""The official JSON-Schema-Test-Suite against the automaton, walked without a model.

    schema_suite.py WALK_SCHEMAS TOKENIZER.json SUITE_FOLDER [-v] [--lenient]

SUITE_FOLDER holds draft2020-12/*.json (the folder json/tests of the jsonschema package's source). Each instance is
written in several ways; all must be taken where it is valid, none where it is not (with --lenient, which passes over
what cannot be kept, that is not asked). Schemas that are refused are counted by what the refusal names. Exit 1 where
anything differs.
"""
import collections
import json
import pathlib
import subprocess
import sys


def whole(value):
    """1.0 as 1: the numbers are equal, and integers are written without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e20:
        return int(value)
    if isinstance(value, list):
        return [whole(v) for v in value]
    if isinstance(value, dict):
        return {k: whole(v) for k, v in value.items()}
    return value


def ways(value):
    value = whole(value)
    texts = [json.dumps(value, ensure_ascii=False), json.dumps(value), json.dumps(value, separators=(",", ":")),
             json.dumps(value, indent=2)]
    if isinstance(value, dict):
        texts.append(json.dumps(dict(reversed(value.items())), ensure_ascii=False))
    return list(dict.fromkeys(texts))


def main():
    walk, tokenizer, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    verbose, lenient = "-v" in sys.argv, "--lenient" in sys.argv
    process = subprocess.Popen([walk, tokenizer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    refused = collections.Counter()
    taken, wrong, n_schemas = collections.Counter(), [], 0
    for path in sorted(folder.glob("draft2020-12/**/*.json")):
        for group in json.loads(path.read_text()):
            n_schemas += 1
            texts = [(test, text) for test in group["tests"] for text in ways(test["data"])]
            line = {"schema": json.dumps(group["schema"]), "lenient": lenient, "texts": [t for _, t in texts]}
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            name = f"{path.stem}: {group['description']}"
            if "error" in answer:
                if "no text satisfies" in answer["error"] and not any(t["valid"] for t, _ in texts):
                    taken["schemas"] += 1
                    continue
                refused[path.stem] += 1
                if verbose:
                    print(f"refused  {name}: {answer['error']}")
                continue
            taken["schemas"] += 1
            for (test, text), accepted in zip(texts, answer["accepted"]):
                taken["valid" if test["valid"] else "invalid"] += 1
                if accepted != test["valid"] and not (lenient and accepted):
                    wrong.append(f"{name}: {test['description']}: {text}: valid {test['valid']}, taken {accepted}")
    process.stdin.close()
    process.wait()
    for line in wrong:
        print("wrong   ", line)
    print(f"{n_schemas} schemas: {taken['schemas']} kept, {sum(refused.values())} refused by name; "
          f"{taken['valid']} valid and {taken['invalid']} invalid texts, {len(wrong)} judged wrong")
    print("refused by file:", ", ".join(f"{k} {v}" for k, v in sorted(refused.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
