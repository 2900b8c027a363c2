"""Functions of the library's texts that give way to __torch_function__ of their arguments, as functions of torch do.

Operators ask their arguments themselves (python/src); functions written in Python begin with
    if _overrides.active: ...
which costs next to nothing while no program is traced and no class overrides functions.
"""

import contextlib

from ._sconce import Tensor

active = 0
_default = getattr(getattr(Tensor, "__torch_function__", None), "__func__", None)
NOTHING = object()


@contextlib.contextmanager
def enabled():
    """In a with block: functions look at their arguments."""
    global active
    active += 1
    try:
        yield
    finally:
        active -= 1


def redirect(function, args, kwargs):
    """What __torch_function__ of an argument gives for this call; NOTHING when no argument has one of its own."""
    for value in (*args, *kwargs.values()):
        override = getattr(type(value), "__torch_function__", None)
        if override is not None and getattr(override, "__func__", override) is not _default:
            return value.__torch_function__(function, (type(value),), args, kwargs)
    return NOTHING


def assert_(condition, message):
    """torch._assert: an assertion that is a function, so that graphs can hold it."""
    assert condition, message


assert_.__name__ = assert_.__qualname__ = "_assert"
assert_.__module__ = "sconce"
