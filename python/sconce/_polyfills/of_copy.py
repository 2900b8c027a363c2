"""Substitute for copy.deepcopy: the original looks copies up by addresses, which differ each time."""

import copy

from . import substitute

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, type})


def _is_plain(value, above):
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind not in (list, tuple, dict):
        return False
    for outer in above:
        if outer is value:  # a ring, which the original unties
            return False
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
    else:
        twin = {key: _copied(item, made) for key, item in value.items()}
    made.append((value, twin))
    return twin


@substitute(copy.deepcopy)
def deepcopy(x, memo=None, *rest):
    if memo is None and not rest and _is_plain(x, []):
        return _copied(x, [])
    return copy.deepcopy(x, memo, *rest)
