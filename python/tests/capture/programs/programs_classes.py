# Classes and instances: the attribute protocol, operators, dataclasses, enums.
import abc
import dataclasses
import enum
import functools


class Counter:
    total = 0

    def __init__(self, start=0):
        self.count = start

    def bump(self, n=1):
        self.count += n
        return self.count

    @property
    def double(self):
        return self.count * 2

    @double.setter
    def double(self, value):
        self.count = value // 2

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def plus(a, b):
        return a + b


@program(lambda: (t(3),))
def instance_made_inside(x):
    c = Counter(2)
    c.bump()
    return x * c.count + c.double


@program(lambda: (t(3), Counter(1)), lambda: (t(3), Counter(1)), lambda: (t(3), Counter(2)))
def instance_argument_read(x, c):
    return x + c.count


@program(lambda: (t(3), Counter(1)))
def instance_argument_written(x, c):
    c.bump(3)
    c.result = x + c.count
    return c.result * 2


@program(lambda: (t(3), Counter(4)))
def property_set(x, c):
    c.double = 20
    return x + c.double, c.count


@program(lambda: (t(3),))
def class_and_static_methods(x):
    return x + Counter.make(3).count + Counter.plus(1, 2) + Counter(1).make(5).count


@program(lambda: (t(3),))
def instance_returned(x):
    c = Counter(x + 1)
    c.other = c
    return c, [c]


@program(lambda: (t(3),), lambda: (t(3),))
def class_attribute_written(x):
    Counter.total += 1
    return x + Counter.total


class Base:
    scale = 2

    def __init__(self, w):
        self.w = w

    def apply(self, x):
        return x * self.w * self.scale


class Derived(Base):
    scale = 3

    def __init__(self, w, b):
        super().__init__(w)
        self.b = b

    def apply(self, x):
        return super().apply(x) + self.b


class Other(Base):
    def apply(self, x):
        return super(Other, self).apply(x) - 1


class Diamond(Derived, Other):
    pass


@program(lambda: (t(3), Derived(2, 1)), lambda: (t(3), Base(2)), lambda: (t(3), Diamond(2, 1)))
def super_calls(x, obj):
    return obj.apply(x)


@program(lambda: (t(3),))
def super_made_inside(x):
    return Diamond(x, 2).apply(x), [c.__name__ for c in Diamond.__mro__], isinstance(Diamond(1, 2), Other), issubclass(Derived, Base)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@program(lambda: (t(3), Slots(2)), lambda: (t(3), Slots(3)))
def slots_argument(x, s):
    s.b = x + s.a
    return s.b


@program(lambda: (t(3),))
def slots_inside(x):
    s = Slots(x)
    try:
        return s.b
    except AttributeError as error:
        s.b = 2
        return s.a * s.b, str(error), s


class Fallback:
    def __init__(self):
        self.known = 1

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return len(name)


@program(lambda: (t(3), Fallback()))
def getattr_fallback(x, f):
    return x + f.known + f.unknown, hasattr(f, "_private"), getattr(f, "_p", 3)


class Recorder:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self.log.append("del " + name)
        object.__delattr__(self, name)


@program(lambda: (t(3), Recorder()))
def setattr_hook(x, r):
    r.a = x + 1
    r.b = 2
    del r.b
    setattr(r, "c", 3)
    return r.a, r.log


class Everything:
    def __init__(self):
        self.seen = []

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        if name != "seen":
            object.__getattribute__(self, "seen").append(name)
        return value

    k = 4


@program(lambda: (t(3), Everything()))
def getattribute_hook(x, e):
    return x + e.k, e.seen


class Typed:
    def __init__(self, kind):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return obj.__dict__.get(self.name, 0)

    def __set__(self, obj, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name} must be {self.kind.__name__}")
        obj.__dict__[self.name] = value


class WithTyped:
    n = Typed(int)


@program(lambda: (t(3), WithTyped()))
def descriptor(x, w):
    w.n = 4
    try:
        w.n = "x"
    except TypeError as error:
        return x + w.n, str(error), WithTyped.n.name


class Once:
    @functools.cached_property
    def value(self):
        self.computed = getattr(self, "computed", 0) + 1
        return 5


@program(lambda: (t(3), Once()))
def cached_property(x, o):
    return x + o.value + o.value, o.computed


class Vec:
    def __init__(self, *v):
        self.v = list(v)

    def __add__(self, other):
        return Vec(*[a + b for a, b in zip(self.v, other.v)])

    def __radd__(self, other):
        return Vec(*[other + a for a in self.v])

    def __iadd__(self, other):
        self.v = [a + other for a in self.v]
        return self

    def __mul__(self, k):
        return NotImplemented

    def __neg__(self):
        return Vec(*[-a for a in self.v])

    def __eq__(self, other):
        return isinstance(other, Vec) and self.v == other.v

    def __lt__(self, other):
        return self.v < other.v

    def __hash__(self):
        return hash(tuple(self.v))

    def __len__(self):
        return len(self.v)

    def __bool__(self):
        return any(self.v)

    def __getitem__(self, i):
        return self.v[i]

    def __setitem__(self, i, value):
        self.v[i] = value

    def __delitem__(self, i):
        del self.v[i]

    def __contains__(self, item):
        return item in self.v

    def __iter__(self):
        return iter(self.v)

    def __repr__(self):
        return f"Vec{tuple(self.v)}"


@program(lambda: (t(3),))
def operators_arithmetic(x):
    a, b = Vec(1, 2), Vec(3, 4)
    c = a + b
    c = 10 + c
    c += 1
    try:
        a * 2
    except TypeError as error:
        text = str(error)
    return x + sum((-c).v), text


@program(lambda: (t(3),))
def operators_comparison(x):
    a, b = Vec(1, 2), Vec(1, 3)
    return x, a == Vec(1, 2), a != b, a < b, sorted([b, a]), a > b, a in [Vec(1, 2)], {Vec(1): 1}[Vec(1)]


@program(lambda: (t(3),))
def operators_container(x):
    v = Vec(x, 2, 3)
    v[1] = x + 1
    del v[2]
    total = 0
    for item in v:
        total = total + item
    return total, len(v), bool(Vec()), 7 in Vec(7), [*Vec(1, 2)], "yes" if Vec(0) else "no"


@program(lambda: (t(3), Vec(1, 2)), lambda: (t(3), Vec(0, 0)))
def truth_of_instance(x, v):
    return x + 1 if v else x - 1


@program(lambda: (t(3), Vec(1, 2)))
def text_of_instance(x, v):
    return x, repr(v), str(v), f"{v!r:>12}", "%s" % v, "{}".format(v)


class Lazy:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@program(lambda: (t(3), Lazy(3)))
def iterator_class(x, it):
    for i in it:
        x = x + i
    return x, list(Lazy(2)), sum(Lazy(4)), tuple(map(lambda v: v * 2, Lazy(3))), max(Lazy(3))


class OldStyle:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return i * 2


@program(lambda: (t(3),))
def sequence_protocol(x):
    return [x + i for i in OldStyle()], 4 in OldStyle()


@dataclasses.dataclass
class Config:
    width: int
    name: str = "c"
    parts: list = dataclasses.field(default_factory=list)

    def area(self):
        return self.width * len(self.parts)


@program(lambda: (t(3), Config(2)), lambda: (t(3), Config(3)), lambda: (t(3), Config(2, "d")))
def dataclass_argument(x, c):
    c.parts.append(x)
    return x * c.width + c.area(), c.name


@program(lambda: (t(3),))
def dataclass_inside(x):
    c = Config(4, parts=[x])
    d = dataclasses.replace(c, width=5)
    return c, d.width, c == d, dataclasses.asdict(Config(1)), [f.name for f in dataclasses.fields(c)], repr(Config(1))


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2


@program(lambda: (t(3),))
def dataclass_frozen(x):
    f = Frozen(1)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as error:
        text = str(error)
    return x + f.a, text, Frozen(1) < Frozen(2), hash(f) == hash(Frozen(1)), {f: 1}[Frozen(1)]


@dataclasses.dataclass
class Post:
    w: int
    h: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.h = self.w + 1


@program(lambda: (t(3),))
def dataclass_post_init(x):
    return x * Post(3).h


class Color(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def next(self):
        return Color.GREEN if self is Color.RED else Color.RED


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@program(lambda: (t(3), Color.RED), lambda: (t(3), Color.GREEN))
def enum_argument(x, c):
    if c is Color.RED:
        return x + c.value
    return x - c.value, c.name, c.next


@program(lambda: (t(3), Level.HIGH), lambda: (t(3), Level.LOW))
def int_enum(x, level):
    return x * level, level > Level.LOW, Color(2), Color["RED"], Level.HIGH + 1, [c.name for c in Color], len(Color)


@program(lambda: (t(3), Flags.A | Flags.B), lambda: (t(3), Flags.A))
def flag_enum(x, f):
    return x + 1 if Flags.B in f else x, f & Flags.A == Flags.A


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        ...


class Square(Shape):
    def __init__(self, a):
        self.a = a

    def area(self):
        return self.a ** 2


@program(lambda: (t(3), Square(2)))
def abstract_class(x, s):
    try:
        Shape()
    except TypeError as error:
        text = str(error)[:40]
    return x * s.area() + Square(3).area(), isinstance(s, Shape), text


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = cls.__name__
        return made

    @property
    def size(cls):
        return 7


class WithMeta(metaclass=Meta):
    def __init__(self, a):
        self.a = a


@program(lambda: (t(3),))
def metaclass(x):
    w = WithMeta(x)
    return w.a + WithMeta.size, w.tag


@program(lambda: (t(3),))
def class_defined_inside(x):
    class Local:
        k = 2

        def f(self, y):
            return y * self.k + self.__class__.k
    return Local().f(x), Local.__name__


class NewMade:
    made = []

    def __new__(cls, n):
        self = super().__new__(cls)
        self.n = n + 1
        return self

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)


@program(lambda: (t(3),))
def custom_new(x):
    return x + NewMade(3).n


class Singleton:
    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            cls.instance.uses = 0
        cls.instance.uses += 1
        return cls.instance


@program(lambda: (t(3),), lambda: (t(3),))
def singleton(x):
    return x + Singleton().uses, Singleton() is Singleton()


class Manager:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *error):
        self.log.append("out" if error[0] is None else error[0].__name__)
        return error[0] is KeyError


@program(lambda: (t(3), Manager()))
def manager_argument(x, m):
    with m as entered:
        x = x + len(entered.log)
    with m:
        raise KeyError("gone")
    return x, m.log


@program(lambda: (t(3), Counter(3)))
def dynamic_attributes(x, c):
    for name in ("a", "b"):
        setattr(c, name, x + len(name))
    delattr(c, "count")
    return [getattr(c, n) for n in ("a", "b")], hasattr(c, "count"), sorted(vars(c))


@program(lambda: (t(3), Counter(3)))
def bound_method_passed(x, c):
    def run(f):
        return f(2)
    return x + run(c.bump), c.bump.__name__, c.bump.__self__ is c


@program(lambda: (t(3), Counter.bump, Counter(1)))
def unbound_method_called(x, f, c):
    return x + f(c, 5), Counter.bump(c)


class Node:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


@program(lambda: (Node(t(2), Node(t(2) + 1, Node(t(2) + 2))),), lambda: (Node(t(2)),))
def linked_list(node):
    total = 0
    while node is not None:
        total = total + node.value
        node = node.rest
    return total


@program(lambda: (t(2),))
def linked_list_built(x):
    node = None
    for i in range(3):
        node = Node(x + i, node)
    return node


@program(lambda: (t(3), type("Dyn", (), {"k": 3})()))
def dynamic_class(x, obj):
    made = type("Made", (Base,), {"scale": 5})
    return x * obj.k + made(2).apply(x), made.__name__
