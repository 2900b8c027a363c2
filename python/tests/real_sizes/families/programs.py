"""Small programs: blocks of networks."""

import math

from real_sizes.calls import Call
from real_sizes.families import family
from real_sizes.families.windows import CHANNELS

ACTIVATIONS = ("silu", "gelu", "mish", "softplus", "tanh", "sigmoid")  # smooth: a place at 0 may not decide


def activation(T, name, x):
    return getattr(T.nn.functional, name)(x) if name not in ("tanh", "sigmoid") else getattr(T, name)(x)


def train_norm(T, x, w, b):
    if hasattr(T.nn.functional, "batch_norm"):
        return T.nn.functional.batch_norm(x, None, None, w, b, True, 0.1, 1e-5)
    from real_sizes import layers
    return layers.batch_norm(x, w, b, 1e-5)[0]


@family("program", 3)
def residual(d):
    """A convolution, a norm, an activation, another convolution, the sum."""
    dtype = d.pick(("float32", "float32", "float32", "float64", "bfloat16"))
    nd = d.pick((2, 2, 1))
    c, m = d.pick([c for c in CHANNELS if c <= 128]), d.pick([c for c in CHANNELS if c <= 128])
    h = d.pick((4, 7, 8, 14, 16, 28, 32)) if nd == 2 else d.pick((16, 50, 64, 100, 256, 500, 1000))
    n = d.pick((1, 2, 4, 8))
    k = d.pick((3, 3, 1, 5))
    while n * h ** nd * c * m * k ** nd * 2 > 1 << 22:
        if n > 1:
            n //= 2
        elif c > m:
            c //= 2
        else:
            m = max(1, m // 2)
    act, norm = d.pick(ACTIVATIONS), d.pick(("batch", "group", "none"))
    if n * h ** nd < 4:
        norm = "none"
    x = d.tensor((n, c, *(h,) * nd), dtype)
    w1 = d.tensor((m, c, *(k,) * nd), dtype, scale=1 / math.sqrt(c * k ** nd))
    w2 = d.tensor((c, m, *(k,) * nd), dtype, scale=1 / math.sqrt(m * k ** nd))
    b1, g, b = d.tensor((m,), dtype), d.tensor((m,), dtype), d.tensor((m,), dtype)

    def run(T, x, w1, b1, g, b, w2):
        conv = getattr(T.nn.functional, f"conv{nd}d")
        y = conv(x, w1, b1, padding=k // 2)
        if norm == "batch":
            y = train_norm(T, y, g, b)
        elif norm == "group":
            y = T.nn.functional.group_norm(y, 1, g, b)
        y = conv(activation(T, act, y), w2, None, padding=k // 2)
        return y + x
    return Call(f"residual[{nd} {k} {act} {norm}]", [x, w1, b1, g, b, w2], run, n * h ** nd * k ** nd, floor=0.0 if norm == "none" else 1.0)


@family("program", 2)
def perceptron(d):
    dtype = d.pick(("float32", "float32", "float32", "float64", "bfloat16"))
    n = d.pick((1, 2, 3, 4, 8, 16, 32, 64, 100, 128))
    widths = [d.pick((1, 2, 4, 8, 10, 16, 17, 32, 48, 64, 100, 128, 256, 300, 512, 784)) for _ in range(d.between(2, 5))]
    act = d.pick(ACTIVATIONS)
    x = d.tensor((n, widths[0]), dtype)
    given = [x]
    for i, o in zip(widths, widths[1:]):
        given += [d.tensor((o, i), dtype, scale=1 / math.sqrt(i)), d.tensor((o,), dtype)]
    target = d.tensor((n, widths[-1]), dtype, grad=False)

    def run(T, x, *rest):
        *params, target = rest
        for i in range(0, len(params), 2):
            x = T.nn.functional.linear(x, params[i], params[i + 1])
            if i + 2 < len(params):
                x = activation(T, act, x)
        return T.nn.functional.mse_loss(x, target), x
    return Call(f"perceptron[{widths} {act}]", [*given, target], run, max(n, *widths))


@family("program", 2)
def transformer(d):
    dtype = d.pick(("float32", "float32", "float32", "float64", "bfloat16"))
    h, e = d.pick((1, 2, 4, 8)), d.pick((4, 8, 16, 32, 64))
    n, l = d.pick((1, 2, 3, 4)), d.pick((1, 2, 5, 16, 17, 32, 33, 50, 64, 100, 128))
    width = h * e
    while n * l * width * width * 12 > 1 << 22:
        n, l = max(1, n // 2), max(1, l // 2)
        if n == l == 1:
            break
    causal, act = d.chance(2), d.pick(("gelu", "silu"))
    x = d.tensor((n, l, width), dtype)
    scale = 1 / math.sqrt(width)
    given = [x, d.tensor((width,), dtype), d.tensor((width,), dtype), d.tensor((3 * width, width), dtype, scale=scale),
             d.tensor((width, width), dtype, scale=scale), d.tensor((width,), dtype), d.tensor((4 * width, width), dtype, scale=scale),
             d.tensor((width, 4 * width), dtype, scale=scale / 2)]

    def run(T, x, g, b, qkv, out, g2, up, down):
        F = T.nn.functional
        y = F.linear(F.layer_norm(x, (width,), g, b), qkv)
        y = T.permute(T.reshape(y, (n, l, 3, h, e)), (2, 0, 3, 1, 4))
        y = F.scaled_dot_product_attention(y[0], y[1], y[2], is_causal=causal)
        x = x + F.linear(T.reshape(T.transpose(y, 1, 2), (n, l, width)), out)
        return x + F.linear(activation(T, act, F.linear(F.rms_norm(x, (width,), g2, 1e-5), up)), down)
    return Call(f"transformer[{n} {l} {h} {e} causal={causal} {act}]", given, run, max(n * l, 4 * width), once=True)


def eval_norm(T, x, m, v, w, b):
    if hasattr(T, "by_places"):
        return T.batch_norm_eval(x, m, v, w, b, 1e-5)
    return T.nn.functional.batch_norm(x, m, v, w, b, False, 0.1, 1e-5)


SMOOTH = ("conv", "conv", "norm", "silu", "sigmoid", "add", "scale", "avg_pool", "mean", "nearest", "pad", "cat", "softmax", "turn", "narrow",
          "group_norm", "transposed", "clone", "flat", "chain")
SHARP = (*SMOOTH, "relu", "relu", "hardswish", "clamp", "max_pool")


@family("program", 4)
def images(d):
    """A chain of layers over images or volumes, whose memory plans lay out. Bends and maxima only where no gradients are taken."""
    dtype = d.pick(("float32", "float32", "float32", "float64", "bfloat16"))
    nd = d.pick((2, 2, 2, 3))
    smooth = d.chance(2)
    n, c = d.pick((1, 2, 3)), d.pick((1, 2, 3, 4, 8, 16, 17, 32))
    size = tuple(d.pick((4, 5, 6, 7, 8, 12, 14, 16)) // (1 if nd == 2 else 2) for _ in range(nd))
    x = d.tensor((n, c, *size), dtype)
    given, steps, shapes = [x], [], [(c, size)]

    def held(shape, **options):
        given.append(d.tensor(shape, dtype, **options))
        return len(given) - 1

    for _ in range(d.between(2, 7)):
        kind = d.pick(SMOOTH if smooth else SHARP)
        detail = None
        if kind in ("conv", "transposed"):
            k, stride, groups = d.pick((1, 3, 3, 2)), d.pick((1, 1, 2)), 1
            if min(size) + 2 * (k // 2) < k or math.prod(size) * c > 1 << 14:
                continue
            o = d.pick((1, 2, 3, 4, 8, 16, 17, 24, 32))
            if d.chance(4):
                groups = o = c
            bias = held((o,)) if d.chance(2) else None
            shape = (c, o // groups) if kind == "transposed" else (o, c // groups)
            weight = held((*shape, *(k,) * nd), scale=1 / math.sqrt(c // groups * k ** nd))
            detail = (weight, bias, stride, k // 2, groups)
            size = tuple((m - 1) * stride - 2 * (k // 2) + k if kind == "transposed" else (m + 2 * (k // 2) - k) // stride + 1 for m in size)
            c = o
            if min(size) < 1:
                return perceptron(d)
        elif kind == "norm":
            detail = (held((c,), grad=False), held((c,), grad=False, transform=lambda v: abs(v) + 0.5), held((c,)), held((c,)))
        elif kind == "scale":
            detail = held((c, *(1,) * nd))
        elif kind in ("avg_pool", "max_pool"):
            if min(size) < 2:
                continue
            size = tuple(m // 2 for m in size)
        elif kind == "nearest":
            if math.prod(size) * c > 1 << 13:
                continue
            size = tuple(2 * m for m in size)
        elif kind == "pad":
            detail = [d.below(3) for _ in range(2 * nd)]
            size = tuple(m + detail[2 * (nd - 1 - i)] + detail[2 * (nd - 1 - i) + 1] for i, m in enumerate(size))
        elif kind == "cat":
            if c > 64:
                continue
            c *= 2
        elif kind == "narrow":
            detail = (d.below(c), d.pick((0, 1, 2)))
            axis = detail[1] + 1 if detail[1] < nd + 1 else 1
            extent = (c, *size)[axis - 1]
            start = detail[0] % extent
            detail = (axis, start, extent - start)
            if axis == 1:
                c = extent - start
            else:
                size = tuple(extent - start if i == axis - 2 else m for i, m in enumerate(size))
        elif kind == "turn":
            size = (*size[:-2], size[-1], size[-2])
        elif kind == "add":
            same = [i for i, s in enumerate(shapes) if s == (c, size)]
            if not same:
                continue
            detail = d.pick(same)
        elif kind == "group_norm" and c * math.prod(size) < 4:
            continue
        steps.append((kind, detail))
        shapes.append((c, size))
    last = d.pick(("none", "mean", "flat", "sum"))

    def run(T, *xs):
        F = T.nn.functional
        y = xs[0]
        seen = [y]
        for kind, detail in steps:
            if kind == "conv":
                w, b, stride, padding, groups = detail
                y = getattr(F, f"conv{nd}d")(y, xs[w], None if b is None else xs[b], stride, padding, 1, groups)
            elif kind == "transposed":
                w, b, stride, padding, groups = detail
                y = getattr(F, f"conv_transpose{nd}d")(y, xs[w], None if b is None else xs[b], stride, padding, 0, groups, 1)
            elif kind == "norm":
                y = eval_norm(T, y, *(xs[i] for i in detail))
            elif kind in ("silu", "hardswish"):
                y = getattr(F, kind)(y)
            elif kind in ("sigmoid", "relu"):
                y = getattr(T, kind)(y)
            elif kind == "clamp":
                y = T.clamp(y, -1.0, 1.0)
            elif kind == "chain":
                y = T.tanh(y) * 0.5 + T.sigmoid(y)
            elif kind == "scale":
                y = y * xs[detail]
            elif kind == "add":
                y = y + seen[detail]
            elif kind == "mean":
                y = y - T.mean(y, tuple(range(2, 2 + nd)), keepdim=True)
            elif kind in ("avg_pool", "max_pool"):
                y = getattr(F, f"{kind}{nd}d")(y, 2, 2)
            elif kind == "nearest":
                y = F.interpolate(y, scale_factor=2.0, mode="nearest")
            elif kind == "pad":
                y = F.pad(y, detail)
            elif kind == "cat":
                y = T.cat([y, T.neg(y)], 1)
            elif kind == "softmax":
                y = F.softmax(y, dim=1)
            elif kind == "turn":
                y = T.transpose(y, -1, -2)
            elif kind == "narrow":
                y = T.narrow(y, *detail)
            elif kind == "group_norm":
                y = F.group_norm(y, 1)
            elif kind == "clone":
                y = T.clone(y)
            elif kind == "flat":
                y = T.reshape(T.reshape(y, (y.shape[0], y.shape[1], -1)), tuple(y.shape))
            seen.append(y)
        if last == "mean":
            return T.mean(y, tuple(range(2, 2 + nd)))
        if last == "flat":
            return T.reshape(y, (y.shape[0], -1)), y
        return (T.sum(y, 1), y) if last == "sum" else y
    call = Call("images[" + " ".join(k for k, _ in steps) + f" {last}]", given, run, 9 * 32 * max(m[0] * math.prod(m[1]) for m in shapes),
                grads=smooth, floor=1.0)
    if not smooth:
        for g in given:
            g.grad = False
    return call


@family("program")
def heads(d):
    """torch.nn.functional.multi_head_attention_forward, against its definition."""
    dtype = d.pick(("float32", "float32", "float64"))
    h, e = d.pick((1, 2, 4, 8)), d.pick((1, 2, 4, 8, 16, 32, 64))
    n, l, s = d.pick((1, 2, 3, 4)), d.pick((1, 2, 5, 16, 17, 32, 50)), d.pick((1, 2, 5, 16, 17, 32, 50))
    width = h * e
    while (n * (l + s) * width * width * 4) > 1 << 22:
        n, l, s = max(1, n // 2), max(1, l // 2), max(1, s // 2)
        if n == l == s == 1:
            break
    scale = 1 / math.sqrt(width)
    q, k, v = d.tensor((l, n, width), dtype), d.tensor((s, n, width), dtype), d.tensor((s, n, width), dtype)
    given = [q, k, v, d.tensor((3 * width, width), dtype, scale=scale), d.tensor((3 * width,), dtype),
             d.tensor((width, width), dtype, scale=scale), d.tensor((width,), dtype)]
    weights = d.chance(2)

    def run(T, q, k, v, w, b, out, bias):
        F = T.nn.functional
        if not hasattr(T, "by_places"):
            y, seen = F.multi_head_attention_forward(q, k, v, width, h, w, b, None, None, False, 0.0, out, bias, need_weights=weights)
            return (y, seen) if weights else y
        parts = []
        for i, (x, m) in enumerate(((q, l), (k, s), (v, s))):
            y = F.linear(x, w[i * width:(i + 1) * width], b[i * width:(i + 1) * width])
            parts.append(T.permute(T.reshape(y, (m, n, h, e)), (1, 2, 0, 3)))
        seen = F.softmax(T.matmul(parts[0], T.transpose(parts[1], -1, -2)) * (1 / math.sqrt(e)), dim=-1)
        y = F.linear(T.reshape(T.permute(T.matmul(seen, parts[2]), (2, 0, 1, 3)), (l, n, width)), out, bias)
        return (y, T.mean(seen, 1)) if weights else y
    return Call(f"multi_head_attention_forward[{h} weights={weights}]", given, run, max(width, l * n, s * n), once=True)


@family("program")
def classifier(d):
    """Convolution, average pool, linear layer, cross entropy."""
    dtype = d.pick(("float32", "float32", "float64"))
    n, c, o, h = d.pick((1, 2, 4, 8)), d.pick((1, 3, 3, 4, 16)), d.pick((4, 8, 16, 24, 32, 64)), d.pick((8, 14, 16, 28, 32, 33, 56))
    classes, stride, k = d.pick((2, 5, 10, 100)), d.pick((1, 2, 4)), d.pick((3, 4, 5, 7))
    while n * (h // stride) ** 2 * c * o * k * k > 1 << 22:
        n, o = max(1, n // 2), max(1, o // 2)
    act = d.pick(ACTIVATIONS)
    given = [d.tensor((n, c, h, h), dtype), d.tensor((o, c, k, k), dtype, scale=1 / math.sqrt(c * k * k)), d.tensor((classes, o), dtype),
             d.integers(0, classes, (n,))]

    def run(T, x, w, v, t):
        F = T.nn.functional
        y = activation(T, act, F.conv2d(x, w, None, stride=stride, padding=k // 2))
        y = F.avg_pool2d(y, 2, 2) if y.shape[2] > 1 else y
        y = T.mean(y, (2, 3))
        return F.cross_entropy(F.linear(y, v), t)
    return Call(f"classifier[{stride} {k} {act}]", given, run, n * h * h)
