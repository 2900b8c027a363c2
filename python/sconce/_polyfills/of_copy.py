"""Substitutes for copy.copy and copy.deepcopy: the originals ask copyreg, and look copies up by addresses, which differ each time."""

import abc
import copy
import copyreg

from . import substitute

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, type})


def _is_object(kind):
    """Are instances of the class copied by their dicts alone?"""
    return (kind.__new__ is object.__new__ and kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
            and kind.__getstate__ is object.__getstate__ and kind not in copyreg.dispatch_table and type(kind) in (type, abc.ABCMeta)
            and kind.__setattr__ is object.__setattr__ and kind.__getattribute__ is object.__getattribute__
            and not any(hasattr(kind, name) for name in ("__deepcopy__", "__setstate__", "__slots__", "__getattr__")))


def _is_plain(value, above):
    kind = type(value)
    if kind in _ATOMS:
        return True
    for outer in above:
        if outer is value:  # a ring, which the original unties
            return False
    if kind not in (list, tuple, dict):
        if not _is_object(kind) or not hasattr(value, "__dict__") or "__deepcopy__" in value.__dict__:
            return False
        return _is_plain(value.__dict__, [*above, value])
    above = [*above, value]
    if kind is dict:
        for key, item in value.items():
            if type(key) not in _ATOMS or not _is_plain(item, above):
                return False
        return True
    for item in value:
        if not _is_plain(item, above):
            return False
    return True


def _copied(value, made):
    kind = type(value)
    if kind in _ATOMS:
        return value
    for original, twin in made:
        if original is value:
            return twin
    if kind is tuple:
        items = [_copied(item, made) for item in value]
        twin = value
        for before, after in zip(value, items):
            if before is not after:
                twin = tuple(items)
    elif kind is list:
        twin = [_copied(item, made) for item in value]
    elif kind is not dict:
        twin = object.__new__(kind)
        made.append((value, twin))
        for name, item in value.__dict__.items():
            twin.__dict__[name] = _copied(item, made)
        return twin
    else:
        twin = {key: _copied(item, made) for key, item in value.items()}
    made.append((value, twin))
    return twin


@substitute(copy.copy)
def shallow_copy(x):
    kind = type(x)
    if _is_object(kind) and not hasattr(kind, "__copy__") and hasattr(x, "__dict__"):
        twin = object.__new__(kind)
        for name, item in x.__dict__.items():
            twin.__dict__[name] = item
        return twin
    return copy.copy(x)


@substitute(copy.deepcopy)
def deepcopy(x, memo=None, *rest):
    if memo is None and not rest and _is_plain(x, []):
        return _copied(x, [])
    return copy.deepcopy(x, memo, *rest)
