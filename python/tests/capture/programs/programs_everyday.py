# What else people write: protocols of classes, functions, errors, containers, texts, tensors.
import abc
import argparse
import bisect
import collections
import dataclasses
import enum
import functools
import hashlib
import heapq
import inspect
import json
import logging
import math
import operator
import os
import pathlib
import random
import re
import statistics
import string
import struct
import textwrap
import time
import typing
import warnings
import weakref


# Classes.


class Validated:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, 0)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(f"{self.name[1:]} must not be negative: {value}")
        setattr(instance, self.name, value)


class Registered:
    kinds = {}

    def __init_subclass__(cls, /, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Registered.kinds[kind or cls.__name__.lower()] = cls

    size = Validated()

    def __init__(self, size):
        self.size = size

    def __class_getitem__(cls, key):
        return cls.kinds[key]


class Square(Registered, kind="square"):
    def area(self, x):
        return x * self.size ** 2


class Disc(Registered):
    def area(self, x):
        return x * math.pi * self.size ** 2


@program(lambda: (t(2), "square", 2), lambda: (t(2), "disc", 1), lambda: (t(2), "disc", -1))
def registered_classes(x, kind, size):
    shape = Registered[kind](size)
    return shape.area(x), type(shape).__name__, sorted(Registered.kinds), shape.size


@functools.total_ordering
class Score:
    __slots__ = ("value", "name")

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return self.value < other.value

    def __repr__(self):
        return f"Score({self.name!r}, {self.value})"


@program(lambda: (t(3), [Score("a", 2), Score("b", 1)]),)
def totally_ordered(x, scores):
    scores.append(Score("c", 3))
    best = max(scores)
    return x * best.value, sorted(scores)[0].name, scores[0] >= scores[1], repr(best), [s.name for s in sorted(scores, reverse=True)]


@dataclasses.dataclass(order=True, slots=True, kw_only=True)
class Job:
    priority: int
    name: str = dataclasses.field(default="none", compare=False)
    tags: list = dataclasses.field(default_factory=list, compare=False)


@program(lambda: (t(3),),)
def dataclasses_of_all_options(x):
    heap = []
    for p, n in ((3, "c"), (1, "a"), (2, "b")):
        heapq.heappush(heap, Job(priority=p, name=n))
    heap[0].tags.append("first")
    order = [heapq.heappop(heap).name for _ in range(3)]
    job = dataclasses.replace(Job(priority=4), name="d")
    return x * job.priority, order, dataclasses.asdict(job), [f.name for f in dataclasses.fields(job)], job


@dataclasses.dataclass
class Output:
    logits: typing.Any
    loss: typing.Any = None
    hidden: tuple = ()

    def __getitem__(self, key):
        return getattr(self, key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self):
        return tuple(v for v in (self.logits, self.loss, self.hidden) if v is not None)

    def __iter__(self):
        return iter(self.to_tuple())


@program(lambda: (t(3), None), lambda: (t(3), t(3)))
def outputs_like_tuples(x, target):
    out = Output(x * 2, None if target is None else F.mse_loss(x, target), hidden=(x,))
    first, *rest = out
    return out, out["logits"] is first, len(rest), out[0], {**dataclasses.asdict(out)}.keys()


class Color(enum.Enum):
    RED = enum.auto()
    GREEN = enum.auto()

    def __str__(self):
        return self.name.title()

    @property
    def weight(self):
        return self.value * 10

    @classmethod
    def default(cls):
        return cls.GREEN


class Activation(str, enum.Enum):
    RELU = "relu"
    TANH = "tanh"

    @property
    def function(self):
        return getattr(torch, self.value)


class Permission(enum.Flag):
    R = enum.auto()
    W = enum.auto()
    X = enum.auto()
    RW = R | W


@program(lambda: (t(3), Color.RED, "relu", Permission.RW), lambda: (t(3), Color.default(), "tanh", Permission.X))
def enums_of_all_kinds(x, color, name, permission):
    y = Activation(name).function(x) * color.weight
    table = {c: c.weight for c in Color}
    return y, str(color), f"{color}", table[Color.RED], permission & Permission.W, bool(permission & Permission.RW), \
        [p.name for p in Permission], Activation.RELU == "relu", Color["GREEN"] is Color(2), len(Color)


class Vector(tuple):
    def __new__(cls, *values):
        return super().__new__(cls, values)

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self, other)))

    def __mul__(self, k):
        return Vector(*(a * k for a in self))

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return sum(abs(v) for v in self)

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self, other))

    @property
    def x(self):
        return self[0]


@program(lambda: (t(3),),)
def tuple_subclass(x):
    v = Vector(x, 2) + Vector(1, x)
    w = 2 * -v
    return w, w.x, abs(Vector(1, -2)), v @ w, isinstance(w, tuple), len(w)


class Attributes(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __missing__(self, key):
        return f"<{key}>"


@program(lambda: (t(3), Attributes(scale=2, deep=Attributes(bias=1))),)
def attribute_dicts(x, config):
    config.seen = True
    y = x * config.scale + config.deep.bias
    return y, hasattr(config, "nothing"), config["absent"], config.get("absent"), {**config}.keys(), getattr(config, "name", "none")


class Lazy:
    def __init__(self):
        self.made = 0

    @functools.cached_property
    def table(self):
        self.made += 1
        return {i: i * i for i in range(4)}

    @property
    def factor(self):
        return self._factor

    @factor.setter
    def factor(self, value):
        self._factor = float(value)

    @factor.deleter
    def factor(self):
        del self._factor


@program(lambda: (t(3), Lazy()),)
def properties_of_all_kinds(x, lazy):
    lazy.factor = 3
    y = x * lazy.table[2] * lazy.factor + lazy.table[3]
    del lazy.factor
    try:
        lazy.factor
    except AttributeError as error:
        return y, lazy.made, "_factor" in str(error), sorted(vars(lazy))


class Handler:
    @functools.singledispatchmethod
    def handle(self, value):
        return "other"

    @handle.register
    def _(self, value: int):
        return value + 1

    @handle.register(list)
    def _(self, value):
        return [self.handle(v) for v in value]

    shift = functools.partialmethod(lambda self, x, by: x + by, by=4)


@program(lambda: (t(3),),)
def dispatched_methods(x):
    h = Handler()
    return h.handle([1, "a", [2]]), h.shift(x), h.shift(x, by=1)


class Meta(type):
    def __new__(mcs, name, bases, namespace):
        cls = super().__new__(mcs, name, bases, namespace)
        cls.fields = [k for k, v in namespace.items() if isinstance(v, (int, float)) and not k.startswith("_")]
        return cls

    def __len__(cls):
        return len(cls.fields)

    def __getitem__(cls, name):
        return getattr(cls, name)

    def __contains__(cls, name):
        return name in cls.fields


class Constants(metaclass=Meta):
    width = 3
    rate = 0.5


@program(lambda: (t(3),),)
def classes_of_metaclasses(x):
    return x * Constants["rate"] + len(Constants), "width" in Constants, "x" in Constants, Constants.fields, type(Constants) is Meta


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right

    def insert(self, key):
        side = "left" if key < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(key))
        else:
            child.insert(key)
        return self

    def depth(self):
        return 1 + max((child.depth() for child in (self.left, self.right) if child is not None), default=0)

    def __bool__(self):
        return True


@program(lambda: (t(3), Node(4)),)
def trees_of_nodes(x, root):
    for key in (2, 6, 1, 3, 7):
        root.insert(key)
    for value in root:
        x = x + value
    return x, list(root), root.depth()


class Expression:
    def __init__(self, function):
        self.function = function

    def __call__(self, env):
        return self.function(env)

    def __add__(self, other):
        return Expression(lambda env: self(env) + other(env))

    def __mul__(self, other):
        return Expression(lambda env: self(env) * (other(env) if callable(other) else other))

    @classmethod
    def variable(cls, name):
        return cls(operator.itemgetter(name))


@program(lambda: (t(3),),)
def expressions_composed(x):
    a, b = Expression.variable("a"), Expression.variable("b")
    e = (a + b) * 3 + a * b
    return e({"a": x, "b": x + 1}), e({"a": 2, "b": 3})


class Observer:
    def __init__(self):
        self.listeners = collections.defaultdict(list)

    def on(self, event):
        def register(function):
            self.listeners[event].append(function)
            return function
        return register

    def emit(self, event, *args, **kwargs):
        return [listener(*args, **kwargs) for listener in self.listeners[event]]


@program(lambda: (t(3),),)
def events_and_listeners(x):
    bus = Observer()
    log = []

    @bus.on("step")
    def double(v, name="x"):
        log.append(name)
        return v * 2

    @bus.on("step")
    def half(v, **kw):
        return v / 2

    return bus.emit("step", x, name="first"), bus.emit("none"), log, double.__name__


class State(enum.Enum):
    IDLE = 0
    RUN = 1
    DONE = 2


class Machine:
    transitions = {(State.IDLE, "go"): State.RUN, (State.RUN, "end"): State.DONE}

    def __init__(self):
        self.state = State.IDLE
        self.history = []

    def send(self, event):
        try:
            new = self.transitions[self.state, event]
        except KeyError:
            raise RuntimeError(f"no {event} in {self.state.name}") from None
        self.history.append((self.state, new))
        self.state = new
        return self


@program(lambda: (t(3), Machine(), ["go", "end"]), lambda: (t(3), Machine(), ["end"]), lambda: (t(3), Machine(), ["go", "go"]))
def state_machines(x, machine, events):
    for event in events:
        machine.send(event)
        x = x + machine.state.value
    return x, len(machine.history)


# Functions.


def logged(level="info", *, prefix=""):
    def decorate(function):
        calls = 0

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            nonlocal calls
            calls += 1
            wrapper.calls = calls
            result = function(*args, **kwargs)
            return result, f"{prefix}{function.__name__}:{level}:{calls}"
        return wrapper
    return decorate


@logged("debug", prefix="> ")
def _noted(x, *, k=1):
    "doc"
    return x * k


@program(lambda: (t(3),), lambda: (t(3),))
def decorators_with_options(x):
    a, text = _noted(x)
    b, again = _noted(x, k=2)
    return a + b, text, again, _noted.__name__, _noted.__doc__


class Memo:
    def __init__(self, function):
        self.function = function
        self.cache = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args):
        if args not in self.cache:
            self.cache[args] = self.function(*args)
        return self.cache[args]

    def __get__(self, instance, owner):
        return functools.partial(self, instance)


@Memo
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@program(lambda: (t(3), 10), lambda: (t(3), 12))
def memo_of_a_class(x, n):
    return x * fibonacci(n), len(fibonacci.cache), fibonacci.__name__


def compose(*functions):
    return functools.reduce(lambda f, g: lambda *a, **k: g(f(*a, **k)), functions)


@program(lambda: (t(3),),)
def functions_composed(x):
    f = compose(torch.relu, lambda v: v + 1, functools.partial(torch.mul, other=2), operator.methodcaller("sum"))
    pick = operator.attrgetter("shape")
    return f(x), pick(x), operator.itemgetter(1, 0)([x, 2]), list(map(operator.neg, [1, x]))


@program(lambda: (t(3), 1, 2), lambda: ((t(3),), {"b": 3, "z": 4}))
def signatures_bound(x, *args, **kwargs):
    def target(a, b=2, *rest, c=3, **more):
        return a, b, rest, c, more

    bound = inspect.signature(target).bind(x, *args, **kwargs)
    bound.apply_defaults()
    return target(*bound.args, **bound.kwargs), list(bound.arguments)


@program(lambda: (t(3),),)
def closures_made_in_loops(x):
    late = [lambda v: v * i for i in range(3)]
    early = [lambda v, i=i: v * i for i in range(3)]
    bound = [functools.partial(lambda i, v: v + i, i) for i in range(3)]
    return [f(x) for f in late], [f(x) for f in early], [f(x) for f in bound]


def make_counter(start=0):
    count = start

    def step(by=1):
        nonlocal count
        count += by
        return count

    def peek():
        return count

    return step, peek


counter_step, counter_peek = make_counter(5)


@program(lambda: (t(3),), lambda: (t(3),))
def counters_in_closures(x):
    step, peek = make_counter()
    step()
    step(3)
    counter_step(2)
    return x * peek(), peek(), counter_peek()


@program(lambda: (t(3),),)
def recursion_with_default(x):
    def power(base, n, acc=None):
        acc = torch.ones_like(base) if acc is None else acc
        return acc if n == 0 else power(base * base, n // 2, acc * base if n % 2 else acc)

    def ackermann(m, n):
        return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    return power(x, 5), ackermann(1, 3)


@program(lambda: (t(3), 2), lambda: (t(3), "two"), lambda: (t(3), [1, 2]), lambda: (t(3), None), lambda: (t(3), {"k": t(3)}),
         lambda: (t(3), (1, 2, 3)), lambda: (t(3), Shape3(1, 2)))
def matched(x, value):
    match value:
        case None:
            return x
        case int() | float() as n if n > 1:
            return x * n
        case str(text):
            return x + len(text)
        case [first, second]:
            return x * first + second
        case [first, *rest]:
            return x - first + len(rest)
        case {"k": torch.Tensor() as k, **more}:
            return x + k, more
        case Shape3(a=1, b=b):
            return x * b
        case _:
            return "none"


@dataclasses.dataclass
class Shape3:
    a: int
    b: int


# Errors.


class Failure(Exception):
    def __init__(self, message, code=0, **details):
        super().__init__(message)
        self.code = code
        self.details = details

    def __str__(self):
        return f"[{self.code}] {self.args[0]}"


def retry(times, *kinds):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            errors = []
            for attempt in range(times):
                try:
                    return function(*args, attempt=attempt, **kwargs), errors
                except kinds as error:
                    errors.append(f"{type(error).__name__}: {error}")
            raise Failure("gave up", times, errors=errors)
        return wrapper
    return decorate


@retry(3, ValueError, KeyError)
def _fragile(x, until, attempt):
    if attempt < until:
        raise (ValueError, KeyError)[attempt % 2](f"attempt {attempt}")
    return x * attempt


@program(lambda: (t(3), 2), lambda: (t(3), 0), lambda: (t(3), 5))
def retried(x, until):
    return _fragile(x, until)


@program(lambda: (t(3), 1), lambda: (t(3), 0), lambda: (t(3), None))
def errors_chained(x, d):
    log = []
    try:
        try:
            y = x * (1 // d)
        except ZeroDivisionError as error:
            log.append("zero")
            raise Failure("division", 3, d=d) from error
        except TypeError:
            log.append("type")
            raise
        else:
            log.append("else")
        finally:
            log.append("finally")
    except Failure as failure:
        return str(failure), failure.code, failure.details, repr(failure.__cause__), log
    except TypeError as error:
        return type(error).__name__, error.__cause__, log
    return y, log


@program(lambda: (t(3), []), lambda: (t(3), [1]))
def finally_returns(x, log):
    def inner():
        for i in range(3):
            try:
                if i == 1:
                    continue
                if log and i == 2:
                    return "early", x * i
                log.append(i)
            finally:
                log.append(-i)
        return "end", x

    return inner(), log


@program(lambda: (t(2, 3), t(3, 2)), lambda: (t(2, 3), t(2, 3)))
def shapes_checked(a, b):
    if a.shape[-1] != b.shape[0]:
        raise ValueError(f"sizes differ: {tuple(a.shape)} and {list(b.shape)}")
    return a @ b


@program(lambda: (t(3),),)
def warnings_given(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        y = x + 1
    return y, [(w.category.__name__, str(w.message)) for w in caught]


class Logs:
    logger = logging.getLogger("capture.daily")


@program(lambda: (t(3),),)
def logging_calls(x):
    logger = Logs.logger
    logger.debug("shape %s", x.shape)
    if logger.isEnabledFor(logging.DEBUG):
        x = x + 1
    logger.info("sum %f", 1.0)
    return x * 2


# Containers and texts.


@program(lambda: (t(3), {"b": 1, "a": 2}),)
def dicts_of_many_kinds(x, d):
    merged = {**d, "c": x} | {"a": 5}
    inverse = {v: k for k, v in d.items()}
    order = collections.OrderedDict(sorted(d.items()))
    order.move_to_end("a")
    first = next(iter(d))
    d.setdefault("list", []).append(x)
    d |= {"z": 0}
    popped = d.pop("b")
    return merged, inverse, list(order), first, popped, list(reversed(d)), d.keys() & {"a", "q"}, dict.fromkeys("ab", 0), max(inverse)


@program(lambda: (t(3),),)
def counters_and_chains(x):
    c = collections.Counter("mississippi")
    c.update("miss")
    c.subtract(s=2)
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    child = chain.new_child({"b": 4})
    child["d"] = x
    return c.most_common(2), +c, sum(c.values()), dict(child), chain["a"], child.maps[0], list(c.elements())[:3]


@program(lambda: (t(3), [3, 1, 2]),)
def lists_of_many_kinds(x, values):
    values[1:1] = [9, 8]
    del values[::3]
    values *= 2
    ranked = sorted(range(len(values)), key=values.__getitem__)
    matrix = [[i * j for j in range(3)] for i in range(3)]
    transposed = [list(row) for row in zip(*matrix)]
    matrix[1][2] = x
    spot = bisect.bisect_left([1, 3, 5], 4)
    return values, ranked, matrix, transposed, spot, values.count(8), values.index(max(values)), [*range(3), *"ab"], sum(matrix[2])


@program(lambda: (t(3),),)
def sets_of_many_kinds(x):
    a, b = {1, 2, 3}, frozenset([2, 3, 4])
    a ^= {9}
    names = {"x": a}
    return a | b, a & b, a - b, b ^ a, a <= b, a.isdisjoint({7}), {len(s) for s in ("a", "bb", "cc")}, sorted(names["x"]), x + len(a & b)


@program(lambda: (t(2, 3), 3.14159, "name"), lambda: (t(2, 3), 2.5, "long name here"))
def texts_made(x, value, name):
    width = 10
    table = str.maketrans("aeiou", "AEIOU")
    parts = f"{name!r:>{width}}|{value:+.3e}|{value:{width}.2f}|{x.shape[0]:03d}|{tuple(x.shape)}|{x.dtype}|{'yes' if value > 3 else 'no':^5}"
    words = [w.capitalize() for w in re.split(r"\s+", name)]
    template = string.Template("$who has $n").substitute(who=name, n=x.numel())
    return parts, name.translate(table), words, template, textwrap.shorten(name, 8), f"{value=:.1f}", name.partition(" "), x * len(words), \
        "%-5s|%5.1f|%x" % (name[:3], value, 255), "{0[0]}{1:>4}".format(name, 7), name.encode().hex(), json.dumps({"a": [1, None, True]}, sort_keys=True)


@program(lambda: (t(3),),)
def bytes_and_digests(x):
    packed = struct.pack("<if", 3, 0.5)
    number, half = struct.unpack("<if", packed)
    digest = hashlib.sha256(b"name").hexdigest()[:8]
    raw = bytearray(b"abc")
    raw[0] = 120
    return x * number * half, digest, bytes(raw), int.from_bytes(b"\x01\x02", "big"), memoryview(raw)[1:].tobytes(), (300).to_bytes(2, "little")


@program(lambda: (t(3), 17, 5), lambda: (t(3), -17, 5))
def numbers_of_many_kinds(x, a, b):
    return x * math.gcd(a, b), divmod(a, b), pow(a, 3, b), round(a / b, 2), a.bit_length(), int("ff", 16), bin(a), hex(b), math.comb(5, 2), \
        math.isclose(0.1 + 0.2, 0.3), float("inf") > a, complex(a, b).conjugate(), statistics.mean([a, b]), math.prod([1, 2, b]), \
        a // b, a % b, -a // b, ~a, a << 2, a >> 1, a & b, a | b, a ^ b, math.floor(a / b), math.hypot(3, 4), abs(a), (a > b) + 1, int(True)


@program(lambda: (t(3), pathlib.PurePosixPath("models/net.pt")),)
def paths_and_environment(x, path):
    os.environ.get("NOT_THERE", "default")
    return x + len(path.parts), path.stem, path.suffix, str(path.with_suffix(".bin")), os.path.join("a", "b"), path.name == "net.pt", \
        os.path.splitext("x.tar.gz"), (path.parent / "other").as_posix()


@program(lambda: (t(3), argparse.Namespace(rate=0.5, steps=2, verbose=False)),)
def options_of_argparse(x, options):
    for _ in range(options.steps):
        x = x * options.rate
    if not options.verbose:
        options.done = True
    return x, vars(options), "rate" in options


class Point2(typing.NamedTuple):
    x: float
    y: float = 0.0

    def shifted(self, by):
        return self._replace(x=self.x + by)

    @property
    def norm(self):
        return (self.x ** 2 + self.y ** 2) ** 0.5


@program(lambda: (t(3), Point2(3.0, 4.0)),)
def named_tuples(x, p):
    q = p.shifted(x)
    return q, p.norm, p._asdict(), Point2._fields, p == (3.0, 4.0), Point2(*[1, 2]).norm, sorted([Point2(2), Point2(1)])[0].x


# Tensors.


@program(lambda: (t(2, 3, 4),), lambda: (t(1, 3, 2),))
def indices_of_many_kinds(x):
    return x[0], x[:, None], x[..., -1], x[:, [0, 2]], x[x > 0].sum(), x[torch.tensor([0]), :, 1], x[:, ::2], x.flip(0)[0, 1:, :1], \
        x[(0, slice(None), 0)], x[:, torch.tensor([True, False, True])], x[-1:].shape


@program(lambda: (t(2, 3, 4),), lambda: (t(2, 5, 4),))
def shapes_computed(x):
    *lead, last = x.shape
    b, n = x.size(0), x.size(1)
    y = x.reshape(*lead, 2, last // 2).transpose(1, 2).contiguous().view(b, 2, n * (last // 2))
    z = x.new_zeros(x.shape[:-1] + (2,))
    return y, z, torch.broadcast_shapes((3, 1), (1, 4)), x.flatten(1).shape, x.shape.numel(), x.unflatten(2, (2, 2)).shape, tuple(lead), x.ndim, \
        x.shape == torch.Size([2, 3, 4]), x.stride(), x.permute(2, 0, 1).is_contiguous()


@program(lambda: (t(2, 3), t(3, 4)),)
def products_of_einsum(a, b):
    c = torch.einsum("ij,jk->ik", a, b)
    outer = torch.einsum("i,j->ij", a[0], b[:, 0])
    return c, outer, torch.allclose(c, a @ b), (c == a @ b).all().item()


@program(lambda: (t(6),), lambda: (t(4),))
def values_selected(x):
    values, order = x.sort(descending=True)
    top = torch.topk(x, 2)
    best = x.max(dim=0)
    return values, order, top.values, top.indices, best.values, best.indices, torch.where(x > 0, x, -x), x.clamp(-0.5, 0.5), x.cumsum(0), x.unique()


@program(lambda: (t(3), torch.float64), lambda: (t(3), torch.float16), lambda: (t(3), torch.int32))
def dtypes_asked(x, dtype):
    y = x.to(dtype)
    limit = torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max
    return y, y.dtype is dtype, limit > 1, torch.result_type(x, y), torch.promote_types(dtype, torch.float32), y.element_size(), y.is_floating_point(), \
        x.device.type == "cpu", torch.get_default_dtype(), torch.can_cast(dtype, torch.float32)


@program(lambda: (t(4, 2), t(4)),)
def written_in_place(x, w):
    buffer = torch.zeros(4, 2)
    buffer[1:3] = x[:2]
    buffer[0, 1] = 7
    buffer[:, 0] += w
    buffer.index_add_(0, torch.tensor([0, 3]), x[:2])
    view = buffer[2]
    view.mul_(2)
    x.add_(1).clamp_(max=2)
    for row in buffer:
        row -= 0.5
    return buffer, view, x


@program(lambda: (t(4, 3), 3), lambda: (t(4, 3), 5))
def greedy_decoding(table, limit):
    ids = [0]
    for _ in range(limit):
        logits = table[ids[-1]]
        token = int(logits.argmax())
        ids.append(token)
        if token == 2:
            break
    return ids


@program(lambda: (t(1, 4), 3),)
def beams_without_items(logits, width):
    scores = torch.zeros(1, 1)
    tokens = torch.zeros(1, 1, 1, dtype=torch.long)
    for step in range(width):
        logp = F.log_softmax(logits * (step + 1), dim=-1)
        total = scores.unsqueeze(-1) + logp.unsqueeze(1)
        flat, index = total.flatten(1).topk(2)
        beam, token = torch.div(index, 4, rounding_mode="floor"), index % 4
        tokens = torch.cat([tokens.gather(1, beam.unsqueeze(-1).expand(-1, -1, tokens.size(-1))), token.unsqueeze(-1)], -1)
        scores = flat
    return scores, tokens


@program(lambda: (t(5),), lambda: (t(5) * 10,))
def loops_until_converged(x):
    for step in range(10):
        new = x / 2
        if (new - x).abs().max() < 0.1:
            break
        x = new
    else:
        step = -1
    return x, step


@program(lambda: ([t(2), t(3), t(1)],), lambda: ([t(4)],))
def padded_batches(items):
    longest = max(len(i) for i in items)
    out = items[0].new_full((len(items), longest), -1)
    mask = torch.zeros(len(items), longest, dtype=torch.bool)
    for row, item in enumerate(items):
        out[row, :item.numel()] = item
        mask[row, :item.size(0)] = True
    return out, mask, nn.utils.rnn.pad_sequence(items, batch_first=True)


class Wrapped:
    """Arithmetic over tensors with a name."""

    def __init__(self, value, name=""):
        self.value, self.name = value, name

    def _lift(self, other):
        return other if isinstance(other, Wrapped) else Wrapped(other)

    def __add__(self, other):
        return Wrapped(self.value + self._lift(other).value, f"({self.name}+{self._lift(other).name})")

    __radd__ = __add__

    def __iadd__(self, other):
        self.value = self.value + self._lift(other).value
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __eq__(self, other):
        return bool((self.value == self._lift(other).value).all())

    __hash__ = None


@program(lambda: (t(3),),)
def wrapped_tensors(x):
    w = Wrapped(x, "x")
    v = 1 + w + w
    v += 2
    return v.value, v.name, v.shape, w.dim(), v.sum()


@program(lambda: (t(3),), lambda: (t(3),))
def seeds_inside(x):
    torch.manual_seed(3)
    a = torch.rand(3)
    g = torch.Generator().manual_seed(5)
    b = torch.rand(3, generator=g)
    return x + a, b, torch.randperm(4), torch.randint(0, 5, (2,))


@program(lambda: (t(4), random.Random(3)),)
def shuffled(x, rng):
    order = list(range(4))
    rng.shuffle(order)
    return x[order], rng.sample(range(10), 2), rng.choice("abc"), rng.gauss(0, 1)


@program(lambda: (t(3),),)
def ifs_on_metadata(x):
    if torch.is_tensor(x) and x.is_floating_point() and not x.requires_grad and x.layout is torch.strided:
        x = x * 2
    if torch.jit.is_scripting() or torch.jit.is_tracing():
        x = x * 100
    if x.device == torch.device("cpu") and not x.is_cuda:
        x = x + 1
    return x, x.is_leaf, x.grad_fn, x.data_ptr() != 0, type(x) is torch.Tensor


@program(lambda: (t(3),), lambda: (t(3),))
def timed_parts(x):
    start = time.perf_counter()
    y = x * 2
    took = time.perf_counter() - start
    return y, took >= 0


@program(lambda: (t(3),),)
def weak_references(x):
    class Thing:
        pass

    thing = Thing()
    r = weakref.ref(thing)
    table = weakref.WeakValueDictionary()
    table["k"] = thing
    return x + 1, r() is thing, "k" in table


@program(lambda: (t(3),),)
def types_asked(x):
    kinds = (int, float, torch.Tensor)
    return [isinstance(v, kinds) for v in (1, "a", x)], issubclass(bool, int), type(x).__name__, callable(x.sum), isinstance([], collections.abc.Sequence), \
        isinstance({}, collections.abc.Mapping), type(x).__mro__[-1] is object, hasattr(x, "grad"), isinstance(x.shape, tuple), x + 1


shared_memory = {"calls": 0, "last": None}


@program(lambda: (t(3),), lambda: (t(3) * 2,))
def module_level_state(x):
    shared_memory["calls"] += 1
    previous = shared_memory["last"]
    shared_memory["last"] = x * 2
    return x if previous is None else x + previous, shared_memory["calls"]


@program(lambda: (t(3), [t(3)]),)
def membership_by_identity(x, items):
    found = any(item is x for item in items)
    items.append(x)
    return found, any(item is x for item in items), items.index(items[0]), x + 1


@program(lambda: (t(3),),)
def globals_by_name(x):
    name = "math"
    module = globals()[name]
    local = {"x": x, "scale": 2}
    return x * module.sqrt(4), "shared_memory" in globals(), eval("2 + 3"), local["scale"]


@program(lambda: (t(3),), lambda: (t(4),))
def arithmetic_with_sizes(x):
    n = len(x)
    weights = torch.linspace(0, 1, n)
    even = n % 2 == 0
    middle = x[n // 2] if not even else (x[n // 2 - 1] + x[n // 2]) / 2
    return (x * weights).sum() / n, middle, torch.arange(n - 1, -1, -1), [i for i in range(0, n, 2)], n ** 0.5, f"{n} items"
