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
    return Call(f"residual[{nd} {k} {act} {norm}]", [x, w1, b1, g, b, w2], run, n * h ** nd * k ** nd)


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
