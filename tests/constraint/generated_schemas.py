#!/usr/bin/env python3
"""A model at temperature 1 under generated JSON schemas: whatever it completes must validate.

    generated_schemas.py GENERATE MODEL.mlb [N] [SEED]

Makes N schemas (1000) of all keywords that are kept, nested and with references, lets GENERATE (generate.cc)
answer each and judges by the package jsonschema, formats included. Exit 1 where an answer is wrong, where a schema
is refused, or where fewer than two thirds of the answers are complete (the rest met the length).
"""
import json
import random
import subprocess
import sys

import jsonschema

WORDS = ["name", "id", "size", "tags", "when", "näme", "a b", "x", "items", "point"]
PATTERNS = ["^[A-Z]{2}-[0-9]{2,4}$", "^(yes|no)$", "[0-9]", "^\\w+(\\.\\w+)*$", "^.{3}$", "^[^a-z]*$"]
FORMATS = ["date", "time", "date-time", "email", "ipv4", "uuid", "uri"]
COMPLETE = {1, 6}  # KRAFLA_FINISH_END, _COMPLETE


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def chance(self, p):
        return self.r.random() < p

    def bounds(self, low, high):
        a, b = sorted((self.r.randint(low, high), self.r.randint(low, high)))
        return a, b

    def string(self):
        out = {"type": "string"}
        kind = self.r.randrange(5)
        if kind == 0:
            out["pattern"] = self.r.choice(PATTERNS)
        elif kind == 1:
            out["format"] = self.r.choice(FORMATS)
        elif kind < 4:
            out["minLength"], out["maxLength"] = self.bounds(0, 20)
        else:
            out["maxLength"] = self.r.randint(1, 40)
        return out

    def number(self):
        out = {"type": self.r.choice(["integer", "number"])}
        low, high = self.bounds(-1000, 1000)
        if self.chance(.7):
            out[self.r.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(.7):
            out[self.r.choice(["maximum", "exclusiveMaximum"])] = high + 2
        if out["type"] == "integer" and self.chance(.2):
            out = {"type": "integer", "multipleOf": self.r.choice([2, 5, 7]), "minimum": 0, "maximum": 500}
        return out

    def array(self, depth):
        out = {"type": "array"}
        if self.chance(.3):
            out["prefixItems"] = [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]
            out["items"] = False if self.chance(.5) else self.schema(depth - 1)
        else:
            out["items"] = self.schema(depth - 1)
        out["maxItems"] = self.r.randint(2, 4)
        if self.chance(.5) and out["items"] is not False:
            out["minItems"] = self.r.randint(0, 2)
        if self.chance(.15):
            return {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", 1, None]}}
        return out

    def object(self, depth):
        names = self.r.sample(WORDS, self.r.randint(1, 4))
        out = {"type": "object", "properties": {n: self.schema(depth - 1) for n in names}}
        out["required"] = [n for n in names if self.chance(.5)]
        out["additionalProperties"] = False if self.chance(.8) else {"type": "boolean"}
        if self.chance(.2):
            out["minProperties"] = min(len(names), len(out["required"]) + 1)
        if self.chance(.15) and len(names) > 1:
            out["dependentRequired"] = {names[0]: [names[1]]}
        return out

    def schema(self, depth):
        kind = self.r.randrange(12 if depth > 0 else 6)
        if kind < 2:
            return self.string()
        if kind < 4:
            return self.number()
        if kind == 4:
            return {"type": self.r.choice(["boolean", "null"])}
        if kind == 5:
            return {"enum": self.r.sample(["red", "grün", 1, 2.5, None, True, [1, "x"], {"a": 1}], self.r.randint(1, 5))}
        if kind < 8:
            return self.array(depth)
        if kind < 10:
            return self.object(depth)
        if kind == 10:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]}
        return {"allOf": [self.object(depth), {"type": "object", "maxProperties": 6}]}

    def top(self):
        if self.chance(.1):
            return {"$defs": {"node": {"type": "object", "properties": {"v": self.schema(0), "next": {
                "anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"],
                "additionalProperties": False}}, "$ref": "#/$defs/node"}
        return self.schema(3)


def main():
    generate, model = sys.argv[1], sys.argv[2]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    schemas = [Maker(seed * 1000003 + i).top() for i in range(n)]
    lines = "".join(json.dumps(s) + "\n" for s in schemas)
    done = subprocess.run([generate, model, str(seed), "160"], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != n:
        print(f"{generate}: exit {done.returncode}, {len(answers)} answers of {n}: {done.stderr}")
        return 1
    bad, complete = 0, 0
    for schema, answer in zip(schemas, answers):
        if "error" in answer:
            print("refused", json.dumps(schema), answer["error"])
            bad += 1
        elif answer["finish"] in COMPLETE:
            complete += 1
            try:
                judge = jsonschema.Draft202012Validator
                validator = judge(schema, format_checker=judge.FORMAT_CHECKER)
                validator.validate(json.loads(answer["text"]))
            except (ValueError, jsonschema.ValidationError) as error:
                print("wrong", json.dumps(schema), repr(answer["text"]), str(error).splitlines()[0])
                bad += 1
    print(f"{n} schemas, seed {seed}: {complete} complete answers, {n - complete - bad} met the length, {bad} wrong")
    return 1 if bad or complete < n * 2 // 3 else 0


if __name__ == "__main__":
    sys.exit(main())
