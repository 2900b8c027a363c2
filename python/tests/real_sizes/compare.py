"""Results against the reference, by the table of tolerances."""

import math

import numpy as np

from real_sizes.calls import EPS, LARGEST, TINY
from real_sizes.tolerances import TABLE


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


def dtype_of(given_dtypes):
    """The coarsest float dtype: its eps is the unit of bounds."""
    floats = [d for d in given_dtypes if d in EPS]
    return max(floats, key=lambda d: EPS[d]) if floats else "float64"


def bounds(call, family, name, expected, dtype, largest):
    tolerance = call.tolerance or TABLE[family]
    order = 4.0 if name.startswith("second") else 2.0 if name.startswith("grad") else 1.0
    eps = EPS[dtype]
    size = np.abs(expected)
    finite = size[np.isfinite(size)]
    scale = float(finite.max()) if finite.size else 0.0
    scale = max(scale, call.floor)
    half = dtype in ("float16", "bfloat16")
    sum_eps = EPS["float32"] if half else eps
    bound = size * (tolerance.roundings * eps * order)
    alike = tolerance.in_turn and any(g.layout == "expanded" for g in call.inputs)
    growth = call.terms if alike else math.sqrt(call.terms)
    sure = tolerance.sums * sum_eps * growth + (tolerance.steps * eps if half else 0)
    if scale < sure * largest:  # zero in exact arithmetic: roundings of larger numbers are left
        scale = largest
    slack = tolerance.sums * sum_eps * growth * scale * order + TINY[dtype] * 8
    if half:
        slack += tolerance.steps * order * eps * scale
    return bound + slack, scale


def off(got, expected, bound, dtype):
    """Where elements differ by more than the bound."""
    with np.errstate(all="ignore"):
        close = np.abs(got - expected) <= bound
        close |= got == expected
        close |= np.isnan(got) & np.isnan(expected)
        most = LARGEST[dtype]
        beyond = np.abs(expected) > most * (1 - 8 * EPS[dtype])  # rounds to infinity, or almost
        if beyond.any():
            close |= beyond & ((np.abs(got) >= most * (1 - 64 * EPS[dtype])) | np.isnan(got) & ~np.isfinite(expected))
    return ~close


class Difference:
    def __init__(self, name, text):
        self.name = name
        self.text = text


def describe(name, got, expected, wrong, bound):
    count = int(wrong.sum())
    at = np.unravel_index(int(np.argmax(np.where(wrong, np.nan_to_num(np.abs(got - expected), nan=math.inf, posinf=1e300), -1))),
                          wrong.shape) if wrong.ndim else ()
    first = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    limit = float(np.broadcast_to(bound, wrong.shape)[at])
    return Difference(name, f"{name} {list(expected.shape)}: {count} of {wrong.size} differ, first at {list(first)}, most at "
                      f"{[int(i) for i in at]}: {got[at]} instead of {expected[at]} (bound {limit:.3g})")


def differences(call, family, got, expected, moved):
    """Of a Result and the reference's; moved(): the reference's for arguments that were moved by an eps, a list."""
    dtype = dtype_of([g.dtype for g in call.inputs])
    found = []
    others = None
    wanted = dict(expected.parts)
    have = dict(got.parts)
    largest = max([float(np.max(np.abs(v[np.isfinite(v)]), initial=0.0)) for v in wanted.values()
                   if v is not None and v.dtype.kind in "fc"], default=0.0)
    for name in dict.fromkeys([*wanted, *have]):
        g, e = have.get(name), wanted.get(name)
        if g is None and e is None:
            continue
        if g is None or e is None:
            rest = e if g is None else g
            if rest.size == 0 or not np.any(rest):
                continue  # no gradient, or zeros
            found.append(Difference(name, f"{name}: {'missing' if g is None else 'not expected'}"))
            continue
        if g.shape != e.shape:
            found.append(Difference(name, f"{name}: sizes {list(g.shape)} instead of {list(e.shape)}"))
            continue
        if g.size == 0:
            continue
        if g.dtype.kind in "biu" and e.dtype.kind in "biu":
            if np.array_equal(g, e):
                continue
            wrong = g != e
            if others is None:
                others = [dict(m.parts) for m in moved()]
            for other in others:
                if name in other and other[name] is not None:
                    wrong &= ~(other[name] != e)
            if wrong.any():
                found.append(describe(name, np.asarray(g, np.float64), np.asarray(e, np.float64), np.asarray(wrong), np.zeros(())))
            continue
        g, e = wide(g), wide(e)
        # A result may be coarser than the arguments, and with it all gradients.
        own = dtype_of([dtype, *(got.dtypes.values() if name not in got.dtypes else [got.dtypes[name]])])
        bound, scale = bounds(call, family, name, e, own, largest)
        wrong = off(g, e, bound, own)
        if not wrong.any():
            continue
        if others is None:
            others = [dict(m.parts) for m in moved()]
        move = 0.0
        with np.errstate(all="ignore"):
            for other in others:
                if other.get(name) is not None and other[name].shape == e.shape:
                    change = np.abs(wide(other[name]) - e)
                    move = max(move, float(np.max(change[np.isfinite(change)], initial=0.0)))
        tolerance = call.tolerance or TABLE[family]
        wrong = off(g, e, bound + tolerance.moves * move, own)
        if np.any(wrong):
            found.append(describe(name, g, e, np.asarray(wrong), bound + tolerance.moves * move))
    return found
