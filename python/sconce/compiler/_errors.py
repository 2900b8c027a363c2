"""Exceptions of compilation, by PyTorch's names (sconce._dynamo.exc)."""


class TorchDynamoException(RuntimeError):
    """The base class."""


class Unsupported(TorchDynamoException):
    """The graph of a function breaks where it must not (fullgraph=True)."""

    def __init__(self, msg, *, code="", reason="", hint="", file="", line=0, function=""):
        super().__init__(msg)
        self.msg, self.code, self.reason, self.hint = msg, code, reason, hint
        self.file, self.line, self.function = file, line, function


class InternalTorchDynamoError(TorchDynamoException):
    """Capture itself failed."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised an exception."""

    def __init__(self, backend, inner):
        name = getattr(backend, "__name__", "?")
        super().__init__(f"backend={name!r} raised:\n{type(inner).__name__}: {inner}")
        self.backend_name, self.inner_exception = name, inner


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""


class RecompileError(TorchDynamoException):
    """A call would have compiled again, where that is forbidden."""


class FailOnRecompileLimitHit(Exception):
    """A function was compiled too often, and config.fail_on_recompile_limit_hit says that this is an error."""


class ResetRequired(TorchDynamoException):
    """The backend changed between compilations."""


class UserError(TorchDynamoException):
    """What the program asks for is not possible."""


def unsupported(code, reason, hint, line, file, function):
    """The exception of a graph break under fullgraph=True: what broke it, where, and what to do."""
    import linecache

    text = f"{reason} [{code}]\n"
    if hint:
        text += f"  Hint: {hint}\n"
    text += f"\nfrom user code:\n   File \"{file}\", line {line}, in {function}"
    source = linecache.getline(file, line).strip()
    if source:
        text += f"\n    {source}"
    return Unsupported(text, code=code, reason=reason, hint=hint, file=file, line=line, function=function)
