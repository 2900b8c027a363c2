"""Norms and recurrent layers."""

import math

from real_sizes.calls import Call
from real_sizes.families import budget, family
from real_sizes.families.windows import image


# Norms are over four elements or more: of two, results are 1 and -1 and gradients nothing but roundings.

def affine(d, shape, dtype, most=2):
    """Weight and bias, a weight alone, or none."""
    return [d.tensor(shape, dtype) for _ in range(d.below(most + 1))]


@family("norm", 2)
def layer_norm(d):
    dtype = d.float_dtype()
    shape = d.shape(d.pick((2, 3, 3, 4)), budget(d))
    count = d.pick((1, 1, 1, min(2, len(shape))))
    shape = (*shape[:-1], max(4, shape[-1]))
    inner = shape[len(shape) - count:]
    x = d.tensor(shape, dtype)
    if d.chance(3):
        return Call(f"rms_norm[{inner}]", [x, *affine(d, inner, dtype, 1)],
                    lambda T, x, w=None: T.nn.functional.rms_norm(x, inner, w, 1e-5), max(math.prod(inner), x.values.size // math.prod(inner)))
    return Call(f"layer_norm[{inner}]", [x, *affine(d, inner, dtype)],
                lambda T, x, w=None, b=None: T.nn.functional.layer_norm(x, inner, w, b, 1e-5),
                max(math.prod(inner), x.values.size // math.prod(inner)))


@family("norm")
def group_norm(d):
    dtype = d.float_dtype()
    nd = d.pick((2, 2, 1, 3))
    n, c, *size = image(d, nd, budget(d))
    groups = d.pick((1, 2, 4, 8, 16, 32))
    c = max(1, c // groups) * groups
    if c // groups * math.prod(size) < 4:
        size = [4 * m for m in size]
    x = d.tensor((n, c, *size), dtype)
    return Call(f"group_norm[{groups}]", [x, *affine(d, (c,), dtype)],
                lambda T, x, w=None, b=None: T.nn.functional.group_norm(x, groups, w, b, 1e-5), x.values.size)


@family("norm")
def instance_norm(d):
    dtype = d.pick(("float32", "float32", "float64"))
    n, c, *size = image(d, d.pick((2, 1, 3)), budget(d))
    if math.prod(size) < 4:
        size = [4 * m for m in size]
    x = d.tensor((n, c, *size), dtype)
    return Call("instance_norm", [x, *affine(d, (c,), dtype)],
                lambda T, x, w=None, b=None: T.nn.functional.instance_norm(x, weight=w, bias=b), x.values.size)


@family("norm", 2)
def batch_norm(d):
    dtype = d.float_dtype()
    nd = d.pick((2, 2, 1, 3, 0))
    n, c, *size = image(d, max(nd, 1), budget(d))
    size = size if nd else []
    n = n * 4 if n * math.prod(size) < 4 else n
    x = d.tensor((n, c, *size), dtype)
    mean = d.tensor((c,), dtype, grad=False, layouts=False)
    variance = d.tensor((c,), dtype, grad=False, layouts=False, transform=lambda v: abs(v) + 0.5)
    weights = affine(d, (c,), dtype)
    momentum = d.pick((0.1, 0.01, 0.5))
    if d.chance(3):
        return Call("batch_norm[eval]", [x, mean, variance, *weights],
                    lambda T, x, m, v, w=None, b=None: T.nn.functional.batch_norm(x, m, v, w, b, False, 0.1, 1e-5)
                    if hasattr(T.nn.functional, "batch_norm") else T.batch_norm_eval(x, m, v, w, b, 1e-5), x.values.size // c)

    def run(T, x, m, v, w=None, b=None):
        if not hasattr(T.nn.functional, "batch_norm"):
            return T.batch_norm_training(x, m, v, w, b, momentum, 1e-5)
        m, v = T.clone(m), T.clone(v)
        y = T.nn.functional.batch_norm(x, m, v, w, b, True, momentum, 1e-5)
        return y, m, v
    return Call(f"batch_norm[training {momentum}]", [x, mean, variance, *weights], run, x.values.size // c)


@family("norm", 2)
def softmax(d):
    dtype = d.float_dtype()
    shape = d.shape(d.pick((1, 2, 2, 3, 4)), budget(d))
    dim = d.pick((-1, -1, *range(len(shape))))
    kind = d.pick(("softmax", "log_softmax", "softmin", "logsumexp"))
    x = d.tensor(shape, dtype, scale=d.pick((1.0, 3.0, 20.0)))
    if kind == "logsumexp":
        return Call(f"logsumexp[{dim}]", [x], lambda T, x: T.logsumexp(x, dim), shape[dim], floor=4.0)
    return Call(f"{kind}[{dim}]", [x], lambda T, x: getattr(T.nn.functional, kind)(x, dim=dim), shape[dim], floor=4.0)


@family("norm")
def other_norms(d):
    dtype = d.float_dtype()
    if d.chance(2):
        shape = image(d, 2, budget(d) // 2)
        size = d.pick((2, 3, 5, 5, 7))
        dtype = "float32" if dtype == "bfloat16" else dtype
        x = d.tensor(shape, dtype)
        return Call(f"local_response_norm[{size}]", [x], lambda T, x: T.nn.functional.local_response_norm(x, size, 1e-2, 0.75, 1.0), size)
    shape = tuple(max(2, n) for n in d.shape(d.pick((2, 3, 4)), budget(d)))
    dim, p = d.below(len(shape)), d.pick((2.0, 2.0, 1.0))
    x = d.tensor(shape, dtype)
    return Call(f"normalize[{p} {dim}]", [x], lambda T, x: T.nn.functional.normalize(x, p, dim), shape[dim])


@family("recurrent", 3)
def recurrent(d):
    dtype = d.float_dtype()
    kind = d.pick(("lstm", "lstm", "gru", "rnn_tanh"))
    hidden = d.pick((1, 2, 3, 4, 7, 8, 15, 16, 17, 20, 31, 32, 33, 48, 50, 64, 65, 100, 128, 129, 200, 256, 257, 300, 400, 512))
    features = d.pick((1, 2, 3, 4, 5, 8, 13, 16, 20, 31, 32, 39, 40, 64, 80, 100, 128, 161, 256, 300, 512))
    n = d.pick((1, 1, 2, 3, 4, 5, 8, 9, 16, 17, 20, 32, 64))
    length = d.pick((1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 35))
    layers, both = d.pick((1, 1, 1, 2, 3)), d.chance(3)
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    work = 1 << (d.pick((12, 15, 17, 19, 20, 21, 22)) - (dtype != "float32"))
    while n * length * layers * (1 + both) * gates * hidden * (hidden + features) > work:
        if length > 2:
            length = length // 2
        elif n > 1:
            n = n // 2
        elif layers > 1:
            layers -= 1
        elif hidden > 1:
            hidden, features = hidden // 2, max(1, features // 2)
        else:
            break
    directions = 1 + both
    bias, first = not d.chance(4), d.chance(3)
    project = kind == "lstm" and hidden > 2 and d.chance(8)
    width = hidden // 2 if project else hidden
    params = []
    for layer in range(layers):
        for _ in range(directions):
            inner = features if layer == 0 else width * directions
            shapes = [(gates * hidden, inner), (gates * hidden, width)] + [(gates * hidden,)] * (2 * bias) + ([(width, hidden)] if project else [])
            params += [d.tensor(s, dtype, scale=1 / math.sqrt(max(hidden, features)), layouts=False) for s in shapes]
    x = d.tensor((n, length, features) if first else (length, n, features), dtype)
    states = [d.tensor((layers * directions, n, width), dtype)]
    if kind == "lstm":
        states.append(d.tensor((layers * directions, n, hidden), dtype))
    count = len(states)

    def run(T, x, *rest):
        hx = rest[0] if count == 1 else tuple(rest[:2])
        return getattr(T, kind)(x, hx, list(rest[count:]), bias, layers, 0.0, True, both, first)
    return Call(f"{kind}[layers={layers} both={both} bias={bias} first={first} project={project}]", [x, *states, *params], run,
                max(hidden, features, n * length) * length, once=True)


@family("recurrent")
def packed(d):
    """Sequences of several lengths."""
    dtype = d.pick(("float32", "float32", "float64"))
    kind = d.pick(("lstm", "gru"))
    hidden, features, n = d.pick((1, 2, 5, 8, 16, 17, 33, 64)), d.pick((1, 3, 8, 16, 40, 64)), d.pick((1, 2, 3, 4, 8, 16))
    lengths = sorted((d.between(1, 16) for _ in range(n)), reverse=True)
    layers, both = d.pick((1, 1, 2)), d.chance(2)
    gates = 4 if kind == "lstm" else 3
    params = []
    for layer in range(layers):
        for _ in range(1 + both):
            inner = features if layer == 0 else hidden * (1 + both)
            for shape in ((gates * hidden, inner), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,)):
                params.append(d.tensor(shape, dtype, scale=1 / math.sqrt(max(hidden, features)), layouts=False))
    x = d.tensor((lengths[0], n, features), dtype)
    states = [d.tensor((layers * (1 + both), n, hidden), dtype) for _ in range(2 if kind == "lstm" else 1)]
    count = len(states)

    def run(T, x, *rest):
        if hasattr(T, "by_places"):
            return T.packed(kind, x, lengths, rest[:count], rest[count:], layers, both)
        sequence = T.nn.utils.rnn.pack_padded_sequence(x, T.tensor(lengths))
        hx = rest[0] if count == 1 else tuple(rest[:2])
        data, *last = getattr(T, kind)(sequence.data, sequence.batch_sizes, hx, list(rest[count:]), True, layers, 0.0, True, both)
        y, _ = T.nn.utils.rnn.pad_packed_sequence(T.nn.utils.rnn.PackedSequence(data, sequence.batch_sizes))
        return (y, *last)
    return Call(f"packed {kind}[{lengths} layers={layers} both={both}]", [x, *states, *params], run,
                max(hidden, features, sum(lengths)) * lengths[0], once=True, modes=("eager",))


@family("recurrent")
def cell(d):
    dtype = d.float_dtype()
    kind = d.pick(("lstm", "gru", "rnn_tanh"))
    n, hidden, features = d.size(64), d.size(256), d.size(256)
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    bias = d.chance(2)
    shapes = [(gates * hidden, features), (gates * hidden, hidden)] + [(gates * hidden,)] * (2 * bias)
    params = [d.tensor(s, dtype, scale=1 / math.sqrt(max(hidden, features))) for s in shapes]
    x, h = d.tensor((n, features), dtype), d.tensor((n, hidden), dtype)
    if kind == "lstm":
        c = d.tensor((n, hidden), dtype)
        return Call("lstm_cell", [x, h, c, *params], lambda T, x, h, c, *p: T.lstm_cell(x, (h, c), *p), max(n, hidden, features) * 4)
    return Call(f"{kind}_cell", [x, h, *params], lambda T, x, h, *p: getattr(T, kind + "_cell")(x, h, *p), max(n, hidden, features) * 4)
