"""set_stance(): what calls of compiled functions do."""

import functools

from .. import _sconce
from ._backends import lookup_backend

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
_now = ("default", False, None)


class set_stance:
    """Sets what calls of compiled functions do; as a function, a context manager or a decorator.

    "default"; "force_eager": all run as they are; "eager_on_recompile": what is compiled is used, the rest runs as it is;
    "fail_on_recompile": the rest is an error; "eager_then_compile" and "aot_eager_then_compile": the first call of each function runs
    as it is, so that sizes that change are seen before anything is compiled."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in STANCES:
            raise RuntimeError(f"Invalid stance: {stance}. Must be one of: {', '.join(STANCES)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("force_backend is only supported with the 'default' stance")
        if _sconce._capture_is_evaluating():
            raise RuntimeError("set_stance() cannot be called inside of a compiled function")
        if force_backend is not None:
            lookup_backend(force_backend)
        self.before = _now
        self.stance = (stance, bool(skip_guard_eval_unsafe), force_backend)
        _set(self.stance)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _set(self.before)

    def __call__(self, function):
        _set(self.before)  # a decorator acts during calls alone

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            before = _now
            _set(self.stance)
            try:
                return function(*args, **kwargs)
            finally:
                _set(before)

        return wrapped


def _set(stance):
    global _now
    name, skip, backend = _now = stance
    _sconce._capture_set_stance("eager_then_compile" if name == "aot_eager_then_compile" else name, skip, backend)
