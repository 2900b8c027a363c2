"""Sizes as expressions: what each tensor of a graph looks like for any values of the free sizes.

The operators run on tensors without memory, once for the example's sizes and once for each combination of larger ones. A size that
is a polynomial, linear in every symbol (2*s0*s1 + 4), is found by its differences, and checked at further points. One that grows by
steps with one symbol ((s0 + 1) // 2, as behind a stride) is found by runs at many sizes in a row; so are products of such.
"""

import itertools
import math
import operator

import sconce
from ..fx.experimental.proxy_tensor import _operator
from ._values import DTYPES, MEMORY_FORMATS, parameters

NUMBERS = {"aten::add": operator.add, "aten::sub": operator.sub, "aten::mul": operator.mul, "aten::floordiv": operator.floordiv,
           "aten::remainder": operator.mod, "aten::neg": operator.neg, "prim::max": max, "prim::min": min,
           "aten::Float": float}
_META = {"ScalarType": DTYPES.get, "MemoryFormat": MEMORY_FORMATS.get}


class Point:
    """One run of a graph on tensors without memory: {name of a value: its value}."""

    def __init__(self, rows, inputs):
        self.values = dict(inputs)
        for kind, overload, made, used, extra in rows:
            self.step(kind, overload, made, [self.values[name] for name in used], extra)

    def step(self, kind, overload, made, args, extra):
        if kind == "prim::Constant":
            results = [extra.to("meta") if isinstance(extra, sconce.Tensor) else extra]
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            results = [list(args)]
        elif kind == "prim::ListUnpack":
            results = args[0]
        elif kind == "aten::size" and overload == "int":
            results = [args[0].shape[args[1]]]
        elif kind in NUMBERS and not any(isinstance(a, sconce.Tensor) for a in args):
            results = [NUMBERS[kind](*args)]
        else:
            found = self.call(kind, overload, args)
            results = list(found) if len(made) > 1 else [found]
        self.values.update(zip(made, results))

    @staticmethod
    def call(kind, overload, args):
        name = f"{kind}.{overload}" if overload else kind
        positional, named = [], {}
        for (argument, _, keyword_only, type_), value in zip(parameters(kind, overload), args):
            if type_ == "Device":
                value = "meta"
            elif type_ == "Layout":
                value = None
            elif type_ in _META and value is not None:
                value = _META[type_](value)
            if keyword_only:
                named[argument] = value
            else:
                positional.append(value)
        return _operator(name)(*positional, **named)


class Sizes:
    """Expressions for the numbers that runs at several points have."""

    ROW = 65  # sizes in a row, for steps of up to half of that

    def __init__(self, dims, hints, run):
        """`dims`: names of symbols; `hints`: their values in the example; run({symbol: size}): the Point there."""
        self.dims, self.hints = dims, hints
        self.steps = [hint + 1 + 2 * i for i, hint in enumerate(hints)]
        self.subsets = list(itertools.product((0, 1), repeat=len(dims)))
        more = [tuple(2 + (i == j) for i in range(len(dims))) for j in range(len(dims))] + [(3,) * len(dims)] * bool(dims)
        self.run, self.rows = run, {}
        places = self.subsets + more
        self.at = [{dim: hint + k * step for dim, hint, step, k in zip(dims, hints, self.steps, place)} for place in places]
        self.points = [run(at) for at in self.at]
        self.factors = [(symbol(dim), [at[dim] for at in self.at]) for dim in dims]  # expressions, and their values at the points

    def expression(self, number_of, what):
        """A sympy expression in the form of repr (srepr) for a number of each point; an int where it is constant."""
        numbers = [number_of(point) for point in self.points]
        if all(n == numbers[0] for n in numbers):
            return numbers[0]
        made = self.polynomial(numbers) or self.product(numbers) or self.staircase(number_of, numbers)
        if made is None:
            raise NotImplementedError(f"export: {what} has no known form in the free sizes {', '.join(self.dims)}: "
                                      f"it is {numbers[0]} at {self.at[0]} and {numbers[-1]} at {self.at[-1]}")
        return made

    def polynomial(self, numbers):
        terms = self.fit(numbers[:len(self.subsets)])
        if terms is None or any(_value(terms, [at[dim] for dim in self.dims]) != n for at, n in zip(self.at, numbers)):
            return None
        return _text(terms, self.dims)

    def product(self, numbers):
        """An integer times up to three known expressions."""
        for count in (1, 2, 3):
            for chosen in itertools.combinations(self.factors, count):
                values = [math.prod(parts) for parts in zip(*(values for _, values in chosen))]
                if values[0] == 0 or numbers[0] % values[0]:
                    continue
                factor = numbers[0] // values[0]
                if all(n == factor * v for n, v in zip(numbers, values)):
                    texts = ([f"Integer({factor})"] if factor != 1 else []) + [text for text, _ in chosen]
                    return texts[0] if len(texts) == 1 else f"Mul({', '.join(texts)})"
        return None

    def staircase(self, number_of, numbers):
        """(a * symbol + b) // d"""
        moved = [dim for i, dim in enumerate(self.dims)
                 if numbers[self.subsets.index(tuple(int(i == j) for j in range(len(self.dims))))] != numbers[0]]
        if len(moved) != 1:
            return None
        dim, hint = moved[0], self.hints[self.dims.index(moved[0])]
        if dim not in self.rows:
            self.rows[dim] = [self.run({**self.at[0], dim: hint + i}) for i in range(self.ROW)]
        row = [number_of(point) for point in self.rows[dim]]
        for d in range(1, self.ROW // 2):
            a = row[d] - row[0]
            if any(row[i + d] - row[i] != a for i in range(self.ROW - d)):
                continue
            b = max(n * d - a * (hint + i) for i, n in enumerate(row))
            if any((a * (hint + i) + b) // d != n for i, n in enumerate(row)) or \
                    any((a * at[dim] + b) // d != n for at, n in zip(self.at, numbers)):
                return None
            inside = symbol(dim) if a == 1 else f"Mul(Integer({a}), {symbol(dim)})"
            text = f"FloorDiv({inside if b == 0 else f'Add({inside}, Integer({b}))'}, Integer({d}))"
            self.factors.append((text, numbers))
            return text
        return None

    def fit(self, corners):
        """{which symbols are multiplied: the factor}, or None where a factor is no integer."""
        terms = {}
        values = dict(zip(self.subsets, corners))
        for subset in self.subsets:
            change = sum((-1) ** (sum(subset) - sum(part)) * values[part] for part in self.subsets
                         if all(p <= s for p, s in zip(part, subset)))
            for step, chosen in zip(self.steps, subset):
                if chosen:
                    if change % step:
                        return None
                    change //= step
            # change * prod(symbol - hint): multiplied out.
            for part in self.subsets:
                if all(p <= s for p, s in zip(part, subset)):
                    factor = change
                    for hint, p, s in zip(self.hints, part, subset):
                        factor *= -hint if s and not p else 1
                    terms[part] = terms.get(part, 0) + factor
        return {part: factor for part, factor in terms.items() if factor}


def _value(terms, sizes):
    total = 0
    for part, factor in terms.items():
        for size, chosen in zip(sizes, part):
            factor *= size if chosen else 1
        total += factor
    return total


def symbol(dim):
    return f"Symbol('{dim}', positive=True, integer=True)"


def _text(terms, dims):
    made = []
    for part, factor in terms.items():
        factors = [symbol(dim) for dim, chosen in zip(dims, part) if chosen]
        if factor != 1 or not factors:
            factors.insert(0, f"Integer({factor})")
        made.append(factors[0] if len(factors) == 1 else f"Mul({', '.join(factors)})")
    return made[0] if len(made) == 1 else f"Add({', '.join(made)})"
