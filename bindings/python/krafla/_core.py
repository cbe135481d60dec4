"""Model, Session and Sampler over the module _krafla."""
from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from krafla import _krafla
from krafla._errors import error
from krafla._krafla import Token

if TYPE_CHECKING:
    from krafla._constraint import Constraint

Floats = NDArray[np.float32]
Progress = Callable[[int, int], object]
Custom = Callable[[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]], object]
KV_KINDS = {"f16": 0, "f32": 1, "q8": 2, "k8v4": 3, "k6v6": 4, "k4v4": 5}
_READER = {"auto": 0, "uring": 1, "pool": 2, "cache": 3}
_POOL = {"mean": 0, "last": 1, "first": 2}
FINISHES = {0: None, 1: "end", 2: "length", 3: "context", 4: "callback", 5: "stop", 6: "complete"}


def choose(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise ValueError(f"{name}: got {value!r}, want one of {', '.join(choices)}")
    return choices[value]


def stop_texts(stop: str | Sequence[str]) -> list[str]:
    return [text for text in ([stop] if isinstance(stop, str) else stop) if text]


async def next_on_thread(next_token: Callable[[], Token | None]) -> Token | None:
    """The event loop goes on while a thread waits; who cancels waits for a token or 20 ms."""
    work = asyncio.get_running_loop().run_in_executor(None, next_token)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        work.exception()
        raise


class Plan(NamedTuple):
    """Bytes by kind that a model and a session of it take at most."""

    weights_mapped: int
    weights_read: int
    kv: int
    state: int
    scratch: int
    total: int


class Parameter(NamedTuple):
    """A parameter of a sampler's stage and its bounds."""

    name: str
    min: float
    max: float
    default: float
    integer: bool


class Stage(NamedTuple):
    """A stage of samplers; those of the default chain are listed in its order."""

    name: str
    summary: str
    in_default_chain: bool
    parameters: list[Parameter]


def stages() -> list[Stage]:
    """Every stage there is, with its parameters."""
    return [Stage(name, summary, default, [Parameter(*parameter) for parameter in parameters])
            for name, summary, default, parameters in _krafla.stages()]


class Sampler:
    """How a token is chosen from logits. Without arguments: greedy.

    ``Sampler(seed=7, top_k=40, top_p=0.9, min_p=0.05, temperature=0.8, repeat=1.1)``: the default chain
    (``krafla.stages()`` lists it) with these parameters. logit_bias: {id: added to its logit, -inf: never}.
    custom(ids, values, history) may change values in place, -inf drops a token. ``mirostat_tau`` adds
    mirostat 2. With a seed alone the chain is empty: what ``add`` appends.
    """

    def __init__(self, seed: int | None = None, *, temperature: float | None = None,
                 dynatemp_range: float | None = None, dynatemp_exponent: float | None = None,
                 top_k: int | None = None, top_p: float | None = None, min_p: float | None = None,
                 typical_p: float | None = None, top_n_sigma: float | None = None,
                 xtc_probability: float | None = None, xtc_threshold: float | None = None,
                 repeat: float | None = None, frequency: float | None = None,
                 presence: float | None = None, last_n: int | None = None,
                 dry_multiplier: float | None = None, dry_base: float | None = None,
                 dry_allowed_length: int | None = None, dry_last_n: int | None = None,
                 mirostat_tau: float | None = None, mirostat_eta: float | None = None,
                 logit_bias: Mapping[int, float] | None = None, custom: Custom | None = None) -> None:
        self._sampler = _krafla.Sampler() if seed is None else _krafla.Sampler(seed)
        self._stages: set[str] = set()
        if mirostat_tau is not None and temperature is None:
            temperature = 1
        values = (
                ("temperature", "t", temperature), ("temperature", "range", dynatemp_range),
                ("temperature", "exponent", dynatemp_exponent), ("top_k", "k", top_k), ("top_p", "p", top_p),
                ("min_p", "p", min_p), ("typical", "p", typical_p), ("top_n_sigma", "n", top_n_sigma),
                ("xtc", "probability", xtc_probability), ("xtc", "threshold", xtc_threshold),
                ("penalties", "repeat", repeat), ("penalties", "frequency", frequency),
                ("penalties", "presence", presence), ("penalties", "last_n", last_n),
                ("dry", "multiplier", dry_multiplier), ("dry", "base", dry_base),
                ("dry", "allowed_length", dry_allowed_length), ("dry", "last_n", dry_last_n),
                ("mirostat", "tau", mirostat_tau), ("mirostat", "eta", mirostat_eta))
        given = [(stage, name, value) for stage, name, value in values if value is not None]
        if given or logit_bias is not None or custom is not None:
            self._sampler.add_default()
            self._stages = {stage.name for stage in stages() if stage.in_default_chain}
        for stage, name, value in given:
            self.add(stage, **{name: value})
        if logit_bias is not None:
            self._sampler.set_bias(list(logit_bias.items()))
        if custom is not None:
            self._sampler.set_custom(custom)

    def break_at(self, model: Model, texts: Sequence[str] = ("\n", ":", '"', "*")) -> Sampler:
        """Texts that no repetition of the stage dry reaches over."""
        self._sampler.set_breakers(model._tokenizer, list(texts))
        return self

    def top(self, k: int) -> list[tuple[int, float]]:
        """Of the last ``sample``: the best candidates that the chain had left, with log-probabilities."""
        return self._sampler.top(k)

    def add(self, stage: str, **parameters: float) -> Sampler:
        """Appends a stage by name, or sets parameters of one that the chain has. Raises NotFound,
        ArgumentError."""
        if stage in self._stages:
            for name, value in parameters.items():
                self._sampler.set(stage, name, value)
        else:
            self._sampler.add(stage, **parameters)
            self._stages.add(stage)
        return self

    @property
    def seed(self) -> int:
        """The seed in use, also where none was given."""
        return self._sampler.seed()

    def sample(self, logits: Floats) -> int:
        """The id chosen from logits [n_vocab]. Raises ArgumentError on NaN."""
        return self._sampler.sample(logits)

    def accept(self, id: int) -> None:
        """Adds an id to the history that penalties and dry look at."""
        self._sampler.accept(id)

    def reset(self) -> None:
        """Back to the start: no history, the same seed."""
        self._sampler.reset()


class Model:
    """An open .mlb file, shared by any number of sessions and threads.

    load: "map" uses the file in place, "read" copies the weights, "auto" copies where large pages make
    that faster and it takes at most half of the memory that is left. threads: 0 for one a physical core.
    budget: bytes that everything made from it may take together. progress(done, total) in bytes may
    raise to stop. ram_budget: bytes of weights in memory, 0 for what the system can spare; experts that
    have no room are read from the file as they are wanted, by reader ("auto", "uring", "pool", "cache"),
    and heat_map names a file that keeps which are used most. Raises NotFound, ModelError,
    FileAccessError, BudgetError, UnsupportedError.
    """

    def __init__(self, path: str | os.PathLike[str], *, load: str = "auto", threads: int = 0,
                 budget: int | None = None, progress: Progress | None = None,
                 ram_budget: int | None = None, reader: str = "auto",
                 heat_map: str | os.PathLike[str] | None = None) -> None:
        chosen = choose("load", load, {"map": 0, "read": 1, "auto": 2})
        self._opened: _krafla.Model | None = _krafla.Model(
            os.fspath(path), chosen, threads, budget, progress, ram_budget,
            choose("reader", reader, _READER), "" if heat_map is None else os.fspath(heat_map))
        self._text: _krafla.Tokenizer | None = None

    @property
    def _model(self) -> _krafla.Model:
        if self._opened is None:
            raise error(-11, "KRAFLA_E_STATE", "model: it is closed")
        return self._opened

    @property
    def _tokenizer(self) -> _krafla.Tokenizer:
        if self._text is None:
            self._text = _krafla.Tokenizer(self._model)
        return self._text

    def close(self) -> None:
        """Gives the file back once the sessions made from it are closed."""
        self._opened = None
        self._text = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def info(self) -> dict[str, Any]:
        """arch, name, n_vocab, n_layers, n_embd, max_context, weight_bytes, ..."""
        return self._model.info()

    @property
    def residency(self) -> dict[str, Any]:
        """Of a model opened with ram_budget: slots, resident, hits, misses, bytes_read, ... Raises
        StateError for others."""
        info = self._model.residency()
        names = {number: name for name, number in _READER.items()}
        return {**info, "reader": names[info["reader"]]}

    def trim(self, bytes: int | None = None) -> int:
        """Lets the experts' slots have at most so many bytes from now on (None: what the budget allows),
        but no fewer than a pass needs; returns those that they have. Raises StateError."""
        return self._model.trim(2**64 - 1 if bytes is None else bytes)

    @property
    def metadata(self) -> dict[str, str]:
        """The file's metadata as text."""
        return self._model.metadata()

    @property
    def tensors(self) -> list[tuple[str, str, tuple[int, ...], int]]:
        """(name, format, shape, bytes) of each tensor."""
        return self._model.tensors()

    @property
    def end_ids(self) -> list[int]:
        """The tokens that end a reply."""
        return self._model.end_ids()

    def plan(self, *, context: int = 0, kv: str = "f16", batch: int = 0) -> Plan:
        """What a session of these options takes, before anything is allocated."""
        return Plan(*self._model.plan(context, choose("kv", kv, KV_KINDS), batch))

    def encode(self, text: str, *, special: bool = False, parse: bool = False) -> list[int]:
        """Token ids. special: with BOS and EOS as the model wants; parse: control tokens in the text
        are read as such (never for what users write)."""
        return self._tokenizer.encode(text, special + 2 * parse)

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """The text of ids; bytes that are no UTF-8 become U+FFFD."""
        return self._tokenizer.decode(list(ids), skip_special).decode("utf-8", "replace")

    def chat(self, messages: Sequence[dict[str, Any]], *, add_generation_prompt: bool = True,
             **more: Any) -> list[int]:
        """The ids of a conversation by the model's chat template; ``more`` reaches the template
        (tools=..., enable_thinking=...). Raises TemplateError, NotFound."""
        values = {"messages": list(messages), "add_generation_prompt": add_generation_prompt, **more}
        return self._tokenizer.render(self._model, json.dumps(values))

    def session(self, *, context: int = 0, kv: str = "f16", reserve: int | None = None,
                batch: int = 0) -> Session:
        """A new session. context: positions (0: the smaller of 4096 and the model's maximum); kv:
        "f16", "f32", or quantised: "q8", "k8v4", "k6v6", "k4v4"; reserve: positions whose memory is taken now (None: all)."""
        session = Session.__new__(Session)
        session._model = self
        session._session = _krafla.Session(self._model, context, choose("kv", kv, KV_KINDS), reserve,
                                           batch)
        return session


class Session:
    """What a model has read: token ids, their keys and values, the logits that follow."""

    _model: Model
    _session: _krafla.Session

    def __init__(self, model: Model, **options: Any) -> None:
        made = model.session(**options)
        self._model, self._session = made._model, made._session

    def close(self) -> None:
        """Frees the session's memory; a view of its logits keeps only that."""
        self._session.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _ids(self, text: str | Sequence[int]) -> list[int]:
        return self._model.encode(text) if isinstance(text, str) else list(text)

    def append(self, text: str | Sequence[int], progress: Progress | None = None) -> None:
        """Reads text or ids; all or nothing. progress(done, total) may raise to stop. Raises
        ContextFull, Cancelled, KeyboardInterrupt."""
        self._session.append(self._ids(text), progress)

    def logits_of(self, text: str | Sequence[int]) -> Floats:
        """Reads text or ids and returns the logits after each: [n, n_vocab]."""
        return self._session.rows(self._ids(text), False)

    def hidden_of(self, text: str | Sequence[int]) -> Floats:
        """Reads text or ids and returns the hidden state of each behind the final norm: [n, n_embd].
        The session has no logits afterwards."""
        return self._session.rows(self._ids(text), True)

    def embed(self, text: str | Sequence[int], *, pool: str = "mean", normalize: bool = False) -> Floats:
        """Reads text or ids and returns their pooled hidden state [n_embd]; pool: mean, last, first."""
        return self._session.embed(self._ids(text), choose("pool", pool, _POOL), normalize)

    @property
    def logits(self) -> Floats:
        """The logits after the last id, [n_vocab]: a read-only view, not a copy. The session's next
        call changes what it shows; the memory stays as long as the view. Raises StateError."""
        return self._session.logits()

    @property
    def ids(self) -> list[int]:
        """The ids read so far."""
        return self._session.ids()

    def __len__(self) -> int:
        return self._session.info()[0]

    @property
    def context(self) -> int:
        return self._session.info()[1]

    @property
    def reused(self) -> int:
        """Positions that the last append, edit, truncate or restore kept."""
        return self._session.info()[2]

    @property
    def recomputed(self) -> int:
        """Positions that the last edit, truncate or restore read again."""
        return self._session.info()[3]

    def _begin(self, sampler: Sampler | None, max_tokens: int, stop: str | Sequence[str],
               end_ids: Sequence[int], ignore_end: bool, logprobs: bool, top: int,
               draft: Session | Literal["lookup"] | None, constraint: Constraint | None) -> None:
        self._session.begin_generate((sampler or Sampler())._sampler, max_tokens,
                                     stop_texts(stop), list(end_ids), ignore_end,
                                     logprobs, top, draft == "lookup",
                                     draft._session if isinstance(draft, Session) else None,
                                     None if constraint is None else constraint._constraint)

    def generate(self, sampler: Sampler | None = None, *, max_tokens: int = 0,
                 stop: str | Sequence[str] = (), end_ids: Sequence[int] = (),
                 ignore_end: bool = False, logprobs: bool = False, top: int = 0,
                 draft: Session | Literal["lookup"] | None = None,
                 constraint: Constraint | None = None) -> Iterator[Token]:
        """Yields the reply's tokens as they come; greedy without a sampler. Leaving the loop ends the
        generation; the session then has read the tokens that were given out. stop: texts that end it and are never given out; top:
        that many alternatives in Token.top (of the model) and Token.chain_top (behind the sampler's chain). ``finish`` tells how it ended. draft: guess tokens from the
        text so far ("lookup") or with a session of a smaller model; that changes the time, never a token. constraint: what the reply must be."""
        self._begin(sampler, max_tokens, stop, end_ids, ignore_end, logprobs, top, draft, constraint)
        try:
            while self._session.generating():
                token = self._session.next()
                if token is not None:
                    yield token
        finally:
            if self._session.generating():
                self._session.stop()

    async def agenerate(self, sampler: Sampler | None = None, *, max_tokens: int = 0,
                        stop: str | Sequence[str] = (), end_ids: Sequence[int] = (),
                        ignore_end: bool = False, logprobs: bool = False, top: int = 0,
                        draft: Session | Literal["lookup"] | None = None,
                        constraint: Constraint | None = None) -> AsyncIterator[Token]:
        """The same for ``async for``: the event loop goes on while a thread computes."""
        self._begin(sampler, max_tokens, stop, end_ids, ignore_end, logprobs, top, draft, constraint)
        try:
            while self._session.generating():
                token = await next_on_thread(self._session.next)
                if token is not None:
                    yield token
        finally:
            if self._session.generating():
                self._session.stop()

    @property
    def finish(self) -> str | None:
        """How the last generation ended: "end", "length", "context", "stop", "complete" (a
        constraint left nothing to add), or None."""
        return FINISHES[self._session.finish()[0]]

    def fork(self) -> Session:
        """A second session that has read the same; copies nothing of the cache."""
        session = Session.__new__(Session)
        session._model, session._session = self._model, self._session.fork()
        return session

    def truncate(self, length: int) -> None:
        """Forgets all but the first ``length`` positions."""
        self._session.truncate(length)

    def edit(self, text: str | Sequence[int]) -> None:
        """Makes the session hold exactly this; what it has read of it stays (reused, recomputed)."""
        self._session.edit(self._ids(text))

    def save(self, *, cache: bool = True) -> bytes:
        """The session as bytes: with its cache, or only its tokens (4 bytes each)."""
        return self._session.save(cache)

    def restore(self, data: bytes, *, replay: bool = False) -> None:
        """Becomes the saved session. Raises ModelError (damaged, another model), UnsupportedError
        (another kind of cache; replay=True reads the ids again), ContextFull."""
        self._session.restore(data, replay)

    def cancel(self) -> None:
        """From any thread: the running call, or else the next one, raises Cancelled."""
        self._session.cancel()
