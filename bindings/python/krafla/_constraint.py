"""Constraint over the module _krafla."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from krafla import _krafla
from krafla._chat import Chat
from krafla._core import Model, choose

_SPACE = {"flexible": 0, "none": 1, "python": 2}


class Constraint:
    """What a reply must be, for ``generate(constraint=...)``: compiled once for a model's tokenizer, shared by
    any number of generations. ``finish`` is then "complete" where nothing could follow, "end" where the model
    ended it. What is not supported raises UnsupportedError, what is broken ArgumentError, with the place.
    """

    _constraint: _krafla.Constraint

    def __init__(self) -> None:
        raise TypeError("Constraint: use json_schema, regex, grammar, choices or calls")

    @classmethod
    def _compile(cls, model: Model, kind: int, texts: Sequence[str], space: str = "flexible",
                 in_order: bool = False, lenient: bool = False) -> Constraint:
        self = cls.__new__(cls)
        self._constraint = _krafla.Constraint.compile(model._tokenizer, kind, list(texts),
                                                      choose("space", space, _SPACE), in_order, lenient)
        return self

    @classmethod
    def json_schema(cls, model: Model, schema: str | Mapping[str, Any] | bool, *, space: str = "flexible",
                    in_order: bool = False, lenient: bool = False) -> Constraint:
        """JSON that a schema (its text, or as json.loads gives it) accepts. space: "flexible", "none", "python"
        (as json.dumps writes); in_order: members in the order of properties; lenient: what cannot be kept of
        the schema is passed over."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return cls._compile(model, 4, [text], space, in_order, lenient)

    @classmethod
    def regex(cls, model: Model, pattern: str) -> Constraint:
        """A regular expression in ECMA 262's syntax, of the whole text."""
        return cls._compile(model, 2, [pattern])

    @classmethod
    def grammar(cls, model: Model, text: str) -> Constraint:
        """A grammar in llama.cpp's GBNF."""
        return cls._compile(model, 3, [text])

    @classmethod
    def choices(cls, model: Model, texts: Sequence[str]) -> Constraint:
        """One of the texts."""
        return cls._compile(model, 1, texts)

    @classmethod
    def calls(cls, chat: Chat, tool: str = "", *, auto: bool = False, parallel: bool = False) -> Constraint:
        """A call of the chat's tools, of the named one or any; auto: or text; parallel: or several."""
        self = cls.__new__(cls)
        self._constraint = _krafla.Constraint.calls(chat._chat, tool, auto, parallel)
        return self
