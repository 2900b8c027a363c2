"""Families: layers of networks. Convolutions and their gradients come first."""

import math

import numpy as np
import sconce as S

from real_sizes import layers as L
from real_sizes import reference as R
from variants.samples import FLOATS, Draw, Given, Sample

F = S.nn.functional


def channels_of(d: Draw):
    return d.one(d.between(1, 20), d.one(3, 8, 15, 16, 17, 32, 48, 64), d.between(1, 96))


def image_layout(d: Draw):
    return d.one("dense", "dense", "channels", "channels", "padded")


def conv_like(d: Draw, transposed):
    rank = d.one(1, 2, 2, 2, 2, 3)
    dtype = d.one("float32", "float32", "float32", "float64", "bfloat16", "float16", "complex64", "int64")
    kind = d.one("plain", "plain", "plain", "pointwise", "winograd", "winograd", "depthwise", "groups", "small groups")
    extra = {"stride": (1,) * rank, "padding": (0,) * rank, "dilation": (1,) * rank}
    groups, times = 1, 1
    kernel = tuple(d.one(1, 2, 3, 3, 4, 5, 7) for _ in range(rank))
    c, o = channels_of(d), channels_of(d)
    if kind == "pointwise":
        kernel, o = (1,) * rank, d.between(1, 96)
    elif kind == "winograd" and rank == 2:
        kernel, dtype = (3, 3), "float32"
        c, o = d.one(16, 32, 48, 64), d.one(16, 32, 48, 128, 20)
    elif kind == "depthwise":
        times = d.one(1, 1, 1, 2, 3, 4)
        groups = c = d.one(d.between(2, 70), 16, 32)
        o = c * times
    elif kind == "groups":
        groups = d.one(2, 3, 4)
        c, o = groups * d.between(1, 20), groups * d.between(1, 40)
    elif kind == "small groups":
        per = d.one(2, 4, 8)
        c = o = d.one(16, 32, 48, 64, 8)
        groups, dtype = c // per, d.one("float32", "float32", "float64")
        kernel = (*kernel[:-1], d.one(3, 3, 3, 5))
    if kind != "winograd":
        extra["stride"] = tuple(d.one(1, 1, 1, 2, 3) for _ in range(rank))
        extra["dilation"] = tuple(d.one(1, 1, 1, 2) for _ in range(rank))
    if kind != "pointwise" or d.flag(0.2):
        extra["padding"] = tuple(d.one(0, k // 2, 1) for k in kernel)
    batch = d.one(1, 1, 2, 3, 4, 8)
    reach = [dl * (k - 1) + 1 for k, dl in zip(kernel, extra["dilation"])]
    most = {1: 3000, 2: 70, 3: 14}[rank]
    size = tuple(d.one(d.between(r, max(r, most)),
                       d.one(16, 32, 64) if rank == 2 else d.between(r, max(r, most // 3))) for r in reach)
    size = tuple(max(n, r) for n, r in zip(size, reach))
    places = batch * math.prod(size)
    while places * c * max(1, o // groups) * math.prod(kernel) > 60_000_000 and batch > 1:
        batch //= 2
        places = batch * math.prod(size)
    is_slow = dtype in ("complex64", "int64", "float16") and places * c * o > 4_000_000
    if is_slow or places * c * max(1, o // groups) * math.prod(kernel) > 120_000_000:
        return conv_like(d, transposed)
    if kind in ("plain", "pointwise") and not transposed and d.flag(0.04) and dtype == "float32":
        o, c = 600, 256  # weights beyond the second-level cache
        batch, size = 1, tuple(min(n, 9) if n >= r else r for n, r in zip(size, reach))
        size = tuple(max(n, r) for n, r in zip(size, reach))
    return rank, dtype, groups, kernel, c, o, batch, size, extra


def numbers(d, dtype, *shape):
    if dtype == "complex64":
        return d.complex(*shape)
    return d.integers(-5, 6, shape) if dtype == "int64" else d.normal(*shape)


def terms(*sizes):
    return 24 + 3 * math.prod(sizes) ** 0.5


def with_integers(f, dtype):
    if dtype != "int64":
        return f

    def plain(*args):
        return np.rint(f(*(R.Node(a.astype(np.float64)) for a in args)).value).astype(np.int64)
    return plain


def conv(d: Draw):
    rank, dtype, groups, kernel, c, o, batch, size, e = conv_like(d, False)
    if groups == 1 and c >= 16 and d.flag(0.02) and dtype == "float32":
        dtype = "bfloat16"
    given = [Given(numbers(d, dtype, batch, c, *size), dtype, image_layout(d)),
             Given(numbers(d, dtype, o, c // groups, *kernel), dtype, d.one("dense", "dense", "channels"))]
    if d.flag():
        given.append(Given(numbers(d, dtype, o), dtype))
    f = getattr(F, f"conv{rank}d")

    def run(x, w, b=None):
        return f(x, w, b, e["stride"], e["padding"], e["dilation"], groups)

    def plain(x, w, b=None):
        return L.conv(x, w, b, e["stride"], e["padding"], e["dilation"], groups)
    places = batch * math.prod(size)
    return Sample(given, run, with_integers(plain, dtype), terms(c // groups, *kernel) + 3 * places ** 0.5,
                  text=f"conv{rank}d s{e['stride']} p{e['padding']} d{e['dilation']} g{groups} ")


def conv_transpose(d: Draw):
    rank, dtype, groups, kernel, c, o, batch, size, e = conv_like(d, True)
    size = tuple(min(n, 40 if rank == 2 else n) for n in size)
    out = tuple((n - 1) * s - 2 * p + dl * (k - 1) + 1 for n, s, p, dl,
                k in zip(size, e["stride"], e["padding"], e["dilation"], kernel))
    if min(out) < 1 or c % groups or o % groups or math.prod(out) * batch * o > 3_000_000:
        return conv_transpose(d)
    more = tuple(d.one(0, s - 1) for s in e["stride"])
    given = [Given(numbers(d, dtype, batch, c, *size), dtype, image_layout(d)),
             Given(numbers(d, dtype, c, o // groups, *kernel), dtype, d.one("dense", "dense", "channels"))]
    if d.flag():
        given.append(Given(numbers(d, dtype, o), dtype))
    f = getattr(F, f"conv_transpose{rank}d")
    places = batch * math.prod(size)
    return Sample(given, lambda x, w, b=None: f(x, w, b, e["stride"], e["padding"], more, groups, e["dilation"]),
                  with_integers(lambda x, w,
                                b=None: L.conv_transpose(x, w, b, e["stride"], e["padding"], more, e["dilation"],
                                                         groups), dtype),
                  terms(c // groups, *kernel) + 3 * places ** 0.5,
                  text=f"conv_transpose{rank}d s{e['stride']} p{e['padding']}+{more} d{e['dilation']} g{groups} ")


def conv_infinite(d: Draw):
    """An infinity in an image, which is where it belongs in the result."""
    c, o = d.one(16, 32), d.one(16, 48)
    h, w = d.between(12, 30), d.between(12, 30)
    x = d.normal(1, c, h, w)
    x[0, 3, h // 2, w // 3] = math.inf
    return Sample([Given(x, "float32", d.one("dense", "channels"), grad=False),
                   Given(d.normal(o, c, 3, 3), "float32", grad=False)],
                  lambda a, b: F.conv2d(a, b, None, 1, 1), lambda a, b: L.conv(a, b, None, (1, 1), (1, 1), (1, 1), 1),
                  terms(c, 3, 3), text="conv2d with inf ")


def folded(d: Draw):
    kernel, stride = (d.one(1, 2, 3), d.one(1, 2, 3)), (d.one(1, 2), d.one(1, 1, 2))
    padding, dilation = (d.one(0, 1), d.one(0, 1)), (d.one(1, 2), d.one(1, 2))
    n, c, h, w = d.between(1, 3), d.between(1, 5), d.between(7, 24), d.between(7, 24)
    dtype = d.one(*FLOATS, "uint8" if False else "float32")
    if d.flag(0.3):
        size, step, dim = d.between(1, 5), d.between(1, 4), d.one(1, 2)
        shape = (n, d.between(6, 20), d.between(6, 20))
        at = np.moveaxis(np.lib.stride_tricks.sliding_window_view(R.places_of(shape), size, dim), 0, 0)
        at = at.take(np.arange(0, at.shape[dim], step), dim)
        return Sample([Given(d.normal(*shape), dtype, d.one("dense", "reversed"))], lambda t: t.unfold(dim, size, step),
                      lambda t: R.take(t, at), text=f"unfold {dim} {size} {step} of ")
    out = R.conv_size((h, w), kernel, stride, padding, dilation)
    reach = [(h + 2 * padding[0]), (w + 2 * padding[1])]
    ys = np.arange(out[0])[:, None] * stride[0] + np.arange(kernel[0])[None] * dilation[0]
    xs = np.arange(out[1])[:, None] * stride[1] + np.arange(kernel[1])[None] * dilation[1]
    at = ys.T[:, None, :, None] * reach[1] + xs.T[None, :, None, :]
    columns = (np.arange(n * c)[:,
                                None] * reach[0] * reach[1] + at.reshape(1, -1)).reshape(n, c * kernel[0] * kernel[1], -1)

    def plain(t):
        return R.take(R.pad(t, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2]), columns)
    if d.flag():
        return Sample([Given(d.normal(n, c, h, w), dtype, image_layout(d))],
                      lambda t: F.unfold(t, kernel, dilation, padding, stride), plain, tolerance=64, text="im2col")

    def back(t):
        whole = R.spread(t, columns, (n, c, *reach))
        return whole[:, :, padding[0]:padding[0] + h, padding[1]:padding[1] + w]
    return Sample([Given(d.normal(*columns.shape), dtype)],
                  lambda t: F.fold(t, (h, w), kernel, dilation, padding, stride), back,
                  tolerance=64, text="col2im")


def pooled(d: Draw):
    rank = d.one(1, 2, 2, 3)
    dtype = d.one(*FLOATS)
    c, n = d.one(d.between(1, 20), d.near(16, 128), 130), d.between(1, 3)
    size = tuple(d.between(3, {1: 600, 2: 40, 3: 12}[rank]) for _ in range(rank))
    layout = image_layout(d) if rank > 1 else "dense"
    kind = d.one("max", "max", "avg", "avg", "adaptive_avg", "adaptive_avg", "adaptive_max", "mean")
    x = np.asarray(d.permutation(n * c * math.prod(size)), np.float64).reshape(n, c, *size)
    x = x / x.size * 8 - 4
    if kind in ("max", "adaptive_max") and dtype in ("bfloat16", "float16"):
        dtype = "float32"
    if rank == 3 and kind == "avg" and "16" in dtype:
        dtype = "float32"  # PyTorch has no such average
    given = [Given(x if "max" in kind else d.normal(*x.shape), dtype, layout)]
    kernel = tuple(d.one(1, 2, 3, min(n_, 5)) for n_ in size)
    stride = kernel if d.flag() else tuple(d.one(1, 2) for _ in size)
    padding = tuple(d.one(0, k // 2) for k in kernel)
    ceil = d.flag(0.3)
    if kind == "max":
        dilation = tuple(d.one(1, 1, 2) if 2 * (k - 1) < m else 1 for k, m in zip(kernel, size))
        f = getattr(F, f"max_pool{rank}d")
        return Sample(given, lambda t: f(t, kernel, stride, padding, dilation, ceil),
                      lambda t: L.max_pool(t, kernel, stride, padding, dilation, ceil)[0],
                      text=f"max_pool{rank}d k{kernel} s{stride} p{padding} d{dilation} ", tolerance=64)
    if kind == "avg":
        count = d.flag()
        f = getattr(F, f"avg_pool{rank}d")
        return Sample(given, lambda t: f(t, kernel, stride, padding, ceil, count),
                      lambda t: L.avg_pool(t, kernel, stride, padding, ceil, count, None),
                      text=f"avg_pool{rank}d k{kernel} s{stride} p{padding} ", tolerance=64)
    if kind == "mean" and rank == 2 and d.flag():
        given = [Given(d.normal(n, d.near(128), *size), d.one("float32", "float64", "bfloat16"),
                       d.one("dense", "channels"))]
    out = tuple(1 if kind == "mean" else d.one(1, d.between(1, m), 2) for m in size)
    out = tuple(min(a, b) for a, b in zip(out, size))
    if "max" in kind:
        return Sample(given, lambda t: getattr(F, f"adaptive_max_pool{rank}d")(t, out),
                      lambda t: L.adaptive_max_pool(t, out)[0],
                      text=f"adaptive_max_pool{rank}d {out} ", tolerance=64)
    return Sample(given, lambda t: getattr(F, f"adaptive_avg_pool{rank}d")(t, out),
                  lambda t: L.adaptive_avg_pool(t, out),
                  text=f"adaptive_avg_pool{rank}d {out} ", tolerance=64,
                  rounds=16 if rank == 3 else 4)  # PyTorch adds volumes of 16 bits up in 16 bits


def normed(d: Draw):
    dtype = d.one(*FLOATS)
    kind = d.one("layer", "layer", "group", "group", "batch", "batch", "batch", "eval", "rms")
    if kind in ("layer", "rms"):
        shape = (d.one(d.near(64), d.between(1, 200)), d.one(d.between(2, 40), d.between(2, 700)))
        weights = d.one(0, 2, 2, 1)
        params = [Given(d.normal(shape[1]), dtype) for _ in range(weights)]
        x = Given(d.normal(*shape), dtype, d.one("dense", "dense", "reversed", "gaps"))
        if kind == "rms":
            params = params[:1]
            return Sample([x, *params], lambda t, w=None: F.rms_norm(t, shape[1:], w, 1e-3), lambda t,
                          w=None: L.rms_norm(t, 1, w, 1e-3),
                          text="rms_norm", tolerance=256)
        if weights == 2 and dtype in ("bfloat16", "float16") and d.flag():
            params = [Given(p.value, "float32") for p in params]
        return Sample([x, *params], lambda t, w=None, b=None: F.layer_norm(t, shape[1:], w, b, 1e-3),
                      lambda t, w=None, b=None: L.layer_norm(t, 1, w, b, 1e-3), text="layer_norm", tolerance=256)
    c = d.one(d.between(1, 20), 16, 32, 24)
    size = d.one((), (d.between(1, 40),), (d.between(1, 12), d.between(1, 12)), (d.one(63, 64, 65, 70), d.one(64, 66)),
                 (3, 4, 5))
    n = d.between(2, 9) if math.prod(size) < 2000 else 2
    if kind == "batch" and n * math.prod(size) < 3:
        n = 6
    x = Given(d.normal(n, c, *size) + 0.5, dtype, d.one("dense", "channels") if len(size) > 1 else "dense")
    params = [Given(d.normal(c), dtype), Given(d.normal(c), dtype)]
    if kind == "group":
        groups = d.one(*(g for g in (1, 2, 4, c) if c % g == 0))
        if not size:
            return normed(d)
        return Sample([x, *params], lambda t, w, b: F.group_norm(t, groups, w, b, 1e-3), lambda t, w,
                      b: L.group_norm(t, groups, w, b, 1e-3),
                      text=f"group_norm {groups} ", tolerance=512)
    if kind == "eval":
        stats = [Given(d.normal(c), dtype, grad=False), Given(d.uniform(0.5, 2, (c,)), dtype, grad=False)]
        return Sample([x, *params, *stats], lambda t, w, b, m, v: F.batch_norm(t, m, v, w, b, False, 0.1, 1e-3),
                      lambda t, w, b, m, v: L.batch_norm(t, w, b, 1e-3, m,
                                                         v)[0], text="batch_norm of statistics ", tolerance=256)
    return Sample([x, *params], lambda t, w, b: F.batch_norm(t, None, None, w, b, True, 0.1, 1e-3),
                  lambda t, w, b: L.batch_norm(t, w, b, 1e-3)[0], text="batch_norm", tolerance=512)


def large_normed(d: Draw):
    kind = d.one("layer", "batch", "batch last")
    near = d.one(-1, 0, 1)
    if kind == "layer":
        columns = d.one(1024, 4096, 60)
        rows = (4 << 20) // columns + near * 5
        return Sample([Given(d.normal(rows, columns).astype(np.float32), "float32", grad=False)],
                      lambda t: F.layer_norm(t, [columns]),
                      lambda t: L.layer_norm(t, 1, None, None, 1e-5), text="large layer_norm", tolerance=64)
    shape = (2, d.one(16, 32), 256 + near, 256)
    shape = (shape[0], (4 << 20) // (2 * 65536) + near, 256, 256) if d.flag() else shape
    c = shape[1]
    stats = [Given(d.uniform(0.5, 2, (c,)), "float32", grad=False) for _ in range(4)]
    return Sample([Given(d.normal(*shape).astype(np.float32), "float32",
                         "channels" if kind == "batch last" else "dense", grad=False), *stats],
                  lambda t, w, b, m, v: F.batch_norm(t, m, v, w, b, False, 0.1,
                                                     1e-3), lambda t, w, b, m, v: L.batch_norm(t, w, b, 1e-3, m, v)[0],
                  text="large batch_norm", tolerance=64)


def resized(d: Draw):
    rank = d.one(1, 2, 2, 2, 3)
    mode = d.one("nearest", "nearest", "linear", "linear", "cubic", "nearest-exact")
    if mode == "cubic":
        rank = 2
    dtype = d.one(*FLOATS)
    n, c = d.between(1, 2), d.one(d.between(1, 20), 16, 32)
    size = tuple(d.between(1, {1: 300, 2: 40, 3: 9}[rank]) for _ in range(rank))
    out = d.one(size, tuple(2 * m for m in size),
                tuple(d.between(1, {1: 300, 2: 90, 3: 12}[rank]) for _ in range(rank)))
    if mode in ("linear", "cubic") and out == size:
        out = tuple(m + 1 for m in size)
    layout = image_layout(d) if rank > 1 else "dense"
    text = f"interpolate {mode} to {out} of "
    x = Given(d.normal(n, c, *size), dtype, layout)
    if mode.startswith("nearest"):
        if d.flag(0.2):
            v = d.integers(0, 255, (n, c, *size))
            return Sample([Given(v, "uint8", layout)], lambda t: F.interpolate(t, out, mode=mode),
                          lambda t: L.nearest(R.Node(t.astype(np.float64)), out,
                                              mode != "nearest").value.astype(np.int64), text=text)
        return Sample([x], lambda t: F.interpolate(t, out, mode=mode), lambda t: L.nearest(t, out, mode != "nearest"),
                      text=text, tolerance=64)
    align = d.flag(0.3)
    antialias = rank == 2 and not align and d.flag(0.3) and "16" not in dtype
    name = {1: "linear", 2: "bilinear", 3: "trilinear"}[rank] if mode == "linear" else "bicubic"
    if d.flag(0.3) and rank == 2 and not antialias and mode == "linear":
        v = d.integers(0, 255, (n, c, *size))

        return Sample([Given(v, "uint8", layout)], lambda t: F.interpolate(t, out, mode=name, align_corners=align),
                      lambda t: np.clip(L.resize(R.Node(t.astype(np.float64)), out, mode, align).value, 0,
                                        255), text=text, step=2.0)  # rounded between the dims, too
    return Sample([x], lambda t: F.interpolate(t, out, mode=name, align_corners=align, antialias=antialias),
                  lambda t: L.resize(t, out, mode, align, None, antialias), text=text, tolerance=512)


def sampled(d: Draw):
    """grid_sample of images, bilinear and nearest, zeros around."""
    dtype = d.one("float32", "float32", "float64")
    n, c, h, w = d.between(1, 2), d.between(1, 6), d.between(2, 20), d.between(1, 20)
    oh, ow = d.between(1, 12), d.between(1, 20)
    align, near = d.flag(), d.flag(0.3)
    grid = d.uniform(-1.2, 1.2, (n, oh, ow, 2))

    def plain(x, g):
        def place(v, size):
            return (v + 1.0) * ((size - 1) / 2) if align else (v + 1.0) * (size / 2) - 0.5
        px, py = place(g[..., 0], w), place(g[..., 1], h)
        if near:
            ix, iy = np.rint(px.value), np.rint(py.value)
            inside = (ix >= 0) & (ix < w) & (iy >= 0) & (iy < h)
            at = (np.clip(iy, 0, h - 1) * w + np.clip(ix, 0, w - 1)).astype(np.int64)
            return R.where(np.broadcast_to(inside[:, None], (n, c, oh, ow)),
                           R.take(x, np.arange(n * c).reshape(n, c, 1, 1) * h * w + at[:, None]), 0.0)
        total = None
        x0, y0 = np.floor(px.value), np.floor(py.value)
        for dy in (0, 1):
            for dx in (0, 1):
                ix, iy = x0 + dx, y0 + dy
                wx = px + (-x0 if dx else 0.0) if dx else (x0 + 1.0) - px
                wy = py + (-y0 if dy else 0.0) if dy else (y0 + 1.0) - py
                inside = (ix >= 0) & (ix < w) & (iy >= 0) & (iy < h)
                at = (np.clip(iy, 0, h - 1) * w + np.clip(ix, 0, w - 1)).astype(np.int64)
                places = (np.arange(n * c).reshape(n, c, 1, 1) * h * w) + at[:, None]
                part = R.take(x, places) * R.reshape(R.where(inside, wx * wy, 0.0), (n, 1, oh, ow))
                total = part if total is None else total + part
        return total
    return Sample([Given(d.normal(n, c, h, w), dtype, d.one("dense", "channels")), Given(grid, dtype)],
                  lambda x, g: F.grid_sample(x, g, mode="nearest" if near else "bilinear",
                                             align_corners=align), plain, text="grid_sample", tolerance=2048)


def attended(d: Draw):
    dtype = d.one(*FLOATS)
    n, heads, width = d.between(1, 2), d.one(1, 2, 4), d.one(8, 16, 17, 32)
    q, k = d.one(d.near(64), d.between(1, 150), d.between(100,
                                                          600)), d.one(d.near(256), d.between(1, 150), d.between(256, 700))
    mask = d.one("none", "none", "causal", "bool", "float")
    layout = d.one("dense", "dense", [0, 2, 1, 3], "gaps")
    rank = d.one(4, 4, 4, 3)
    lead = (n, heads) if rank == 4 else (n,)
    given = [Given(d.normal(*lead, m, width), dtype, layout if rank == 4 else "dense") for m in (q, k, k)]
    text = f"attention {mask} "
    f = F.scaled_dot_product_attention
    if mask == "causal":
        return Sample(given, lambda a, b, c: f(a, b, c, is_causal=True), lambda a, b,
                      c: L.attention(a, b, c, causal=True), text=text, tolerance=256)
    if mask == "none":
        return Sample(given, f, L.attention, text=text, tolerance=256)
    if mask == "bool":
        m = d.bools(q, k)
        m[:, 0] = True
        return Sample([*given, Given(m, "bool")], lambda a, b, c, m: f(a, b, c, m), lambda a, b, c,
                      m: L.attention(a, b, c, m), text=text, tolerance=256)
    m = Given(d.normal(q, k), dtype, grad=d.flag(0.4))
    return Sample([*given, m], lambda a, b, c, m: f(a, b, c, m), lambda a, b, c, m: L.attention(a, b, c, m), text=text,
                  tolerance=256)


def recurrent(d: Draw):
    kind = d.one("LSTM", "GRU", "RNN")
    dtype = d.one("float32", "float32", "float64")
    t, n = d.between(1, 9), d.one(d.near(8), d.between(1, 20))
    c, h = d.between(1, 30), d.one(d.between(1, 40), 64, 100, 160)
    layers, both = d.one(1, 1, 2), d.flag(0.3)
    directions = 2 if both else 1
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    packed = d.flag(0.3)
    lengths = np.sort(d.integers(1, t + 1, (n,)))[::-1].copy()
    lengths[0] = t
    weights = []
    for layer in range(layers):
        for _ in range(directions):
            width = c if layer == 0 else h * directions
            weights += [Given(d.normal(gates * h, width) / math.sqrt(width), dtype),
                        Given(d.normal(gates * h, h) / math.sqrt(h), dtype),
                        Given(d.normal(gates * h) / 3, dtype), Given(d.normal(gates * h) / 3, dtype)]
    state = [Given(d.normal(layers * directions, n, h) / 2, dtype) for _ in range(2 if kind == "LSTM" else 1)]
    x = Given(d.normal(t, n, c), dtype)
    f = getattr(S, {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[kind])

    def run(x, *rest):
        states, ws = rest[:len(state)], list(rest[len(state):])
        hx = list(states) if kind == "LSTM" else states[0]
        if packed:
            p = S.nn.utils.rnn.pack_padded_sequence(x, S.tensor(lengths.tolist()))
            out = f(p.data, p.batch_sizes, hx, ws, True, layers, 0.0, False, both)
            padded = S.nn.utils.rnn.pad_packed_sequence(S.nn.utils.rnn.PackedSequence(out[0], p.batch_sizes))[0]
            return (padded, *out[1:])
        return tuple(f(x, hx, ws, True, layers, 0.0, False, both, False))

    def plain(x, *rest):
        states, ws = rest[:len(state)], rest[len(state):]
        starts = [tuple(s[i] for s in states) for i in range(layers * directions)]
        stacked = [[(*ws[4 * (layer * directions + k):4 * (layer * directions + k) + 4],
                     None) for k in range(directions)] for layer in range(layers)]
        y, last = L.rnn(kind, x, starts, stacked, lengths=lengths if packed else None)
        return (y, *(R.stack([s[i] for s in last]) for i in range(len(state))))
    return Sample([x, *state, *weights], run, plain, text=f"{kind} of {layers} layers{' packed' if packed else ''} ",
                  tolerance=1024,
                  shape=((t, n, c), (h, layers, directions)))


LOSSES = [
    ("mse", F.mse_loss, lambda a, b: (a - b) * (a - b)), ("l1", F.l1_loss, lambda a, b: R.absolute(a - b)),
    ("smooth_l1", F.smooth_l1_loss, lambda a,
     b: (lambda e: R.where(np.abs(e.value) < 1, e * e * 0.5, R.absolute(e) - 0.5))(a - b)),
    ("huber", F.huber_loss, lambda a, b: (lambda e: R.where(np.abs(e.value) < 1, e * e * 0.5,
                                                            R.absolute(e) - 0.5))(a - b)),
    ("bce", F.binary_cross_entropy_with_logits, lambda a,
     b: R.maximum(a, 0.0) - a * b + R.log1p(R.exp(R.neg(R.absolute(a))))),
]


def lost(d: Draw):
    name, run, plain = d.one(*LOSSES)
    shape = d.one((d.one(d.near(4096), d.between(1, 9000)),), (d.between(1, 60), d.between(1, 90)))
    reduction = d.one("mean", "sum", "none")
    dtype = d.one(*FLOATS)
    layouts = [d.one("dense", "dense", "gaps") for _ in range(2)]
    reduce = {"mean": R.mean, "sum": R.sum, "none": lambda t: t}[reduction]
    target = Given(d.uniform(0, 1, shape) if name == "bce" else d.normal(*shape), dtype, layouts[1], grad=name != "bce")
    return Sample([Given(d.normal(*shape), dtype, layouts[0]), target], lambda a, b: run(a, b, reduction=reduction),
                  lambda a, b: reduce(plain(a, b)), text=f"{name} {reduction} ", tolerance=128)


FAMILIES = [conv, conv, conv, conv_transpose, conv_infinite, folded, pooled, pooled, normed, large_normed, resized,
            sampled, attended, recurrent, lost]
