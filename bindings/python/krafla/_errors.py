"""The exceptions of krafla, one a code of the C ABI; each also is the usual Python one."""


class Error(Exception):
    """A failed call. ``code`` and ``name`` are those of the C ABI (``-5``, ``"KRAFLA_E_FILE"``)."""

    code: int = 0
    name: str = ""


class ArgumentError(Error, ValueError):
    """A value that the caller gave is not valid."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class BudgetError(OutOfMemory):
    """Would exceed the model's byte budget; the message names the need."""


class FileAccessError(Error, OSError):
    """The system refused a file operation."""

    def __init__(self, *args: object) -> None:
        Exception.__init__(self, *args)


class ModelError(Error):
    """The content of a file is not valid."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not supported by this library."""


class CpuError(Error):
    """This build needs a feature that the processor or system lacks."""


class Cancelled(Error):
    """``Session.cancel`` was called."""


class CallbackError(Error):
    """A callback stopped the call."""


class ContextFull(Error):
    """Does not fit the session's context."""


class StateError(Error, RuntimeError):
    """Not possible in the object's present state, or used by two threads at once."""


class NotFound(Error, LookupError):
    """No such name, file or part."""


class TemplateError(Error):
    """A chat template raised an error or met a limit."""


class InternalError(Error):
    """A fault of the library."""


_BY_CODE = {
    -1: ArgumentError, -2: OutOfMemory, -3: BudgetError, -4: FileAccessError, -5: ModelError,
    -6: UnsupportedError, -7: CpuError, -8: Cancelled, -9: CallbackError, -10: ContextFull,
    -11: StateError, -12: NotFound, -13: TemplateError,
}


def error(code: int, name: str, message: str) -> Error:
    """The exception for a code of the C ABI."""
    made = _BY_CODE.get(code, InternalError)(message)
    made.code = code
    made.name = name
    return made
