#!/usr/bin/env python3
"""What constraints by schemas of real life cost: time to compile, masks beside the model's passes, forced text.

    measure_schemas.py MEASURE MODEL.mlb [-v]

MEASURE is measure.cc. The schemas: those of the packages check-jsonschema, nbformat, validate-pyproject and
jsonschema-specifications (CI systems, Docker compose, notebooks, pyproject.toml, meta-schemas), and functions of the kind
that OpenAI's clients send, below.
"""
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys

PACKAGES = ["check_jsonschema", "nbformat", "validate_pyproject", "jsonschema_specifications"]
POINT = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}
FUNCTIONS = {
    "get_weather": {"location": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
    "send_email": {"to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1},
                   "subject": {"type": "string", "maxLength": 200}, "body": {"type": "string"}, "urgent": {"type": "boolean"}},
    "create_event": {"title": {"type": "string"}, "start": {"type": "string", "format": "date-time"},
                     "minutes": {"type": "integer", "minimum": 5, "maximum": 1440},
                     "guests": {"type": "array", "items": {"type": "object", "properties": {
                         "name": {"type": "string"}, "email": {"type": "string", "format": "email"}},
                         "required": ["name"], "additionalProperties": False}}},
    "search": {"query": {"type": "string"}, "top": {"type": "integer", "minimum": 1, "maximum": 50},
               "filters": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}},
    "move": {"to": {"enum": ["north", "south", "east", "west"]}, "steps": {"type": "integer", "minimum": 1, "maximum": 9}},
    "extract_people": {"people": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "age": {"type": ["integer", "null"]}, "role": {"enum": ["author", "editor", "other"]}},
        "required": ["name", "age", "role"], "additionalProperties": False}}},
    "geojson_feature": {"type": {"const": "Feature"}, "properties": {"type": ["object", "null"]}, "geometry": {"oneOf": [
        {"type": "object", "properties": {"type": {"const": "Point"}, "coordinates": POINT},
         "required": ["type", "coordinates"], "additionalProperties": False},
        {"type": "object", "properties": {"type": {"const": "LineString"}, "coordinates": {
            "type": "array", "minItems": 2, "items": POINT}}, "required": ["type", "coordinates"],
         "additionalProperties": False}]}},
    "sql": {"steps": {"type": "array", "items": {"type": "string"}, "maxItems": 5}, "query": {"type": "string"}},
}


def schemas():
    for name, properties in FUNCTIONS.items():
        yield name, {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    for package in PACKAGES:
        folder = pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0])
        for path in sorted(folder.rglob("*.json")):
            value = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(value, dict) and "$schema" in value:
                yield f"{package}/{path.stem if path.stem != 'metaschema' else path.parent.name}", value


def main():
    verbose = "-v" in sys.argv
    named = list(schemas())
    lines = "".join(json.dumps(schema) + "\n" for _, schema in named)
    done = subprocess.run([sys.argv[1], sys.argv[2]], input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    kept = []
    for (name, schema), answer in zip(named, answers):
        if "error" not in answer:
            kept.append(answer)
        if verbose or "error" in answer:
            print(f"{name} ({len(json.dumps(schema))} bytes): {answer.get('error') or answer}")
    compiled = sorted(a["compile_us"] / 1000 for a in kept)
    tokens = sum(a["tokens"] for a in kept)
    mask, read = sum(a["mask_us"] for a in kept), sum(a["read_us"] for a in kept)
    first = sum(a["first_us"] for a in kept)
    shares = sorted(100 * (a["mask_us"] - a["first_us"]) / max(a["read_us"], 1) for a in kept)
    gains = sorted(a["plain_us"] / a["forced_us"] for a in kept)
    print(f"{len(named)} schemas, {len(kept)} kept")
    print(f"compile: median {statistics.median(compiled):.2f} ms, largest {compiled[-1]:.1f} ms, all {sum(compiled):.0f} ms")
    print(f"first mask: {first / len(kept) / 1000:.2f} ms; masks {mask / tokens:.0f} us a token, {100 * mask / read:.2f} % of the "
          f"model's passes ({read / tokens / 1000:.1f} ms a token); without each first one {100 * (mask - first) / read:.2f} %, "
          f"median of schemas {statistics.median(shares):.2f} %")
    print(f"forced text in one pass: median {statistics.median(gains):.2f}x, best {gains[-1]:.2f}x, least {gains[0]:.2f}x")


if __name__ == "__main__":
    main()
