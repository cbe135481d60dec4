"""Scheduler: many requests at once over the module _krafla."""
from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from krafla import _krafla
from krafla._constraint import Constraint
from krafla._core import FINISHES, KV_KINDS, Model, Sampler, choose, next_on_thread, stop_texts
from krafla._krafla import Token


class SchedulerInfo(NamedTuple):
    """What a scheduler is at and has done. reused_tokens: of prompts, found in texts that were kept."""

    running: int
    waiting: int
    passes: int
    prompt_tokens: int
    reused_tokens: int
    reply_tokens: int
    cache_bytes: int
    cached: int
    folder_bytes: int
    in_folder: int


class Request:
    """A reply that a scheduler works at: its tokens come by ``for`` or ``async for``, once, from one thread at
    a time. An unfinished request that is dropped is cancelled."""

    def __init__(self, request: _krafla.Request) -> None:
        self._request = request

    def __iter__(self) -> Iterator[Token]:
        while not self._request.ended():
            token = self._request.next()
            if token is not None:
                yield token

    async def __aiter__(self) -> AsyncIterator[Token]:
        while not self._request.ended():
            token = await next_on_thread(self._request.next)
            if token is not None:
                yield token

    def text(self) -> str:
        """Waits for the rest of the reply and returns it."""
        return "".join(token.text for token in self)

    def cancel(self) -> None:
        """From any thread: whoever waits for its tokens gets Cancelled."""
        self._request.cancel()

    @property
    def finish(self) -> str | None:
        """How it ended, as Session.finish; None before."""
        return FINISHES[self._request.finish()]

    @property
    def prompt_tokens(self) -> int:
        return self._request.info()[0]

    @property
    def reused(self) -> int:
        """Tokens of the prompt that were found read already; -1 as long as the request waits."""
        return self._request.info()[1]

    def __len__(self) -> int:
        """Tokens generated so far."""
        return self._request.info()[2]


class Scheduler:
    """Many requests to one model, a token of each in one pass over the weights, pieces of prompts between
    them. Each reply is the one that its request would get alone.

    >>> with krafla.Scheduler(model, parallel=8) as scheduler:
    ...     requests = [scheduler.add(prompt, max_tokens=40) for prompt in prompts]
    ...     replies = [request.text() for request in requests]

    context: positions of a request; parallel: requests at work, the others wait (at most queue of them); rows:
    positions of a pass; cache_bytes: for texts of requests that have ended, of which later ones that begin alike
    read only what is new; folder: for those texts that these bytes have no room for, and for all at the end, so
    that the next scheduler goes on with them (folder_bytes of this model's). 0 and None: the library's defaults,
    no folder. Raises BudgetError, ArgumentError, FileAccessError.
    """

    def __init__(self, model: Model, *, context: int = 0, kv: str = "f16", parallel: int = 0,
                 rows: int = 0, queue: int = 0, cache_bytes: int | None = None,
                 folder: str | os.PathLike[str] | None = None, folder_bytes: int = 0) -> None:
        self._model = model
        self._scheduler = _krafla.Scheduler(model._model, context, choose("kv", kv, KV_KINDS), rows, parallel,
                                            queue, cache_bytes, None if folder is None else os.fspath(folder),
                                            folder_bytes)

    def add(self, prompt: str | Sequence[int], sampler: Sampler | None = None, *, max_tokens: int = 0,
            stop: str | Sequence[str] = (), end_ids: Sequence[int] = (), ignore_end: bool = False,
            logprobs: bool = False, top: int = 0, constraint: Constraint | None = None,
            priority: int = 0) -> Request:
        """Text or ids (of a conversation: ``chat.encode()``) to a request; the other arguments are those of
        Session.generate. priority: -100 to 100, the highest first. From any thread. Raises ContextFull;
        StateError where the queue is full; UnsupportedError for a sampler with a custom stage."""
        ids = self._model.encode(prompt) if isinstance(prompt, str) else list(prompt)
        return Request(self._scheduler.add(ids, (sampler or Sampler())._sampler, max_tokens, stop_texts(stop),
                                           list(end_ids), ignore_end, logprobs, top,
                                           None if constraint is None else constraint._constraint, priority))

    @property
    def info(self) -> SchedulerInfo:
        return SchedulerInfo(*self._scheduler.info())

    def close(self) -> None:
        """Its requests end; whoever waits for their tokens gets Cancelled."""
        self._scheduler.close()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
