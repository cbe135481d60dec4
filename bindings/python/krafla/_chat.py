"""Chat: a conversation over the module _krafla."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from krafla import _krafla
from krafla._core import Model, Sampler, Session

_KINDS = {1: "content", 2: "reasoning", 3: "call", 4: "arguments", 5: "call_end", 6: "dropped"}


@dataclass(frozen=True)
class ChatEvent:
    """A part of a reply. kind: "content" and "reasoning" (text: more of it), "call" (text: the tool's
    name; index, id), "arguments" (text: more of its JSON), "call_end", "dropped" (it was no call after
    all; its text follows as content)."""

    kind: str
    text: str
    index: int
    id: str


class CallForm(NamedTuple):
    """How the model writes a call: the texts around it, and a JSON schema of what is between them."""

    form: str
    begin: str
    end: str
    schema: Any


class Chat:
    """A conversation through the model's own template. What messages say never becomes a control token.

    >>> chat = krafla.Chat(model, tools=[...])
    >>> chat.add("user", "What is the weather in Paris?")
    >>> for event in chat.reply(session):
    ...     print(event.text if event.kind == "content" else event)

    full: "refuse" raises ContextFull where a prompt and ``reserve`` positions do not fit the session's
    context, "drop" takes the oldest turns away until they do. More arguments reach the template
    (enable_thinking=False).
    """

    def __init__(self, model: Model, messages: Sequence[Mapping[str, Any]] = (), *,
                 tools: Sequence[Mapping[str, Any]] = (), full: str = "refuse", reserve: int = 0,
                 **variables: Any) -> None:
        if full not in ("refuse", "drop"):
            raise ValueError(f"full: got {full!r}, want one of refuse, drop")
        self._chat = _krafla.Chat(model._model, full == "drop", reserve)
        self.dropped = 0  #: messages that the last reply's prompt had to leave out
        if variables:
            self._chat.set_variables(json.dumps(variables))
        if tools:
            self.set_tools(tools)
        if messages:
            self._chat.add_json(json.dumps(list(messages)))

    def add(self, role: str | Mapping[str, Any], content: str | None = None, **more: Any) -> None:
        """A message: role and content (tool_call_id=... and the like), or a dict as OpenAI has it.
        Raises ArgumentError, UnsupportedError (a part that is no text)."""
        message = {"role": role, "content": content, **more} if isinstance(role, str) else role
        self._chat.add_json(json.dumps(message))

    def set_tools(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Tools as OpenAI has them."""
        self._chat.set_tools(json.dumps(list(tools)) if tools else "")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages; arguments of calls are objects."""
        messages: list[dict[str, Any]] = json.loads(self._chat.json())
        return messages

    def truncate(self, n: int) -> None:
        """Forgets all but the first n messages."""
        self._chat.truncate(n)

    def encode(self) -> list[int]:
        """The ids of the prompt for the next reply. Raises TemplateError."""
        return self._chat.encode()

    def call_form(self, tool: str = "") -> CallForm:
        """How the model calls this tool, or any."""
        form, begin, end, schema = self._chat.call_form(tool)
        return CallForm(form, begin, end, json.loads(schema))

    def _events(self) -> Iterator[ChatEvent]:
        while (event := self._chat.next()) is not None:
            yield ChatEvent(_KINDS[event[0]], event[2], event[1], event[3])

    def reply(self, session: Session, sampler: Sampler | None = None, *, max_tokens: int = 0,
              **options: Any) -> Iterator[ChatEvent]:
        """Reads what the session has not read yet and yields the reply as it comes; options as those
        of Session.generate. The reply, also one that was left early, becomes a message."""
        self.dropped = session._session.append_chat(self._chat)
        try:
            for token in session.generate(sampler, max_tokens=max_tokens, **options):
                if token.id >= 0:
                    self._chat.push(token.id)
                yield from self._events()
        finally:
            self._chat.finish()
        yield from self._events()

    def parse(self, text: str) -> Iterator[ChatEvent]:
        """A whole reply that came from elsewhere, as events; it becomes a message."""
        self._chat.push_text(text)
        self._chat.finish()
        yield from self._events()
