"""Reverse-mode AD over NumPy's float64 and complex128: the plain reference that kernels are compared with.

A Node is an array, with the nodes that it was made of and its pullback. Pullbacks are made of the same operations, so that
gradients can be differentiated again. Nothing here is cut into blocks, packed or chosen by size. Integers and bools are plain
arrays: indices and masks are given as such. Gradients of complex numbers follow PyTorch: those of a real loss by the conjugate.

    x = variable(array)
    y = sum(x * x)
    dx, = grad([y], [x])           # Nodes; dx.value is the array
"""

import itertools
import math

import numpy as np


class Node:
    """An array of the computation. `needs`: whether gradients go through it."""

    __slots__ = ("value", "needs", "parents", "pull")
    __array_ufunc__ = None  # array * node is the node's operation

    def __init__(self, value, needs=False, parents=(), pull=None):
        self.value = value
        self.needs = needs
        self.parents = parents
        self.pull = pull

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)

    def __add__(self, other): return add(self, other)
    def __radd__(self, other): return add(self, other)
    def __sub__(self, other): return add(self, neg(node(other)))
    def __rsub__(self, other): return add(neg(self), other)
    def __mul__(self, other): return mul(self, other)
    def __rmul__(self, other): return mul(self, other)
    def __truediv__(self, other): return div(self, other)
    def __rtruediv__(self, other): return div(other, self)
    def __neg__(self): return neg(self)
    def __pow__(self, exponent): return power(self, exponent)
    def __matmul__(self, other): return matmul(self, other)
    def __getitem__(self, index): return getitem(self, index)


def wide(array):
    """The array in the reference's precision."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


def node(value):
    return value if isinstance(value, Node) else Node(wide(value))


def variable(value):
    """A leaf that gradients are taken for."""
    return Node(wide(value), needs=True)


def detach(a):
    return Node(a.value)


def make(value, parents, pull):
    """A result. `pull`: from its cotangent to those of its parents, None where there is none."""
    value = np.asarray(value)
    if not any(p.needs for p in parents):
        return Node(value)
    return Node(value, True, parents, pull)


def grad(outputs, inputs, cotangents=None):
    """Gradients of sum(outputs * cotangents) for inputs; None where an input is not reached."""
    if cotangents is None:
        cotangents = [Node(np.ones_like(o.value)) for o in outputs]
    order, seen = [], set()
    stack = [(o, False) for o in outputs if o.needs]
    while stack:
        at, done = stack.pop()
        if done:
            order.append(at)
        elif id(at) not in seen:
            seen.add(id(at))
            stack.append((at, True))
            stack.extend((p, False) for p in at.parents if p.needs and id(p) not in seen)
    sums = {}

    def give(to, g):
        if g is None or not to.needs:
            return
        if g.value.dtype.kind == "c" and to.value.dtype.kind != "c":
            g = real(g)
        assert g.shape == to.shape, (g.shape, to.shape)
        sums[id(to)] = add(sums[id(to)], g) if id(to) in sums else g

    for output, cotangent in zip(outputs, cotangents):
        give(output, node(cotangent))
    wanted = {id(i) for i in inputs}
    kept = {}
    for at in reversed(order):
        g = sums.pop(id(at), None)
        if g is None:
            continue
        if id(at) in wanted:
            kept[id(at)] = g
        if at.pull:
            for parent, part in zip(at.parents, at.pull(g)):
                give(parent, part)
    return [kept.get(id(i)) for i in inputs]


# Arithmetic, with NumPy's broadcasting.

def unbroadcast(g, shape):
    """The sum of a cotangent over what was broadcast from `shape`."""
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
    return reshape(sum(g, axes), shape) if axes else reshape(g, shape)


def add(a, b):
    a, b = node(a), node(b)
    return make(a.value + b.value, (a, b), lambda g: (unbroadcast(g, a.shape), unbroadcast(g, b.shape)))


def mul(a, b):
    a, b = node(a), node(b)
    return make(a.value * b.value, (a, b), lambda g: (
        unbroadcast(mul(g, conj(b)), a.shape) if a.needs else None, unbroadcast(mul(g, conj(a)), b.shape) if b.needs else None))


def div(a, b):
    a, b = node(a), node(b)
    return make(a.value / b.value, (a, b), lambda g: (
        unbroadcast(div(g, conj(b)), a.shape) if a.needs else None,
        unbroadcast(neg(mul(g, conj(div(div(a, b), b)))), b.shape) if b.needs else None))


def neg(a):
    return make(-a.value, (a,), lambda g: (neg(g),))


def power(a, exponent):
    """a to a number."""
    return make(a.value ** exponent, (a,), lambda g: (mul(g, conj(mul(power(a, exponent - 1), exponent))) if exponent else None,))


def conj(a):
    return a if a.value.dtype.kind != "c" else make(a.value.conj(), (a,), lambda g: (conj(g),))


def real(a):
    return a if a.value.dtype.kind != "c" else make(a.value.real.copy(), (a,), lambda g: (add(g, 0j),))


def imag(a):
    return make(a.value.imag.copy(), (a,), lambda g: (mul(g, 1j),))


def absolute(a):
    if a.value.dtype.kind == "c":
        return sqrt(add(mul(real(a), real(a)), mul(imag(a), imag(a))))
    return make(np.abs(a.value), (a,), lambda g: (mul(g, np.sign(a.value)),))


def exp(a):
    return make(np.exp(a.value), (a,), lambda g: (mul(g, conj(exp(a))),))


def expm1(a):
    return make(np.expm1(a.value), (a,), lambda g: (mul(g, conj(exp(a))),))


def log(a):
    return make(np.log(a.value), (a,), lambda g: (div(g, conj(a)),))


def log1p(a):
    return make(np.log1p(a.value), (a,), lambda g: (div(g, conj(add(a, 1.0))),))


def sqrt(a):
    return make(np.sqrt(a.value), (a,), lambda g: (div(g, conj(mul(sqrt(a), 2.0))),))


def sin(a):
    return make(np.sin(a.value), (a,), lambda g: (mul(g, conj(cos(a))),))


def cos(a):
    return make(np.cos(a.value), (a,), lambda g: (neg(mul(g, conj(sin(a)))),))


def tanh(a):
    def pull(g):
        t = tanh(a)
        return (mul(g, conj(1.0 - t * t)),)
    return make(np.tanh(a.value), (a,), pull)


def sigmoid(a):
    return mul(add(tanh(mul(a, 0.5)), 1.0), 0.5)


def arctan(a):
    return make(np.arctan(a.value), (a,), lambda g: (div(g, add(mul(a, a), 1.0)),))


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def erf(a):
    return make(_erf(a.value).astype(np.float64), (a,), lambda g: (mul(g, mul(exp(neg(mul(a, a))), 2 / math.sqrt(math.pi))),))


def normal_cdf(a):
    """Half of erfc: keeps the digits of its lower end."""
    value = _erfc(a.value * -math.sqrt(0.5)).astype(np.float64) / 2
    return make(value, (a,), lambda g: (mul(g, mul(exp(mul(mul(a, a), -0.5)), 1 / math.sqrt(2 * math.pi))),))


def digamma(a):
    """Of positive numbers: the recurrence up to 8, then the asymptotic series. Not differentiated."""
    x = a.value.astype(np.float64).copy()
    result = np.zeros_like(x)
    for _ in range(8):
        low = x < 8
        result[low] -= 1 / x[low]
        x[low] += 1
    r = 1 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return Node(result + np.log(x) - 0.5 / x - series)


def lgamma(a):
    return make(_lgamma(a.value).astype(np.float64), (a,), lambda g: (mul(g, digamma(a)),))


def where(mask, a, b):
    a, b = node(a), node(b)
    zero = Node(np.zeros(()))
    return make(np.where(mask, a.value, b.value), (a, b), lambda g: (
        unbroadcast(where(mask, g, zero), a.shape), unbroadcast(where(mask, zero, g), b.shape)))


def maximum(a, b):
    """The larger one; equal ones share the cotangent, NaN goes through."""
    a, b = node(a), node(b)
    share = np.where(a.value == b.value, 0.5, (a.value > b.value) | np.isnan(a.value))
    return make(np.maximum(a.value, b.value), (a, b), lambda g: (
        unbroadcast(mul(g, share), a.shape), unbroadcast(mul(g, 1.0 - share), b.shape)))


def minimum(a, b):
    return neg(maximum(neg(node(a)), neg(node(b))))


def relu(a):
    return where(a.value <= 0, 0.0, a)


def clamp(a, low=-math.inf, high=math.inf):
    inside = (a.value >= low) & (a.value <= high)
    return make(np.clip(a.value, low, high), (a,), lambda g: (where(inside, g, 0.0),))


# Sums and products over axes.

def axes_of(axes, ndim):
    if axes is None:
        return tuple(range(ndim))
    return tuple(sorted(i % ndim if ndim else 0 for i in (axes if isinstance(axes, (tuple, list)) else (axes,))))


def _kept(shape, axes):
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def sum(a, axes=None, keepdims=False):
    if a.ndim == 0:
        return a
    axes = axes_of(axes, a.ndim)
    return make(np.sum(a.value, axis=axes, keepdims=keepdims), (a,), lambda g: (
        broadcast_to(reshape(g, _kept(a.shape, axes)), a.shape),))


def mean(a, axes=None, keepdims=False):
    if a.ndim == 0:
        return a
    return mul(sum(a, axes, keepdims), 1.0 / max(1, math.prod(a.shape[i] for i in axes_of(axes, a.ndim))))


def var(a, axes=None, correction=1, keepdims=False):
    count = math.prod(a.shape[i] for i in axes_of(axes, a.ndim)) if a.ndim else 1
    centred = a - mean(a, axes, keepdims=True)
    return sum(real(mul(centred, conj(centred))), axes, keepdims) * (1.0 / (count - correction) if count > correction else math.nan)


def amax(a, axes=None, keepdims=False):
    """The largest; elements equal to it share the cotangent."""
    axes = axes_of(axes, a.ndim)
    top = np.max(a.value, axis=axes, keepdims=True)
    share = ((a.value == top) | (np.isnan(a.value) & np.isnan(top))).astype(np.float64)
    share /= np.sum(share, axis=axes, keepdims=True)
    return sum(where(share > 0, mul(where(share > 0, a, 0.0), share), 0.0), axes, keepdims)


def cumsum(a, axis):
    return make(np.cumsum(a.value, axis=axis), (a,), lambda g: (flip(cumsum(flip(g, (axis,)), axis), (axis,)),))


def cumprod(a, axis):
    """Of numbers that are not 0."""
    def pull(g):
        return (div(flip(cumsum(flip(mul(g, conj(cumprod(a, axis))), (axis,)), axis), (axis,)), conj(a)),)
    return make(np.cumprod(a.value, axis=axis), (a,), pull)


def prod(a, axes=None, keepdims=False):
    """Of numbers that are not 0."""
    axes = axes_of(axes, a.ndim)
    def pull(g):
        return (mul(reshape(g, _kept(a.shape, axes)), conj(div(prod(a, axes, keepdims=True), a))),)
    return make(np.prod(a.value, axis=axes, keepdims=keepdims), (a,), pull)


def logsumexp(a, axes, keepdims=False):
    axes = axes_of(axes, a.ndim)
    top = np.max(a.value, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    result = add(log(sum(exp(a - top), axes, keepdims=True)), top)
    return result if keepdims else reshape(result, tuple(n for i, n in enumerate(a.shape) if i not in axes))


def log_softmax(a, axis):
    return a - logsumexp(a, axis, keepdims=True)


def softmax(a, axis):
    top = np.max(a.value, axis=axis, keepdims=True)
    e = exp(a - np.where(np.isfinite(top), top, 0.0))
    return e / sum(e, axis, keepdims=True)


# Shapes, and elements by place.

def reshape(a, shape):
    return make(a.value.reshape(shape), (a,), lambda g: (reshape(g, a.shape),))


def transpose(a, order):
    back = tuple(int(i) for i in np.argsort(order))
    return make(a.value.transpose(order), (a,), lambda g: (transpose(g, back),))


def swap(a, i, j):
    order = list(range(a.ndim))
    order[i], order[j] = order[j], order[i]
    return transpose(a, tuple(order))


def broadcast_to(a, shape):
    return make(np.broadcast_to(a.value, shape), (a,), lambda g: (unbroadcast(g, a.shape),))


def flip(a, axes):
    return make(np.flip(a.value, axes), (a,), lambda g: (flip(g, axes),))


def getitem(a, index):
    """Basic indices only: numbers, slices, None, Ellipsis."""
    return make(a.value[index], (a,), lambda g: (put(g, index, a.shape),))


def put(a, index, shape):
    """Zeros of a shape with `a` at a basic index."""
    value = np.zeros(shape, a.value.dtype)
    value[index] = a.value
    return make(value, (a,), lambda g: (getitem(g, index),))


def pad(a, widths, value=0.0):
    """Constants around: (before, after) for each axis; negative ones cut."""
    inner = tuple(slice(max(0, -b), n - max(0, -e)) for n, (b, e) in zip(a.shape, widths))
    a = getitem(a, inner)
    widths = [(max(0, b), max(0, e)) for b, e in widths]
    index = tuple(slice(b, b + n) for n, (b, _) in zip(a.shape, widths))
    return make(np.pad(a.value, widths, constant_values=value), (a,), lambda g: (getitem(g, index),))


def take(a, places):
    """The elements at places of the flattened array; the result has the shape of `places`."""
    return make(a.value.reshape(-1)[places], (a,), lambda g: (spread(g, places, a.shape),))


def spread(a, places, shape):
    """Zeros of a shape to which the elements are added at places of the flattened array."""
    n, flat = math.prod(shape), places.reshape(-1)
    values = np.ascontiguousarray(a.value).reshape(-1)
    if values.dtype.kind == "c":
        value = np.bincount(flat, values.real, n) + 1j * np.bincount(flat, values.imag, n)
    else:
        value = np.bincount(flat, values, n) if flat.size else np.zeros(n)
    return make(value.reshape(shape), (a,), lambda g: (take(g, places),))


def places_of(shape):
    """For each element its place in the flattened array."""
    return np.arange(math.prod(shape)).reshape(shape)


def take_rows(a, index, axis=0):
    """index_select: slices of an axis."""
    return take(a, np.take(places_of(a.shape), index, axis))


def take_along(a, index, axis):
    """gather, with an index of the same shape but for the axis (smaller ones take the beginning)."""
    inner = tuple(slice(None) if i == axis % a.ndim else slice(0, n) for i, n in enumerate(index.shape))
    return take(a, np.take_along_axis(places_of(a.shape)[inner], index, axis))


def concatenate(parts, axis):
    parts = [node(p) for p in parts]
    ends = list(itertools.accumulate(p.shape[axis] for p in parts))

    def pull(g):
        lead = (slice(None),) * (axis % g.ndim)
        return tuple(getitem(g, (*lead, slice(e - p.shape[axis], e))) for p, e in zip(parts, ends))
    return make(np.concatenate([p.value for p in parts], axis), tuple(parts), pull)


def stack(parts, axis=0):
    parts = [node(p) for p in parts]
    axis %= parts[0].ndim + 1
    return concatenate([reshape(p, p.shape[:axis] + (1,) + p.shape[axis:]) for p in parts], axis)


# Products.

def adjoint(a):
    return conj(swap(a, -1, -2))


def matmul(a, b):
    """Products of matrices, batches broadcast; vectors as in NumPy."""
    a, b = node(a), node(b)
    if a.ndim == 1:
        return getitem(matmul(reshape(a, (1, a.shape[0])), b), (Ellipsis, 0, slice(None)) if b.ndim > 1 else (0,))
    if b.ndim == 1:
        return getitem(matmul(a, reshape(b, (b.shape[0], 1))), (Ellipsis, 0))
    return make(np.matmul(a.value, b.value), (a, b), lambda g: (
        unbroadcast(matmul(g, adjoint(b)), a.shape) if a.needs else None,
        unbroadcast(matmul(adjoint(a), g), b.shape) if b.needs else None))


def linear(x, weight, bias=None):
    y = matmul(x, swap(weight, 0, 1))
    return y if bias is None else y + bias


def einsum(spec, a, b):
    """Of two operands; no label twice in one of them."""
    left, out = spec.split("->")
    la, lb = left.split(",")
    alone = tuple(i for i, c in enumerate(la) if c not in lb + out)
    if alone:
        return einsum("".join(c for c in la if c in lb + out) + "," + lb + "->" + out, sum(a, alone), b)
    alone = tuple(i for i, c in enumerate(lb) if c not in la + out)
    if alone:
        return einsum(la + "," + "".join(c for c in lb if c in la + out) + "->" + out, a, sum(b, alone))
    return make(np.einsum(spec, a.value, b.value, optimize=True), (a, b), lambda g: (
        einsum(f"{out},{lb}->{la}", g, conj(b)) if a.needs else None,
        einsum(f"{out},{la}->{lb}", g, conj(a)) if b.needs else None))


def apply_matrix(matrix, a, axis):
    """A matrix of numbers times each row of an axis."""
    order = [i for i in range(a.ndim) if i != axis % a.ndim] + [axis % a.ndim]
    back = tuple(int(i) for i in np.argsort(order))
    return transpose(matmul(transpose(a, tuple(order)), Node(np.ascontiguousarray(matrix.T))), back)


def inverse(a):
    def pull(g):
        back = adjoint(inverse(a))
        return (neg(matmul(matmul(back, g), back)),)
    return make(np.linalg.inv(a.value), (a,), pull)


# Convolution as a sum over the taps of its window. The three maps are each other's derivatives: a result from input and
# weight, an input from result and weight (the transposed convolution), a weight from input and result.

def _tap_slices(kernel, stride, dilation, out):
    for tap in itertools.product(*map(range, kernel)):
        yield tap, tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilation, stride, out))


def conv_size(size, kernel, stride, padding, dilation):
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation))


def _in_groups(value, groups):
    """[N, C, ...] to [N, groups, C / groups, places]."""
    return np.ascontiguousarray(value).reshape(value.shape[0], groups, value.shape[1] // groups, math.prod(value.shape[2:]))


def conv(x, weight, stride, padding, dilation, groups):
    """x [N, C, ...], weight [O, C / groups, ...], a number for each axis of the window."""
    kernel = weight.shape[2:]
    out = conv_size(x.shape[2:], kernel, stride, padding, dilation)
    o, c = weight.shape[:2]
    padded = np.pad(x.value, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    value = 0
    for tap, places in _tap_slices(kernel, stride, dilation, out):
        w = weight.value[(slice(None), slice(None), *tap)].reshape(groups, o // groups, c)
        value = value + np.matmul(w, _in_groups(padded[(slice(None), slice(None), *places)], groups))
    value = value.reshape(x.shape[0], o, *out)
    return make(value, (x, weight), lambda g: (
        conv_input(g, conj(weight), x.shape[2:], stride, padding, dilation, groups) if x.needs else None,
        conv_weight(conj(x), g, kernel, stride, padding, dilation, groups) if weight.needs else None))


def first_places(a, size):
    """Without what a convolution gives beyond `size`: places that only output padding reaches."""
    return a if a.shape[2:] == tuple(size) else getitem(a, (slice(None), slice(None), *(slice(0, n) for n in size)))


def conv_input(g, weight, size, stride, padding, dilation, groups):
    kernel, out = weight.shape[2:], g.shape[2:]
    o, c = weight.shape[:2]
    dtype = np.result_type(g.value, weight.value)
    # Where the window reaches beyond the last place: rows that are cut off below.
    reach = [max(n + 2 * p, s * (m - 1) + d * (k - 1) + 1)
             for n, p, s, m, d, k in zip(size, padding, stride, out, dilation, kernel)]
    padded = np.zeros((g.shape[0], c * groups, *reach), dtype)
    rows = _in_groups(g.value, groups)
    for tap, places in _tap_slices(kernel, stride, dilation, out):
        w = weight.value[(slice(None), slice(None), *tap)].reshape(groups, o // groups, c)
        part = np.matmul(w.transpose(0, 2, 1), rows)
        padded[(slice(None), slice(None), *places)] += part.reshape(g.shape[0], c * groups, *out)
    value = padded[(slice(None), slice(None), *(slice(p, p + n) for p, n in zip(padding, size)))]
    return make(value, (g, weight), lambda h: (
        first_places(conv(h, conj(weight), stride, padding, dilation, groups), out) if g.needs else None,
        conv_weight(h, conj(g), kernel, stride, padding, dilation, groups) if weight.needs else None))


def conv_weight(x, g, kernel, stride, padding, dilation, groups):
    """The sum over places of x times g; the result is [O, C / groups, ...]."""
    out, size = g.shape[2:], x.shape[2:]
    padded = np.pad(x.value, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    rows = _in_groups(g.value, groups)
    value = np.zeros((g.shape[1], x.shape[1] // groups, *kernel), np.result_type(x.value, g.value))
    for tap, places in _tap_slices(kernel, stride, dilation, out):
        columns = _in_groups(padded[(slice(None), slice(None), *places)], groups)
        w = np.matmul(rows, columns.transpose(0, 1, 3, 2)).sum(0)
        value[(slice(None), slice(None), *tap)] = w.reshape(value.shape[:2])
    return make(value, (x, g), lambda h: (
        conv_input(conj(g), h, size, stride, padding, dilation, groups) if x.needs else None,
        first_places(conv(conj(x), h, stride, padding, dilation, groups), out) if g.needs else None))


# Windows without weights, of arrays that are padded already.

def window_sum(x, kernel, stride, dilation, out):
    value = np.zeros((*x.shape[:x.ndim - len(kernel)], *out), x.value.dtype)
    for _, places in _tap_slices(kernel, stride, dilation, out):
        value += x.value[(Ellipsis, *places)]
    return make(value, (x,), lambda g: (window_spread(g, x.shape, kernel, stride, dilation),))


def window_spread(g, shape, kernel, stride, dilation):
    out = g.shape[g.ndim - len(kernel):]
    value = np.zeros(shape, g.value.dtype)
    for _, places in _tap_slices(kernel, stride, dilation, out):
        value[(Ellipsis, *places)] += g.value
    return make(value, (g,), lambda h: (window_sum(h, kernel, stride, dilation, out),))


def window_places(x, kernel, stride, dilation, out):
    """For each window of an array the place of its largest element, the first of equal ones, a NaN before all."""
    places, best, at = places_of(x.shape), None, None
    for _, index in _tap_slices(kernel, stride, dilation, out):
        part, where_ = x[(Ellipsis, *index)], places[(Ellipsis, *index)]
        if best is None:
            best, at = part.copy(), where_.copy()
            continue
        better = (part > best) | np.isnan(part)
        best = np.where(better, part, best)
        at = np.where(better, where_, at)
    return at


# The discrete Fourier transform, without a factor.

def fft(a, axis, inverse=False):
    n = a.shape[axis]
    value = np.fft.ifft(a.value, axis=axis) * n if inverse else np.fft.fft(a.value, axis=axis)
    return make(value, (a,), lambda g: (fft(g, axis, not inverse),))
