"""Llama: the call shapes of llama-cpp-python, for programs that switch. Returns OpenAI's dicts."""
from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from krafla._constraint import Constraint
from krafla._core import Model, Sampler, Session

_FINISH = {"end": "stop", "stop": "stop", "complete": "stop", "length": "length", "context": "length", None: None}


class LlamaGrammar:
    """A grammar or a JSON schema, not compiled yet."""

    def __init__(self, text: str, schema: bool) -> None:
        self._text, self._schema = text, schema

    @classmethod
    def from_string(cls, grammar: str, verbose: bool = False) -> LlamaGrammar:
        return cls(grammar, False)

    @classmethod
    def from_json_schema(cls, json_schema: str, verbose: bool = False) -> LlamaGrammar:
        return cls(json_schema, True)

    def _compile(self, model: Model) -> Constraint:
        if self._schema:
            return Constraint.json_schema(model, self._text)
        return Constraint.grammar(model, self._text)


class Llama:
    """``Llama(model_path="model.mlb", n_ctx=2048)``; ``llm("Once upon a time", max_tokens=32)``,
    ``llm.create_chat_completion(messages=[...], stream=True)``. What a prompt has in common with the
    one before is not read again. verbose is accepted and ignored: the library prints nothing.
    """

    def __init__(self, model_path: str, *, n_ctx: int = 0, n_batch: int = 0, n_threads: int | None = None,
                 seed: int | None = None, use_mmap: bool = True, verbose: bool = False) -> None:
        self._model = Model(model_path, load="map" if use_mmap else "read", threads=n_threads or 0)
        self._session = Session(self._model, context=n_ctx, batch=n_batch)
        self._seed = seed

    def close(self) -> None:
        self._session.close()
        self._model.close()

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def n_ctx(self) -> int:
        return self._session.context

    def n_vocab(self) -> int:
        return int(self._model.info["n_vocab"])

    def token_bos(self) -> int:
        """The token that begins a text, and an empty prompt; -1: the model has none."""
        return self._model._tokenizer.bos_id()

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        return self._model.encode(text.decode("utf-8"), special=add_bos, parse=special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self._model._tokenizer.decode(list(tokens), False)

    def embed(self, text: str) -> list[float]:
        with self._model.session(context=max(1, len(self._model.encode(text, special=True)))) as session:
            ids = self._model.encode(text, special=True)
            return [float(value) for value in session.embed(ids, normalize=True)]

    def _sampler(self, temperature: float, top_k: int, top_p: float, min_p: float, repeat_penalty: float,
                 frequency_penalty: float, presence_penalty: float, seed: int | None) -> Sampler:
        return Sampler(self._seed if seed is None else seed, temperature=temperature, top_k=max(top_k, 0),
                       top_p=top_p, min_p=min_p, repeat=repeat_penalty, frequency=frequency_penalty,
                       presence=presence_penalty)

    def _constraint(self, response_format: dict[str, Any] | None,
                    grammar: LlamaGrammar | None) -> Constraint | None:
        """OpenAI's response_format (json_schema, or json_object with an optional schema) or a grammar."""
        kind = "text" if response_format is None else response_format.get("type", "text")
        if grammar is not None and kind != "text":
            raise ValueError("got response_format and grammar, want one of them")
        if grammar is not None:
            return grammar._compile(self._model)
        if response_format is None or kind == "text":
            return None
        if kind == "json_schema":
            return Constraint.json_schema(self._model, response_format["json_schema"]["schema"])
        if kind == "json_object":
            return Constraint.json_schema(self._model, response_format.get("schema", {"type": "object"}))
        raise ValueError(f"response_format: got {kind!r}, want text, json_object or json_schema")

    def _pieces(self, ids: list[int], sampler: Sampler, max_tokens: int | None,
                stop: str | Sequence[str] | None, constraint: Constraint | None) -> Iterator[str]:
        self._session.edit(ids)
        limit = 0 if max_tokens is None or max_tokens < 0 else max_tokens
        if max_tokens == 0:
            return
        for token in self._session.generate(sampler, max_tokens=limit, stop=stop or (),
                                            constraint=constraint):
            yield token.text

    def create_completion(self, prompt: str | Sequence[int], *, max_tokens: int | None = 16,
                          temperature: float = 0.8, top_p: float = 0.95, top_k: int = 40,
                          min_p: float = 0.05, repeat_penalty: float = 1.0, frequency_penalty: float = 0.0,
                          presence_penalty: float = 0.0, stop: str | Sequence[str] | None = None,
                          seed: int | None = None, echo: bool = False,
                          grammar: LlamaGrammar | None = None,
                          stream: bool = False) -> dict[str, Any] | Iterator[dict[str, Any]]:
        ids = self._model.encode(prompt, special=True) if isinstance(prompt, str) else list(prompt)
        if prompt == "" and not ids and self.token_bos() >= 0:
            ids = [self.token_bos()]
        sampler = self._sampler(temperature, top_k, top_p, min_p, repeat_penalty, frequency_penalty,
                                presence_penalty, seed)
        constraint = self._constraint(None, grammar)
        head = self._head("cmpl", "text_completion")

        def choice(text: str, finish: str | None) -> dict[str, Any]:
            return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}

        def chunks() -> Iterator[dict[str, Any]]:
            for text in self._pieces(ids, sampler, max_tokens, stop, constraint):
                yield {**head, "choices": [choice(text, None)]}
            yield {**head, "choices": [choice("", _FINISH[self._session.finish])]}

        if stream:
            return chunks()
        text = "".join(self._pieces(ids, sampler, max_tokens, stop, constraint))
        if echo and isinstance(prompt, str):
            text = prompt + text
        return {**head, "choices": [choice(text, _FINISH[self._session.finish])],
                "usage": self._usage(len(ids))}

    __call__ = create_completion

    def create_chat_completion(self, messages: Sequence[dict[str, Any]], *, max_tokens: int | None = None,
                               temperature: float = 0.2, top_p: float = 0.95, top_k: int = 40,
                               min_p: float = 0.05, repeat_penalty: float = 1.0,
                               frequency_penalty: float = 0.0, presence_penalty: float = 0.0,
                               stop: str | Sequence[str] | None = None, seed: int | None = None,
                               tools: Sequence[dict[str, Any]] | None = None,
                               response_format: dict[str, Any] | None = None,
                               grammar: LlamaGrammar | None = None,
                               stream: bool = False) -> dict[str, Any] | Iterator[dict[str, Any]]:
        more: dict[str, Any] = {} if tools is None else {"tools": list(tools)}
        constraint = self._constraint(response_format, grammar)
        ids = self._model.chat(messages, **more)
        sampler = self._sampler(temperature, top_k, top_p, min_p, repeat_penalty, frequency_penalty,
                                presence_penalty, seed)

        def chunks() -> Iterator[dict[str, Any]]:
            head = self._head("chatcmpl", "chat.completion.chunk")

            def chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
                return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

            yield chunk({"role": "assistant"}, None)
            for text in self._pieces(ids, sampler, max_tokens, stop, constraint):
                if text:
                    yield chunk({"content": text}, None)
            yield chunk({}, _FINISH[self._session.finish])

        if stream:
            return chunks()
        text = "".join(self._pieces(ids, sampler, max_tokens, stop, constraint))
        message = {"role": "assistant", "content": text}
        return {**self._head("chatcmpl", "chat.completion"),
                "choices": [{"index": 0, "message": message, "finish_reason": _FINISH[self._session.finish]}],
                "usage": self._usage(len(ids))}

    def _head(self, prefix: str, kind: str) -> dict[str, Any]:
        return {"id": f"{prefix}-{uuid.uuid4()}", "object": kind, "created": int(time.time()),
                "model": self._model.info["name"] or self._model.info["arch"]}

    def _usage(self, n_prompt: int) -> dict[str, int]:
        total = len(self._session)
        return {"prompt_tokens": n_prompt, "completion_tokens": total - n_prompt, "total_tokens": total}
