# Objects of Python in their corners: descriptors, metaclasses, slots, dataclasses, enums, patterns, generators, errors.
import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import re
import string
import types
import typing
from dataclasses import KW_ONLY, InitVar, dataclass, field


class Typed:
    def __set_name__(self, owner, name):
        self.name = name
        self.key = "_" + name

    def __init__(self, kind, default=None):
        self.kind, self.default = kind, default

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return obj.__dict__.get(self.key, self.default)

    def __set__(self, obj, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name}: {type(value).__name__} is no {self.kind.__name__}")
        obj.__dict__[self.key] = value

    def __delete__(self, obj):
        del obj.__dict__[self.key]


class Settings:
    rate = Typed(float, 0.5)
    steps = Typed(int, 3)


@program(lambda: (t(3), Settings()), lambda: (t(4), Settings()))
def descriptors_with_names(x, s):
    before = s.rate, s.steps
    s.rate = 0.25
    s.steps = s.steps + 2
    y = x * s.rate + s.steps
    try:
        s.steps = "many"
    except TypeError as e:
        text = str(e)
    del s.rate
    return y, before, s.rate, text, Settings.rate is type(s).__dict__["rate"]


class Lazily:
    """A descriptor without __set__: the instance's dict wins once it is there."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __get__(self, obj, owner):
        if obj is None:
            return self
        self.calls += 1
        value = obj.__dict__[self.function.__name__] = self.function(obj)
        return value


class Table:
    def __init__(self, base):
        self.base = base

    @Lazily
    def doubled(self):
        return self.base * 2


@program(lambda: (t(3),), lambda: (t(3),))
def descriptors_that_store(x):
    a = Table(x)
    first = a.doubled
    second = a.doubled
    return first + second, Table.__dict__["doubled"].calls, first is second


class Registered(type):
    known = {}

    def __new__(mcls, name, bases, namespace, **options):
        made = super().__new__(mcls, name, bases, namespace)
        made.options = options
        mcls.known[name] = made
        return made

    def __init__(cls, name, bases, namespace, **options):
        super().__init__(name, bases, namespace)

    def __contains__(cls, name):
        return name in cls.known

    def __getitem__(cls, name):
        return cls.known[name]

    def __iter__(cls):
        return iter(sorted(cls.known))

    def __len__(cls):
        return len(cls.known)

    @property
    def factor(cls):
        return cls.options.get("factor", 1)


class Operation(metaclass=Registered):
    def __call__(self, x):
        return x


class Double(Operation, factor=2):
    def __call__(self, x):
        return x * type(self).factor


class Shift(Operation, factor=10):
    def __call__(self, x):
        return x + type(self).factor


@program(lambda: (t(3), ["Double", "Shift"]), lambda: (t(3), ["Shift", "None"]))
def metaclasses_as_containers(x, names):
    for name in names:
        if name in Operation:
            x = Operation[name]()(x)
        else:
            x = x - 1
    return x, list(Operation), len(Operation), Double.factor


class Meta(type):
    def __instancecheck__(cls, instance):
        return getattr(instance, "quack", None) is not None

    def __subclasscheck__(cls, other):
        return hasattr(other, "quack")

    def __or__(cls, other):
        return (cls, other)

    def __repr__(cls):
        return f"<{cls.__name__}>"


class Duck(metaclass=Meta):
    pass


class Bird:
    quack = 3


@program(lambda: (t(3), Bird()), lambda: (t(3), object()))
def metaclasses_that_check(x, thing):
    if isinstance(thing, Duck):
        x = x * thing.quack
    return x, issubclass(Bird, Duck), issubclass(int, Duck), repr(Duck), Duck | int


class Point:
    __slots__ = ("x", "y", "_cache")

    def __init__(self, x, y):
        self.x, self.y = x, y

    @property
    def norm(self):
        try:
            return self._cache
        except AttributeError:
            self._cache = (self.x * self.x + self.y * self.y).sqrt()
            return self._cache

    def __iter__(self):
        yield self.x
        yield self.y

    def __eq__(self, other):
        return isinstance(other, Point) and tuple(map(id, self)) == tuple(map(id, other))

    __hash__ = None


class Point3(Point):
    __slots__ = ("z", "__dict__")

    def __init__(self, x, y, z):
        super().__init__(x, y)
        self.z = z


@program(lambda: (t(3),), lambda: (t(2),))
def slots_inherited(x):
    p = Point3(x, x + 1, 2)
    p.name = "p"
    a = p.norm
    b = p.norm
    first, second = p
    try:
        Point(1, 2).name = "q"
    except AttributeError as e:
        text = type(e).__name__
    try:
        {p: 1}
    except TypeError as e:
        unhashable = str(e)
    return a + first * second + p.z, a is b, p.__dict__, text, p == Point(first, second), unhashable


@dataclass(order=True)
class Job:
    priority: int
    name: str = field(compare=False)
    data: typing.Any = field(default=None, compare=False, repr=False)
    tags: list = field(default_factory=list, compare=False)


@program(lambda: (t(3),), lambda: (t(4),))
def dataclasses_ordered(x):
    jobs = [Job(3, "c", x), Job(1, "a", x + 1), Job(2, "b", x + 2, ["t"])]
    jobs.sort()
    best = min(jobs)
    best.tags.append("first")
    total = sum(j.priority * j.data for j in jobs)
    return total, [j.name for j in jobs], repr(jobs[0]), jobs[0] < jobs[1], jobs[0] == Job(1, "z"), max(jobs).tags


@dataclass
class Base:
    width: int
    _: KW_ONLY
    depth: int = 2
    scale: InitVar[float] = 1.0
    total: int = field(init=False)
    kind: typing.ClassVar[str] = "base"

    def __post_init__(self, scale):
        self.total = int(self.width * self.depth * scale)


@dataclass
class Derived(Base):
    extra: int = 0

    def __post_init__(self, scale):
        super().__post_init__(scale)
        self.total += self.extra


@program(lambda: (t(3), 2), lambda: (t(3), 5))
def dataclasses_with_all_fields(x, n):
    a = Base(n, depth=3, scale=2.0)
    b = Derived(n, 7, depth=1)
    c = dataclasses.replace(b, extra=1, scale=1.0)
    names = [f.name for f in dataclasses.fields(b)]
    return x * a.total + b.total - c.total, names, dataclasses.asdict(b), dataclasses.astuple(c), Derived.kind, b == c


@dataclass(frozen=True, slots=True)
class Spec:
    shape: tuple
    fill: float = 0.0

    def make(self):
        return torch.full(self.shape, self.fill)

    def __add__(self, other):
        return Spec(self.shape + other.shape, self.fill + other.fill)


@program(lambda: (t(3),), lambda: (t(3, 3),))
def dataclasses_frozen_with_slots(x):
    s = Spec((3,), 2.0)
    try:
        s.fill = 4.0
    except dataclasses.FrozenInstanceError as e:
        text = str(e)
    table = {s: 1, Spec((3,), 2.0): 2}
    both = s + Spec((2,), 1.0)
    return x + s.make(), text, len(table), both.shape, both.make().sum(), hash(s) == hash(Spec((3,), 2.0))


class Color(enum.Enum):
    RED = (1, 0)
    GREEN = (0, 1)
    CRIMSON = (1, 0)

    def __init__(self, r, g):
        self.r, self.g = r, g

    @property
    def sum(self):
        return self.r + self.g

    @classmethod
    def _missing_(cls, value):
        return cls.GREEN if value == "green" else None


@program(lambda: (t(3), "green"), lambda: (t(3), (1, 0)), lambda: (t(3), "blue"))
def enums_with_values_of_tuples(x, which):
    try:
        c = Color(which)
    except ValueError as e:
        return x, str(e)
    return x * c.r + c.g * 2, c.name, Color.CRIMSON is Color.RED, [m.name for m in Color], list(Color.__members__), c.sum


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()
    ALL = READ | WRITE | RUN


@program(lambda: (t(3), Access.READ | Access.RUN), lambda: (t(3), Access.WRITE))
def flags_combined(x, access):
    if access & Access.READ:
        x = x + 1
    if Access.WRITE in access:
        x = x * 2
    rest = Access.ALL & ~access
    return x, rest, access ^ Access.READ, bool(access & Access.RUN), rest == Access.WRITE, access.value


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Mode(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"

    def __str__(self):
        return self.value


@program(lambda: (t(3), Level.HIGH, "slow"), lambda: (t(3), Level.LOW, "fast"))
def enums_as_numbers_and_texts(x, level, mode):
    m = Mode(mode)
    table = {Mode.FAST: 1.0, Mode.SLOW: 0.5}
    return x * level + table[m], level > Level.LOW, level + 1, f"{m}-{level:d}", m == "fast", sorted(Level), m.upper()


class Shape:
    __match_args__ = ("kind", "sizes")

    def __init__(self, kind, sizes, extra=None):
        self.kind, self.sizes, self.extra = kind, sizes, extra


def area(shape):
    match shape:
        case Shape("square", (side,)):
            return side * side
        case Shape("rect", (a, b), extra=None):
            return a * b
        case Shape(kind="rect", sizes=[a, b, *_], extra=str(unit)):
            return a * b, unit
        case Shape(sizes=()) | None:
            return 0
        case {"kind": str(kind), **rest} if rest:
            return kind, rest
        case [Shape() as first, *others]:
            return area(first), len(others)
        case int() | float() as number:
            return number
        case _:
            raise ValueError(type(shape).__name__)


@program(lambda: (t(3),), lambda: (t(2),))
def patterns_of_classes(x):
    results = [area(s) for s in (Shape("square", (x,)), Shape("rect", (x, 2)), Shape("rect", [x, 3, 4], "cm"), Shape("dot", ()),
                                 None, {"kind": "odd", "n": 1}, [Shape("square", (2,)), 1, 2], 4.5)]
    try:
        area("text")
    except ValueError as e:
        results.append(str(e))
    return results


@dataclass
class Add:
    left: typing.Any
    right: typing.Any


@dataclass
class Mul:
    left: typing.Any
    right: typing.Any


@dataclass
class Neg:
    of: typing.Any


def simplified(e):
    match e:
        case Add(0, b) | Add(b, 0):
            return simplified(b)
        case Mul(1, b) | Mul(b, 1):
            return simplified(b)
        case Mul(0, _) | Mul(_, 0):
            return 0
        case Neg(Neg(inner)):
            return simplified(inner)
        case Add(left=a, right=b):
            return Add(simplified(a), simplified(b))
        case Mul(a, b):
            return Mul(simplified(a), simplified(b))
    return e


def value_of(e, names):
    match e:
        case Add(a, b):
            return value_of(a, names) + value_of(b, names)
        case Mul(a, b):
            return value_of(a, names) * value_of(b, names)
        case Neg(a):
            return -value_of(a, names)
        case str():
            return names[e]
        case _:
            return e


@program(lambda: ({"x": t(3), "y": t(3) + 1},), lambda: ({"x": t(2), "y": t(2) - 1},))
def expressions_simplified(names):
    e = Add(Mul(1, Neg(Neg("x"))), Mul(Add(0, "y"), Add("x", 2)))
    s = simplified(e)
    return value_of(s, names), repr(s)


def averager():
    total, n = 0.0, 0
    average = None
    while True:
        try:
            value = yield average
        except KeyError as e:
            total, n, average = 0.0, 0, None
            yield f"reset by {e.args[0]}"
            continue
        if value is None:
            return n
        total = total + value
        n += 1
        average = total / n


@program(lambda: (t(3),), lambda: (t(4),))
def generators_sent_and_thrown(x):
    g = averager()
    next(g)
    a = g.send(x)
    b = g.send(x * 3)
    text = g.throw(KeyError("k"))
    next(g)
    c = g.send(x + 1)
    try:
        g.send(None)
    except StopIteration as e:
        n = e.value
    return a, b, c, text, n


def inner(log):
    try:
        got = yield 1
        log.append(("got", got))
        yield 2
    except ValueError as e:
        log.append(str(e))
        yield 3
    finally:
        log.append("closed")
    return "inner's"


def outer(log):
    result = yield from inner(log)
    log.append(result)
    yield from (4, 5)


@program(lambda: (t(3), []), lambda: (t(3), []))
def generators_delegating(x, log):
    g = outer(log)
    values = [next(g), g.send("hello"), g.throw(ValueError("bad"))]
    values += list(g)
    h = outer(log)
    next(h)
    h.close()
    return x * sum(values), values, log


@program(lambda: (t(3),), lambda: (t(3),))
def groups_split(x):
    log = []
    try:
        try:
            raise ExceptionGroup("many", [ValueError("v"), TypeError("t"), ExceptionGroup("in", [ValueError("w"), KeyError("k")])])
        except* ValueError as group:
            log.append([str(e) for e in group.exceptions if isinstance(e, ValueError)])
            x = x + 1
        except* TypeError as group:
            log.append(len(group.exceptions))
            x = x * 2
    except ExceptionGroup as rest:
        log.append((rest.message, len(rest.exceptions), type(rest.exceptions[0]).__name__))
    return x, log


def failing(i, x):
    if i % 2:
        raise ValueError(f"odd {i}")
    return x * i


@program(lambda: (t(3), 4), lambda: (t(3), 5))
def groups_collected(x, n):
    errors, results = [], []
    for i in range(n):
        try:
            results.append(failing(i, x))
        except ValueError as e:
            errors.append(e)
    try:
        if errors:
            raise ExceptionGroup("some failed", errors)
    except ExceptionGroup as group:
        match, rest = group.split(lambda e: "1" in str(e))
        texts = [str(e) for e in match.exceptions], rest is None
    return sum(results), texts, len(errors)


def counters():
    made = []
    for i in range(3):
        n = i * 10

        def step(by=1, *, log=made):
            nonlocal n
            n += by

            def show():
                return n, len(log)
            return show
        made.append(step)
    return made


@program(lambda: (t(3),), lambda: (t(3),))
def closures_of_closures(x):
    steps = counters()
    shows = [s(j) for j, s in enumerate(steps)]
    steps[0](5)
    return x * sum(show()[0] for show in shows), [show() for show in shows], steps[1].__closure__[0].cell_contents


def scale(x, by=2, *, shift=0):
    return x * by + shift


@program(lambda: (t(3),), lambda: (t(4),))
def partials_of_partials(x):
    p = functools.partial(scale, shift=1)
    q = functools.partial(p, by=5)
    r = functools.partial(q, x, shift=3)
    return p(x), q(x), r(), r.func is scale, r.keywords, functools.reduce(lambda f, g: lambda v: g(f(v)), [p, q])(x)


@program(lambda: (t(4),), lambda: (t(5),))
def itertools_of_many_kinds(x):
    pairs = list(itertools.pairwise(range(4)))
    runs = [(k, len(list(g))) for k, g in itertools.groupby("aabccc")]
    zipped = list(itertools.zip_longest([1, 2, 3], "ab", fillvalue="-"))
    starred = list(itertools.starmap(pow, [(2, 3), (3, 2)]))
    kept = list(itertools.compress("abcd", [1, 0, 1, 0]))
    dropped = list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1]))
    running = list(itertools.accumulate([x, x + 1, x + 2], operator.mul, initial=x))
    left, right = itertools.tee(iter([1, 2, 3]))
    next(left)
    several = list(zip(left, right)), list(itertools.filterfalse(lambda v: v % 2, range(6)))
    combos = list(itertools.combinations_with_replacement("ab", 2)), list(itertools.permutations([1, 2, 3], 2))[:3]
    return running[-1], pairs, runs, zipped, starred, kept, dropped, several, combos, list(itertools.islice(itertools.cycle("xy"), 5))


@program(lambda: (t(3), "Hello, World 42"), lambda: (t(3), "lower ß İ"))
def texts_of_all_methods(x, s):
    table = str.maketrans({"o": "0", "l": None, "e": "3"})
    parts = s.partition(","), s.rpartition(" "), s.split(maxsplit=1), s.rsplit(None, 1), s.splitlines()
    made = s.translate(table), s.swapcase(), s.title(), s.casefold(), s.center(20, "*"), s.zfill(18), s.expandtabs()
    asked = s.isascii(), s.isalnum(), s.istitle(), s[-2:].isdigit(), s.startswith(("He", "lo")), s.find("o", 5), s.count("l")
    trimmed = s.removeprefix("Hello"), s.removesuffix("42"), s.strip("H2"), s.lstrip("lHe")
    formatted = "{0!r:>20}|{1:+.2e}|{2:#x}|{name:^8}".format(s[:3], 1234.5, 255, name="n"), "%-5s|%05.1f|%%" % ("a", 2.25)
    return x + len(s), parts, made, asked, trimmed, formatted, f"{s[:4]!a:_<10}{3:03d}{0.5:%}", s.encode().hex()


@program(lambda: (t(3), [("b", 2), ("a", 2), ("c", 1)]), lambda: (t(3), [("z", 0)]))
def sorting_stable_with_keys(x, items):
    by_number = sorted(items, key=operator.itemgetter(1))
    both = sorted(items, key=lambda p: (-p[1], p[0]))
    items.sort(key=lambda p: p[0], reverse=True)
    top = max(items, key=lambda p: p[1])
    low = min((p[1] for p in items), default=None)
    words = sorted("the Quick brown fox".split(), key=str.lower)
    by_cmp = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    tensors = sorted([(2, x), (1, x + 1)], key=lambda p: p[0])
    return tensors[0][1], by_number, both, items, top, low, words, by_cmp


class Root:
    def run(self, x, log):
        log.append("Root")
        return x


class Left(Root):
    def run(self, x, log):
        log.append("Left")
        return super().run(x + 1, log)


class Right(Root):
    def run(self, x, log):
        log.append("Right")
        return super().run(x * 2, log)

    @classmethod
    def build(cls, *args):
        return cls()


class Both(Left, Right):
    def run(self, x, log):
        log.append("Both")
        y = super(Left, self).run(x, log)
        return super().run(y, log)

    @classmethod
    def build(cls, *args):
        return super().build(*args)

    def __init_subclass__(cls, /, tag=None, **kw):
        super().__init_subclass__(**kw)
        cls.tag = tag


class Tagged(Both, tag="t"):
    pass


@program(lambda: (t(3),), lambda: (t(2),))
def super_in_chains(x):
    log = []
    made = Tagged.build(1)
    y = made.run(x, log)
    return y, log, [c.__name__ for c in Tagged.__mro__], made.tag, super(Tagged, made).run.__func__ is Both.run


class Vector:
    def __init__(self, *values):
        self.values = list(values)

    def __getitem__(self, i):
        return self.values[i]

    def __setitem__(self, i, v):
        self.values[i] = v

    def __len__(self):
        return len(self.values)

    def __contains__(self, v):
        return any(v is w for w in self.values)

    def __reversed__(self):
        return iter(self.values[::-1])

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self.values, other.values))

    def __rmul__(self, other):
        return Vector(*(other * v for v in self.values))

    def __iadd__(self, other):
        self.values.append(other)
        return self

    def __neg__(self):
        return Vector(*(-v for v in self.values))

    def __bool__(self):
        return bool(self.values)

    def __format__(self, spec):
        return f"<{len(self):{spec}}>"

    def __index__(self):
        return len(self.values)

    def __divmod__(self, other):
        return len(self) // other, len(self) % other

    def __round__(self, n=None):
        return ("rounded", n)

    def __call__(self, *args, **kwargs):
        return len(args), sorted(kwargs)


@program(lambda: (t(3),), lambda: (t(2),))
def operators_of_a_class(x):
    v = Vector(x, x + 1)
    alias = v
    v += x * 3
    w = -(2 * v)
    v[0] = x - 1
    found = x in v, v[0] in v
    return (v @ w, alias is v, found, [a.sum() for a in reversed(v)], bool(Vector()), f"{v:03d}", [10, 11, 12, 13][v],
            divmod(v, 2), round(v, 2), round(v), v(1, 2, k=3), list(v)[1])


class Config(dict):
    __getattr__ = dict.__getitem__

    def __setattr__(self, name, value):
        self[name] = value

    def __missing__(self, key):
        if key.startswith("no_"):
            return False
        raise KeyError(key)


@program(lambda: (t(3), Config(rate=2.0, deep=Config(bias=1))), lambda: (t(3), Config(rate=3.0, deep=Config(bias=2))))
def dicts_with_attributes(x, c):
    c.seen = c.get("seen", 0) + 1
    if not c.no_scale:
        x = x * c.rate
    try:
        c["absent"]
    except KeyError as e:
        missing = e.args
    return x + c.deep.bias, missing, c | {"more": 1}, "no_scale" in c


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_reads", [])

    def __getattr__(self, name):
        self._reads.append(name)
        return getattr(self._target, name)

    def __setattr__(self, name, value):
        setattr(self._target, name, value)

    def __delattr__(self, name):
        delattr(self._target, name)

    def __dir__(self):
        return ["only"]


@program(lambda: (t(3), types.SimpleNamespace(a=2, b=3)), lambda: (t(3), types.SimpleNamespace(a=4, b=1)))
def proxies_of_namespaces(x, space):
    p = Proxy(space)
    p.c = p.a + p.b
    y = x * p.c
    del p.b
    return y, p._reads, hasattr(p, "b"), dir(p), getattr(p, "zzz", 7), space


class Stack(contextlib.AbstractContextManager):
    def __init__(self, log, swallow=()):
        self.log, self.swallow = log, swallow

    def __exit__(self, kind, value, trace):
        self.log.append((kind.__name__ if kind else None, str(value) if value else None, trace is None))
        return kind is not None and issubclass(kind, self.swallow)


@program(lambda: (t(3), []), lambda: (t(3), []))
def contexts_that_swallow_some(x, log):
    with Stack(log), Stack(log, (ValueError, KeyError)):
        x = x + 1
        raise KeyError("k")
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "callback")
        stack.enter_context(Stack(log, (ZeroDivisionError,)))
        stack.push(lambda *exc: log.append(exc[0]) or False)
        x = x * 2
        1 // 0
    try:
        with Stack(log):
            raise IndexError("i") from KeyError("cause")
    except IndexError as e:
        log.append((type(e.__cause__).__name__, e.__suppress_context__))
    return x, log


@program(lambda: (t(3),), lambda: (t(3),))
def errors_while_handling(x):
    log = []
    try:
        try:
            x = x + 1
            raise ValueError("first")
        except ValueError:
            try:
                {}["gone"]
            finally:
                x = x * 2
                log.append("inner finally")
    except KeyError as e:
        log.append((repr(e), repr(e.__context__), e.__cause__))
    else:
        log.append("never")
    finally:
        x = x - 1

    def leave():
        for i in range(3):
            try:
                if i == 1:
                    continue
                if i == 2:
                    return "returned"
            finally:
                log.append(i)
    return x, leave(), log


class Cached:
    made = []

    def __new__(cls, key, *rest):
        for one in cls.made:
            if one.key == key:
                return one
        self = super().__new__(cls)
        self.key = key
        cls.made.append(self)
        return self

    def __init__(self, key, *rest):
        self.count = getattr(self, "count", 0) + 1


@program(lambda: (t(3),), lambda: (t(3),))
def instances_made_once(x):
    a, b, c = Cached("k"), Cached("l", 1), Cached("k")
    return x * a.count, a is c, b.count, len(Cached.made)


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, value: T):
        self.value = value

    def map(self, f) -> "Box":
        return type(self)(f(self.value))

    def __class_getitem__(cls, item):
        return super().__class_getitem__(item)


class Scaled(typing.Protocol):
    def scaled(self, by): ...


@typing.runtime_checkable
class Named(typing.Protocol):
    name: str


@program(lambda: (t(3),), lambda: (t(3),))
def generics_used(x):
    b = Box[int](x).map(lambda v: v + 1).map(torch.relu)
    n = types.SimpleNamespace(name="n")
    return b.value, isinstance(n, Named), isinstance(3, Named), typing.cast(int, x) is x, typing.get_type_hints(Box.map)


class Celsius:
    def __init__(self, degrees):
        self._degrees = degrees

    degrees = property(operator.attrgetter("_degrees"), doc="degrees")

    @degrees.setter
    def degrees(self, value):
        self._degrees = value

    @degrees.deleter
    def degrees(self):
        self._degrees = None

    @functools.cached_property
    def kelvin(self):
        return self._degrees + 273.0

    @staticmethod
    def of(v):
        return Celsius(v)

    @functools.singledispatchmethod
    def put(self, v):
        return "any"

    @put.register
    def _(self, v: int):
        return "int"

    @put.register(list)
    def _(self, v):
        return "list"


@program(lambda: (t(3),), lambda: (t(3),))
def properties_and_their_kin(x):
    c = Celsius.of(x)
    a = c.kelvin
    c.degrees = x * 2
    b = c.kelvin
    del c.kelvin
    d = c.kelvin
    del c.degrees
    return a + d, a is b, c.degrees, c.put(1), c.put([]), c.put("s"), Celsius.degrees.__doc__


@program(lambda: (t(4), b"\x01\x02\xff"), lambda: (t(4), b"abc"))
def bytes_taken_apart(x, data):
    view = memoryview(data)
    numbers = list(data), data[0], data[1:], view[1], bytes(view[:2])
    word = int.from_bytes(data[:2], "big"), (258).to_bytes(2, "little"), bytes.fromhex("ff00"), bytearray(data)
    word[3][0] = 7
    return x * data[0], numbers, word, b"-".join([b"a", b"b"]), data.hex(" "), data.find(b"\xff"), b"%d-%s" % (3, b"x")


@program(lambda: (t(3),), lambda: (t(3),))
def collections_of_all_kinds(x):
    d = collections.deque([1, 2, 3], maxlen=3)
    d.append(4)
    d.appendleft(0)
    d.rotate(1)
    o = collections.OrderedDict(a=1, b=2, c=3)
    o.move_to_end("a")
    o.popitem(last=False)
    c = collections.Counter("abracadabra")
    c.subtract("aab")
    m = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    child = m.new_child({"c": 4})
    child["b"] = 9
    dd = collections.defaultdict(lambda: collections.defaultdict(list))
    dd["a"]["b"].append(x)
    dd["a"]["c"].append(x + 1)
    nt = collections.namedtuple("NT", "p q", defaults=[5])
    n = nt(x)
    return (dd["a"]["b"][0] + dd["a"]["c"][0] * n.q, list(d), list(o.items()), c.most_common(2), +c, dict(child), child.maps[0],
            n._replace(q=1).q, nt._fields, n._asdict()["q"])


class Account(abc.ABC):
    balance = 0

    @property
    @abc.abstractmethod
    def fee(self): ...

    @abc.abstractmethod
    def apply(self, x): ...

    def charge(self, x):
        self.balance += 1
        return self.apply(x) - self.fee


class Free(Account):
    fee = 0

    def apply(self, x):
        return x * 2


@Account.register
class Foreign:
    pass


@program(lambda: (t(3), Free()), lambda: (t(3), Free()))
def abstract_classes_used(x, account):
    y = account.charge(account.charge(x))
    try:
        Account()
    except TypeError as e:
        text = str(e).split(" with")[0]
    return y, account.balance, Account.balance, text, isinstance(Foreign(), Account), issubclass(Free, Account)


@program(lambda: (t(3), 7, 2.5), lambda: (t(3), -7, -2.5), lambda: (t(3), 0, 1e300))
def numbers_of_all_methods(x, n, f):
    ints = n // 2, n % 3, -n // 4, n ** 3, n << 3, n >> 1, n & 6, n | 8, ~n, n.bit_length(), n.bit_count(), divmod(n, 3), pow(3, 5, 7)
    floats = f.is_integer(), f.hex(), f // 1, f % 0.7, round(f, 1), abs(f), f.as_integer_ratio(), int(f) % 1000, float("inf") > f
    cplx = (1 + 2j) * n, complex(n, f).conjugate(), abs(3 + 4j)
    texts = f"{n:+06d}", f"{f:.3g}", format(n, "b"), hex(n), f"{n:_}", str(f)
    return x * n, ints, floats, cplx, texts, int("ff", 16), float("1e3"), True + True, round(2.5), round(-0.5)


class Node:
    __slots__ = ("value", "next", "__weakref__")

    def __init__(self, value, following=None):
        self.value, self.next = value, following

    def __iter__(self):
        node = self
        while node is not None:
            yield node.value
            node = node.next

    def __copy__(self):
        return Node(self.value, self.next)

    def __deepcopy__(self, memo):
        made = Node(copy.deepcopy(self.value, memo))
        memo[id(self)] = made
        made.next = copy.deepcopy(self.next, memo)
        return made


@program(lambda: (t(3), Node(1, Node(2, Node(3)))), lambda: (t(3), Node(4)))
def linked_nodes_copied(x, head):
    shallow, deep = copy.copy(head), copy.deepcopy(head)
    shallow.value = 10
    deep.value = 20
    if head.next:
        head.next.value = 5
    return x * sum(head), list(shallow), list(deep), shallow.next is head.next


def traced(before=None, *, log):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            log.append((f.__name__, len(args), tuple(kwargs)))
            if before is not None:
                args = (before(args[0]), *args[1:])
            return f(*args, **kwargs)
        wrapper.calls = log
        return wrapper
    return decorate


@program(lambda: (t(3), []), lambda: (t(3), []))
def decorators_in_layers(x, log):
    @traced(lambda v: v + 1, log=log)
    @traced(log=log)
    def f(a, b=2, *rest, k=3, **more):
        """Multiplies."""
        return a * b * k + len(rest) + len(more)
    return f(x), f(x, 1, 2, 3, k=1, z=1), f.__name__, f.__doc__, f.__wrapped__.__wrapped__(x, 5), f.calls is log


@program(lambda: (t(3), "lr=0.5, steps=3,name=adam"), lambda: (t(3), "bad"))
def texts_parsed_by_patterns(x, line):
    found = dict(re.findall(r"(\w+)=([\w.]+)", line))
    m = re.match(r"(?P<key>\w+)=(?P<value>[\d.]+)", line)
    if m is None:
        return x, found, re.sub("b", "c", line)
    rate = float(m["value"])
    return x * rate, m.groupdict(), m.span("value"), re.split(r",\s*", line), string.Template("$a-$b").substitute(a=1, b=found["name"])


@program(lambda: (t(3), {"a": 1, "b": [1, 2]}), lambda: (t(3), {"b": []}))
def unpacking_of_all_kinds(x, d):
    a, *b, (c, *e) = 1, 2, 3, (4, 5, 6)
    *head, last = d["b"] or [0]
    merged = {**d, "z": 1, **{"a": 9}}
    joined = [*d, *"xy", *range(2)]
    first, second = x[:2]
    (p, q), r = (first, second), x[2]

    def f(*args, one=1, **kw):
        return args, one, kw
    return p + q * r, a, b, c, e, head, last, merged, joined, f(*joined[:2], **{"one": 2, "k": 3}), {*joined[-2:], 0}


class Observed(list):
    def __init__(self, *args):
        super().__init__(*args)
        self.log = []

    def append(self, v):
        self.log.append("append")
        super().append(v)

    def __setitem__(self, i, v):
        self.log.append(("set", i))
        super().__setitem__(i, v)

    def __iadd__(self, other):
        self.log.append("iadd")
        return super().__iadd__(other)


@program(lambda: (t(3), Observed([1, 2])), lambda: (t(3), Observed()))
def lists_observed(x, items):
    items.append(x)
    items[-1] = x + 1
    items += [3]
    items.extend([4])
    inside = Observed("ab")
    inside[0] = x
    return items[-3] * 2, items.log, inside.log, len(inside), items[-2:], sorted(i for i in items if isinstance(i, int))


def countdown(n):
    while n:
        reply = yield n
        if reply == "stop":
            return "stopped"
        n -= 1


@program(lambda: (t(3), 4), lambda: (t(3), 2))
def generators_in_expressions(x, n):
    total = sum(v * x for v in countdown(n))
    pairs = dict(zip("abcd", countdown(n)))
    first = next((v for v in countdown(n) if v % 2), None)
    flat = [v for i in countdown(3) for v in countdown(i)]
    nested = list(map(lambda g: next(g), (countdown(k) for k in (3, 2, 1))))
    biggest = max(countdown(n), key=lambda v: -v)
    return total, pairs, first, flat, nested, biggest, set(countdown(3)), tuple(countdown(0)), any(v > 3 for v in countdown(n))


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, key):
        match key:
            case (int(i), int(j)):
                return self.rows[i][j]
            case (slice() as s, int(j)):
                return [row[j] for row in self.rows[s]]
            case builtins_ellipsis if builtins_ellipsis is ...:
                return self.rows
        return self.rows[key]

    def __length_hint__(self):
        return 3


@program(lambda: (t(3),), lambda: (t(2),))
def subscripts_of_all_kinds(x):
    m = Matrix([[x, 1], [2, x + 1]])
    s = slice(None, None, -1)
    numbers = list(range(10))
    del numbers[2:8:2]
    numbers[1:3] = ["a", "b", "c"]
    return m[0, 0] + m[1, 1], m[:, 1][0], m[...][1][0], m[0][1], numbers, "abc"[s], s.indices(5), range(10)[2:8:3], operator.length_hint(m)
