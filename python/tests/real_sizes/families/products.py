"""Products of matrices and vectors, attention."""

import math

from real_sizes.calls import COMPLEX, Call
from real_sizes.families import family

WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 30, 31, 32, 33, 40, 47, 48, 49, 50, 63, 64, 65, 80, 96, 100, 112, 127, 128, 129,
          144, 160, 192, 196, 197, 200, 224, 240, 255, 256, 257, 300, 320, 384, 400, 480, 500, 512, 513, 576, 640, 768, 769, 800, 1000,
          1024, 1025, 1152, 1280, 1536, 2048, 2304, 2560, 3072, 4096, 8192, 11008, 16384, 30522, 50257)


def sizes(d, count, work, elements=1 << 20):
    """Numbers whose product is at most `work`, each pair's at most `elements`."""
    result = []
    for i in range(count):
        options = [w for w in WIDTHS if w == 1 or w <= work and all(w * r <= elements for r in result)]
        result.append(d.pick(options))
        work //= result[-1]
    order = list(range(count))
    if d.given is None:
        d.random.shuffle(order)
    d.taken.append(0)
    return [result[i] for i in order]


def dtype_of(d):
    return d.pick(COMPLEX) if d.chance(12) else d.float_dtype()


def work_of(d, dtype):
    return 1 << (d.pick((10, 13, 15, 17, 18, 19, 20, 21, 22, 23, 24, 19, 20, 21, 22, 18, 17, 16, 20, 21, 27)) - (dtype != "float32"))


@family("product", 2)
def linear(d):
    dtype = dtype_of(d)
    m, k, n = sizes(d, 3, work_of(d, dtype))
    lead = (m,)
    if d.chance(3):
        b = d.pick((1, 2, 3, 4, 5, 8))
        lead = (b, max(1, m // b))
    x, w = d.tensor((*lead, k), dtype), d.tensor((n, k), dtype, scale=1 / math.sqrt(k))
    inputs = [x, w] + ([d.tensor((n,), dtype)] if d.chance(2) else [])
    return Call("linear", inputs, lambda T, x, w, b=None: T.nn.functional.linear(x, w, b), max(k, m, n))


@family("product", 3)
def product(d):
    dtype = dtype_of(d)
    m, k, n = sizes(d, 3, work_of(d, dtype))
    scale = 1 / math.sqrt(k)
    kind = d.pick(("matmul", "mm", "addmm", "mv", "addmv", "outer", "addr", "transposed"))
    terms = max(m, k, n)
    a, b = d.tensor((m, k), dtype), d.tensor((k, n), dtype, scale=scale)
    beta, alpha = d.pick(((1, 1), (1, 1), (0.5, 2.0), (0, 1), (2, -1)))
    if kind == "transposed":
        a = d.tensor((k, m), dtype)
        return Call("mm of transposed", [a, b], lambda T, a, b: T.mm(T.transpose(a, 0, 1), b), terms)
    if kind in ("matmul", "mm"):
        return Call(kind, [a, b], lambda T, a, b: getattr(T, kind)(a, b), terms)
    if kind == "addmm":
        c = d.tensor(d.pick(((m, n), (n,), (m, 1), (1, n))), dtype)
        return Call(f"addmm[{beta} {alpha}]", [c, a, b], lambda T, c, a, b: T.addmm(c, a, b, beta=beta, alpha=alpha), terms)
    v, u = d.tensor((k,), dtype), d.tensor((m,), dtype)
    if kind == "mv":
        return Call("mv", [a, v], lambda T, a, v: T.mv(a, v), terms)
    if kind == "addmv":
        return Call(f"addmv[{beta} {alpha}]", [u, a, v], lambda T, u, a, v: T.addmv(u, a, v, beta=beta, alpha=alpha), terms)
    if kind == "outer":
        return Call("outer", [u, v], lambda T, u, v: T.outer(u, v), terms)
    return Call(f"addr[{beta} {alpha}]", [a, u, v], lambda T, a, u, v: T.addr(a, u, v, beta=beta, alpha=alpha), terms)


@family("product", 3)
def batched(d):
    dtype = dtype_of(d)
    b, m, k, n = sizes(d, 4, work_of(d, dtype), 1 << 18)
    while b * max(m * k, k * n, m * n) > 1 << 20:
        b = max(1, b // 2)
        if b == 1:
            break
    scale, terms = 1 / math.sqrt(k), max(m, k, n, b)
    kind = d.pick(("bmm", "matmul", "matmul", "baddbmm", "addbmm", "broadcast", "transposed", "vector"))
    x, y = d.tensor((b, m, k), dtype), d.tensor((b, k, n), dtype, scale=scale)
    if kind in ("bmm", "matmul"):
        return Call(kind, [x, y], lambda T, x, y: getattr(T, kind)(x, y), terms)
    if kind == "transposed":
        y = d.tensor((b, n, k), dtype, scale=scale)
        return Call("bmm with a transposed", [x, y], lambda T, x, y: T.bmm(x, T.transpose(y, 1, 2)), terms)
    if kind in ("baddbmm", "addbmm"):
        c = d.tensor((b, m, n) if kind == "baddbmm" else (m, n), dtype)
        beta, alpha = d.pick(((1, 1), (1, 1), (0.5, 2.0), (0, 1)))
        return Call(f"{kind}[{beta} {alpha}]", [c, x, y], lambda T, c, x, y: getattr(T, kind)(c, x, y, beta=beta, alpha=alpha),
                    terms * (b if kind == "addbmm" else 1))
    if kind == "vector":
        v = d.tensor((k,), dtype)
        return Call("matmul with a vector", [x, v], lambda T, x, v: T.matmul(x, v), terms * b)
    one, two = d.pick((((1, b, m, k), (k, n)), ((b, 1, m, k), (1, 1, k, n)), ((m, k), (b, k, n)), ((2, 1, m, k), (1, 2, k, n))))
    if math.prod(one) > 1 << 20 or 4 * m * n > 1 << 20:
        one, two = (m, k), (k, n)
    return Call("matmul", [d.tensor(one, dtype), d.tensor(two, dtype, scale=scale)], lambda T, x, y: T.matmul(x, y), terms * b)


@family("product")
def contraction(d):
    dtype = dtype_of(d)
    work = work_of(d, dtype)
    spec = d.pick(("ij,jk->ik", "bij,bjk->bik", "bhid,bhjd->bhij", "bhij,bhjd->bhid", "bij,kj->bik", "bid,bjd->bij", "i,j->ij", "bi,bi->b",
                   "bnd,hde->bhne", "nchw,oc->nohw", "ij,ij->", "bij,bij->ij", "ijk,jl->ikl"))
    labels = sorted(set(spec) - set(",->"))
    numbers = dict(zip(labels, sizes(d, len(labels), work, 1 << 14)))
    left, right = spec.split("->")[0].split(",")
    a = d.tensor(tuple(numbers[c] for c in left), dtype)
    b = d.tensor(tuple(numbers[c] for c in right), dtype)
    return Call(f"einsum[{spec}]", [a, b], lambda T, a, b: T.einsum(spec, a, b), math.prod(numbers.values()))


@family("product")
def bilinear(d):
    dtype = d.pick(("float32", "float32", "float64"))
    n, i, j, o = sizes(d, 4, 1 << d.pick((10, 14, 18, 20)), 1 << 14)
    inputs = [d.tensor((n, i), dtype), d.tensor((n, j), dtype), d.tensor((o, i, j), dtype, scale=1 / math.sqrt(i * j))]
    return Call("bilinear", inputs, lambda T, x, y, w: T.nn.functional.bilinear(x, y, w), max(n, i * j, o * i))


@family("product")
def distances(d):
    dtype = d.pick(("float32", "float64"))
    m, k, n = sizes(d, 3, 1 << d.pick((8, 12, 15, 17)), 1 << 14)
    p = d.pick((1.0, 1.0, 2.0))
    a, b = d.tensor((m, k), dtype), d.tensor((n, k), dtype)
    return Call(f"cdist[{p}]", [a, b], lambda T, a, b: T.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist"), max(m, n, k), once=True)


@family("attention")
def attention(d):
    dtype = d.float_dtype()
    h = d.pick((1, 2, 3, 4, 6, 8, 12, 16, 20))
    e = d.pick((8, 16, 24, 32, 40, 48, 64, 64, 64, 72, 80, 96, 128, 5, 17))
    n = d.pick((1, 1, 2, 3, 4))
    lengths = (1, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 49, 50, 64, 77, 100, 127, 128, 129, 196, 197, 256, 257, 384, 512, 577, 1024)
    l, s = d.pick(lengths), d.pick(lengths)
    if d.chance(2):
        s = l
    work = 1 << (d.pick((14, 16, 18, 20, 21, 22, 23, 18, 19, 20, 21, 22, 20, 19, 26)) - (dtype != "float32"))
    while n * h * l * s * e > work:
        if n > 1:
            n //= 2
        elif h > 2:
            h //= 2
        else:
            l, s = max(1, l // 2), max(1, s // 2)
            if l == s == 1:
                break
    grouped = h % 2 == 0 and h > 1 and d.chance(5)
    hk = h // 2 if grouped else h
    kind = d.pick(("none", "none", "causal", "bools", "floats"))
    ev = e if not d.chance(10) else d.pick((8, 16, 32, 64))
    def heads(length, count, width):
        t = d.tensor((n, count, length, width), dtype)
        return t
    q, k, v = heads(l, h, e), heads(s, hk, e), heads(s, hk, ev)
    inputs = [q, k, v]
    if kind in ("bools", "floats"):
        shape = d.pick(((l, s), (n, 1, l, s), (n, h, l, s), (1, s)))
        if kind == "bools":
            m = d.mask(shape, 0.8)
            m.values[..., 0] = True
        else:
            m = d.tensor(shape, dtype, grad=d.chance(3))
        inputs.append(m)
    scale = 0.125 if d.chance(6) else None
    options = {"enable_gqa": True} if grouped else {}
    def run(T, q, k, v, mask=None):
        return T.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=kind == "causal", scale=scale, **options)
    return Call(f"scaled_dot_product_attention[{kind} scale={scale} grouped={grouped}]", inputs, run, max(s, l, e), once=True)
