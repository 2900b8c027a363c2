"""Convolutions and their transposes, pools, resizing, windows as rows."""

import math

from real_sizes.calls import COMPLEX, FLOATS, Call
from real_sizes.families import budget, family

CHANNELS = (1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 17, 20, 24, 30, 32, 33, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 240, 256, 288,
            320, 384, 480, 512, 576, 672, 768, 960, 1024, 1152, 1280, 1536, 2048)
PLANES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 20, 24, 26, 27, 28, 30, 31, 32, 33, 35, 40, 48, 55, 56, 57, 63, 64, 65,
          75, 80, 96, 111, 112, 113, 128, 129, 150, 160, 192, 197, 224, 256, 299, 320)
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 25, 31, 32, 33, 50, 64, 80, 99, 100, 127, 128, 129, 200, 256, 257, 300, 400, 500, 512, 513, 768,
           800, 1000, 1024, 1500, 1600, 2000, 2048, 3000, 3200, 4000, 4096, 4800, 7999, 8000, 8192, 10000, 16000, 16384, 22050, 32000,
           44100, 48000, 64000)


def planes(d, nd):
    if nd == 1:
        return (d.pick(LENGTHS),)
    if nd == 2:
        h = d.pick(PLANES)
        return (h, h) if d.chance(2) else (d.pick(PLANES), d.pick(PLANES))
    return (d.pick((1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32)), *((d.pick((1, 3, 4, 5, 7, 8, 9, 14, 16, 17, 24, 28, 32, 33, 56)),) * 2))


def each(d, n, options):
    """One number for all axes, or one for each."""
    if n == 1 or not d.chance(4):
        return (d.pick(options),) * n
    return tuple(d.pick(options) for _ in range(n))


@family("convolution")
def convolution(d):
    nd = d.pick((2, 2, 2, 1, 1, 3))
    transposed = d.chance(3)
    work = 1 << d.pick((16, 18, 19, 20, 20, 21, 21, 22, 22, 23, 24, 20, 21, 22, 19, 18, 20, 21, 22, 25, 27))  # multiplications
    dtype = d.pick(COMPLEX) if d.chance(25) else d.float_dtype()
    if dtype != "float32":
        work //= 2
    while True:
        n = d.pick((1, 1, 2, 2, 3, 4, 5, 8, 16))
        size = planes(d, nd)
        kernel = each(d, nd, (1, 1, 3, 3, 3, 3, 2, 4, 5, 7, 9, 11) if nd < 3 else (1, 3, 3, 2, 4))
        if nd == 1 and d.chance(4):
            kernel = (d.pick((15, 16, 25, 31, 41, 80)),)
        stride = each(d, nd, (1, 1, 1, 2, 2, 3, 4))
        if nd == 1 and d.chance(6):
            stride = (d.pick((5, 8, 10, 16)),)
        dilation = each(d, nd, (1, 1, 1, 1, 2, 3, 4, 8))
        padding = each(d, nd, (0, 1, 2, 3)) if d.chance(3) else tuple(k // 2 * e for k, e in zip(kernel, dilation))
        kind = d.pick(("plain", "plain", "plain", "groups", "depthwise"))
        if kind == "plain":
            groups, i, o = 1, d.pick(CHANNELS), d.pick(CHANNELS)
        elif kind == "depthwise":
            groups = i = d.pick(CHANNELS)
            o = i * d.pick((1, 1, 1, 2, 3))
        else:
            groups = d.pick((2, 3, 4, 8, 16, 32))
            i, o = (groups * d.pick((1, 2, 3, 4, 8, 9, 16, 24, 32)) for _ in range(2))
        output_padding = (0,) * nd
        if transposed:
            if d.chance(2):
                output_padding = tuple(d.below(max(s, e)) for s, e in zip(stride, dilation))
            out = tuple((m - 1) * s - 2 * p + e * (k - 1) + q + 1
                        for m, s, p, e, k, q in zip(size, stride, padding, dilation, kernel, output_padding))
        else:
            out = tuple((m + 2 * p - e * (k - 1) - 1) // s + 1 for m, p, e, k, s in zip(size, padding, dilation, kernel, stride))
        if min(out) < 1:
            if d.given is not None:
                size, padding = tuple(64 for _ in size), (0,) * nd
                return small_convolution(d, nd, dtype)
            continue
        places = math.prod(size) if transposed else math.prod(out)
        taps = math.prod(kernel) * i * o // groups
        largest = max(n * i * math.prod(size), n * o * math.prod(out), taps)
        if n * places * taps <= work and largest <= max(1 << 20, work >> 5) and math.prod(kernel) <= 130:
            break
        if d.given is not None:
            return small_convolution(d, nd, dtype)
    bias = d.chance(2)
    x = d.tensor((n, i, *size), dtype)
    w = d.tensor((i, o // groups, *kernel) if transposed else (o, i // groups, *kernel), dtype,
                 scale=1 / math.sqrt(max(1, taps // o)))
    inputs = [x, w] + ([d.tensor((o,), dtype)] if bias else [])
    if d.chance(8):
        x.grad = False
    name = f"conv_transpose{nd}d" if transposed else f"conv{nd}d"
    if transposed:
        def run(T, x, w, b=None):
            return getattr(T.nn.functional, name)(x, w, b, stride, padding, output_padding, groups, dilation)
    else:
        def run(T, x, w, b=None):
            return getattr(T.nn.functional, name)(x, w, b, stride, padding, dilation, groups)
    text = f"{name}[stride={stride} padding={padding} dilation={dilation} groups={groups}" + (
        f" output_padding={output_padding}]" if transposed else "]")
    terms = max(taps // max(1, min(i, o) // groups), n * places)
    return Call(text, inputs, run, terms=terms)


def small_convolution(d, nd, dtype):
    """The smallest convolution, for shrinking."""
    x, w = d.tensor((1, 1) + (1,) * nd, dtype), d.tensor((1, 1) + (1,) * nd, dtype)
    return Call(f"conv{nd}d", [x, w], lambda T, x, w: getattr(T.nn.functional, f"conv{nd}d")(x, w))


def image(d, nd, elements):
    """[N, C, ...] of at most so many elements."""
    size = planes(d, nd)
    while math.prod(size) > elements:
        size = tuple(max(1, m // 2) for m in size)
    n = d.pick((1, 2, 3, 4, 8))
    c = d.pick(CHANNELS)
    while n * c * math.prod(size) > elements:
        n, c = max(1, n // 2), max(1, c // 2 + c % 2 if c > 2 else 1)
        if n == c == 1:
            break
    return (n, c, *size)


@family("pool")
def pool(d):
    nd = d.pick((2, 2, 1, 3))
    dtype = d.float_dtype()
    shape = image(d, nd, budget(d))
    size = shape[2:]
    kind = d.pick(("max", "max", "avg", "avg", "adaptive_avg", "adaptive_max", "lp"))
    x = d.tensor(shape, dtype)
    if kind.startswith("adaptive"):
        out = tuple(d.pick((1, 1, 2, 3, 4, 5, 6, 7, m, m, 2 * m)) if m < 50 else d.pick((1, 2, 3, 5, 7)) for m in size)
        if kind.endswith("max") and math.prod(out) > 200:
            out = (1,) * nd
        name = f"{kind}_pool{nd}d"
        indices = kind == "adaptive_max" and d.chance(2)
        terms = math.prod(size) + math.prod(out)
        if indices:
            return Call(f"{name}[{out} indices]", [x],
                        lambda T, x: getattr(T.nn.functional, name)(x, out, return_indices=True), terms)
        return Call(f"{name}[{out}]", [x], lambda T, x: getattr(T.nn.functional, name)(x, out), terms)
    kernel = each(d, nd, (2, 3, 3, 1, 4, 5, 7) if nd < 3 else (2, 3))
    kernel = tuple(min(k, m) for k, m in zip(kernel, size))
    stride = each(d, nd, (2, 2, 1, 3, 4))
    ceil = d.chance(3)
    if kind == "lp":
        nd = min(nd, 2)
        x = d.tensor(shape[:2 + nd], dtype)
        kernel, stride, norm = kernel[:nd], stride[:nd], d.pick((2.0, 3.0))
        if any((m - k) // s + 1 < 1 for m, k, s in zip(size, kernel, stride)):
            kernel = (1,) * nd
        one = kernel[0] if nd == 1 else kernel
        step = stride[0] if nd == 1 else stride
        x.values = abs(x.values) + 2.0**-3
        return Call(f"lp_pool{nd}d[{norm} {kernel} {stride} {ceil}]", [x],
                    lambda T, x: getattr(T.nn.functional, f"lp_pool{nd}d")(x, norm, one, step, ceil), math.prod(kernel), once=True)
    padding = tuple(d.below(k // 2 + 1) for k in kernel)
    if kind == "avg":
        count = not d.chance(2)
        divisor = d.between(1, 9) if nd > 1 and d.chance(6) else None
        def run(T, x):
            f = getattr(T.nn.functional, f"avg_pool{nd}d")
            return f(x, kernel, stride, padding, ceil, count) if nd == 1 else f(x, kernel, stride, padding, ceil, count, divisor)
        return Call(f"avg_pool{nd}d[{kernel} {stride} {padding} ceil={ceil} count={count} divisor={divisor}]", [x], run, math.prod(kernel))
    dilation = each(d, nd, (1, 1, 1, 2))
    if any(m + 2 * p < e * (k - 1) + 1 for m, p, e, k in zip(size, padding, dilation, kernel)):
        dilation = (1,) * nd
    indices = d.chance(3)
    def run(T, x):
        return getattr(T.nn.functional, f"max_pool{nd}d")(x, kernel, stride, padding, dilation, ceil, return_indices=indices)
    return Call(f"max_pool{nd}d[{kernel} {stride} {padding} {dilation} ceil={ceil} indices={indices}]", [x], run, math.prod(kernel))


@family("resize", 2)
def resize(d):
    mode = d.pick(("nearest", "nearest-exact", "linear", "bilinear", "bilinear", "bicubic", "trilinear"))
    nd = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode) or d.pick((2, 2, 1, 3))
    dtype = d.float_dtype()
    shape = image(d, nd, budget(d) // 4)
    align = d.chance(2) if "nearest" not in mode else None
    antialias = mode in ("bilinear", "bicubic") and d.chance(4)
    scale = size = None
    if d.chance(2) and not antialias:
        scale = d.pick((2.0, 2.0, 4.0, 0.5, 1.5, 3.0, 0.7, 1.3))
        if any(math.floor(m * scale) < 1 for m in shape[2:]):
            scale = 2.0
    else:
        size = tuple(d.pick((1, 2, m, 2 * m, m // 2 + 1, m + 1, 3 * m, 7, 14, 28, 32, 56)) for m in shape[2:])
    out = math.prod(size) if size else math.prod(math.floor(m * scale) for m in shape[2:])
    if out * shape[0] * shape[1] > 1 << 20:
        shape = (1, min(shape[1], max(1, (1 << 20) // out)), *shape[2:])
    if antialias and dtype in ("float16", "bfloat16"):
        dtype = "float32"
    x = d.tensor(shape, dtype)
    options = {"antialias": True} if antialias else {}
    return Call(f"interpolate[{mode} size={size} scale={scale} align={align} antialias={antialias}]", [x],
                lambda T, x: T.nn.functional.interpolate(x, size=size, scale_factor=scale, mode=mode, align_corners=align, **options),
                terms=max(4, max(size or shape[2:]) ** 2, max(shape[2:]) ** 2))


@family("resize")
def grid_sample(d):
    dtype = d.pick(("float32", "float32", "float64"))
    shape = image(d, 2, budget(d) // 2)
    out = planes(d, 2)
    while math.prod(out) * shape[0] * shape[1] > 1 << 18:
        out = tuple(max(1, m // 2) for m in out)
        if out == (1, 1):
            break
    mode = d.pick(("bilinear", "bilinear", "nearest"))
    padding = d.pick(("zeros", "border", "reflection"))
    align = d.chance(2)
    x = d.tensor(shape, dtype)
    grid = d.tensor((shape[0], *out, 2), dtype, scale=0.7, grad=mode != "nearest")
    return Call(f"grid_sample[{mode} {padding} align={align}]", [x, grid],
                lambda T, x, g: T.nn.functional.grid_sample(x, g, mode, padding, align), terms=max(4 * shape[1], max(shape[2:]) ** 2), once=True)


@family("resize")
def rows_of_windows(d):
    dtype = d.float_dtype()
    shape = image(d, 2, budget(d) // 4)
    kernel = each(d, 2, (1, 2, 3, 3, 4, 5))
    dilation, stride = each(d, 2, (1, 1, 2)), each(d, 2, (1, 2, 3))
    padding = each(d, 2, (0, 1, 2))
    out = [(m + 2 * p - e * (k - 1) - 1) // s + 1 for m, k, e, p, s in zip(shape[2:], kernel, dilation, padding, stride)]
    if min(out) < 1:
        kernel, dilation, padding = (1, 1), (1, 1), (0, 0)
        out = [(m - 1) // s + 1 for m, s in zip(shape[2:], stride)]
    text = f"[kernel={kernel} dilation={dilation} padding={padding} stride={stride}"
    if d.chance(2):
        size = shape[2:]
        x = d.tensor((shape[0], shape[1] * math.prod(kernel), math.prod(out)), dtype)
        return Call(f"fold{text} size={size}]", [x], lambda T, x: T.nn.functional.fold(x, size, kernel, dilation, padding, stride),
                    math.prod(kernel))
    x = d.tensor(shape, dtype)
    return Call(f"unfold{text}]", [x], lambda T, x: T.nn.functional.unfold(x, kernel, dilation, padding, stride), math.prod(kernel))


@family("resize")
def pixels(d):
    dtype = d.float_dtype(FLOATS)
    n, c, h, w = image(d, 2, budget(d) // 4)
    r = d.pick((2, 3, 4))
    kind = d.pick(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"))
    if kind == "channel_shuffle":
        r = d.pick((1, 2, 3, 4, 8))
        shape = (n, max(1, c // r) * r, h, w)
    elif kind == "pixel_shuffle":
        shape = (n, max(1, c // (r * r)) * r * r, h, w)
    else:
        shape = (n, c, max(1, h // r) * r, max(1, w // r) * r)
    return Call(f"{kind}[{r}]", [d.tensor(shape, dtype)], lambda T, x: getattr(T.nn.functional, kind)(x, r))


@family("resize")
def pad(d):
    dtype = d.float_dtype()
    nd = d.pick((2, 2, 1, 3))
    shape = image(d, nd, budget(d) // 2)
    mode = d.pick(("constant", "constant", "reflect", "replicate", "circular"))
    widths = []
    for m in reversed(shape[2:]):
        most = {"reflect": m - 1, "circular": m}.get(mode, 9)
        for _ in range(2):
            widths.append(d.below(min(most, 9) + 1))
    if mode == "constant" and d.chance(3):
        widths[0] = -d.below(shape[-1])
    value = d.pick((0.0, 1.5, -math.inf)) if mode == "constant" else 0.0
    x = d.tensor(shape, dtype)
    return Call(f"pad[{widths} {mode} {value}]", [x],
                lambda T, x: T.nn.functional.pad(x, widths, mode, value) if mode == "constant" else T.nn.functional.pad(x, widths, mode), 9)
