"""Krafla: quantised language models on any CPU.

>>> import krafla
>>> with krafla.Model("model.mlb") as model, model.session() as session:
...     session.append("The capital of France is")
...     for token in session.generate(max_tokens=16):
...         print(token.text, end="")

Everything that computes releases the GIL; Ctrl-C stops within a token. A session serves one thread
at a time: a second one gets StateError. Models are safe to share. On free-threaded builds of Python
the import enables the GIL (FREE_THREADED is False).
"""
import os

from krafla import _krafla

_krafla.load(os.path.dirname(__file__))

from krafla._chat import CallForm, Chat, ChatEvent
from krafla._constraint import Constraint
from krafla._core import Model, Parameter, Plan, Sampler, Session, Stage, stages
from krafla._errors import (ArgumentError, BudgetError, CallbackError, Cancelled, ContextFull,
                            CpuError, Error, FileAccessError, InternalError, ModelError, NotFound,
                            OutOfMemory, StateError, TemplateError, UnsupportedError)
from krafla._krafla import Token
from krafla._scheduler import Request, Scheduler, SchedulerInfo
from krafla.llama import Llama, LlamaGrammar

FREE_THREADED = False
_number = _krafla.version()
__version__ = f"{_number >> 16}.{_number >> 8 & 255}.{_number & 255}"
isa: str = _krafla.isa()

__all__ = ["ArgumentError", "BudgetError", "CallForm", "CallbackError", "Cancelled", "Chat", "ChatEvent", "Constraint", "ContextFull", "CpuError",
           "Error", "FREE_THREADED", "FileAccessError", "InternalError", "Llama", "LlamaGrammar", "Model", "ModelError",
           "NotFound", "OutOfMemory", "Parameter", "Plan", "Request", "Sampler", "Scheduler", "SchedulerInfo", "Session", "Stage", "StateError",
           "TemplateError", "Token", "UnsupportedError", "isa", "stages"]
