# What suites of tests for compilers of Python try: one small thing each, in the corner where it is likely to go wrong.
import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import math
import operator
import random
import sys
import types
import typing


@program(lambda: (t(3), 1, None), lambda: (t(3), None, 2), lambda: (t(3), True, False))
def constants_of_odd_kinds(x, a, b):
    out = x
    if a is not None and a is not True:
        out = out + a
    if b is None:
        out = out * 3
    elif b is False:
        out = out - 7
    return out, a == 1, (a, b), {None: 1}.get(b), bool(a) ^ bool(b), not a, -(-1), +True, ~5, ...


@program(lambda: (t(2, 3), (0, 1)), lambda: (t(2, 3), [1]), lambda: (t(2, 3), 0))
def dims_of_many_kinds(x, dim):
    if isinstance(dim, (list, tuple)):
        dims = tuple(d % x.ndim for d in dim)
    else:
        dims = (dim,)
    return x.sum(dims), x.mean(dim=dims, keepdim=True), x.permute(*reversed(range(x.dim()))), sorted(dims, key=lambda d: -d)


@program(lambda: (t(3),))
def identity_and_equality(x):
    y = x
    z = x + 0
    lst = [x, z]
    return x is y, x is z, x is not z, y is lst[0], id(x) == id(y), [a is x for a in lst], any(a is z for a in lst), lst[0] is lst[1]


@program(lambda: (t(4),), lambda: (t(6),))
def slices_with_variables(x):
    n = x.size(0) // 2
    s = slice(None, n)
    r = slice(n, None, 1)
    i = operator.index(n)
    return x[s], x[r], x[-n:], x[i:i + 1], list(range(*slice(0, 4, 2).indices(n))), s.stop, s == slice(None, n), x[..., None].shape, x[None, :, None].shape


@program(lambda: (t(3), "add"), lambda: (t(3), "mul"), lambda: (t(3), "nothing"))
def attributes_by_string(x, name):
    f = getattr(torch, name, None)
    g = getattr(operator, name, lambda a, b: a)
    if f is None:
        return g(x, 2), hasattr(torch, name)
    return f(x, 2), g(x, 2), getattr(x, name)(2), hasattr(x, name)


@program(lambda: ([1, 2, 3], t(3)), lambda: ([], t(3)), lambda: ([4], t(3)))
def while_pops(stack, x):
    total = 0
    while stack:
        item = stack.pop()
        total += item
        x = x + item
        if total > 4:
            break
    else:
        x = x - 1
    return x, total, stack


def star_chain(*args, **kwargs):
    return star_inner(*args[1:], first=args[0], **kwargs)


def star_inner(*args, first, scale=1, **kwargs):
    return first * scale + sum(args) + sum(kwargs.values())


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def stars_through_functions(x, n):
    return star_chain(x, 1, 2, scale=n, extra=4), star_chain(*[x] * n), star_chain(*(x, *range(n)), **{"scale": 2, **{"k": n}})


@program(lambda: (t(3),))
def deque_of_history(x):
    d = collections.deque([1, 2], maxlen=3)
    d.append(3)
    d.appendleft(0)
    d.extend([7, 8])
    d.extendleft((9,))
    d.rotate(1)
    first = d.popleft()
    d.insert(1, 5)
    d.remove(5)
    return x * first, list(d), d.maxlen, d[0], len(d), 7 in d, d.count(7), list(reversed(d)), d == collections.deque([7, 9]), d.copy(), d.index(d[-1])


class Meta(type):
    registry = {}

    def __new__(mcs, name, bases, space, **options):
        cls = super().__new__(mcs, name, bases, space)
        cls.options = options
        mcs.registry[name] = cls
        return cls

    @property
    def tag(cls):
        return cls.__name__.lower()

    def __getitem__(cls, key):
        return cls.options[key]

    def __contains__(cls, key):
        return key in cls.options

    def __len__(cls):
        return len(cls.options)


class WithMeta(metaclass=Meta, scale=3):
    def __class_getitem__(cls, item):
        return "unused"


class WithMore(WithMeta, scale=5, bias=1):
    pass


@program(lambda: (t(3), WithMeta), lambda: (t(3), WithMore))
def metaclass_features(x, cls):
    y = x * cls["scale"]
    if "bias" in cls:
        y = y + cls["bias"]
    return y, cls.tag, len(cls), isinstance(cls, Meta), issubclass(cls, WithMeta), Meta.registry["WithMore"]["bias"], type(cls).__name__


class Lazy:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = len(name)
        setattr(self, name, value)
        return value

    def __delattr__(self, name):
        object.__delattr__(self, name)
        self.__dict__.setdefault("gone", []).append(name)

    def __dir__(self):
        return sorted(self.__dict__)


@program(lambda: (t(3), Lazy(a=2)), lambda: (t(3), Lazy(abc=7)))
def attributes_lazily(x, o):
    y = x * o.abc + o.a
    had = hasattr(o, "_secret")
    del o.abc
    return y, had, dir(o), o.__dict__, getattr(o, "_x", 5), vars(o)["gone"]


class Guarded:
    def __getattribute__(self, name):
        if name == "factor":
            return 10
        return object.__getattribute__(self, name)

    factor = 1
    other = 2


@program(lambda: (t(3), Guarded()))
def attributes_intercepted(x, g):
    return x * g.factor + g.other, getattr(g, "factor"), Guarded.factor, type(g).factor


class Celsius:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        if value is None:
            raise ValueError(f"{self.name} is None")
        setattr(obj, self.name, value * 2)

    def __delete__(self, obj):
        delattr(obj, self.name)


class Room:
    temperature = Celsius()
    other = Celsius()

    def __init__(self, value):
        self.temperature = value


@program(lambda: (t(3), Room(1)), lambda: (t(3), Room(4)))
def descriptors_of_all_parts(x, room):
    y = x + room.temperature
    room.temperature = 5
    z = y * room.temperature
    del room.temperature
    try:
        room.other = None
    except ValueError as e:
        text = str(e)
    return z, room.temperature, text, Room.other.name, Room.__dict__["temperature"].name


@dataclasses.dataclass
class Node:
    value: torch.Tensor
    left: typing.Optional["Node"] = None
    right: typing.Optional["Node"] = None
    tags: list = dataclasses.field(default_factory=list, compare=False, repr=False)
    depth: dataclasses.InitVar[int] = 0

    def __post_init__(self, depth):
        self.tags.append(depth)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right


@program(lambda: (t(3), Node(t(3), Node(t(3) + 1), Node(t(3) + 2, Node(t(3) + 3)))))
def tree_iterates(x, tree):
    total = x
    for v in tree:
        total = total * 0.5 + v
    new = Node(total, depth=3)
    fields = [f.name for f in dataclasses.fields(new)]
    return total, new.tags, fields, len(list(tree)), dataclasses.is_dataclass(new)


@program(lambda: (t(3),))
def dataclass_made_by_function(x):
    Point = dataclasses.make_dataclass("Point", ["a", ("b", int, dataclasses.field(default=3))])
    p = Point(x)
    return p.a * p.b, p.b


class Level(enum.IntEnum):
    LOW = enum.auto()
    MID = enum.auto()
    HIGH = 10

    @classmethod
    def _missing_(cls, value):
        return cls.LOW

    @property
    def scale(self):
        return self.value / 2

    def __str__(self):
        return self.name.lower()


@program(lambda: (t(3), Level.MID), lambda: (t(3), Level.HIGH))
def enums_of_levels(x, level):
    if level >= Level.MID:
        x = x * level
    return x * level.scale, str(level), Level(77), Level["LOW"], [e.name for e in Level], level in (Level.HIGH,), {Level.MID: 1}.get(level), isinstance(level, int), f"{level}", Level.HIGH - level, len(Level)


class Perm(enum.Flag):
    R = enum.auto()
    W = enum.auto()
    RW = R | W


@program(lambda: (t(3), Perm.R), lambda: (t(3), Perm.RW))
def flags_tested(x, p):
    if Perm.W in p:
        x = x + 1
    if p & Perm.R:
        x = x * 2
    return x, (p | Perm.W) == Perm.RW, bool(p & Perm.W), p ^ Perm.RW, (~p).value


class Base(abc.ABC):
    @property
    @abc.abstractmethod
    def name(self):
        ...

    @classmethod
    def create(cls, *a):
        return cls(*a)

    @staticmethod
    def double(x):
        return x * 2

    def __init_subclass__(cls, /, prefix="", **kw):
        super().__init_subclass__(**kw)
        cls.prefix = prefix


class Derived(Base, prefix="d-"):
    def __init__(self, n=1):
        self.n = n

    @property
    def name(self):
        return self.prefix + str(self.n)


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def abstract_bases_and_kin(x, n):
    d = Derived.create(n)
    try:
        Base()
    except TypeError:
        failed = True
    return d.double(x) * d.n, d.name, failed, Derived.prefix, isinstance(d, Base), Base.double(x), super(Derived, d).double(x)


@program(lambda: (t(3),))
def try_in_all_orders(x):
    order = []

    def f(kind):
        try:
            order.append("try")
            if kind == 1:
                raise KeyError("k")
            if kind == 2:
                return "returned"
            if kind == 3:
                raise ValueError("v")
        except KeyError as e:
            order.append(repr(e))
            return "handled"
        else:
            order.append("else")
        finally:
            order.append("finally")
        return "end"

    results = []
    for kind in range(4):
        try:
            results.append(f(kind))
        except ValueError as e:
            results.append(e.args)
    return x + len(order), order, results


@program(lambda: (t(3),))
def raise_from_chains(x):
    try:
        try:
            {}["missing"]
        except KeyError as e:
            raise RuntimeError("outer") from e
    except RuntimeError as e:
        cause = type(e.__cause__).__name__, e.__suppress_context__
    try:
        try:
            [][1]
        except IndexError:
            raise ValueError("inner") from None
    except ValueError as e:
        context = type(e.__context__).__name__, e.__cause__, e.__suppress_context__
    return x * 2, cause, context


class Temp(Exception):
    def __init__(self, code, *, hint=""):
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint


@program(lambda: (t(3), 1), lambda: (t(3), 5))
def errors_with_attributes(x, n):
    try:
        if n > 3:
            raise Temp(n, hint="large")
        x = x + n
    except Temp as e:
        x = x * e.code
        return x, str(e), e.hint, isinstance(e, Exception), e.with_traceback(None) is e
    return x


@program(lambda: (t(3),))
def groups_of_errors(x):
    seen = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError("t"), ExceptionGroup("h", [ValueError(2)])])
    except* ValueError as eg:
        seen.append(("v", len(eg.exceptions)))
    except* TypeError as eg:
        seen.append(("t", eg.exceptions[0].args))
    return x + 1, seen


@program(lambda: (t(3), {"kind": "scale", "by": 2}), lambda: (t(3), ["shift", 1]), lambda: (t(3), 5), lambda: (t(3), "other"), lambda: (t(3), {"kind": "odd", "z": 1}))
def match_of_commands(x, command):
    match command:
        case {"kind": "scale", "by": by}:
            return x * by
        case {"kind": str(kind), **rest}:
            return x, kind, rest
        case ["shift", int(n) | float(n)] if n:
            return x + n
        case int() as n:
            return x - n
        case [*_]:
            return x
        case _:
            return x * 0


@program(lambda: (t(3), 3),)
def closures_rebind(x, n):
    count = 0
    fns = []
    for i in range(n):
        def add(v, i=i):
            nonlocal count
            count += i
            return v + i + count
        fns.append(add)
    for f in fns:
        x = f(x)
    late = [lambda: i for i in range(n)]
    return x, count, [f() for f in late], add.__defaults__, fns[0].__code__ is fns[1].__code__, add.__closure__ is not None


@program(lambda: (t(3),))
def functools_of_all_kinds(x):
    add3 = functools.partial(operator.add, 3)
    nested = functools.partial(functools.partial(pow, 2), 3)
    total = functools.reduce(lambda a, b: a * b, [1, 2, 3, 4], 1)

    @functools.wraps(operator.add)
    def wrapped(*a):
        return operator.add(*a)

    @functools.cache
    def fact(n):
        return n * fact(n - 1) if n else 1

    key = functools.cmp_to_key(lambda a, b: b - a)
    return x * total + add3(1), nested(), wrapped(1, 2), wrapped.__name__, fact(5), sorted([3, 1, 2], key=key), add3.args, add3.func is operator.add


@program(lambda: (t(3),))
def itertools_round(x):
    it = itertools.chain.from_iterable([[1, 2], (3,)])
    pairs = list(itertools.pairwise(range(4)))
    acc = list(itertools.accumulate([1, 2, 3], operator.mul, initial=2))
    prod = list(itertools.product("ab", repeat=2))
    z = list(itertools.zip_longest([1], [2, 3], fillvalue=0))
    a, b = itertools.tee(iter([1, 2]))
    next(a)
    grouped = {k: list(g) for k, g in itertools.groupby([1, 1, 2], key=lambda v: v % 2)}
    comp = list(itertools.compress("abc", [1, 0, 1]))
    cyc = list(itertools.islice(itertools.cycle([1, 2]), 1, 6, 2))
    star = list(itertools.starmap(pow, [(2, 3), (3, 2)]))
    rest = list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])), list(itertools.takewhile(lambda v: v < 2, [1, 2, 1])), list(itertools.filterfalse(None, [0, 1]))
    perms = list(itertools.permutations([1, 2, 3], 2))[:2], list(itertools.combinations([1, 2, 3], 2)), list(itertools.combinations_with_replacement([1, 2], 2))
    count = itertools.count(5, 2)
    return x + sum(it), pairs, acc, len(prod), z, list(b), grouped, comp, cyc, star, rest, perms, next(count), next(count), list(itertools.repeat(x, 2))[1] is x


@program(lambda: (t(3),), lambda: (t(3, dtype=torch.int64),))
def typing_at_run_time(x):
    u = typing.Optional[int]
    cast = typing.cast(torch.Tensor, x)
    hints = typing.get_origin(typing.List[int]), typing.get_args(typing.Dict[str, int])
    assert isinstance(x, typing.Hashable)
    return cast + 1, u == typing.Union[int, None], hints, isinstance([], collections.abc.Sequence), isinstance(x.dtype, torch.dtype), isinstance(3, int | float), typing.TYPE_CHECKING


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def inspected_functions(x, n):
    def f(a, b=1, *args, c, d=2, **kw):
        return a
    sig = inspect.signature(f)
    names = list(sig.parameters)
    return f(x, c=1) * n, names, f.__kwdefaults__, inspect.isfunction(f), callable(f), f.__code__.co_argcount, inspect.isclass(Temp)


@program(lambda: (t(2, 2),))
def recursion_in_closures(x):
    def walk(nest, depth=0):
        if isinstance(nest, dict):
            return {k: walk(v, depth + 1) for k, v in nest.items()}
        if isinstance(nest, (list, tuple)):
            return type(nest)(walk(v, depth + 1) for v in nest)
        return nest * depth if torch.is_tensor(nest) else nest

    return walk({"a": [x, (x, 1, {"b": x})], "c": "s"})


@program(lambda: ({"b": t(2), "a": t(2)},), lambda: ({"a": t(2), "b": t(2)},))
def dicts_in_their_order(d):
    keys = list(d)
    d["c"] = d.pop("a") + 1
    d |= {"z": 1}
    other = {**d, "b": 0}
    a = dict(zip("xy", (1, 2)))
    a.update(y=3, w=4)
    items = sorted(d.items(), key=lambda kv: kv[0])
    return keys, d, other, a, [k for k, _ in items], next(iter(d.values())), d.keys() & {"b", "q"}, list(reversed(d)), d.get("none", "no"), dict.fromkeys("ab", 0), d.popitem()


@program(lambda: ({1, 2, 3}, t(3)), lambda: ({4}, t(3)))
def sets_in_guards(s, x):
    if 2 in s:
        x = x + 1
    s.add(9)
    s.discard(100)
    other = s | {5} - {1}
    return x * len(s), sorted(other), s <= other, s.isdisjoint({77}), s ^ {9}, frozenset(s) & {9}, {*s, "a"} >= {"a"}
