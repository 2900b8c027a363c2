"""Functions of the library's texts that give way to __torch_function__ of their arguments, as functions of torch do.

Operators ask their arguments themselves (python/src); functions written in Python begin with
    if _overrides.active: ...
which costs next to nothing while no program is traced and no class overrides functions.
"""

import contextlib

from . import _sconce

active = 0
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
    relevant = (*args, *kwargs.values())
    if not _sconce._has_torch_function(relevant):
        return NOTHING
    return _sconce._handle_torch_function(function, relevant, args, kwargs)


def assert_(condition, message):
    """torch._assert: an assertion that is a function, so that graphs can hold it."""
    assert condition, message


assert_.__name__ = assert_.__qualname__ = "_assert"
assert_.__module__ = "sconce"
