"""Samples of variants: calls with drawn sizes, layouts and dtypes, and their comparison with the plain reference.

A family is a function of a Draw that returns a Sample; its name and the seed name the sample ("conv:17").
"""

import math

import numpy as np
import sconce as S

from real_sizes import reference as R

EPS = {"float64": 2.0 ** -52, "float32": 2.0 ** -23, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7,
       "complex128": 2.0 ** -52, "complex64": 2.0 ** -23}
FLOATS = ("float32", "float32", "float64", "bfloat16", "float16")


class Draw:
    """Random choices that one seed fixes, on every version of NumPy."""

    def __init__(self, family, seed):
        self.state = np.random.RandomState((hash_of(family) + 7919 * seed) % 2 ** 32)

    def one(self, *items):
        return items[self.state.randint(len(items))]

    def flag(self, chance=0.5):
        return self.state.random_sample() < chance

    def between(self, low, high):
        """An integer of [low, high], small ones as likely as large ones."""
        return int(round(low * (high / low) ** self.state.random_sample())) if low < high else low

    def near(self, *thresholds):
        """A size about a threshold, or on it, or well to either side."""
        at = self.one(*thresholds)
        return max(1, self.one(at - 1, at, at + 1, at // 2 + 1, at + at // 3 + 1))

    def normal(self, *shape):
        return self.state.standard_normal(shape)

    def complex(self, *shape):
        return self.normal(*shape) + 1j * self.normal(*shape)

    def uniform(self, low, high, shape):
        return self.state.uniform(low, high, shape)

    def integers(self, low, high, shape):
        """Of [low, high)."""
        return self.state.randint(low, high, size=shape).astype(np.int64)

    def bools(self, *shape):
        return self.state.random_sample(shape) < 0.5

    def permutation(self, n):
        return [int(i) for i in self.state.permutation(n)]


def hash_of(text):
    value = 2166136261
    for c in text.encode():
        value = (value ^ c) * 16777619 % 2 ** 32
    return value


class Given:
    """An argument: numbers, their dtype, and where they lie.

    layout: "dense"; "reversed" (dims from last to first); "channels" (channels innermost); "gaps" (every second element of
    the last dim); "padded" (rows apart); "offset" (one element behind the beginning); or an order of dims, outermost first.
    """

    def __init__(self, value, dtype="float32", layout="dense", grad=None):
        self.value = np.asarray(value)
        self.dtype = dtype
        self.layout = layout if self.value.size and self.value.ndim else "dense"
        self.grad = (dtype in EPS) if grad is None else grad

    @property
    def shape(self):
        return tuple(self.value.shape)

    def tensor(self):
        plain = S.from_numpy(np.ascontiguousarray(self.value))
        plain = plain.reshape(self.shape).to(getattr(S, self.dtype))
        placed = self._placed(plain)
        return placed.detach().requires_grad_() if self.grad else placed

    def _placed(self, plain):
        shape, n = list(self.shape), self.value.ndim
        layout = self.layout
        if layout == "dense":
            return plain
        if layout == "channels":
            layout = [0, *range(2, n), 1] if n > 2 else list(range(n))
        if layout == "reversed":
            layout = list(range(n))[::-1]
        if isinstance(layout, (list, tuple)):
            back = [list(layout).index(i) for i in range(n)]
            return plain.permute(layout).contiguous().permute(back)
        if layout == "gaps":
            view = S.zeros(shape[:-1] + [2 * shape[-1]], dtype=plain.dtype)[..., ::2]
        elif layout == "padded":
            view = S.zeros(shape[:-1] + [shape[-1] + 3], dtype=plain.dtype)[..., :shape[-1]]
        elif layout == "offset":
            view = S.zeros(self.value.size + 1, dtype=plain.dtype)[1:].view(shape)
        else:
            raise ValueError(layout)
        view.copy_(plain)
        return view


def array_of(t):
    """The numbers of a tensor, floats in double precision."""
    t = t.detach()
    if t.dtype in (S.float16, S.bfloat16, S.float32):
        t = t.to(S.float64)
    elif t.dtype == S.complex64:
        t = t.to(S.complex128)
    return np.array(t.resolve_conj().contiguous().numpy()) if t.numel() else np.zeros(tuple(t.shape))


class Sample:
    """run(*tensors) and plain(*nodes): one result or a tuple of them. tolerance: in roundings of the computation, of the largest
    element; 0: equal. rounds: how often a number is rounded to 16 bits on its way. step: results are multiples of it, those next to
    the reference's numbers. times: how often it runs (plans are made by the second call). shape: instead of the arguments'."""

    def __init__(self, given, run, plain, tolerance=32, times=1, shape=None, text="", seed=None, gradients=True,
                 step=0.0,
                 rounds=4):
        self.given, self.run, self.plain, self.tolerance = given, run, plain, tolerance
        self.times, self.text, self.seed, self.gradients, self.step = times, text, seed, gradients, step
        self.rounds = rounds
        self.shape = shape or tuple(g.shape for g in given)

    def __str__(self):
        return self.text + "(" + ", ".join(f"{g.dtype}{list(g.shape)}{'' if g.layout == 'dense' else ' ' + str(g.layout)}"
                                           for g in self.given) + ")"


def results_of(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


class Wanted:
    """What the reference gives for a sample: results and gradients."""

    def __init__(self, sample, tensors):
        draw = np.random.RandomState(1)
        self.nodes = []
        for g, t in zip(sample.given, tensors):
            value = array_of(t)
            self.nodes.append(R.variable(value) if g.grad else R.node(value) if g.dtype in EPS else value)
        with np.errstate(all="ignore"):
            self.results = results_of(sample.plain(*self.nodes))
        self.leaves = [n for n, g in zip(self.nodes, sample.given) if g.grad]
        self.cotangents, self.differentiable = [], []
        if not sample.gradients or not self.leaves:
            self.gradients = []
            return
        for i, r in enumerate(self.results):
            if isinstance(r, R.Node) and r.needs:
                self.differentiable.append(i)
                c = draw.standard_normal(r.shape)
                if r.value.dtype.kind == "c":
                    c = c + 1j * draw.standard_normal(r.shape)
                self.cotangents.append(np.asarray(c))
        self.gradients = []
        self.draw = draw

    def fit_cotangents(self, results):
        """Cotangents as tensors of the results' dtypes, and their rounded numbers for the reference."""
        tensors = [S.from_numpy(np.ascontiguousarray(c)).reshape(results[i].shape).to(results[i].dtype)
                   for i, c in zip(self.differentiable, self.cotangents)]
        if not self.gradients:
            rounded = [R.Node(R.wide(array_of(t))) for t in tensors]
            with np.errstate(all="ignore"):
                self.gradients = R.grad([self.results[i] for i in self.differentiable], self.leaves, rounded)
        return tensors


def difference(got, wanted, bound, step=0.0, least=0.0):
    """What differs, as text, or None. bound: of what is forgiven, in sizes of the largest element, or of `least`; 0: nothing."""
    value = wanted.value if isinstance(wanted, R.Node) else np.asarray(wanted)
    numbers = array_of(got)
    if tuple(numbers.shape) != tuple(value.shape):
        return f"shape {list(numbers.shape)} instead of {list(value.shape)}"
    if not value.size:
        return None
    if step:
        apart = np.abs(numbers.astype(np.float64) - value).max()
        return None if apart <= 0.502 * step else f"{apart / step:.3g} steps apart"
    if not bound:
        if np.array_equal(numbers, value, equal_nan=numbers.dtype.kind in "fc"):
            return None
        wrong = ~((numbers == value) | ((numbers != numbers) & (value != value)))
        return f"{int(wrong.sum())} of {value.size} elements, the first at {first(wrong)}"
    with np.errstate(all="ignore"):
        finite = np.isfinite(value)
        largest = max(least, np.abs(value[finite]).max() if finite.any() else 0.0)
        most = bound * max(largest, 1e-30) + (6e-8 if got.dtype == S.float16 else 0)  # which has no small numbers
        wrong = ~((np.abs(numbers - value) <= most) | (numbers == value) | ((numbers != numbers) & (value != value)))
    if not wrong.any():
        return None
    at = first(wrong)
    return (f"{int(wrong.sum())} of {value.size} elements; at {at} {numbers[at]} instead of {value[at]}, "
            f"{np.abs(numbers - value)[wrong].max() / most:.3g} times what is forgiven")


def first(mask):
    return tuple(int(i) for i in np.argwhere(mask)[0]) if mask.ndim else ()


class Checked:
    """Runs a sample; `seen` has the sides of each variant that its calls took."""

    def __init__(self, sample):
        self.sample = sample
        self.tensors = [g.tensor() for g in sample.given]
        self.wanted = Wanted(sample, self.tensors)
        self.seen = {}

    def bound_of(self, t, times=1):
        """By the narrowest dtype that takes part; 16-bit floats are computed in float32."""
        own = EPS.get(str(t.dtype).split(".")[-1])
        if not own or self.sample.tolerance == 0:
            return 0.0
        eps = max([own] + [EPS[g.dtype] for g in self.sample.given if g.dtype in EPS])
        narrow = self.sample.rounds * eps if eps > EPS["float32"] else 0.0
        return times * (narrow + self.sample.tolerance * min(eps, EPS["float32"]))

    def note(self):
        for name, bits in S._sconce._variants().items():
            if bits:
                self.seen[name] = self.seen.get(name, 0) | bits

    def run(self):
        """Differences, as texts."""
        s, wrong = self.sample, []
        leaves = [t for t, g in zip(self.tensors, s.given) if g.grad]
        for time in range(s.times):
            if s.seed is not None:
                S.manual_seed(s.seed)
            S._sconce._forget_variants()
            results = results_of(s.run(*self.tensors))
            self.note()
            if len(results) != len(self.wanted.results):
                return [f"{len(results)} results instead of {len(self.wanted.results)}"]
            for i, (got, wanted) in enumerate(zip(results, self.wanted.results)):
                what = difference(got, wanted, self.bound_of(got), s.step)
                if what:
                    wrong.append(f"result {i}: {what}")
            if s.gradients and self.wanted.differentiable:
                tensors = self.wanted.fit_cotangents(results)
                S._sconce._forget_variants()
                gradients = S.autograd.grad([results[i] for i in self.wanted.differentiable], leaves, tensors,
                                            allow_unused=True)
                self.note()
                # Sums that cancel out are as exact as their terms.
                least = max([np.abs(g.value).max() for g in self.wanted.gradients if g is not None and g.size],
                            default=0.0)
                for i, (got, wanted) in enumerate(zip(gradients, self.wanted.gradients)):
                    if wanted is None:
                        if got is not None and bool((got != 0).any()):
                            wrong.append(f"gradient {i}: one where none is expected")
                        continue
                    if got is None:
                        if np.any(wanted.value != 0):
                            wrong.append(f"gradient {i}: missing")
                        continue
                    what = difference(got, wanted, self.bound_of(got, 2), least=least)
                    if what:
                        wrong.append(f"gradient {i}: {what}")
            if wrong:
                return wrong
        return wrong
