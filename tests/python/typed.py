"""What type checkers must accept and refuse of the package (mypy --strict, pyright)."""
from collections.abc import AsyncIterator, Iterator

import krafla
import numpy as np
from numpy.typing import NDArray


def accepted(model: krafla.Model) -> str:
    krafla.Model("m.mlb", ram_budget=8 << 30, reader="pool", heat_map="heat").trim()
    with model.session(context=64, kv="f32") as session:
        session.append("text", progress=lambda done, total: None)
        session.append([1, 2, 3])
        row: NDArray[np.float32] = session.logits
        tokens: Iterator[krafla.Token] = session.generate(krafla.Sampler(1, top_k=4), stop="x")
        text = "".join(token.text for token in tokens)
        pieces: AsyncIterator[krafla.Token] = session.agenerate()
        constraint = krafla.Constraint.json_schema(model, {"type": "object"}, in_order=True)
        session.generate(constraint=constraint)
        del pieces, row
        scheduler = krafla.Scheduler(model, parallel=2, cache_bytes=0)
        request: krafla.Request = scheduler.add("text", krafla.Sampler(1), priority=1)
        waiting: int = scheduler.info.waiting
        del waiting
        text += request.text()
        finish: str | None = session.finish
        return text + (finish or "")


def refused(model: krafla.Model) -> None:
    model.session(context="64")  # type: ignore[arg-type]
    krafla.Sampler("1")  # type: ignore[arg-type]
    krafla.Scheduler("model.mlb")  # type: ignore[arg-type]
    model.session().generate(constraint="{}")  # type: ignore[arg-type]
    model.session().logits = 1  # type: ignore[assignment, misc]
