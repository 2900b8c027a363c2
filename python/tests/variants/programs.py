"""Families: planned programs, which are scripted and called three times; results that backward computes again; optimisers;
sparse and quantised tensors."""

import math
import types
from typing import List

import numpy as np
import sconce as S
from sconce import nn

from real_sizes import layers as L
from real_sizes import reference as R
from variants.elements import THREAD_SHARE, layout_of
from variants.orders import fresh, value_of
from variants.samples import EPS, FLOATS, Draw, Given, Sample


# ---- plans of pointwise operators ----

def chain(a, b):
    return (a + b * 2).mul(b).sub(a).neg() + 1


def math_chain(a, b):
    return S.sigmoid(a * b) * a + S.exp(-b)


def pair(a, b):
    c = a * b + 1
    return c.relu(), (c - a).tanh()


def single(a, b):
    return a * 2 + b


def again(a, b):
    c = a + b
    return c * 2, c.mean()


def softmax_rows(a, b):
    return S.softmax(a * 2 + b, -1) * 3


def softmax_alone(a, b):
    return S.softmax(a, -1) + b


def softmax_last(a, b):
    return S.log_softmax(a + b, -1)


def norm_rows(a, b):
    return S.layer_norm(a + b, [a.size(-1)]) * 2 + a


def long_chain(a, b):
    c = a
    for i in range(30):
        c = c * b + a
        c = c - b
    return c + 1


def many_values(a, b):
    v0 = b * 0.5
    v1 = a * 0.625
    v2 = b * 0.75
    v3 = a * 0.875
    v4 = b * 1.0
    v5 = a * 1.125
    v6 = b * 1.25
    v7 = a * 1.375
    v8 = b * 1.5
    v9 = a * 1.625
    v10 = b * 1.75
    v11 = a * 1.875
    v12 = b * 2.0
    v13 = a * 2.125
    v14 = b * 2.25
    v15 = a * 2.375
    v16 = b * 2.5
    v17 = a * 2.625
    v18 = b * 2.75
    v19 = a * 2.875
    v20 = b * 3.0
    v21 = a * 3.125
    c = v21 - v20
    c = c - v0
    c = c - v1
    c = c - v2
    c = c - v3
    c = c - v4
    c = c - v5
    c = c - v6
    c = c - v7
    c = c - v8
    c = c - v9
    c = c - v10
    c = c - v11
    c = c - v12
    c = c - v13
    c = c - v14
    c = c - v15
    c = c - v16
    c = c - v17
    c = c - v18
    c = c - v19
    return c


def many_mixed(a, b):
    v0 = b * 0.5 + 0.625
    v1 = a * 0.75 + 1.5
    v2 = b * 1.25 + 0.875
    v3 = a * 0.625 + 1.125
    v4 = b * 1.5 + 0.375
    v5 = a * 0.875 + 0.25
    v6 = b * 1.125 + 1.75
    v7 = a * 0.375 + 0.5
    v8 = b * 0.25 + 0.75
    c = a - b
    c = c * 0.5 - v0
    c = c * 0.75 - v1
    c = c * 1.25 - v2
    c = c * 0.625 - v3
    c = c * 1.5 - v4
    c = c * 0.875 - v5
    c = c * 1.125 - v6
    c = c * 0.375 - v7
    c = c * 0.25 - v8
    c = c * 1.75 - v0
    c = c * 0.5 - v1
    c = c * 0.75 - v2
    return c


def many_numbers(a, b):
    c = a + b
    c = c * 0.5 + 0.0000
    c = c * 0.515625 + 0.1429
    c = c * 0.53125 + 0.2857
    c = c * 0.546875 + 0.4286
    c = c * 0.5625 + 0.5714
    c = c * 0.578125 + 0.7143
    c = c * 0.59375 + 0.8571
    c = c * 0.609375 + 1.0000
    c = c * 0.625 + 1.1429
    c = c * 0.640625 + 1.2857
    c = c * 0.65625 + 1.4286
    c = c * 0.671875 + 1.5714
    c = c * 0.6875 + 1.7143
    c = c * 0.703125 + 1.8571
    return c


def part_written(a, b):
    c = a.clone()
    c[0] = b[0] * 2
    return c + b


def given_written(a, b):
    a[0] = b[0] * 2 + 1
    return a + b


PLAIN = {
    "chain": lambda a, b: R.neg((a + b * 2.0) * b - a) + 1.0,
    "math_chain": lambda a, b: R.sigmoid(a * b) * a + R.exp(R.neg(b)),
    "pair": lambda a, b: (lambda c: (R.relu(c), R.tanh(c - a)))(a * b + 1.0),
    "single": lambda a, b: a * 2.0 + b,
    "again": lambda a, b: (lambda c: (c * 2.0, R.mean(c)))(a + b),
    "softmax_rows": lambda a, b: R.softmax(a * 2.0 + b, a.ndim - 1) * 3.0,
    "softmax_alone": lambda a, b: R.softmax(a, a.ndim - 1) + b,
    "softmax_last": lambda a, b: R.log_softmax(a + b, a.ndim - 1),
    "norm_rows": lambda a, b: L.layer_norm(a + b, 1, None, None, 1e-5) * 2.0 + a,
    "part_written": lambda a, b: R.concatenate([b[:1] * 2.0, a[1:]], 0) + b,
}


def long_plain(a, b):
    c = a
    for _ in range(30):
        c = c * b + a - b
    return c + 1.0


PLAIN["long_chain"] = long_plain
PLAIN["many_values"] = many_values
PLAIN["many_numbers"] = many_numbers
PLAIN["many_mixed"] = many_mixed

def scripted(f):
    """A program of its own, with plans of its own."""
    own = types.FunctionType(f.__code__, f.__globals__, f.__name__)
    own.__annotations__ = f.__annotations__
    return S.jit.script(own)


def planned(d: Draw):
    f = d.one(chain, chain, math_chain, pair, single, again, softmax_rows, softmax_alone, softmax_last, norm_rows,
              long_chain, many_values, many_numbers, many_mixed,
              part_written)
    rows = f in (softmax_rows, softmax_alone, softmax_last, norm_rows)
    shape = d.one((d.between(1, 90), d.between(2, 90)), (d.between(2, 300), d.one(d.near(512), d.between(1, 700))),
                  (d.between(1, 5), d.between(2, 20), d.between(2, 30)))
    if not rows and d.flag(0.2):
        shape = (d.between(2, 30), d.near(512, 700))
    if not rows and d.flag(0.3):
        shape = (d.one(d.between(2, 3000), d.near(THREAD_SHARE), d.between(2, 200_000)),)
    dtype = d.one("float32", "float32", "float64", "bfloat16", "float16")
    if f in (long_chain, many_values, many_numbers, many_mixed, norm_rows):  # which roundings in between would show in
        dtype = d.one("float32", "float64")
    small = d.flag(0.3)
    other = tuple(1 if d.flag(0.6) else n for n in shape) if small and f is not part_written else shape
    second = dtype if d.flag(0.8) or f is part_written else "float32"
    grad = d.flag(0.3) and not (other != shape and "16" in dtype)  # sums of rounded terms
    layouts = [d.one("dense", "dense", layout_of(d, s)) for s in (shape, other)]
    text = "planned " + f.__name__
    run = scripted(f)
    scale = 0.5 if f is long_chain else 1.0
    return Sample([Given(d.uniform(0.2, 1.2, shape) * scale, dtype, layouts[0], grad=grad),
                   Given(d.uniform(0.2, 1.2, other) * scale, second, layouts[1], grad=grad)],
                  run, PLAIN[f.__name__], times=3, text=text, tolerance=512, rounds=16)


def large_planned(d: Draw):
    f = d.one(chain, single, math_chain)
    n = d.one((4 << 20) + 100, (4 << 20) - 300, (2 << 20) + 77)
    rows = d.one(1, 1, 64)
    shape = (n,) if rows == 1 else (rows, n // rows)
    x, y = (d.uniform(0.2, 1.2, shape).astype(np.float32) for _ in range(2))
    layout = d.one("dense", "padded" if rows > 1 else "dense")
    return Sample([Given(x, "float32", grad=False), Given(y, "float32", layout, grad=False)], scripted(f), PLAIN[f.__name__],
                  times=3, text="planned large " + f.__name__, tolerance=64)


def write_to_given(d: Draw):
    """A program that writes to a part of what it is given: small ones are planned, large ones are not."""
    n = d.one(d.between(10, 3000), d.between(10, 3000), 262_000, 263_000, 290_000)
    shape = (d.one(4, 16), n // 4)
    x, y = d.normal(*shape), d.normal(*shape)

    def plain(a, b):
        out = a.value.copy()
        out[0] = b.value[0] * 2 + 1
        return R.Node(out + b.value)
    return Sample([Given(x, "float32", grad=False), Given(y, "float32", grad=False)], scripted(given_written), plain,
                  times=3, text="planned write", tolerance=16)


def conv_of_bytes(q, w, b, stride: List[int], padding: List[int], dilation: List[int], groups: int, scale: float):
    return S.ops.quantized.conv2d(q, S.ops.quantized.conv2d_prepack(w, b, stride, padding, dilation, groups), scale,
                                  128)


conv_of_quantised = scripted(conv_of_bytes)


# ---- plans with products and convolutions ----

class Dense(nn.Module):
    def __init__(self, ins: int, outs: int, kind: int, transposed: bool):
        super().__init__()
        self.a = nn.Linear(ins, outs)
        self.b = nn.Linear(outs, outs)
        self.kind = kind
        self.w = nn.Parameter(S.randn(ins, outs))
        self.transposed = transposed

    def forward(self, x):
        if self.kind == 0:
            return self.a(x)
        if self.kind == 1:
            return S.relu(self.a(x))
        if self.kind == 2:
            y = S.relu(self.a(x))
            return S.relu(self.b(y) + y)
        if self.kind == 3:
            return S.sigmoid(self.a(x)) * 2 + 1
        return x @ self.w


def planned_dense(d: Draw):
    ins, outs = d.one(d.between(1, 70), d.between(1, 300), 513, 700), d.one(d.between(1, 70), d.between(1, 200))
    rows, dtype = d.one(1, 2, 4, d.between(1, 60)), d.one("float32", "float32", "float64")
    kind = d.one(0, 1, 2, 3, 4)
    net = Dense(ins, outs, kind, False).to(getattr(S, dtype)).eval()
    values = {k: d.normal(*v.shape) / math.sqrt(v.shape[-1]) for k, v in net.state_dict().items()}
    with S.no_grad():
        for k, v in net.named_parameters():
            v.copy_(S.from_numpy(values[k]))
    held = {k: R.Node(v.detach().double().numpy()) for k, v in net.named_parameters()}
    program = S.jit.script(net)

    def run(x):
        with S.no_grad():
            return program(x)

    def plain(x):
        y = R.linear(x, held["a.weight"], held["a.bias"])
        if kind == 0:
            return y
        if kind == 1:
            return R.relu(y)
        if kind == 2:
            y = R.relu(y)
            return R.relu(R.linear(y, held["b.weight"], held["b.bias"]) + y)
        return R.sigmoid(y) * 2.0 + 1.0 if kind == 3 else R.matmul(x, held["w"])
    return Sample([Given(d.normal(rows, ins), dtype, d.one("dense", "dense", "padded", "reversed"), grad=False)], run,
                  plain, times=3, text=f"planned dense {kind} ",
                  tolerance=64 + 4 * ins ** 0.5, shape=((rows, ins, outs),))


class Images(nn.Module):
    def __init__(self, c: int, o: int, kernel: int, stride: int, groups: int, kind: int):
        super().__init__()
        self.conv = nn.Conv2d(c, o, kernel, stride, kernel // 2, groups=groups)
        self.norm = nn.BatchNorm2d(o)
        self.next = nn.Conv2d(o, o, 3, 1, 1)
        self.kind = kind

    def forward(self, x):
        y = self.conv(x)
        if self.kind == 0:
            return y
        if self.kind == 1:
            return S.relu(self.norm(y))
        if self.kind == 2:
            y = S.relu(self.norm(y))
            return S.relu(self.next(y) + y)
        if self.kind == 3:
            return S.sigmoid(y) * y + 1
        if self.kind == 4:
            return S.max_pool2d(S.relu(self.next(S.relu(y))), 2)
        if self.kind == 6:
            return S.relu(y).flatten(2).sum(-1)
        if self.kind == 7:
            return S.softmax(y, 1) + y
        return S.relu(self.norm(x))


def planned_images(d: Draw):
    c, o = d.one(1, 3, 8, 16, 32, d.between(1, 20)), d.one(16, 32, 8, 64, d.between(1, 40))
    kernel, stride, groups = d.one(1, 3, 3, 5), d.one(1, 1, 2), 1
    kind = d.state.randint(8)
    if d.flag(0.25):
        o = c = d.one(8, 16, 32)
        groups = d.one(c, c // 4)
    if kind == 5:
        c = o
    n, h, w = d.one(1, 2, 4), d.between(6, 40), d.one(16, 32, d.between(6, 40))
    dtype = d.one("float32", "float32", "float64")
    net = Images(c, o, kernel, stride, groups, kind).to(getattr(S, dtype)).eval()
    with S.no_grad():
        for k, v in net.state_dict().items():
            if "num_batches" in k:
                continue
            fan = max(1, v[0].numel() if v.dim() else 1)
            numbers = d.uniform(0.5, 2, tuple(v.shape)) if "running_var" in k else d.normal(*v.shape) / math.sqrt(fan)
            v.copy_(S.from_numpy(numbers))
    held = {k: R.Node(v.detach().double().numpy()) for k, v in net.state_dict().items() if "num_batches" not in k}
    program = S.jit.script(net)

    def run(x):
        with S.no_grad():
            return program(x)

    def conv(x, name, s, p, g):
        return L.conv(x, held[name + ".weight"], held[name + ".bias"], (s, s), (p, p), (1, 1), g)

    def norm(x):
        return L.batch_norm(x, held["norm.weight"], held["norm.bias"], 1e-5, held["norm.running_mean"],
                            held["norm.running_var"])[0]

    def plain(x):
        if kind == 5:
            return R.relu(norm(x))
        y = conv(x, "conv", stride, kernel // 2, groups)
        if kind == 1:
            return R.relu(norm(y))
        if kind == 2:
            y = R.relu(norm(y))
            return R.relu(conv(y, "next", 1, 1, 1) + y)
        if kind == 3:
            return R.sigmoid(y) * y + 1.0
        if kind == 6:
            return R.sum(R.reshape(R.relu(y), (y.shape[0], y.shape[1], -1)), 2)
        if kind == 7:
            return R.softmax(y, 1) + y
        if kind == 4:
            return L.max_pool(R.relu(conv(R.relu(y), "next", 1, 1, 1)), (2, 2), (2, 2), (0, 0), (1, 1), False)[0]
        return y
    return Sample([Given(d.normal(n, c, h, w), dtype, d.one("dense", "dense", "channels", "padded", "reversed"),
                         grad=False)], run, plain, times=3, text=f"planned images {kind} k{kernel} s{stride} g{groups} to {o} ",
                  tolerance=512, shape=((n, c, h, w), (o, kernel, stride)))


class Volume(nn.Module):
    """A convolution of volumes whose bias has gaps: plans call it, where others are prepared."""

    def __init__(self, weight, bias, transposed: bool):
        super().__init__()
        self.weight, self.bias, self.transposed = weight, bias, transposed

    def forward(self, x):
        if self.transposed:
            return S.relu(S.conv_transpose3d(x, self.weight, self.bias, [1, 1, 1], [0, 0, 0], [0, 1, 0], 1, [1, 2, 1]))
        return S.relu(S.conv3d(x, self.weight, self.bias))


def spread_bias(d: Draw):
    c, o, kernel = d.between(1, 9), d.between(2, 9), d.one(1, 2, 3)
    size = tuple(d.between(3, 7) for _ in range(3))
    transposed = d.flag(0.5)
    weight = d.normal(*((c, o) if transposed else (o, c)), kernel, kernel, kernel).astype(np.float32)
    bias = d.normal(2 * o).astype(np.float32)
    program = S.jit.script(Volume(S.from_numpy(weight), S.from_numpy(bias)[::2], transposed))

    def run(x):
        with S.no_grad():
            return program(x)

    def plain(x):
        w, b = R.node(weight.astype(np.float64)), R.node(bias[::2].astype(np.float64))
        if transposed:
            return R.relu(L.conv_transpose(x, w, b, (1, 1, 1), (0, 0, 0), (0, 1, 0), (1, 2, 1), 1))
        return R.relu(L.conv(x, w, b, (1, 1, 1), (0, 0, 0), (1, 1, 1), 1))
    return Sample([Given(d.normal(d.one(1, 2), c, *size), "float32", "dense", grad=False)], run, plain, times=4,
                  text=f"planned volume k{kernel} {c} to {o} ", tolerance=512, shape=(size, c, o, kernel))


# ---- backward ----

F = nn.functional


def silu(t):
    return t * R.sigmoid(t)


def recomputed(d: Draw):
    """Large results that only backward needs."""
    n = d.one(100, 700, 1000) if d.flag(0.3) else d.one(520, 600)
    rows = d.one(512, 540)
    kind = d.one("silu", "exp", "norm", "conv", "kept")
    dtype = "float32"
    x, w = d.normal(rows, n) / 4, d.normal(n, 20) / math.sqrt(n)
    if kind == "conv":
        c = d.one(16, 3)
        shape = (2, c, d.one(96, 100), d.one(96, 20))
        return Sample([Given(d.normal(*shape), dtype), Given(d.normal(16, c, 3, 3) / 9, dtype),
                       Given(d.normal(4, 16, 1, 1), dtype)],
                      lambda a, b, c: S.conv2d(F.silu(S.conv2d(a, b, None, 1, 1)), c),
                      lambda a, b, c: L.conv(silu(L.conv(a, b, None, (1, 1), (1, 1), (1, 1), 1)), c, None, (1, 1),
                                             (0, 0), (1, 1), 1), text="conv silu conv ", tolerance=2048)
    keep = []

    def run(a, b):
        if kind == "norm":
            y = S.tanh(S.layer_norm(a, [n]))
        else:
            y = (F.silu if kind in ("silu", "kept") else S.exp)(a * 2)
        if kind == "kept":
            keep[:] = [y]
        return y @ b

    def plain(a, b):
        if kind == "norm":
            y = R.tanh(L.layer_norm(a, 1, None, None, 1e-5))
        else:
            y = (silu if kind in ("silu", "kept") else R.exp)(a * 2.0)
        return R.matmul(y, b)
    return Sample([Given(x, dtype), Given(w, dtype)], run, plain, text=f"{kind}, then mm ", tolerance=1024)


def accumulated(d: Draw):
    """Gradients of leaves and of views that were written to."""
    shape = (d.between(2, 40), d.between(2, 40))
    kind = d.one("view", "view", "leaf", "leaf", "column")
    layout = d.one("dense", "dense", "reversed", "padded")

    def run(a, b):
        if kind == "leaf":
            p, q = (fresh(t.detach()).requires_grad_() for t in (a, b))
            y = (p * q).sum() if shape[0] % 2 else (p.t() * q.t()).sum() * 1 + (p * 2).sum()
            y.backward()
            return p.grad, q.grad
        x = a * 1
        if kind == "view":
            x[1:].mul_(2)
        else:
            x[:, 0] = b[:, 0] * 3
        return x * b

    def plain(a, b):
        if kind == "leaf":
            return (R.Node(b.value), R.Node(a.value)) if shape[0] % 2 else (R.Node(b.value + 2), R.Node(a.value))
        if kind == "view":
            return R.concatenate([a[:1], a[1:] * 2.0], 0) * b
        return R.concatenate([b[:, :1] * 3.0, a[:, 1:]], 1) * b
    return Sample([Given(d.normal(*shape), "float32", layout), Given(d.normal(*shape), "float32", layout)], run, plain,
                  text=f"{kind} ", tolerance=16,
                  gradients=kind != "leaf")


# ---- optimisers ----

def optimised(d: Draw):
    """SGD with momentum and Adam, three steps."""
    kind, dtype = d.one("SGD", "Adam"), d.one("float32", "float64", "bfloat16", "float16")
    shape = d.one((d.one(d.near(512), d.between(1, 3000)),), (d.between(1, 60), d.between(1, 60)))
    layout = d.one("dense", "dense", "reversed", "gaps")
    g = [d.normal(*shape) for _ in range(3)]
    given = [Given(d.normal(*shape), dtype, layout,
                   grad=False)] + [Given(x, dtype, d.one("dense", layout), grad=False) for x in g]
    rate = 0.125

    def run(p, *grads):
        p = fresh(p.detach()).requires_grad_()
        opt = S.optim.SGD([p], lr=rate, momentum=0.5,
                          weight_decay=0.25) if kind == "SGD" else S.optim.Adam([p], lr=rate, betas=(0.5, 0.75), eps=1e-3)
        for x in grads:
            p.grad = fresh(x.detach())
            opt.step()
        return p.detach()

    def plain(p, *grads):
        v, m, s = p.value.copy(), 0.0, 0.0
        for i, x in enumerate(grads, 1):
            x = x.value
            if kind == "SGD":
                x = x + 0.25 * v
                m = x if i == 1 else 0.5 * m + x
                v = v - rate * m
            else:
                m, s = 0.5 * m + 0.5 * x, 0.75 * s + 0.25 * x * x
                v = v - rate * (m / (1 - 0.5 ** i)) / (np.sqrt(s / (1 - 0.75 ** i)) + 1e-3)
        return R.Node(v)
    return Sample(given, run, plain, text=kind + " ", tolerance=64, gradients=False)


# ---- sparse and quantised tensors ----

def sparse(d: Draw):
    m, n, k = d.between(1, 40), d.between(1, 40), d.between(1, 40)
    count = d.between(1, 60)
    dtype = d.one("float32", "float64")
    rows, columns = d.integers(0, m, (count,)), d.integers(0, k, (count,))
    if d.flag(0.4):
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
    indices = np.stack([rows, columns])
    values = d.normal(count)

    def dense_of(v):
        return R.spread(v, rows * k + columns, (m, k))
    kind = d.one("mm", "mm", "coalesce", "sum", "add")
    given = [Given(indices, "int64", grad=False), Given(values, dtype, grad=False)]

    def build(i, v):
        return S.sparse_coo_tensor(i, v, (m, k))
    if kind == "mm":
        return Sample([*given, Given(d.normal(k, n), dtype)], lambda i, v, b: S.mm(build(i, v), b), lambda i, v,
                      b: R.matmul(dense_of(v), b), text="sparse mm ", tolerance=64,
                      shape=((m, k), (k, n)))
    f, plain = {"coalesce": (lambda i, v: build(i, v).coalesce().to_dense(), lambda i, v: dense_of(v)),
                "sum": (lambda i, v: S.sum(build(i, v), 1).to_dense(), lambda i, v: R.sum(dense_of(v), 1)),
                "add": (lambda i, v: (build(i, v) + build(i, v * 2)).to_dense(), lambda i, v: dense_of(v) * 3.0)}[kind]
    return Sample(given, f, plain, text=f"sparse {kind} ", tolerance=64, shape=((m, k),))


def quantised(d: Draw):
    """Against quantised reals: one step apart at most, where a half may go either way."""
    kind = d.one("quantize", "add", "add", "conv", "conv", "conv", "max_pool")
    scale, zero = 0.05, d.one(10, 0, 100)
    n, c, h, w = d.between(1, 3), d.one(d.between(1, 20), 16, 32), d.between(3, 24), d.between(3, 24)

    def steps(v, s=scale, z=zero):
        return np.clip(np.rint(v / s) + z, 0, 255)

    def reals(v, s=scale, z=zero):
        return (steps(v, s, z) - z) * s
    if kind == "quantize":
        shape = (d.between(1, 60), d.between(1, 60))
        x = d.integers(-40, 200, shape) * scale + 0.01
        return Sample([Given(x, "float32", d.one("dense", "reversed", "gaps"), grad=False)],
                      lambda t: S.quantize_per_tensor(t, scale, zero,
                                                      S.quint8).int_repr(), lambda t: steps(t.value).astype(np.int64), text="quantize ")
    shape = (n, c, h, w)
    layouts = [d.one("dense", "dense", "channels", "gaps") for _ in range(2)]
    x, y = (d.integers(0, 100, shape) * scale for _ in range(2))
    if kind == "add":
        out = 0.125
        dtype = d.one("quint8", "quint8", "qint32")
        z = zero if dtype == "quint8" else 0

        def run(a, b):
            q = [S.quantize_per_tensor(t, scale, z, getattr(S, dtype)) for t in (a, b)]
            return S.ops.quantized.add(q[0], q[1], out, 3).dequantize()
        most = (252 if dtype == "quint8" else 2 ** 31) * out
        return Sample([Given(x, "float32", layouts[0], grad=False), Given(y, "float32", layouts[1], grad=False)], run,
                      lambda a, b: R.Node(np.clip(reals(a.value, z=z) + reals(b.value, z=z), -3 * out, most)),
                      text=f"quantized add {dtype} ", step=out)
    if kind == "max_pool":
        k, s = d.one(2, 3), d.one(1, 2)

        def run(t):
            return S.nn.functional.max_pool2d(S.quantize_per_tensor(t, scale, zero, S.quint8), k, s).dequantize()
        return Sample([Given(x, "float32", d.one("dense", "channels"), grad=False)], run,
                      lambda t: L.max_pool(R.Node(reals(t.value)), (k, k), (s, s), (0, 0), (1, 1), False)[0],
                      text=f"quantized max_pool2d {k} {s} ", tolerance=8)
    groups = d.one(1, 1, c, 1 if c % 2 else 2)
    if groups == 2:
        h, w = d.between(10, 40), d.between(10, 40)
        x = d.integers(0, 100, (n, c, h, w)) * scale
    o = groups * d.one(1, d.between(1, 8), 16)
    if groups == c:
        o = c
    kernel, stride, padding = (d.one(1, 2, 3), d.one(1, 3)), d.one(1, 1, 2), d.one(0, 1)
    weight = d.integers(-60, 60, (o, c // groups, *kernel)) * 0.02
    bias = d.integers(-5, 5, (o,)) * scale * 0.02
    out = 0.5
    dilation = d.one(1, 1, 2)
    if h < dilation * (kernel[0] - 1) + 1 or w < dilation * (kernel[1] - 1) + 1:
        return quantised(d)

    def run(t, u, b):
        q = S.quantize_per_tensor(t, scale, zero, S.quint8)
        qw = S.quantize_per_tensor(u, 0.02, 0, S.qint8)
        return conv_of_quantised(q, qw, b, [stride] * 2, [padding] * 2, [dilation] * 2, groups, out).dequantize()

    def plain(t, u, b):
        y = L.conv(R.Node(reals(t.value)), R.Node(np.rint(u.value / 0.02) * 0.02), b, (stride,) * 2, (padding,) * 2,
                   (dilation,) * 2, groups)
        return R.Node(np.clip(y.value, -128 * out, 127 * out))
    return Sample([Given(x, "float32", d.one("dense", "channels"), grad=False), Given(weight, "float32", grad=False),
                   Given(bias, "float32", grad=False)], run, plain,
                  text=f"quantized conv2d s{stride} p{padding} d{dilation} g{groups} ", step=out)


FAMILIES = [planned, planned, large_planned, write_to_given, planned_dense, planned_images, spread_bias, recomputed, accumulated,
            optimised, sparse, quantised]
