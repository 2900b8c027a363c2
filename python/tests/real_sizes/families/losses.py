"""Losses."""

import math

import numpy as np

from real_sizes.calls import Call, Given
from real_sizes.families import budget, family

CLASSES = (2, 3, 5, 10, 16, 17, 21, 64, 80, 91, 100, 128, 150, 255, 256, 257, 400, 512, 1000, 1024, 2048, 8192, 10000, 21841, 30522,
           32000, 50257)


def reduction_of(d):
    return d.pick(("mean", "mean", "sum", "none"))


@family("loss", 3)
def of_classes(d):
    dtype = d.float_dtype()
    elements = budget(d)
    classes = d.pick([c for c in CLASSES if c <= elements])
    n = min(d.size(512), max(1, elements // classes))
    planes = ()
    if d.chance(3) and elements // (n * classes) > 1:
        planes = d.pick(((elements // (n * classes),), (max(1, math.isqrt(elements // (n * classes))),) * 2))
        if math.prod(planes) * n * classes > 1 << 21:
            planes = ()
    kind = d.pick(("cross_entropy", "cross_entropy", "nll_loss", "probabilities"))
    x = d.tensor((n, classes, *planes), dtype, scale=d.pick((1.0, 4.0)))
    reduction = reduction_of(d)
    weight = [d.tensor((classes,), dtype, grad=False, transform=lambda v: abs(v) + 0.25)] if d.chance(3) else []
    smoothing = 0.1 if d.chance(3) else 0.0
    terms = math.prod((n, *planes)) + classes
    if smoothing and dtype == "float16":  # the sum over classes would be infinite
        x.dtype = "float32"
        for w in weight:
            w.dtype = "float32"
        dtype = "float32"
    if kind == "probabilities":
        t = d.tensor((n, classes, *planes), dtype, grad=False, transform=lambda v: np.exp(v) / np.sum(np.exp(v), 1, keepdims=True),
                     layouts=False)
        return Call(f"cross_entropy[probabilities {reduction} smoothing={smoothing}]", [x, t, *weight],
                    lambda T, x, t, w=None: T.nn.functional.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing), terms)
    target = d.values.randint(0, classes, (n, *planes))
    ignored = -100
    if d.chance(3):
        ignored = d.pick((-100, 0, classes - 1))
        target = np.where(d.values.rand(n, *planes) < 0.3, ignored, target)
        target.reshape(-1)[0] = 1 if ignored == 0 else 0
    t = Given(target, "int64")
    if kind == "nll_loss":
        return Call(f"nll_loss[{reduction} ignore={ignored}]", [x, t, *weight],
                    lambda T, x, t, w=None: T.nn.functional.nll_loss(x, t, w, reduction=reduction, ignore_index=ignored), terms)
    return Call(f"cross_entropy[{reduction} ignore={ignored} smoothing={smoothing}]", [x, t, *weight],
                lambda T, x, t, w=None: T.nn.functional.cross_entropy(x, t, w, reduction=reduction, ignore_index=ignored,
                                                                     label_smoothing=smoothing), terms)


@family("loss", 3)
def of_numbers(d):
    dtype = d.float_dtype()
    kind = d.pick(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
                   "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "soft_margin_loss", "hinge_embedding_loss"))
    shape = d.shape(d.pick((1, 2, 2, 3, 4)), budget(d) // 2)
    reduction = reduction_of(d)
    n = math.prod(shape)
    both = d.chance(2)
    probability = lambda v: 1 / (1 + np.exp(-v)) * 0.98 + 0.01  # noqa: E731
    f = kind
    if kind in ("mse_loss", "l1_loss"):
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=both)]
        return Call(f"{kind}[{reduction}]", given, lambda T, x, t: getattr(T.nn.functional, f)(x, t, reduction=reduction), n)
    if kind in ("smooth_l1_loss", "huber_loss"):
        number = d.pick((1.0, 0.5, 2.0))
        name = "beta" if kind == "smooth_l1_loss" else "delta"
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=both)]
        return Call(f"{kind}[{number} {reduction}]", given,
                    lambda T, x, t: getattr(T.nn.functional, f)(x, t, reduction=reduction, **{name: number}), n, once=True)
    if kind == "binary_cross_entropy":
        given = [d.tensor(shape, dtype, transform=probability), d.tensor(shape, dtype, grad=False, transform=probability)]
        return Call(f"{kind}[{reduction}]", given, lambda T, x, t: T.nn.functional.binary_cross_entropy(x, t, reduction=reduction), n, once=True)
    if kind == "binary_cross_entropy_with_logits":
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=False, transform=probability)]
        if d.chance(3):
            given.append(d.tensor(shape[-1:], dtype, grad=False, transform=probability))
        return Call(f"{kind}[{reduction}]", given, lambda T, x, t, p=None: T.nn.functional.binary_cross_entropy_with_logits(
            x, t, reduction=reduction, pos_weight=p), n, once=True)
    if kind == "kl_div":
        logs, reduction = d.chance(2), d.pick(("batchmean", "mean", "sum", "none"))
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=False, transform=None if logs else probability)]
        return Call(f"kl_div[{reduction} {logs}]", given,
                    lambda T, x, t: T.nn.functional.kl_div(x, t, reduction=reduction, log_target=logs), n)
    if kind == "poisson_nll_loss":
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=False, transform=abs)]
        return Call(f"{kind}[{reduction}]", given, lambda T, x, t: T.nn.functional.poisson_nll_loss(x, t, reduction=reduction), n)
    if kind == "gaussian_nll_loss":
        if dtype in ("float16", "bfloat16"):
            dtype = "float32"
        given = [d.tensor(shape, dtype), d.tensor(shape, dtype, grad=both), d.tensor(shape, dtype, transform=lambda v: abs(v) + 0.5)]
        return Call(f"{kind}[{reduction}]", given, lambda T, x, t, v: T.nn.functional.gaussian_nll_loss(x, t, v, reduction=reduction), n)
    signs = d.tensor(shape, dtype, grad=False, transform=lambda v: np.where(v > 0, 1.0, -1.0))
    return Call(f"{kind}[{reduction}]", [d.tensor(shape, dtype), signs],
                lambda T, x, t: getattr(T.nn.functional, f)(x, t, reduction=reduction), n)


@family("loss")
def of_pairs(d):
    dtype = d.pick(("float32", "float32", "float64"))
    kind = d.pick(("margin_ranking_loss", "cosine_similarity", "triplet_margin_loss", "multi_margin_loss"))
    n, width = d.size(256), d.size(1024)
    reduction = reduction_of(d)
    if kind == "margin_ranking_loss":
        signs = d.tensor((n,), dtype, grad=False, transform=lambda v: np.where(v > 0, 1.0, -1.0))
        return Call(f"{kind}[{reduction}]", [d.tensor((n,), dtype), d.tensor((n,), dtype), signs],
                    lambda T, a, b, t: T.nn.functional.margin_ranking_loss(a, b, t, margin=0.3, reduction=reduction), n)
    if kind == "cosine_similarity":
        return Call(kind, [d.tensor((n, width), dtype), d.tensor((n, width), dtype)],
                    lambda T, a, b: T.nn.functional.cosine_similarity(a, b, dim=1), width)
    if kind == "triplet_margin_loss":
        return Call(f"{kind}[{reduction}]", [d.tensor((n, width), dtype) for _ in range(3)],
                    lambda T, a, b, c: T.nn.functional.triplet_margin_loss(a, b, c, reduction=reduction), n + width)
    width = max(2, width)
    target = Given(d.values.randint(0, width, n), "int64")
    return Call(f"{kind}[{reduction}]", [d.tensor((n, width), dtype), target],
                lambda T, x, t: T.nn.functional.multi_margin_loss(x, t, reduction=reduction), n + width, once=True)


@family("loss")
def connectionist(d):
    dtype = d.pick(("float32", "float32", "float64"))
    n, classes = d.pick((1, 2, 3, 4, 8)), d.pick((2, 3, 5, 20, 28, 29, 37, 64, 80))
    length = d.pick((1, 2, 3, 5, 8, 16, 20, 50))
    labels = d.between(1, max(1, length // 2))
    targets = d.values.randint(1, classes, (n, labels))
    # Equal neighbours need a blank between them: so many steps have to be there.
    ends = d.values.randint(0, labels + 1, n)
    reduction = d.pick(("sum", "mean", "none"))
    x = d.tensor((length, n, classes), dtype)
    inputs = np.minimum(length, np.maximum(2 * ends + 1, d.values.randint(1, length + 1, n)))
    ends = np.minimum(ends, (inputs + 1) // 2)
    return Call(f"ctc_loss[{reduction}]", [x, Given(targets, "int64"), Given(inputs, "int64"), Given(ends, "int64")],
                lambda T, x, t, i, e: T.nn.functional.ctc_loss(T.nn.functional.log_softmax(x, dim=2), t, i, e, reduction=reduction), (4 * length) ** 2 * n, once=True)
