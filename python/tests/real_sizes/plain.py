"""The plain reference under PyTorch's names, so that one program runs on sconce, torch and NumPy.

Float tensors are Nodes of reference.py, integers and bools NumPy's arrays. Only functions that families call are here.
"""

import builtins
import itertools
import math
from types import SimpleNamespace

import numpy as np

from real_sizes import layers as L
from real_sizes import reference as R
from real_sizes.reference import Node

float32, float64, int64, bool_ = "float32", "float64", "int64", "bool"


def array(x):
    return x.value if isinstance(x, Node) else np.asarray(x)


def tuple_of(x, n):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


def axes(dim):
    return None if dim is None or dim == () or dim == [] else dim


# Pointwise.

exp, expm1, log, log1p, sqrt, sin, cos, tanh, sigmoid = (
    R.exp, R.expm1, R.log, R.log1p, R.sqrt, R.sin, R.cos, R.tanh, R.sigmoid)
erf, relu, where, maximum, minimum, abs, conj, real, imag, atan, lgamma = (
    R.erf, R.relu, R.where, R.maximum, R.minimum, R.absolute, R.conj, R.real, R.imag, R.arctan, R.lgamma)


def add(a, b, alpha=1): return R.add(a, R.mul(R.node(b), alpha) if alpha != 1 else b)
def sub(a, b): return R.add(a, R.neg(R.node(b)))
def mul(a, b): return R.mul(a, b)
def div(a, b): return R.div(a, b)
def neg(a): return R.neg(a)
def square(a): return R.mul(a, a)
def reciprocal(a): return R.div(1.0, a)
def rsqrt(a): return R.div(1.0, R.sqrt(a))
def tan(a): return R.div(R.sin(a), R.cos(a))
def sinh(a): return (R.exp(a) - R.exp(-a)) * 0.5
def cosh(a): return (R.exp(a) + R.exp(-a)) * 0.5
def exp2(a): return R.exp(a * math.log(2))
def log2(a): return R.log(a) * (1 / math.log(2))
def log10(a): return R.log(a) * (1 / math.log(10))
def erfc(a): return normal_tail(a * math.sqrt(2.0)) * 2.0
def normal_tail(a): return R.normal_cdf(-a)
def pow(a, b): return R.power(a, b) if not isinstance(b, Node) else R.exp(R.log(a) * b)
def addcmul(a, b, c, value=1): return a + b * c * value
def addcdiv(a, b, c, value=1): return a + b / c * value
def lerp(a, b, w): return a + (b - a) * w
def hypot(a, b): return R.sqrt(a * a + b * b)
def clamp(a, min=-math.inf, max=math.inf): return R.clamp(a, min, max)
def log1p_exp(a): return R.relu(a) + R.log1p(R.exp(-R.absolute(a)))
def softplus(a): return R.where(a.value > 20, a, log1p_exp(a))  # PyTorch's threshold
def logaddexp(a, b): return R.maximum(a, b) + R.log1p(R.exp(-R.absolute(a - b)))
def floor(a): return Node(np.floor(array(a)))
def round(a): return Node(np.round(array(a)))
def sign(a): return Node(np.sign(array(a)))
def eq(a, b): return array(a) == array(b)
def lt(a, b): return array(a) < array(b)
def gt(a, b): return array(a) > array(b)
def isnan(a): return np.isnan(array(a))
def logical_and(a, b): return np.logical_and(a, b)
def bitwise_xor(a, b): return np.bitwise_xor(a, b)


def silu(a): return a * R.sigmoid(a)
def mish(a): return a * R.tanh(log1p_exp(a))
def softsign(a): return a / (R.absolute(a) + 1.0)
def logsigmoid(a): return -log1p_exp(-a)
def hardtanh(a, low=-1.0, high=1.0): return strict_clamp(a, low, high)
def relu6(a): return strict_clamp(a, 0.0, 6.0)
def hardswish(a): return a * strict_clamp(a + 3.0, 0.0, 6.0) * (1 / 6)
def hardsigmoid(a): return strict_clamp(a + 3.0, 0.0, 6.0) * (1 / 6)
def tanhshrink(a): return a - R.tanh(a)


def strict_clamp(a, low, high):
    """Without a gradient at the ends."""
    inside = (a.value > low) & (a.value < high)
    return R.where(inside, a, np.clip(a.value, low, high))


def leaky_relu(a, slope=0.01): return R.where(a.value > 0, a, a * slope)
def elu(a, alpha=1.0): return R.where(a.value > 0, a, R.expm1(R.minimum(a, 0.0)) * alpha)
def selu(a): return elu(a, 1.6732632423543772) * 1.0507009873554805
def hardshrink(a, l=0.5): return R.where(np.abs(a.value) <= l, 0.0, a)
def softshrink(a, l=0.5): return R.where(a.value > l, a - l, R.where(a.value < -l, a + l, 0.0))
def threshold(a, t, v): return R.where(a.value <= t, v, a)


def gelu(a, approximate="none"):
    if approximate == "tanh":
        return a * 0.5 * (R.tanh((a + a * a * a * 0.044715) * math.sqrt(2 / math.pi)) + 1.0)
    return a * R.normal_cdf(a)


def glu(a, dim=-1):
    n = a.shape[dim] // 2
    return narrow(a, dim, 0, n) * R.sigmoid(narrow(a, dim, n, n))


def prelu(a, weight):
    w = R.reshape(weight, (1, weight.shape[0]) + (1,) * (a.ndim - 2)) if a.ndim > 1 else weight
    return R.where(a.value > 0, a, a * w)


# Shapes.

def reshape(a, shape): return R.reshape(a, tuple(shape)) if isinstance(a, Node) else a.reshape(shape)
def permute(a, dims): return R.transpose(a, tuple(d % a.ndim for d in dims))
def transpose(a, i, j): return R.swap(a, i % a.ndim, j % a.ndim)
def flip(a, dims): return R.flip(a, tuple(dims))
def cat(parts, dim=0): return R.concatenate(parts, dim % parts[0].ndim)
def stack(parts, dim=0): return R.stack(parts, dim)
def broadcast_to(a, shape): return R.broadcast_to(a, tuple(shape))
def unsqueeze(a, dim): return R.reshape(a, a.shape[:dim % (a.ndim + 1)] + (1,) + a.shape[dim % (a.ndim + 1):])
def clone(a, memory_format=None): return a * 1.0
def ravel(a): return R.reshape(a, (-1,))
def flatten(a, start): return R.reshape(a, (*a.shape[:start], -1))


def narrow(a, dim, start, length):
    return a[(slice(None),) * (dim % a.ndim) + (slice(start, start + length),)]


def movedim(a, source, to):
    order = [i for i in range(a.ndim) if i != source % a.ndim]
    order.insert(to % a.ndim, source % a.ndim)
    return R.transpose(a, tuple(order))


def by_places(a, change):
    """Moves elements about, as `change` moves an array of their places."""
    return R.take(a, np.ascontiguousarray(change(R.places_of(a.shape))))


def roll(a, shifts, dims): return by_places(a, lambda p: np.roll(p, shifts, dims))
def tile(a, dims): return by_places(a, lambda p: np.tile(p, dims))
def repeat_interleave(a, n, dim): return by_places(a, lambda p: np.repeat(p, n, dim))
def rot90(a, k, dims): return by_places(a, lambda p: np.rot90(p, k, dims))
def diagonal(a, offset, i, j): return by_places(a, lambda p: np.diagonal(p, offset, i, j))


def tril(a, k=0): return a * np.tril(np.ones(a.shape[-2:]), k)
def triu(a, k=0): return a * np.triu(np.ones(a.shape[-2:]), k)


def pixel_shuffle(a, r):
    n, c, h, w = a.shape
    x = R.reshape(a, (n, c // (r * r), r, r, h, w))
    return R.reshape(R.transpose(x, (0, 1, 4, 2, 5, 3)), (n, c // (r * r), h * r, w * r))


def pixel_unshuffle(a, r):
    n, c, h, w = a.shape
    x = R.reshape(a, (n, c, h // r, r, w // r, r))
    return R.reshape(R.transpose(x, (0, 1, 3, 5, 2, 4)), (n, c * r * r, h // r, w // r))


def channel_shuffle(a, groups):
    x = R.reshape(a, (a.shape[0], groups, a.shape[1] // groups, *a.shape[2:]))
    return R.reshape(R.swap(x, 1, 2), a.shape)


def pad(a, widths, mode="constant", value=0.0):
    pairs = [(0, 0)] * (a.ndim - len(widths) // 2) + [
        (widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    if mode == "constant":
        return R.pad(a, pairs, value)
    kind = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return by_places(a, lambda p: np.pad(p, pairs, kind))


def unfold_places(shape, kernel, dilation, padding, stride):
    h, w = shape
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(shape, kernel, dilation, padding, stride)]
    rows = np.add.outer(np.arange(kernel[0]) * dilation[0], np.arange(out[0]) * stride[0]) - padding[0]
    columns = np.add.outer(np.arange(kernel[1]) * dilation[1], np.arange(out[1]) * stride[1]) - padding[1]
    r, c = rows[:, None, :, None], columns[None, :, None, :]
    inside = (r >= 0) & (r < h) & (c >= 0) & (c < w)
    return np.where(inside, r * w + c, h * w).reshape(kernel[0] * kernel[1], -1)


def unfold(a, kernel, dilation=(1, 1), padding=(0, 0), stride=(1, 1)):
    n, c, h, w = a.shape
    places = unfold_places((h, w), kernel, dilation, padding, stride)
    rows = R.pad(R.reshape(a, (n, c, h * w)), [(0, 0), (0, 0), (0, 1)])
    return R.reshape(R.take_rows(rows, places.reshape(-1), 2), (n, c * places.shape[0], places.shape[1]))


def fold(a, size, kernel, dilation=(1, 1), padding=(0, 0), stride=(1, 1)):
    n = a.shape[0]
    places = unfold_places(size, kernel, dilation, padding, stride)
    c = a.shape[1] // places.shape[0]
    shape = (n, c, size[0] * size[1] + 1)
    to = R.places_of(shape)[:, :, places.reshape(-1)].reshape(n, c, *places.shape)
    spread = R.spread(R.reshape(a, to.shape), to, shape)
    return R.reshape(spread[:, :, :-1], (n, c, *size))


# Sums.

def sum(a, dim=None, keepdim=False): return R.sum(a, axes(dim), keepdim)
def mean(a, dim=None, keepdim=False): return R.mean(a, axes(dim), keepdim)
def var(a, dim=None, correction=1, keepdim=False): return R.var(a, axes(dim), correction, keepdim)


def std(a, dim=None, correction=1, keepdim=False):
    """Without a gradient where all numbers are equal."""
    v = R.var(a, axes(dim), correction, keepdim)
    return R.where(v.value == 0, 0.0, R.sqrt(R.where(v.value == 0, 1.0, v)))


def var_mean(a, dim=None, correction=1): return var(a, dim, correction), mean(a, dim)
def amax(a, dim=(), keepdim=False): return R.amax(a, axes(dim), keepdim)
def amin(a, dim=(), keepdim=False): return -R.amax(-a, axes(dim), keepdim)
def logsumexp(a, dim, keepdim=False): return R.logsumexp(a, dim, keepdim)
def softmax(a, dim): return R.softmax(a, dim)
def log_softmax(a, dim): return R.log_softmax(a, dim)
def softmin(a, dim): return R.softmax(-a, dim)


def prod(a, dim=None, keepdim=False): return R.prod(a, axes(dim), keepdim)
def count_nonzero(a, dim=None): return np.count_nonzero(array(a), dim)
def any(a, dim=None): return np.any(array(a) != 0, dim)
def all(a, dim=None): return np.all(array(a) != 0, dim)
def nansum(a, dim=None): return R.sum(R.where(np.isnan(a.value), 0.0, a), axes(dim))


def vector_norm(a, ord=2, dim=None, keepdim=False):
    dim = axes(dim)
    if ord == math.inf:
        return R.amax(R.absolute(a), dim, keepdim)
    if ord == 1:
        return R.sum(R.absolute(a), dim, keepdim)
    if ord == 2:
        return R.sqrt(R.sum(R.real(a * R.conj(a)), dim, keepdim))
    return R.sum(R.absolute(a) ** ord, dim, keepdim) ** (1.0 / ord)


def arg_of(a, dim, pick):
    value = array(a)
    return np.argmax(value if pick == "max" else -value, dim)


def argmax(a, dim=None): return arg_of(a, dim, "max")
def argmin(a, dim=None): return arg_of(a, dim, "min")


def at_places(a, index, dim):
    """The elements at one place of an axis each, without the axis."""
    picked = R.take_along(a, np.expand_dims(index, dim), dim)
    return R.reshape(picked, index.shape)


def max(a, dim):
    index = argmax(a, dim)
    return at_places(a, index, dim), index


def min(a, dim):
    index = argmin(a, dim)
    return at_places(a, index, dim), index


# Scans.

def cumsum(a, dim): return R.cumsum(a, dim) if isinstance(a, Node) else np.cumsum(a, dim)
def cumprod(a, dim): return R.cumprod(a, dim)


def running(a, dim, larger):
    value = np.moveaxis(array(a), dim, 0)
    index = np.zeros(value.shape, np.int64)
    best = value[0].copy() if value.shape[0] else None
    at = np.zeros(value.shape[1:], np.int64)
    for i in range(value.shape[0]):
        better = value[i] >= best if larger else value[i] <= best
        best, at = np.where(better, value[i], best), np.where(better, i, at)
        index[i] = at
    index = np.moveaxis(index, 0, dim)
    return R.take_along(a, index, dim), index


def cummax(a, dim): return running(a, dim, True)
def cummin(a, dim): return running(a, dim, False)


def logcumsumexp(a, dim):
    top = np.max(a.value, dim, keepdims=True)
    return R.log(R.cumsum(R.exp(a - top), dim)) + top


def diff(a, dim=-1):
    n = a.shape[dim]
    return narrow(a, dim, 1, n - 1) - narrow(a, dim, 0, n - 1)


# Elements by index.

def index_select(a, dim, index): return R.take_rows(a, index, dim % a.ndim)
def gather(a, dim, index): return R.take_along(a, index, dim % a.ndim)
def take(a, index): return R.take(a, index)
def take_along_dim(a, index, dim): return R.take_along(a, index, dim % a.ndim)
def at_index(a, *index): return by_places(a, lambda p: p[index])
def masked_select(a, mask): return R.take(a, R.places_of(a.shape)[np.broadcast_to(mask, a.shape)])
def masked_fill(a, mask, value): return R.where(mask, value, a)


def places_along(a, dim, index):
    dim %= a.ndim
    inner = tuple(slice(None) if i == dim else slice(0, n) for i, n in enumerate(index.shape))
    return np.take_along_axis(R.places_of(a.shape)[inner], index, dim)


def first_of(b, shape):
    return b[tuple(slice(0, n) for n in shape)]


def keep_without(a, places):
    kept = np.ones(a.size)
    kept[places.reshape(-1)] = 0
    return R.where(kept.reshape(a.shape) > 0, a, 0.0)


def scatter(a, dim, index, b):
    """Of places that are not named twice."""
    places = places_along(a, dim, index)
    return keep_without(a, places) + R.spread(first_of(b, index.shape), places, a.shape)


def scatter_add(a, dim, index, b):
    return a + R.spread(first_of(b, index.shape), places_along(a, dim, index), a.shape)


def index_add(a, dim, index, b):
    return a + R.spread(b, np.take(R.places_of(a.shape), index, dim), a.shape)


def index_copy(a, dim, index, b):
    places = np.take(R.places_of(a.shape), index, dim)
    return keep_without(a, places) + R.spread(b, places, a.shape)


def index_fill(a, dim, index, value):
    places = np.take(R.places_of(a.shape), index, dim)
    mask = np.zeros(a.size, bool)
    mask[places.reshape(-1)] = True
    return R.where(mask.reshape(a.shape), value, a)


def index_put(a, index, b, accumulate=False):
    places = R.places_of(a.shape)[tuple(index)]
    b = R.broadcast_to(b, places.shape)
    return (a if accumulate else keep_without(a, places)) + R.spread(b, places, a.shape)


def masked_scatter(a, mask, b):
    places = R.places_of(a.shape)[mask]
    return R.where(mask, 0.0, a) + R.spread(ravel(b)[:places.size], places, a.shape)


def scatter_reduce(a, dim, index, b, reduce, include_self=True):
    places = places_along(a, dim, index)
    b = first_of(b, index.shape)
    if reduce in ("sum", "mean"):
        counts = np.bincount(places.reshape(-1), minlength=a.size).reshape(a.shape).astype(np.float64)
        total = (a if include_self else keep_without(a, places)) + R.spread(b, places, a.shape)
        if reduce == "sum":
            return total
        return total * (1.0 / np.maximum(counts + (1 if include_self else counts == 0), 1))
    largest = reduce == "amax"
    value = array(a).copy() if include_self else keep_without(a, places).value
    if not include_self:
        value.reshape(-1)[places.reshape(-1)] = -math.inf if largest else math.inf
    flat = value.reshape(-1)
    (np.maximum if largest else np.minimum).at(flat, places.reshape(-1), array(b).reshape(-1))
    top = flat.reshape(a.shape)
    mine, theirs = (a.value == top).astype(np.float64), (b.value == flat[places]).astype(np.float64)
    if not include_self:
        named = np.zeros(a.size, bool)
        named[places.reshape(-1)] = True
        mine = np.where(named.reshape(a.shape), 0.0, mine)
    count = mine + np.bincount(places.reshape(-1), theirs.reshape(-1), a.size).reshape(a.shape)
    count = np.maximum(count, 1)
    return a * (mine / count) + R.spread(b * (theirs / count.reshape(-1)[places]), places, a.shape)


def embedding(index, weight, padding_idx=None):
    result = R.take_rows(weight, index.reshape(-1), 0)
    if padding_idx is not None:
        keep = (index.reshape(-1) != padding_idx)[:, None]
        result = R.where(keep, result, result.value)  # no gradient into the row of padding
    return R.reshape(result, (*index.shape, weight.shape[1]))


def embedding_bag(index, weight, offsets=None, mode="mean", per_sample_weights=None):
    if offsets is None:
        bags, flat = np.repeat(np.arange(index.shape[0]), index.shape[1]), index.reshape(-1)
        count = index.shape[0]
        if per_sample_weights is not None:
            per_sample_weights = ravel(per_sample_weights)
    else:
        flat, count = index, offsets.size
        bags = np.searchsorted(offsets, np.arange(flat.size), "right") - 1
    rows = R.take_rows(weight, flat, 0)
    if mode == "max":
        parts = []
        for bag in range(count):
            at = np.nonzero(bags == bag)[0]
            if at.size == 0:
                parts.append(Node(np.zeros(weight.shape[1])))
                continue
            part = R.take_rows(rows, at, 0)
            parts.append(at_places(part, np.argmax(part.value, 0), 0))
        return R.stack(parts)
    if per_sample_weights is not None:
        rows = rows * R.reshape(per_sample_weights, (-1, 1))
    to = np.repeat(bags[:, None], weight.shape[1], 1) * weight.shape[1] + np.arange(weight.shape[1])
    total = R.spread(rows, to, (count, weight.shape[1]))
    if mode == "mean":
        sizes = np.maximum(np.bincount(bags, minlength=count), 1).astype(np.float64)
        total = total * (1.0 / sizes[:, None])
    return total


def one_hot(index, classes): return np.eye(classes, dtype=np.int64)[index]
def searchsorted(edges, values, right=False): return np.searchsorted(array(edges), array(values), "right" if right else "left")
def bucketize(values, edges, right=False): return np.searchsorted(array(edges), array(values), "right" if right else "left")
def bincount(index, minlength=0): return np.bincount(index, minlength=minlength)
def isin(a, b): return np.isin(a, b)
def nonzero(a): return np.stack(np.nonzero(array(a)), -1)


# Orders.

def sort(a, dim=-1, descending=False, stable=False):
    value = array(a)
    index = np.argsort(-value if descending else value, dim, kind="stable")
    return R.take_along(a, index, dim), index


def sort_values(a, dim=-1, descending=False): return sort(a, dim, descending)[0]
def argsort(a, dim=-1, descending=False, stable=False): return sort(a, dim, descending)[1]


def topk(a, k, dim=-1, largest=True):
    values, index = sort(a, dim, largest)
    return narrow(values, dim, 0, k), np.take(index, np.arange(k), dim)


def kthvalue(a, k, dim=-1):
    values, index = sort(a, dim)
    axis = dim % a.ndim
    return values[(slice(None),) * axis + (k - 1,)], np.take(index, k - 1, axis)


def median(a, dim): return kthvalue(a, (a.shape[dim] + 1) // 2, dim)


def quantile(a, q, dim):
    values = sort(a, dim)[0]
    at = q * (a.shape[dim] - 1)
    low = int(math.floor(at))
    high = builtins.min(low + 1, a.shape[dim] - 1)
    axis = (slice(None),) * (dim % a.ndim)
    return values[(*axis, low)] * (1 - (at - low)) + values[(*axis, high)] * (at - low)


def unique(a): return Node(np.unique(array(a))) if isinstance(a, Node) else np.unique(a)


def histc(a, bins, min, max):
    return Node(np.histogram(array(a), bins, (min, max))[0])


# Products.

matmul, einsum = R.matmul, R.einsum


def mm(a, b): return R.matmul(a, b)
def bmm(a, b): return R.matmul(a, b)
def mv(a, b): return R.matmul(a, b)
def dot(a, b): return R.sum(a * b)
def outer(a, b): return R.reshape(a, (-1, 1)) * R.reshape(b, (1, -1))
def addmm(c, a, b, beta=1, alpha=1): return c * beta + R.matmul(a, b) * alpha
def baddbmm(c, a, b, beta=1, alpha=1): return c * beta + R.matmul(a, b) * alpha
def addbmm(c, a, b, beta=1, alpha=1): return c * beta + R.sum(R.matmul(a, b), 0) * alpha
def addmv(c, a, b, beta=1, alpha=1): return c * beta + R.matmul(a, b) * alpha
def addr(c, a, b, beta=1, alpha=1): return c * beta + outer(a, b) * alpha
def linear(x, w, b=None): return R.linear(x, w, b)


def bilinear(x, y, w, b=None):
    r = R.einsum("noj,nj->no", R.einsum("ni,oij->noj", x, w), y)
    return r if b is None else r + b


def cdist(a, b, p=2.0, compute_mode=None):
    d = unsqueeze(a, a.ndim - 1) - unsqueeze(b, b.ndim - 2)
    return R.sqrt(R.sum(d * d, -1)) if p == 2.0 else R.sum(R.absolute(d), -1)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    return L.attention(q, k, v, attn_mask, is_causal, scale, enable_gqa)


# Convolutions and pools: lists of numbers for each axis of the window.

def conv(n):
    def run(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
        return L.conv(x, w, b, *(tuple_of(v, n) for v in (stride, padding, dilation)), groups)
    return run


def conv_transpose(n):
    def run(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return L.conv_transpose(x, w, b, *(tuple_of(v, n) for v in (stride, padding, output_padding, dilation)), groups)
    return run


def max_pool(n):
    def run(x, kernel, stride, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        y, index = L.max_pool(x, *(tuple_of(v, n) for v in (kernel, stride, padding, dilation)), ceil_mode)
        return (y, index) if return_indices else y
    return run


def avg_pool(n):
    def run(x, kernel, stride, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return L.avg_pool(x, *(tuple_of(v, n) for v in (kernel, stride, padding)), ceil_mode, count_include_pad, divisor_override)
    return run


def lp_pool(n):
    def run(x, norm, kernel, stride, ceil_mode=False):
        return L.lp_pool(x, norm, tuple_of(kernel, n), tuple_of(stride, n), ceil_mode)
    return run


def adaptive_avg_pool(n):
    return lambda x, out: L.adaptive_avg_pool(x, tuple_of(out, n))


def adaptive_max_pool(n):
    def run(x, out, return_indices=False):
        y, index = L.adaptive_max_pool(x, tuple_of(out, n))
        return (y, index) if return_indices else y
    return run


def max_unpool2d(x, index, kernel, stride, padding, output_size):
    n, c, h, w = x.shape
    size = tuple(output_size)[-2:]
    shape = (n, c, *size)
    to = np.take_along_axis(R.places_of(shape).reshape(n, c, -1), index.reshape(n, c, -1), 2).reshape(index.shape)
    # A place that two windows name holds one element: the last.
    return R.spread(x, to, shape)


# Norms.

def layer_norm(x, shape, weight=None, bias=None, eps=1e-5): return L.layer_norm(x, len(shape), weight, bias, eps)
def rms_norm(x, shape, weight=None, eps=1e-6): return L.rms_norm(x, len(shape), weight, eps)
def group_norm(x, groups, weight=None, bias=None, eps=1e-5): return L.group_norm(x, groups, weight, bias, eps)
def instance_norm(x, weight=None, bias=None, eps=1e-5): return L.group_norm(x, x.shape[1], weight, bias, eps)


def batch_norm_training(x, mean, variance, weight, bias, momentum, eps):
    y, m, v = L.batch_norm(x, weight, bias, eps)
    return y, Node(array(mean) * (1 - momentum) + m * momentum), Node(array(variance) * (1 - momentum) + v * momentum)


def batch_norm_eval(x, mean, variance, weight, bias, eps):
    return L.batch_norm(x, weight, bias, eps, mean, variance)[0]


def normalize(x, p=2.0, dim=1, eps=1e-12): return x / R.maximum(vector_norm(x, p, dim, True), eps)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    squares = R.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    total = R.window_sum(R.swap(R.reshape(squares, (*squares.shape[:2], -1)), 1, 2), (size,), (1,), (1,), (x.shape[1],))
    total = R.reshape(R.swap(total, 1, 2), x.shape)
    return x / R.exp(R.log(total * (alpha / size) + k) * beta)


# Resizing.

def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, antialias=False):
    nd = x.ndim - 2
    scales = None
    if scale_factor is not None:
        scales = tuple_of(scale_factor, nd)
        size = tuple(int(math.floor(n * s)) for n, s in zip(x.shape[2:], scales))
    size = tuple_of(size, nd)
    if mode in ("nearest", "nearest-exact"):
        return L.nearest(x, size, mode == "nearest-exact", scales)
    kind = "cubic" if mode == "bicubic" else "linear"
    return L.resize(x, size, kind, bool(align_corners), scales, antialias)


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    n, c, h, w = x.shape

    def place(g, size):
        at = (g + 1.0) * ((size - 1) / 2) if align_corners else (g + 1.0) * (size / 2) - 0.5
        if padding_mode == "border":
            return R.clamp(at, 0.0, size - 1.0)
        if padding_mode == "reflection":
            low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
            span = high - low
            if span == 0:
                return at * 0.0
            rel = at.value - low
            turns = np.floor(np.abs(rel) / span)
            extra = R.absolute(at - low) - turns * span
            at = R.where(turns % 2 == 0, extra + low, high - extra)
            return R.clamp(at, 0.0, size - 1.0)
        return at

    px, py = place(grid[..., 0], w), place(grid[..., 1], h)

    def read(iy, ix):
        inside = (ix >= 0) & (ix < w) & (iy >= 0) & (iy < h)
        flat = np.clip(iy, 0, h - 1).astype(np.int64) * w + np.clip(ix, 0, w - 1).astype(np.int64)
        base = np.arange(n * c).reshape(n, c, 1, 1) * (h * w)
        return R.where(inside[:, None], R.take(x, base + flat[:, None]), 0.0)

    if mode == "nearest":
        return read(np.rint(py.value), np.rint(px.value))
    x0, y0 = np.floor(px.value), np.floor(py.value)
    fx, fy = unsqueeze(px - x0, 1), unsqueeze(py - y0, 1)
    top = read(y0, x0) * (1.0 - fx) + read(y0, x0 + 1) * fx
    bottom = read(y0 + 1, x0) * (1.0 - fx) + read(y0 + 1, x0 + 1) * fx
    return top * (1.0 - fy) + bottom * fy


# Losses.

def reduced(x, reduction):
    return R.mean(x) if reduction == "mean" else R.sum(x) if reduction == "sum" else x


def mse_loss(a, b, reduction="mean"): return reduced((a - b) * (a - b), reduction)
def l1_loss(a, b, reduction="mean"): return reduced(R.absolute(a - b), reduction)


def huber_loss(a, b, reduction="mean", delta=1.0):
    d = a - b
    z = R.absolute(d)
    return reduced(R.where(z.value <= delta, d * d * 0.5, (z - 0.5 * delta) * delta), reduction)


def smooth_l1_loss(a, b, reduction="mean", beta=1.0):
    d = a - b
    z = R.absolute(d)
    return reduced(R.where(z.value < beta, d * d * (0.5 / beta), z - 0.5 * beta), reduction)


def class_weights(weight, target, classes, ignore_index):
    kept = target != ignore_index
    w = np.ones(classes) if weight is None else array(weight)
    return w[np.where(kept, target, 0)] * kept


def nll_loss(x, target, weight=None, reduction="mean", ignore_index=-100):
    kept = target != ignore_index
    picked = at_places(x, np.where(kept, target, 0), 1)
    w = class_weights(weight, target, x.shape[1], ignore_index)
    loss = R.where(kept, -picked, 0.0) * w
    if reduction == "mean":
        return R.sum(loss) * (1.0 / np.sum(w))
    return reduced(loss, reduction)


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    logs = R.log_softmax(x, 1)
    classes = x.shape[1]
    if isinstance(target, Node) or target.dtype.kind == "f":
        t = R.node(target) * (1 - label_smoothing) + label_smoothing / classes
        w = 1.0 if weight is None else np.asarray(array(weight)).reshape((1, -1) + (1,) * (x.ndim - 2))
        loss = -R.sum(logs * t * w, 1)
        return R.sum(loss) * (classes / x.size) if reduction == "mean" else reduced(loss, reduction)
    hard = nll_loss(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return hard
    kept = target != ignore_index
    w = np.ones(classes) if weight is None else array(weight)
    smooth = R.where(kept, -R.sum(logs * w.reshape((1, -1) + (1,) * (x.ndim - 2)), 1), 0.0)
    if reduction == "mean":
        smooth = R.sum(smooth) * (1.0 / np.sum(class_weights(weight, target, classes, ignore_index)))
    else:
        smooth = reduced(smooth, reduction)
    return hard * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def binary_cross_entropy(x, t, weight=None, reduction="mean"):
    loss = -(t * R.maximum(R.log(x), -100.0) + (1.0 - t) * R.maximum(R.log1p(-x), -100.0))
    return reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(x, t, weight=None, reduction="mean", pos_weight=None):
    scale = 1.0 if pos_weight is None else (pos_weight - 1.0) * t + 1.0
    loss = (1.0 - t) * x + log1p_exp(-x) * scale
    return reduced(loss if weight is None else loss * weight, reduction)


def kl_div(x, t, reduction="mean", log_target=False):
    if log_target:
        loss = R.exp(t) * (t - x)
    else:
        safe = R.where(t.value > 0, t, 1.0)
        loss = R.where(t.value > 0, t * R.log(safe), 0.0) - t * x
    return R.sum(loss) * (1.0 / x.shape[0]) if reduction == "batchmean" else reduced(loss, reduction)


def poisson_nll_loss(x, t, log_input=True, reduction="mean"):
    return reduced(R.exp(x) - t * x if log_input else x - t * R.log(x + 1e-8), reduction)


def gaussian_nll_loss(x, t, v, reduction="mean"):
    v = R.where(v.value < 1e-6, R.maximum(v, 1e-6).value, v)
    return reduced((R.log(v) + (x - t) * (x - t) / v) * 0.5, reduction)


def soft_margin_loss(x, t, reduction="mean"): return reduced(log1p_exp(-(t * x)), reduction)


def hinge_embedding_loss(x, t, margin=1.0, reduction="mean"):
    return reduced(R.where(array(t) > 0, x, R.relu(margin - x)), reduction)


def margin_ranking_loss(a, b, t, margin=0.0, reduction="mean"):
    return reduced(R.relu(-(t * (a - b)) + margin), reduction)


def cosine_similarity(a, b, dim=1, eps=1e-8):
    na = R.maximum(vector_norm(a, 2, dim, True), eps)
    nb = R.maximum(vector_norm(b, 2, dim, True), eps)
    return R.sum((a / na) * (b / nb), dim)


def triplet_margin_loss(a, p, n, margin=1.0, reduction="mean", eps=1e-6):
    def distance(x, y):
        d = x - y + eps
        return R.sqrt(R.sum(d * d, -1))
    return reduced(R.relu(distance(a, p) - distance(a, n) + margin), reduction)


def multi_margin_loss(x, t, margin=1.0, reduction="mean"):
    right = R.reshape(at_places(x, t, 1), (-1, 1))
    z = R.relu(x - right + margin)
    others = np.ones(x.shape)
    others[np.arange(x.shape[0]), t] = 0
    return reduced(R.sum(z * others, 1) * (1.0 / x.shape[1]), reduction)


def ctc_loss(logs, targets, input_lengths, target_lengths, reduction="sum"):
    """logs [T, N, C], targets [N, S]; blank is 0. By the forward recursion over log-probabilities."""
    losses = []
    low = -1e30
    for n in range(logs.shape[1]):
        s = int(target_lengths[n])
        labels = np.zeros(2 * s + 1, np.int64)
        labels[1::2] = targets[n, :s]
        skip = np.zeros(2 * s + 1, bool)
        skip[2:] = (labels[2:] != 0) & (labels[2:] != labels[:-2])
        state = None
        for t in range(int(input_lengths[n])):
            emit = R.take_rows(logs[t, n], labels, 0)
            if t == 0:
                state = R.where(np.arange(2 * s + 1) < 2, emit, low)
                continue
            one = R.pad(state, [(1, -1)], low)
            two = R.where(skip, R.pad(state, [(2, -2)], low) if s else state, low)
            state = R.logsumexp(R.stack([state, one, two]), 0) + emit
        losses.append(-R.logsumexp(state[-2:] if s else state, 0))
    loss = R.stack(losses)
    if reduction == "mean":
        return R.mean(loss * (1.0 / np.maximum(target_lengths, 1)))
    return reduced(loss, reduction)


# Recurrent layers.

def rnn(kind, nonlinearity="tanh"):
    def run(x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first):
        hx = hx if isinstance(hx, (tuple, list)) else [hx]
        directions = 2 if bidirectional else 1
        each = len(params) // (layers * directions)
        weights, states = [], []
        for layer in range(layers):
            row = []
            for direction in range(directions):
                part = params[(layer * directions + direction) * each:][:each]
                w_hr = part[-1] if kind == "LSTM" and each in (3, 5) else None
                row.append((part[0], part[1], part[2] if has_biases else None, part[3] if has_biases else None, w_hr))
                states.append(tuple(h[layer * directions + direction] for h in hx))
            weights.append(row)
        if batch_first:
            x = R.swap(x, 0, 1)
        y, last = L.rnn(kind, x, states, weights, nonlinearity)
        if batch_first:
            y = R.swap(y, 0, 1)
        return (y, *(R.stack([s[i] for s in last]) for i in range(len(hx))))
    return run


def packed(kind, x, lengths, states, params, layers, both):
    """Rows of several lengths, the longest first; zeros beyond them."""
    directions = 2 if both else 1
    weights = [[(*params[(layer * directions + k) * 4:][:4], None) for k in range(directions)] for layer in range(layers)]
    first = [tuple(h[i] for h in states) for i in range(layers * directions)]
    y, last = L.rnn({"lstm": "LSTM", "gru": "GRU"}[kind], x, first, weights, lengths=np.asarray(lengths))
    return (y, *(R.stack([s[i] for s in last]) for i in range(len(states))))


lstm, gru, rnn_tanh, rnn_relu = rnn("LSTM"), rnn("GRU"), rnn("RNN"), rnn("RNN", "relu")


def cell(kind, nonlinearity="tanh"):
    def run(x, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        state = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        new = L.rnn_cell(kind, R.linear(x, w_ih, b_ih), state, w_hh, b_hh, nonlinearity)
        return new if len(new) > 1 else new[0]
    return run


lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell = cell("LSTM"), cell("GRU"), cell("RNN"), cell("RNN", "relu")


# Transforms.

def norm_factor(n, norm, inverse):
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else 1.0


def complex_of(a): return R.add(a, 0j)


def resized(a, n, dim):
    if n is None or n == a.shape[dim]:
        return a
    return R.pad(a, [(0, n - a.shape[dim] if i == dim % a.ndim else 0) for i in range(a.ndim)])


def fft_along(inverse):
    def run(a, n=None, dim=-1, norm=None):
        a = resized(complex_of(a), n, dim)
        return R.fft(a, dim % a.ndim, inverse) * norm_factor(a.shape[dim], norm, inverse)
    return run


fft1, ifft1 = fft_along(False), fft_along(True)


def rfft(a, n=None, dim=-1, norm=None):
    y = fft1(a, n, dim, norm)
    return narrow(y, dim, 0, y.shape[dim] // 2 + 1)


def irfft(a, n=None, dim=-1, norm=None):
    dim %= a.ndim
    n = 2 * (a.shape[dim] - 1) if n is None else n
    a = resized(a, n // 2 + 1, dim)
    # Both halves: conjugates of the first, without the ends that have no partner.
    half = narrow(a, dim, 1, (n - 1) // 2)
    ends = [0] + ([n // 2] if n % 2 == 0 else [])
    flat = np.zeros(a.shape[dim])
    flat[ends] = 1
    shape = [1] * a.ndim
    shape[dim] = -1
    a = R.where(flat.reshape(shape) > 0, complex_of(R.real(a)), a)
    whole = R.concatenate([a, R.flip(R.conj(half), (dim,))], dim)
    return R.real(ifft1(whole, None, dim, norm))


def fftn(a, s=None, dim=None, norm=None):
    for i, d in enumerate(range(a.ndim) if dim is None else dim):
        a = fft1(a, None if s is None else s[i], d, norm)
    return a


def ifftn(a, s=None, dim=None, norm=None):
    for i, d in enumerate(range(a.ndim) if dim is None else dim):
        a = ifft1(a, None if s is None else s[i], d, norm)
    return a


def rfftn(a, dim=None, norm=None):
    dim = tuple(range(a.ndim)) if dim is None else tuple(dim)
    a = rfft(a, None, dim[-1], norm)
    return fftn(a, None, dim[:-1], norm)


def stft(a, n_fft, hop_length, window):
    half = n_fft // 2
    a = by_places(a, lambda p: np.pad(p, [(0, 0), (half, half)], "reflect"))
    frames = (a.shape[1] - n_fft) // hop_length + 1
    places = np.add.outer(np.arange(frames) * hop_length, np.arange(n_fft)).reshape(-1)
    rows = R.reshape(R.take_rows(a, places, 1), (a.shape[0], frames, n_fft)) * window
    return R.swap(rfft(rows), 1, 2)


def fftshift(a, dim): return by_places(a, lambda p: np.fft.fftshift(p, dim))


# Linear algebra.

def least_squares(a, b):
    """Of matrices of full rank with as many rows as columns or more."""
    return R.matmul(R.inverse(R.matmul(R.adjoint(a), a)), R.matmul(R.adjoint(a), b))


def symmetric(a): return (a + R.adjoint(a)) * 0.5


def cholesky(a):
    low = np.linalg.cholesky(symmetric(a).value)

    def pull(g):
        l, li = Node(low), R.inverse(Node(low))
        n = low.shape[-1]
        phi = np.tril(np.ones((n, n))) - 0.5 * np.eye(n)
        s = R.matmul(R.matmul(R.adjoint(li), R.matmul(R.adjoint(l), g) * phi), li)
        return (symmetric(s),)
    return R.make(low, (a,), pull)


def solve(a, b):
    return R.matmul(R.inverse(a), b)


def det(a):
    return R.make(np.linalg.det(a.value), (a,), lambda g: (
        R.reshape(g * R.conj(det(a)), (*g.shape, 1, 1)) * R.adjoint(R.inverse(a)),))


def slogdet(a):
    sign, value = np.linalg.slogdet(a.value)
    return Node(sign), R.make(value, (a,), lambda g: (R.reshape(g, (*g.shape, 1, 1)) * R.adjoint(R.inverse(a)),))


def svdvals(a): return Node(np.linalg.svd(a.value, compute_uv=False))
def eigvalsh(a): return Node(np.linalg.eigvalsh(symmetric(a).value))
def matrix_power(a, n): return R.matmul(a, matrix_power(a, n - 1)) if n > 1 else a


def triangular_solve(a, b, upper, left, unitriangular):
    n = a.shape[-1]
    mask = np.triu(np.ones((n, n)), 1 if unitriangular else 0) if upper else np.tril(np.ones((n, n)), -1 if unitriangular else 0)
    a = a * mask + (np.eye(n) if unitriangular else 0.0)
    return R.matmul(R.inverse(a), b) if left else R.matmul(b, R.inverse(a))


def matrix_exp(a):
    """Scaling and squaring over Taylor's series."""
    n = a.shape[-1]
    top = float(np.max(np.sum(np.abs(a.value), -1), initial=1e-3))
    squarings = builtins.max(0, int(math.ceil(math.log2(top))) + 2)
    x = a * (0.5 ** squarings)
    term = total = Node(np.broadcast_to(np.eye(n), a.shape).copy())
    for k in range(1, 17):
        term = R.matmul(term, x) * (1.0 / k)
        total = total + term
    for _ in range(squarings):
        total = R.matmul(total, total)
    return total


def cross(a, b, dim=-1):
    def part(x, i):
        return narrow(x, dim, i, 1)
    pieces = [part(a, (i + 1) % 3) * part(b, (i + 2) % 3) - part(a, (i + 2) % 3) * part(b, (i + 1) % 3) for i in range(3)]
    return R.concatenate(pieces, dim % a.ndim)


fft = SimpleNamespace(fft=fft1, ifft=ifft1, rfft=rfft, irfft=irfft, fftn=fftn, ifftn=ifftn, rfftn=rfftn, fftshift=fftshift)
linalg = SimpleNamespace(vector_norm=vector_norm, cholesky=cholesky, solve=solve, inv=R.inverse, det=det, slogdet=slogdet,
                         svdvals=svdvals, eigvalsh=eigvalsh, matrix_power=matrix_power, solve_triangular=None,
                         matrix_exp=matrix_exp, cross=cross)
special = SimpleNamespace(ndtr=R.normal_cdf)


def matrix_power(a, n): return linalg.matrix_power(a, n)


_functional = {
    **{f"conv{n}d": conv(n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": conv_transpose(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": avg_pool(n) for n in (1, 2, 3)},
    **{f"lp_pool{n}d": lp_pool(n) for n in (1, 2)},
    **{f"adaptive_avg_pool{n}d": adaptive_avg_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": adaptive_max_pool(n) for n in (1, 2, 3)},
    "scaled_dot_product_attention": attention,
}
for _name in """relu silu mish softsign logsigmoid hardtanh relu6 hardswish hardsigmoid tanhshrink leaky_relu elu selu hardshrink
        softshrink threshold gelu glu prelu softplus softmax log_softmax softmin pixel_shuffle pixel_unshuffle channel_shuffle pad
        unfold fold linear bilinear layer_norm rms_norm group_norm instance_norm normalize local_response_norm interpolate
        grid_sample mse_loss l1_loss huber_loss smooth_l1_loss nll_loss cross_entropy binary_cross_entropy
        binary_cross_entropy_with_logits kl_div poisson_nll_loss gaussian_nll_loss soft_margin_loss hinge_embedding_loss
        margin_ranking_loss cosine_similarity triplet_margin_loss multi_margin_loss ctc_loss embedding embedding_bag one_hot
        max_unpool2d tanh sigmoid""".split():
    _functional[_name] = globals()[_name]
nn = SimpleNamespace(functional=SimpleNamespace(**_functional))


# Optimisers: the parameters after some steps with given gradients.

def optimizer(kind, options, params, grads, steps):
    o = {"betas": (0.9, 0.999), "eps": {"RMSprop": 1e-8, "Adagrad": 1e-10, "Adadelta": 1e-6}.get(kind, 1e-8), "momentum": 0.0,
         "dampening": 0.0, "nesterov": False, "weight_decay": {"AdamW": 1e-2}.get(kind, 0.0), "amsgrad": False, "maximize": False,
         "centered": False, "lr_decay": 0.0, "initial_accumulator_value": 0.0, "rho": 0.9, "alpha": 0.99, "momentum_decay": 4e-3,
         **options}
    return tuple(Node(steps_of(kind, o, array(p).copy(), [array(g) for g in grads[i * steps:][:steps]])) for i, p in enumerate(params))


def steps_of(kind, o, p, grads):
    lr, eps, (b1, b2) = o["lr"], o["eps"], o["betas"]
    m, v, top, extra = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p), None
    if kind == "Adagrad":
        v += o["initial_accumulator_value"]
    products = 1.0
    for t, g in enumerate(grads, 1):
        g = -g if o["maximize"] else g
        if kind == "AdamW":
            p = p * (1 - lr * o["weight_decay"])
        else:
            g = g + o["weight_decay"] * p
        if kind == "SGD":
            if o["momentum"]:
                extra = g if extra is None else o["momentum"] * extra + (1 - o["dampening"]) * g
                g = g + o["momentum"] * extra if o["nesterov"] else extra
            p = p - lr * g
        elif kind in ("Adam", "AdamW"):
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            top = np.maximum(top, v)
            root = np.sqrt(top if o["amsgrad"] else v) / math.sqrt(1 - b2 ** t) + eps
            p = p - lr / (1 - b1 ** t) * m / root
        elif kind == "RMSprop":
            v = o["alpha"] * v + (1 - o["alpha"]) * g * g
            root = v
            if o["centered"]:
                m = o["alpha"] * m + (1 - o["alpha"]) * g
                root = v - m * m
            step = g / (np.sqrt(root) + eps)
            if o["momentum"]:
                extra = o["momentum"] * (0 if extra is None else extra) + step
                step = extra
            p = p - lr * step
        elif kind == "Adagrad":
            v = v + g * g
            p = p - lr / (1 + (t - 1) * o["lr_decay"]) * g / (np.sqrt(v) + eps)
        elif kind == "Adadelta":
            v = o["rho"] * v + (1 - o["rho"]) * g * g
            step = np.sqrt(m + eps) / np.sqrt(v + eps) * g
            m = o["rho"] * m + (1 - o["rho"]) * step * step
            p = p - lr * step
        elif kind == "Adamax":
            m, v = b1 * m + (1 - b1) * g, np.maximum(b2 * v, np.abs(g) + eps)
            p = p - lr / (1 - b1 ** t) * m / v
        elif kind == "NAdam":
            mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (k * o["momentum_decay"])) for k in (t, t + 1))
            products = float(np.float32(products) * np.float32(mu))  # PyTorch keeps it in float32
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            root = np.sqrt(v / (1 - b2 ** t)) + eps
            p = p - lr * (1 - mu) / (1 - products) * g / root - lr * ahead / (1 - products * ahead) * m / root
        elif kind == "RAdam":
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            unbiased = m / (1 - b1 ** t)
            most = 2 / (1 - b2) - 1
            length = most - 2 * t * b2 ** t / (1 - b2 ** t)
            if length > 5:
                rect = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
                p = p - lr * unbiased * rect * math.sqrt(1 - b2 ** t) / (np.sqrt(v) + eps)
            else:
                p = p - lr * unbiased
        else:
            raise ValueError(kind)
    return p
