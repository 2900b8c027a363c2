"""Optimisers, and statistics of random draws."""

import math

from real_sizes.calls import Call, Given
from real_sizes.families import budget, family

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.1}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.8, 0.99)}],
    "AdamW": [{}, {"amsgrad": True}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True}],
    "Adagrad": [{}, {"lr_decay": 0.1}, {"initial_accumulator_value": 0.1}],
    "Adadelta": [{}, {"rho": 0.8}],
    "Adamax": [{}],
    "NAdam": [{}],
    "RAdam": [{}],
}


@family("optimizer")
def optimizer(d):
    """A few steps over several parameters; the gradients are given."""
    kind = d.pick(list(OPTIONS))
    options = dict(d.pick(OPTIONS[kind]))
    options["lr"] = d.pick((0.1, 0.01, 0.001))
    if d.chance(3):
        options["weight_decay"] = 0.01
    if d.chance(6) and kind not in ("AdamW",):
        options["maximize"] = True
    own = dict(options)
    if d.chance(2):
        options["foreach"] = d.chance(2)
    if kind in ("SGD", "Adam", "AdamW") and d.chance(4):
        options.pop("foreach", None)
        options["fused"] = True
    dtype = d.pick(("float32", "float32", "float32", "float64"))
    count, steps = d.between(1, 4), d.between(1, 4)
    shapes = [d.shape(d.pick((1, 2, 4)), budget(d) // 4) for _ in range(count)]
    # Gradients far from 0: where one is, its quotient by its own root is decided by roundings.
    away = lambda v: abs(v) + 2.0**-6  # noqa: E731
    params = [d.tensor(s, dtype, grad=False) for s in shapes]
    grads = [d.tensor(s, dtype, grad=False, transform=away, scale=0.5) for s in shapes for _ in range(steps)]

    def run(T, *given):
        if hasattr(T, "by_places"):
            return T.optimizer(kind, own, given[:count], given[count:], steps)
        params = [T.clone(p).requires_grad_() for p in given[:count]]
        opt = getattr(T.optim, kind)(params, **options)
        for step in range(steps):
            for i, p in enumerate(params):
                p.grad = given[count + i * steps + step]
            opt.step()
        return tuple(p.detach() for p in params)
    return Call(f"{kind}[{options} steps={steps}]", [*params, *grads], run, steps, modes=("eager",), grads=False)


@family("draw")
def moments(d):
    """Draws whose mean and variance are known: the result says whether both are within six standard errors."""
    kind = d.pick(("rand", "randn", "bernoulli", "dropout", "exponential", "randint", "randperm", "normal", "uniform", "multinomial"))
    n = d.between(1000, 1 << d.pick((11, 12, 14, 16, 18)))
    dtype = d.float_dtype(("float32", "float64", "bfloat16", "float16"))
    p = d.pick((0.5, 0.1, 0.9))
    expected = {"rand": (0.5, 1 / 12), "randn": (0.0, 1.0), "bernoulli": (p, p * (1 - p)), "dropout": (1.0, p / (1 - p)),
                "exponential": (1 / 1.5, 1 / 2.25), "randint": (49.5, 9999 / 12), "normal": (2.0, 9.0), "uniform": (1.0, 16 / 12),
                "multinomial": (1.5, 1.25)}

    def run(T):
        if hasattr(T, "by_places"):
            return T.array(True)
        t = getattr(T, dtype)
        if kind == "randperm":
            x = T.randperm(n)
            return T.equal(T.sort(x)[0], T.arange(n))
        if kind == "rand":
            x = T.rand(n, dtype=t)
        elif kind == "randn":
            x = T.randn(n, dtype=t)
        elif kind == "bernoulli":
            x = T.bernoulli(T.full((n,), p, dtype=t))
        elif kind == "dropout":
            x = T.nn.functional.dropout(T.ones(n, dtype=t), p)
        elif kind == "exponential":
            x = T.empty(n, dtype=t).exponential_(1.5)
        elif kind == "randint":
            x = T.randint(0, 100, (n,))
        elif kind == "normal":
            x = T.empty(n, dtype=t).normal_(2.0, 3.0)
        elif kind == "uniform":
            x = T.empty(n, dtype=t).uniform_(-1.0, 3.0)
        else:
            x = T.multinomial(T.ones(4), n, replacement=True)
        x = x.to(T.float64)
        mean, variance = expected[kind]
        close = abs(float(x.mean()) - mean) <= 6 * math.sqrt(variance / n) + 2.0**-8 * abs(mean) * (dtype in ("bfloat16", "float16"))
        fourth = {"exponential": 9.0, "randn": 3.0, "normal": 3.0, "dropout": 12.0, "bernoulli": 12.0}.get(kind, 2.0)
        spread = abs(float(x.var()) - variance) <= (6 * math.sqrt(fourth / n) + 0.02) * variance
        return T.tensor(close and spread)
    return Call(f"{kind}[{n} {dtype} {p}]", [], run, modes=("eager",), grads=False, exact=True)
