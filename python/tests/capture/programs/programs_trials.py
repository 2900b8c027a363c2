# More of what tests of compilers try: generators and iterators of one's own, hooks, exceptions in odd places, objects that change
# themselves, modules in all their forms.
import abc
import array
import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import textwrap
import types
import typing
import weakref


def batches(xs, n, *, drop=False):
    batch = []
    for x in xs:
        batch.append(x)
        if len(batch) == n:
            yield torch.stack(batch)
            batch = []
    if batch and not drop:
        yield torch.stack(batch)


@program(lambda: (t(5, 2), 2, False), lambda: (t(5, 2), 2, True), lambda: (t(4, 2), 3, False))
def generators_batch(x, n, drop):
    return [b.sum(0) for b in batches(x, n, drop=drop)], sum(1 for _ in batches(range(0), 1))


def echo(x):
    received = yield x
    while received is not None:
        x = x * received
        try:
            received = yield x
        except ValueError as e:
            received = yield x + len(str(e))
    return x - 1


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def generators_conversed_with(x, k):
    g = echo(x)
    first = next(g)
    second = g.send(k)
    third = g.throw(ValueError("oh"))
    try:
        g.send(None)
    except StopIteration as stop:
        last = stop.value
    return first, second, third, last


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


@program(lambda: (t(3), Countdown(3)), lambda: (t(3), Countdown(0)))
def iterators_of_ones_own(x, c):
    for i in c:
        x = x + i
    rest = list(c)
    a, b, *more = Countdown(4)
    return x, rest, (a, b, more), dict(zip("abc", Countdown(2))), max(Countdown(3), default=-1), sorted(Countdown(3)), 1 in Countdown(3), tuple(enumerate(Countdown(2), 5)), list(map(lambda u, v: u + v, Countdown(2), Countdown(3)))


@program(lambda: (t(3), iter([1, 2, 3])), lambda: (t(3), iter(())))
def iterators_given(x, it):
    first = next(it, None)
    if first is None:
        return x
    second = next(it)
    return x * first + second, list(it)


@program(lambda: (t(3),))
def iterators_shared(x):
    it = iter(range(6))
    pairs = list(zip(it, it))
    e = enumerate("ab")
    next(e)
    z = zip([1, 2, 3], "ab")
    r = reversed([1, 2, 3])
    next(r)
    return x + pairs[0][1], pairs, list(e), list(z), list(r), list(filter(None, [0, 1, 2])), [*map(str, range(2))], list(zip(*[[1, 2], [3, 4]])), list(zip([1], [2], strict=True))


class Stack(list):
    def push(self, x):
        self.append(x)
        return self

    @property
    def top(self):
        return self[-1]

    def __bool__(self):
        return len(self) > 1


@program(lambda: (t(3), Stack([1])), lambda: (t(3), Stack()))
def lists_of_a_subclass(x, s):
    s.push(x).push(x * 2)
    made = Stack([x]).push(3)
    return s.top + 1, bool(s), len(made), made[1:], type(made + [1]).__name__, isinstance(made, list), type(made.copy()).__name__


class Default(dict):
    def __missing__(self, key):
        value = self[key] = len(key)
        return value


@program(lambda: (t(3), Default(a=1)), lambda: (t(3), Default()))
def dicts_with_missing_keys(x, d):
    y = x * d["abc"] + d["a"]
    return y, dict(d), d.get("none"), "zz" in d, d.setdefault("q", 9), len(d)


@program(lambda: (t(3), {"a": {"b": [1, 2]}}),)
def deep_copies_changed(x, nest):
    c = copy.deepcopy(nest)
    s = copy.copy(nest)
    c["a"]["b"].append(3)
    s["n"] = 1
    z = copy.copy(x)
    w = copy.deepcopy(x)
    w.add_(1)
    return x + sum(c["a"]["b"]), nest, c, s, z is x, w


class Tracked:
    def __init__(self):
        object.__setattr__(self, "history", [])
        self.value = 0

    def __setattr__(self, name, value):
        self.history.append((name, value))
        object.__setattr__(self, name, value)


@program(lambda: (t(3), Tracked()),)
def attribute_writes_tracked(x, o):
    o.value = 3
    o.value += 1
    setattr(o, "other", x)
    p = Tracked()
    p.value = 5
    return x * o.value, o.history[:3], p.history, o.other is x


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return (self @ self) ** 0.5

    def __eq__(self, o):
        return isinstance(o, Vector) and (self.x, self.y) == (o.x, o.y)

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __call__(self, f):
        return Vector(f(self.x), f(self.y))

    def __enter__(self):
        self.x += 1
        return self

    def __exit__(self, *e):
        self.x -= 1

    def __len__(self):
        return 2

    def __contains__(self, v):
        return v in (self.x, self.y)

    def __iadd__(self, o):
        self.x += o.x
        return self


@program(lambda: (t(3), Vector(1, 2)), lambda: (t(3), Vector(3.5, 2)))
def operators_of_slots(x, v):
    w = v + Vector(1, 1) * 2 + 3 * v
    v += Vector(10, 0)
    with v as inside:
        n = inside.x
    u = Vector(x, x + 1)(torch.relu)
    return x * (w @ w), abs(w), -w == w * -1, w[0], len(w), n, 2 in v, u.x, u @ u


@program(lambda: (t(3),))
def errors_of_many_places(x):
    notes = []

    def risky(i):
        if i == 0:
            return {}["k"]
        if i == 1:
            return [][0]
        if i == 2:
            return int("x")
        if i == 3:
            return None.attr
        if i == 4:
            return 1 / 0
        if i == 5:
            return len(5)
        if i == 6:
            raise StopIteration(7)
        if i == 7:
            assert False, "asserted"
        return next(iter([]))

    for i in range(9):
        try:
            risky(i)
        except (KeyError, IndexError) as e:
            notes.append(type(e).__name__ + repr(e.args))
        except (ValueError, AttributeError, ZeroDivisionError, TypeError) as e:
            notes.append(str(e))
        except StopIteration as e:
            notes.append(e.value)
        except AssertionError as e:
            notes.append(e.args)
    return x + len(notes), notes


@program(lambda: (t(3), True), lambda: (t(3), False))
def errors_pass_through_contexts(x, fail):
    log = []

    class Manager:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            log.append("enter " + self.name)
            return self

        def __exit__(self, kind, value, tb):
            log.append(("exit " + self.name, kind.__name__ if kind else None))
            return self.swallow

    with Manager("a", True), Manager("b") as b:
        x = x + 1
        if fail:
            raise RuntimeError(b.name)
        x = x * 2
    return x, log


@contextlib.contextmanager
def temporarily(obj, **changes):
    before = {k: getattr(obj, k) for k in changes}
    for k, v in changes.items():
        setattr(obj, k, v)
    try:
        yield obj
    finally:
        for k, v in before.items():
            setattr(obj, k, v)


@program(lambda: (t(3), types.SimpleNamespace(scale=1, name="n")),)
def attributes_for_a_while(x, o):
    with temporarily(o, scale=5, name="m") as p:
        y = x * p.scale
        name = p.name
    try:
        with temporarily(o, scale=7):
            raise KeyError("k")
    except KeyError:
        pass
    return y * o.scale, name, o.name


@program(lambda: (t(3),))
def stacks_of_contexts(x):
    log = []
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.callback(log.append, i)
        stack.enter_context(torch.no_grad())
        stack.enter_context(contextlib.suppress(ValueError))
        stack.push(lambda *e: log.append(e[0]))
        y = x.clone().requires_grad_() * 2
        kept = stack.pop_all()
    kept.close()
    with contextlib.redirect_stdout(None) if False else contextlib.nullcontext(5) as five:
        pass
    with contextlib.closing(types.SimpleNamespace(close=lambda: log.append("closed"))):
        log.append("open")
    return y, y.requires_grad, log, five


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        nn.init.constant_(self.lin.weight, 0.5)
        nn.init.zeros_(self.lin.bias)
        self.seen = []

    def forward(self, x, scale=1.0):
        return self.lin(x) * scale


def with_hooks(kind):
    m = Hooked()
    if kind == "pre":
        m.register_forward_pre_hook(lambda mod, args: (args[0] + 1,))
    elif kind == "kwargs":
        m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"scale": kwargs.get("scale", 1) * 3}), with_kwargs=True)
    elif kind == "post":
        m.lin.register_forward_hook(lambda mod, args, out: out.relu())
    elif kind == "record":
        m.lin.register_forward_hook(lambda mod, args, out: m.seen.append(out.detach().sum()))
    elif kind == "removed":
        m.register_forward_hook(lambda *a: None).remove()
    return m


@program(*[functools.partial(lambda kind: (with_hooks(kind), t(2, 2)), kind) for kind in ("none", "pre", "kwargs", "post", "record", "removed")])
def hooks_of_every_kind(m, x):
    return m(x, scale=2.0).detach(), len(m.seen)


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})
        self.params = nn.ParameterList([nn.Parameter(torch.ones(2) * i) for i in range(2)])
        self.order = ["a", "b"]
        self.register_buffer("steps", torch.tensor(0))
        self.register_parameter("none", None)
        for p in self.blocks.parameters():
            nn.init.constant_(p, 0.25)

    def forward(self, x):
        for name in self.order:
            x = self.blocks[name](x)
        for p in self.params:
            x = x + p
        self.steps += 1
        if self.none is not None:
            x = x * self.none
        return x


@program(lambda: (Growing(), t(1, 2)), lambda: (Growing(), t(3, 2)))
def containers_of_modules(m, x):
    y = m(x)
    return y.detach(), m.steps, [k for k in m.blocks], "a" in m.blocks, len(m.params), [n for n, _ in m.named_modules()], list(m.state_dict())


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


class Inner(nn.Module):
    factor = 3

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.ones(2))
        self.hidden = 4

    def extra(self, x):
        return x * self.factor

    def forward(self, x, *, twice=False):
        x = x + self.bias
        return x * 2 if twice else x


@program(lambda: (Outer(Inner()), t(2)), lambda: (Outer(Outer(Inner())), t(2)))
def modules_that_delegate(m, x):
    return m(x, twice=True).detach(), m.extra(x), m.hidden, hasattr(m, "nothing"), m.factor


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self._cache = {}
        self.dim = 4

    def table(self, n):
        if n not in self._cache:
            self._cache[n] = torch.arange(n, dtype=torch.float32)[:, None] * torch.ones(self.dim)
        return self._cache[n]

    @functools.cached_property
    def scale(self):
        return self.dim ** -0.5

    def forward(self, x):
        return (x + self.table(x.shape[0])) * self.scale


CACHED = Cached()


@program(lambda: (t(2, 4),), lambda: (t(3, 4),), lambda: (t(2, 4),), lambda: (t(3, 4),))
def tables_cached_in_modules(x):
    return CACHED(x), sorted(CACHED._cache), "scale" in CACHED.__dict__


@program(lambda: (t(3), "b a c"), lambda: (t(3), "x"))
def texts_and_their_methods(x, text):
    words = text.split()
    table = str.maketrans("abc", "ABC")
    form = string.Template("$n words").substitute(n=len(words))
    return x * len(words), " ".join(sorted(words)).translate(table), text.title().swapcase().center(9, "*"), text.partition(" ")[2], \
        form, textwrap.dedent("  hi"), re.sub(r"[a-b]", lambda m: m.group().upper(), text), re.findall(r"\w", text), text.encode().hex(), \
        "{:>{w}}|{!r}".format(text, words, w=6), json.dumps({"w": words}), json.loads("[1, {\"a\": null}]"), text[::-1], text.isalpha(), ",".join(map(str, range(3))), f"{len(words):03d} {x.shape[0]!r:>4} {0.5:%}"


@program(lambda: (t(3),))
def numbers_and_their_modules(x):
    return x + math.gcd(12, 18), math.comb(5, 2), math.isclose(0.1 + 0.2, 0.3), math.fsum([0.1] * 10), math.prod([1, 2, 3]), divmod(-7, 2), round(2.5), round(2.567, 2), \
        (5).bit_length(), int.from_bytes(b"\x01\x00", "big"), (0.5).as_integer_ratio(), float.fromhex("0x1p3"), complex(1, 2).conjugate(), hash(1) == hash(1.0), 7 // -2, -7 % 3, 2 ** -1, \
        statistics.mean([1, 2, 3]), bisect.bisect([1, 3, 5], 3), heapq.nsmallest(2, [3, 1, 2]), array.array("i", [1, 2]).tolist(), sum([[1], [2]], []), min([3, 1], key=lambda v: -v), 1_000, 0b101, 0xff, math.inf > 1, bool("") or "default"


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"

    @classmethod
    def parse(cls, text):
        return next(c for c in cls if c.value == text)

    def mix(self, x):
        return x * {Color.RED: 2, Color.BLUE: 3}[self]


@program(lambda: (t(3), "r"), lambda: (t(3), "b"))
def enums_parsed(x, text):
    c = Color.parse(text)
    match c:
        case Color.RED:
            x = x + 1
        case Color.BLUE:
            x = x - 1
    return c.mix(x), c.name, c is Color.RED, Color("b").value, list(Color.__members__), c in {Color.RED}, Color["RED"] == c


@dataclasses.dataclass(order=True, frozen=True, slots=True)
class Job:
    priority: int
    name: str = dataclasses.field(compare=False, default="job")

    def bumped(self):
        return dataclasses.replace(self, priority=self.priority + 1)


@program(lambda: (t(3), [Job(2, "b"), Job(1, "a")]), lambda: (t(3), [Job(5)]))
def jobs_in_a_heap(x, jobs):
    heap = list(jobs)
    heapq.heapify(heap)
    heapq.heappush(heap, Job(0, "zero"))
    names = []
    while heap:
        j = heapq.heappop(heap)
        names.append(j.name)
        x = x + j.priority
    try:
        jobs[0].priority = 9
    except dataclasses.FrozenInstanceError as e:
        names.append(type(e).__name__)
    return x, names, jobs[0].bumped() > jobs[0], hash(Job(1)) == hash(Job(1)), dataclasses.astuple(jobs[0]), dataclasses.asdict(jobs[0])


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def walrus_and_comprehensions(x, n):
    squares = {k: v for k in range(n) if (v := k * k) % 2 == 0}
    nested = [[i * j for j in range(i)] for i in range(n)]
    flat = [v for row in nested for v in row if v]
    if (total := sum(flat)) > 2:
        x = x + total
    gen = (y for y in (x, x * 2))
    first, second = gen
    return first + second, squares, nested, {i % 2 for i in range(n)}, any((found := i) > 1 for i in range(n)), found, [*range(n), *"ab"], {**squares, "z": 1}


def trace(tag=None, *, level=1):
    def wrap(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            inner.log.append((tag or f.__name__, level, len(args), tuple(kwargs)))
            return f(*args, **kwargs)
        inner.log = []
        return inner
    return wrap


@trace("tagged", level=2)
def traced_one(x, k=1):
    return x * k


@trace()
@torch.no_grad()
def traced_two(x):
    return traced_one(x, k=3) + 1


@program(lambda: (t(3, grad=True),), lambda: (t(3),))
def decorators_that_log(x):
    y = traced_two(x)
    return y, y.requires_grad, list(traced_one.log), traced_two.log[-1], traced_two.__wrapped__.__name__


@functools.singledispatch
def describe(x):
    return "other"


@describe.register
def _(x: int):
    return "int"


@describe.register(list)
@describe.register(tuple)
def _(x):
    return [describe(v) for v in x]


@describe.register(torch.Tensor)
def _(x):
    return x.sum()


@program(lambda: (t(3), 1), lambda: (t(3), "s"), lambda: (t(3), (1, [2.5])))
def dispatched_on_kinds(x, v):
    return describe(x), describe(v), describe([x, v])


@program(lambda: (t(3), 0), lambda: (t(3), 1), lambda: (t(3), 2))
def finally_with_flow(x, kind):
    log = []
    for i in range(3):
        try:
            if kind == 0 and i == 1:
                continue
            if kind == 1 and i == 1:
                break
            x = x + i
        finally:
            log.append(i)
            if kind == 2 and i == 1:
                return x, log, "early"
    else:
        log.append("else")
    return x, log
