# What else Python has, around tensors: protocols, descriptors, iterators, exceptions, texts, tables, functions of the library of Python.
import abc
import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import inspect
import itertools
import math
import operator
import string
import types
import typing
import weakref


class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, 0)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(f"{self.name[1:]} must not be negative: {value}")
        setattr(instance, self.name, value)


class Box:
    width, height = Field(), Field()

    def __init__(self, width, height):
        self.width, self.height = width, height


@program(lambda: (t(3), 2, 3), lambda: (t(3), -1, 2), lambda: (t(3), 4, 5))
def descriptors_that_check(x, w, h):
    box = Box(w, h)
    box.height += 1
    return x * box.width + box.height, type(Box.width).__name__, vars(box)


class Plugin:
    registry = {}

    def __init_subclass__(cls, /, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[name or cls.__name__] = cls

    def __call__(self, x):
        return x


class Double(Plugin, name="double"):
    def __call__(self, x):
        return x * 2


class Shift(Plugin):
    by = 3

    def __call__(self, x):
        return super().__call__(x) + self.by


@program(lambda: (t(3), ["double", "Shift"]), lambda: (t(3), ["Shift"]), lambda: (t(3), ["none"]))
def subclasses_registered(x, names):
    for name in names:
        x = Plugin.registry[name]()(x)
    return x


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return (self.x * other.x + self.y * other.y).sum()

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __len__(self):
        return 2

    def __bool__(self):
        return True

    def __eq__(self, other):
        return isinstance(other, Vector) and self.x is other.x

    __hash__ = None


@program(lambda: (t(3), t(3)),)
def vectors_of_tensors(a, b):
    v, w = Vector(a, b), Vector(b, a)
    total = sum([v, w, 2 * v], start=-w)
    x, y = total
    try:
        v + 1
    except TypeError as error:
        text = str(error)
    return x, y, v @ w, v == w, v == Vector(a, b), [*v][1] is b, text, len(v)


class Lazy:
    def __init__(self, make):
        self._make = make

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = self._make(name)
        self.__dict__[name] = value
        return value


@program(lambda: (t(3),),)
def attributes_on_demand(x):
    calls = []

    def make(name):
        calls.append(name)
        return x * len(name)
    lazy = Lazy(make)
    return lazy.abc + lazy.abc + lazy.z, calls, hasattr(lazy, "_private")


class Chain:
    def __init__(self, *steps):
        self.steps = steps

    def __or__(self, other):
        return Chain(*self.steps, *(other.steps if isinstance(other, Chain) else (other,)))

    def __ror__(self, value):
        return functools.reduce(lambda v, f: f(v), self.steps, value)

    def __rshift__(self, n):
        return Chain(*(self.steps * n))


@program(lambda: (t(3),),)
def pipelines_by_operators(x):
    pipeline = Chain(torch.sin) | (lambda v: v + 1) | Chain(torch.relu, torch.sqrt)
    return x | pipeline, x | (Chain(torch.cos) >> 2), len(pipeline.steps)


def chunks(items, n):
    it = iter(items)
    while batch := tuple(itertools.islice(it, n)):
        yield batch


def windowed(items, n):
    window = collections.deque(maxlen=n)
    for item in items:
        window.append(item)
        if len(window) == n:
            yield tuple(window)


@program(lambda: (t(7),), lambda: (t(4),))
def iterators_chunked(x):
    parts = [torch.stack(c).sum() for c in chunks(x.unbind(), 3)]
    pairs = [b - a for a, b in windowed(x.unbind(), 2)]
    return parts, torch.stack(pairs), list(map(len, chunks(range(7), 2)))


def running():
    total, count = 0, 0
    while True:
        value = yield (total / count if count else None)
        if value is None:
            return "done"
        total, count = total + value, count + 1


def delegating(log):
    result = yield from running()
    log.append(result)
    yield -1


@program(lambda: (t(3),),)
def generators_sent_to(x):
    log = []
    g = delegating(log)
    next(g)
    means = [g.send(x * i) for i in range(1, 4)]
    last = g.send(None)
    g.close()
    return means, last, log


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

    def __length_hint__(self):
        return self.n


@program(lambda: (t(3), 4), lambda: (t(3), 2))
def iterators_of_classes(x, n):
    for i in Countdown(n):
        x = x + i
    total = sum(Countdown(n))
    pairs = list(zip(Countdown(n), "abc"))
    first, *rest = Countdown(n)
    return x, total, pairs, first, rest, max(Countdown(n), default=None), sorted(Countdown(n)), 1 in Countdown(n)


@program(lambda: (t(4),),)
def itertools_of_tensors(x):
    parts = x.unbind()
    a = [p * q for p, q in itertools.combinations(parts, 2)]
    b = list(itertools.accumulate(parts, operator.mul))
    c = [k for k, _ in itertools.groupby([1, 1, 2, 3, 3])]
    d = list(itertools.starmap(torch.add, zip(parts, parts[1:])))
    e = [v for v in itertools.chain.from_iterable([parts[:1], parts[2:]])]
    f = dict(zip(itertools.count(), itertools.repeat(x.sum(), 2)))
    g, h = itertools.tee(iter(parts))
    return a, b, c, d, e, f, next(g) + next(h), list(itertools.zip_longest(parts[:1], parts[:2], fillvalue=0))[1][0]


class InvalidShape(ValueError):
    def __init__(self, wanted, got):
        super().__init__(f"wanted {wanted}, got {got}")
        self.wanted, self.got = wanted, got


def check_shape(x, *wanted):
    if len(wanted) != x.dim() or any(w is not None and w != s for w, s in zip(wanted, x.shape)):
        raise InvalidShape(wanted, tuple(x.shape))
    return x


@program(lambda: (t(2, 3),), lambda: (t(3, 2),), lambda: (t(2),))
def errors_of_ones_own(x):
    try:
        y = check_shape(x, 2, None) * 2
    except InvalidShape as error:
        return x, error.wanted, error.got, str(error)
    else:
        y = y + 1
    finally:
        z = x.sum()
    return y, z


@program(lambda: (t(3), 0), lambda: (t(3), 1), lambda: (t(3), 2))
def errors_in_loops(x, kind):
    log = []
    for i in range(3):
        try:
            if i == kind:
                raise [KeyError, IndexError, StopIteration][i](i)
            x = x + i
        except LookupError as error:
            log.append((type(error).__name__, error.args))
            continue
        finally:
            log.append(i)
    return x, log


@program(lambda: (t(3),),)
def errors_grouped(x):
    errors = []
    for f in (lambda: x + 1, lambda: {}["k"], lambda: [][1], lambda: int("z")):
        try:
            f()
        except Exception as error:
            errors.append(error)
    try:
        raise ExceptionGroup("all", errors)
    except* LookupError as group:
        kinds = sorted(type(e).__name__ for e in group.exceptions)
    except* ValueError as group:
        x = x * len(group.exceptions)
    return x, kinds


@program(lambda: (t(3), "relu"), lambda: (t(3), "missing"), lambda: (t(3), "tanh"))
def functions_by_name(x, name):
    function = getattr(F, name, None) or getattr(torch, name, None)
    if function is None:
        raise NotImplementedError(f"activation {name!r}")
    return function(x)


def traced(function=None, *, times=1, log=None):
    if function is None:
        return functools.partial(traced, times=times, log=log)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        result = None
        for _ in range(times):
            result = function(*args, **kwargs)
        return result
    wrapper.calls = 0
    return wrapper


@traced
def plain_traced(x):
    return x + 1


@traced(times=2)
def twice_traced(x, k=2):
    """Doc."""
    return x * k


@program(lambda: (t(3),), lambda: (t(3),))
def decorators_of_all_kinds(x):
    return plain_traced(x), twice_traced(x, k=3), twice_traced.__name__, plain_traced.calls, twice_traced.__doc__


@program(lambda: (t(3), 3), lambda: (t(3), 5))
def closures_over_state(x, n):
    def counter(start=0):
        count = start

        def step(by=1):
            nonlocal count
            count += by
            return count
        return step, lambda: count
    step, get = counter(10)
    for i in range(n):
        x = x + step(i)
    functions = [lambda v, i=i: v * i for i in range(3)]
    return x, get(), [f(x) for f in functions]


@functools.singledispatch
def describe(value):
    return "object"


@describe.register
def _(value: int):
    return value + 1


@describe.register(list)
@describe.register(tuple)
def _(value):
    return [describe(v) for v in value]


@describe.register
def _(value: torch.Tensor):
    return value * 2


@program(lambda: (t(3),),)
def functions_dispatched(x):
    return describe(x), describe([1, x, "a"]), describe((2,))


class Temperature:
    def __init__(self, celsius):
        self.celsius = celsius

    @classmethod
    def from_fahrenheit(cls, f):
        return cls((f - 32) / 1.8)

    @staticmethod
    def absolute():
        return -273.15

    @functools.cached_property
    def kelvin(self):
        return self.celsius - self.absolute()

    @property
    def fahrenheit(self):
        return self.celsius * 1.8 + 32

    @fahrenheit.setter
    def fahrenheit(self, f):
        self.celsius = (f - 32) / 1.8
        self.__dict__.pop("kelvin", None)


@program(lambda: (t(3),),)
def properties_of_tensors(x):
    temperature = Temperature.from_fahrenheit(x)
    a = temperature.kelvin
    temperature.fahrenheit = x * 2
    return a, temperature.kelvin, temperature.fahrenheit, a is temperature.kelvin, temperature.kelvin is temperature.kelvin


class Shape(enum.Enum):
    CIRCLE = enum.auto()
    SQUARE = enum.auto()

    def area(self, x):
        match self:
            case Shape.CIRCLE:
                return math.pi * x ** 2
            case Shape.SQUARE:
                return x * x


class Option(enum.Flag):
    A = 1
    B = 2
    AB = A | B


class Kind(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"


@program(lambda: (t(3), Shape.CIRCLE, Option.AB, "fast"), lambda: (t(3), Shape.SQUARE, Option.B, "slow"))
def enums_that_compute(x, shape, option, kind):
    y = shape.area(x)
    if Option.A in option:
        y = y + 1
    if kind == Kind.FAST:
        y = -y
    return y, shape.name, [s.value for s in Shape], Kind(kind) is Kind.FAST, option & Option.B == Option.B, Shape["CIRCLE"] is shape


@program(lambda: (t(3), {"type": "scale", "by": 2}), lambda: (t(3), ["add", 1, 2]), lambda: (t(3), 5), lambda: (t(3), ("neg",)), lambda: (t(3), None))
def commands_matched(x, command):
    match command:
        case {"type": "scale", "by": k, **rest}:
            return x * k, rest
        case ["add", *numbers]:
            return x + sum(numbers)
        case int(n) if n > 3:
            return x - n
        case ("neg" | "minus",):
            return -x
        case None | "":
            return x
        case _:
            raise TypeError(command)


@dataclasses.dataclass(order=True, frozen=True)
class Version:
    major: int
    minor: int = 0
    tag: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(kw_only=True, slots=True)
class Spec:
    shape: tuple
    scale: float = 1.0
    bias: typing.Any = None

    def __post_init__(self):
        self.shape = tuple(self.shape)

    def make(self):
        x = torch.ones(self.shape) * self.scale
        return x if self.bias is None else x + self.bias


@program(lambda: (t(3), [3], 2.0), lambda: (t(2, 3), [2, 3], 3.0))
def dataclasses_of_specs(x, shape, scale):
    spec = Spec(shape=shape, scale=scale, bias=x)
    versions = sorted([Version(2), Version(1, 5, "b"), Version(1, 2)])
    d = dataclasses.asdict(Version(1, 2, "x"))
    try:
        versions[0].major = 3
    except dataclasses.FrozenInstanceError as error:
        text = str(error)
    return spec.make(), versions[0].minor, max(versions).major, d, text, Version(1) == Version(1, tag="q"), hash(Version(1)) == hash(Version(1))


@program(lambda: (t(3), {"b": 1, "a": {"c": [1, 2, {"d": 3}]}}),)
def nests_walked(x, nest):
    def walk(node, path=()):
        if isinstance(node, dict):
            for key in sorted(node):
                yield from walk(node[key], (*path, key))
        elif isinstance(node, (list, tuple)):
            for i, v in enumerate(node):
                yield from walk(v, (*path, i))
        else:
            yield ".".join(map(str, path)), node
    flat = dict(walk(nest))
    for key, value in flat.items():
        x = x + value
    deep = copy.deepcopy(nest)
    deep["a"]["c"].append(x)
    return x, flat, len(nest["a"]["c"]), deep["a"]["c"][-1]


@program(lambda: (t(3), [3, 1, 2]), lambda: (t(3), [5, 4]))
def sorted_in_many_ways(x, numbers):
    heap = list(numbers)
    heapq.heapify(heap)
    smallest = heapq.heappop(heap)
    at = bisect.bisect_left(sorted(numbers), 3)
    pairs = sorted(((n % 2, -n, x * n) for n in numbers), key=operator.itemgetter(0, 1))
    best = max(numbers, key=lambda n: -n)
    numbers.sort(reverse=True)
    return [p[2] for p in pairs], smallest, at, best, numbers, heapq.nlargest(2, numbers)


@program(lambda: (t(2, 3), "layer1.weight"), lambda: (t(3), "head.bias"))
def texts_of_names(x, name):
    scope, _, leaf = name.rpartition(".")
    text = f"{scope:>10}|{leaf!r:<8}|{x.dim():03d}|{x.numel() / 7:.3f}|{x.shape!s}"
    table = str.maketrans({"1": "one"})
    words = string.Template("$a-$b").substitute(a=scope, b=leaf)
    return x * len(text), text, scope.translate(table), words, name.split("."), leaf.title().center(12, "*"), "%s:%5.2f" % (leaf, 1.5)


@program(lambda: (t(3), t(3)),)
def operators_as_functions(x, y):
    add, get, call = operator.add, operator.attrgetter("T", "shape"), operator.methodcaller("mul", 2)
    transposed, shape = get(x[None])
    z = functools.reduce(operator.matmul, [x[None], torch.eye(3), y[:, None]])
    return add(x, y), transposed, shape, call(x), z, operator.itemgetter(slice(1, None))(x), operator.not_(0), operator.index(3)


@program(lambda: (t(3), [1, 2]), lambda: (t(3), [3]))
def functions_with_signatures(x, rest):
    def f(a, b=2, /, c=3, *args, d, e=5, **kw):
        return a * b + c + sum(args) + d + e + sum(kw.values())
    given = {"d": 1, "z": 9}
    bound = functools.partial(f, x, d=4)
    signature = inspect.signature(f)
    return f(x, 2, 3, *rest, **given), bound(1, e=0), list(signature.parameters), f.__kwdefaults__, f.__defaults__


@program(lambda: (t(3),),)
def counters_and_defaults(x):
    counter = collections.Counter("abracadabra")
    counter.update("aaa")
    nested = collections.defaultdict(lambda: collections.defaultdict(list))
    for k, v in counter.most_common(2):
        nested[k][v].append(x * v)
    merged = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    ordered = collections.OrderedDict(zip("ab", x.unbind()))
    ordered.move_to_end("a")
    d = collections.deque([1, 2, 3], maxlen=3)
    d.append(x.sum())
    d.rotate(1)
    return nested["a"], dict(merged), list(ordered), list(d), counter["z"], +counter - collections.Counter(a=2)


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, children

    def map(self, f):
        return Tree(f(self.value), *(c.map(f) for c in self.children))

    def fold(self, f):
        return f(self.value, [c.fold(f) for c in self.children])

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child

    def depth(self):
        return 1 + max((c.depth() for c in self.children), default=0)


@program(lambda: (Tree(t(2), Tree(t(2) + 1, Tree(t(2) * 3)), Tree(t(2) - 1)),),)
def trees_folded(tree):
    doubled = tree.map(lambda v: v * 2)
    total = doubled.fold(lambda v, parts: v + sum(parts))
    return total, [v.sum() for v in doubled], tree.depth()


class Handle:
    def __init__(self, owner):
        self.owner = weakref.ref(owner)


@program(lambda: (t(3),),)
def objects_referred_to(x):
    class_name = type(holder).__name__
    handle = Handle(holder)
    return x * handle.owner().scale, handle.owner() is holder, class_name


holder = types.SimpleNamespace(scale=3)
holder = Box(1, 2)
holder.scale = 4


@program(lambda: (t(3), 10), lambda: (t(3), 20))
def memoised_recursion(x, n):
    memo = {}

    def fib(k):
        if k in memo:
            return memo[k]
        memo[k] = k if k < 2 else fib(k - 1) + fib(k - 2)
        return memo[k]
    return x + fib(n), len(memo)


class Meta(type):
    instances = {}

    def __call__(cls, *args):
        key = (cls, args)
        if key not in Meta.instances:
            Meta.instances[key] = super().__call__(*args)
        return Meta.instances[key]

    def __len__(cls):
        return len([k for k in Meta.instances if k[0] is cls])


class Cached(metaclass=Meta):
    def __init__(self, n):
        self.n = n


@program(lambda: (t(3), 1), lambda: (t(3), 2), lambda: (t(3), 1))
def classes_that_cache(x, n):
    a = Cached(n)
    return x * a.n, Cached(n) is a, len(Cached)


class Proto(typing.Protocol):
    def forward(self, x): ...


@typing.runtime_checkable
class HasScale(typing.Protocol):
    scale: float


class Scales(abc.ABC):
    @property
    @abc.abstractmethod
    def scale(self): ...

    def __call__(self, x):
        return x * self.scale


class Three(Scales):
    scale = 3


@program(lambda: (t(3),),)
def protocols_checked(x):
    three = Three()
    try:
        Scales()
    except TypeError as error:
        text = type(error).__name__
    return three(x), isinstance(three, HasScale), issubclass(Three, Scales), text, callable(three), isinstance(three, typing.Callable)


@program(lambda: (t(4), slice(1, 3)), lambda: (t(4), slice(None, None, 2)))
def slices_as_values(x, s):
    start, stop, step = s.indices(len(x))
    y = x[s]
    numbers = list(range(10))
    numbers[s] = [0] * len(range(*s.indices(10)))
    return y, (start, stop, step), numbers, x[..., s], range(10)[s]


@program(lambda: (t(3), 7), lambda: (t(3), 12))
def numbers_in_bases(x, n):
    digits = []
    while n:
        n, d = divmod(n, 2)
        digits.append(d)
    bits = sum(d << i for i, d in enumerate(digits))
    return x * bits, bin(bits), f"{bits:08b}", int("".join(map(str, digits[::-1])), 2), bits.bit_length(), ~bits & 0xFF, bits.to_bytes(2, "big")


@program(lambda: (t(3),),)
def dicts_compared_and_merged(x):
    a, b = {"x": 1, "y": x}, {"y": 2, "z": 3}
    merged = {**a, **b} | {"w": x.sum()}
    common = a.keys() & b.keys()
    inverted = {v: k for k, v in b.items()}
    a |= {"q": 4}
    return merged, sorted(common), inverted, list(a), dict.fromkeys("ab", 0), list(reversed(b)), b.items() >= {("z", 3)}


@program(lambda: (t(3), 0.5), lambda: (t(3), 1.5))
def choices_chained(x, p):
    value = x if p > 1 else -x if p > 0.75 else x * 2
    if (n := len(x)) > 2 and (half := n // 2):
        value = value + half
    small = 0 < p <= 1 < n
    return value, small, p and n, not p or None, (p > 1) + (p > 0), [*range(n)][-1]


@program(lambda: (t(3),),)
def objects_copied(x):
    box = Box(1, 2)
    box.data, box.list = x, [x]
    shallow, deep = copy.copy(box), copy.deepcopy(box)
    deep.list.append(1)
    shallow.width = 9
    return shallow.data is x, deep.data is x, deep.data + shallow.width, len(box.list), box.width, shallow.list is box.list


@program(lambda: (t(3), [1, 2, 3]),)
def unpacked_everywhere(x, items):
    first, *middle, last = items
    (a, b), c = (x, 1), [2]
    [d] = c
    def f(*args, **kwargs):
        return args, kwargs
    args, kwargs = f(*items, x, *"ab", **{"k": a}, m=b)
    for i, (p, q) in enumerate(zip(items, reversed(items))):
        x = x + i * p - q
    return x, first, middle, last, d, len(args), sorted(kwargs), {**kwargs, "k": 1}["k"], (*items, *items)
