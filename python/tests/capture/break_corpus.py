"""Functions that are broken at every instruction: loops, handlers, contexts, closures, comprehensions, patterns, calls.

CASES: (function, arguments); arguments are copied for each run. What a function prints goes to `say`."""

import contextlib
import dataclasses
import functools

CASES = []
said = []


def say(*values):
    said.append(values)


def case(*arguments):
    def add(function):
        CASES.append((function, arguments))
        return function

    return add


# Straight lines, operators, names.


@case(3, 4)
def arithmetic(a, b):
    c = a + b * 2 - a // b
    c <<= 2
    c ^= a | b & 7
    return c, -a, +b, ~c, not a, a**b, a % b, a / b, a @ b if False else a >> 1


@case(3, 4)
def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b, a in (3, 5), b not in [3]


@case(1, 2, 9)
def chained(a, b, c):
    return a < b < c, a < b > c, 0 < a <= 1 < b != c


@case([1, 2, 3])
def unpacking(xs):
    a, b, c = xs
    d, *e = xs
    *f, g = xs
    (h, i), j = (a, b), c
    a, b = b, a
    return a, b, c, d, e, f, g, h, i, j


@case([1, 2])
def unpacking_too_few(xs):
    a, b, c = xs
    return a + b + c


@case({"a": 1}, [5])
def displays(d, xs):
    t = (*xs, 1, *xs)
    s = {*xs, 2}
    m = {**d, "b": 2, **{"c": 3}}
    k = {"x": 1, "y": d, "z": xs}
    return t, s, m, [*t, 9], k


@case(list(range(10)))
def slices(xs):
    xs[1:3] = [7, 7, 7]
    xs[::2] = [0] * len(xs[::2])
    del xs[-1], xs[0]
    xs[0] += 5
    return xs[1:], xs[:2], xs[1:5:2], xs


@case("abc", 3.14159)
def texts(s, x):
    width = 10
    return f"{s}", f"{s!r:>{width}}|{x:.2f}|{s!s}{s!a}{x=}", "%s-%d" % (s, 3), f"{s:^{width}}{{}}"


@case(5)
def walrus(n):
    if (m := n * 2) > 5 and (k := m + 1):
        return m, k
    return n


@case(True, 0)
def boolean_values(a, b):
    return a and b, a or b, b and a, b or a, not (a and b), (a or b) and (b or 3), None or b or "x"


@case(None, 1)
def none_tests(a, b):
    r = []
    if a is None:
        r.append(1)
    if b is not None:
        r.append(2)
    while a is None:
        a = b
    return r, a if a is not None else 0, 1 if b is None else 2


@case()
def many_locals():
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = 1
    b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 = range(10)
    return a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9


@case(1)
def deleted(x):
    y = x
    del x
    try:
        return x
    except UnboundLocalError as e:
        return str(e), y


@case(False)
def maybe_unbound(flag):
    if flag:
        v = 1
    try:
        return v
    except UnboundLocalError as e:
        return str(e)


@case(0)
def conditional_delete(flag):
    v = 1
    if flag:
        del v
    return v


@case(3)
def sees_locals(a):
    b = a + 1
    c = [a, b]
    return sorted(locals().items(), key=str), eval("a + b")


counter = 0


@case(3)
def global_writes(n):
    global counter
    counter = 0
    for i in range(n):
        counter += i
    return counter


@case([3, 1, 2])
def chained_calls(xs):
    return "-".join(map(str, sorted(xs, reverse=True))).upper().split("-", 1)


def takes(a, b=2, *c, d=4, **e):
    return a, b, c, d, e


@case([1, 2], {"d": 5, "z": 6})
def star_calls(xs, kw):
    return (takes(*xs), takes(*xs, **kw), takes(1, *xs, d=3), takes(1, **kw), takes(b=1, a=2), takes(1, 2, 3, 4, d=7, y=8),
            takes(takes(takes(1, d=2), *xs), **{"q": takes(0)}))


@case(1, 2, 3)
def var_arguments(a, *rest, key=7, **more):
    rest = rest + (key,)
    return a, rest, key, more


# Loops.


@case([1, 2, 3, 4, 5, 6])
def loops(xs):
    total = 0
    for x in xs:
        if x == 2:
            continue
        if x == 5:
            break
        total += x
    else:
        total = -1
    return total


@case(7)
def while_loop(n):
    steps = []
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    else:
        steps.append("end")
    return steps


@case(4)
def nested_loops(n):
    out = []
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            out.append((i, j))
        else:
            out.append(i)
    return out


@case({"a": 1, "b": 2})
def loop_with_unpacking(d):
    out = {}
    for i, (k, v) in enumerate(d.items()):
        out[v] = k * i
    return out


@case([1, 2, 3])
def loop_over_generator(xs):
    def squares():
        for x in xs:
            yield x * x

    total = 0
    for s in squares():
        total += s
    return total, sum(x for x in xs if x > 1)


@case([1, 2, 3, 4])
def early_return(xs):
    for i, x in enumerate(xs):
        for y in xs:
            if x + y == 6:
                return i, x, y
    return None


@case([])
def empty_loop(xs):
    x = None
    for x in xs:
        pass
    return x


@case([[1, 2], [3]])
def two_iterators_live(rows):
    out = []
    for a, b in zip(rows, reversed(rows)):
        for x in a:
            for y in b:
                out.append(x * y)
    return out


# Comprehensions.


@case([1, 2, 3], 10)
def comprehensions(xs, k):
    return ([x * k for x in xs], {x: k + x for x in xs if x != 2}, {x % 2 for x in xs}, [x + y for x in xs for y in xs if x < y],
            [[x * y for y in xs] for x in xs], list(x for x in xs))


@case([1, 2, 3])
def comprehension_keeps_names(xs):
    x = "outer"
    ys = [x for x in xs]
    return x, ys


@case([1, 2, 3])
def comprehension_with_cells(xs):
    x = "outer"
    fs = [lambda: x for x in xs]
    gs = [lambda y=y: y for y in xs]
    return x, [f() for f in fs], [g() for g in gs]


@case([1, 2, 3])
def comprehension_in_loop(xs):
    out = []
    for i in xs:
        fs = [lambda: (i, j) for j in xs]
        out.append([f() for f in fs])
    return out


@case([1, 0, 2])
def comprehension_that_raises(xs):
    x = 5
    try:
        return [1 // x for x in xs]
    except ZeroDivisionError as e:
        return x, str(e)


# Handlers.


@case([1, 0, "a", None])
def handlers(xs):
    out = []
    for x in xs:
        try:
            out.append(10 // x)
        except ZeroDivisionError:
            out.append("zero")
        except (TypeError, ValueError) as e:
            out.append(type(e).__name__)
        else:
            out.append("fine")
        finally:
            out.append("done")
    return out


@case([3, 0])
def finally_returns(xs):
    def one(x):
        try:
            return 1 // x
        finally:
            say("finally", x)

    out = [one(xs[0])]
    try:
        one(xs[1])
    except ZeroDivisionError as e:
        out.append(str(e))
    return out


@case(0)
def finally_in_loop(n):
    out = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            out.append(i // (i - n - 0 if i else 1))
        finally:
            out.append("f")
    return out


@case(1)
def nested_handlers(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError as e:
            try:
                raise ValueError("second") from e
            finally:
                say("cleanup")
    except ValueError as e:
        return str(e), repr(e.__cause__), repr(e.__context__), x


@case()
def reraised():
    try:
        try:
            [][1]
        except IndexError:
            say("seen")
            raise
    except LookupError as e:
        return type(e).__name__


@case(0)
def uncaught(x):
    y = [x]
    try:
        return 1 / x
    finally:
        say(y)


@case("k")
def raises_through(x):
    d = {}
    for i in range(2):
        say(i)
        if i:
            d[x]
    return d


@case(3)
def exception_state(x):
    import sys

    out = [sys.exc_info()[0]]
    try:
        raise RuntimeError(x)
    except RuntimeError:
        out.append(sys.exc_info()[0])
        try:
            raise KeyError
        except KeyError:
            out.append(sys.exc_info()[0])
        out.append(sys.exc_info()[0])
    out.append(sys.exc_info()[0])
    return out


@case()
def implicit_context():
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise ValueError(2)
    except ValueError as e:
        return repr(e.__context__), e.__suppress_context__


@case([1, 2])
def exception_groups(xs):
    out = []
    try:
        raise ExceptionGroup("g", [ValueError(xs[0]), TypeError(xs[1]), KeyError(3)])
    except* ValueError as e:
        out.append(repr(e.exceptions))
    except* (TypeError, KeyError) as e:
        out.append(repr(e.exceptions))
    return out


@case()
def unhandled_group():
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), OSError(2)])
        except* ValueError:
            say("value")
    except ExceptionGroup as e:
        return repr(e)


@case(3)
def asserts(x):
    assert x == 3
    assert x < 3, f"too large: {x}"


@case([3, 0, 1])
def try_while(xs):
    out = []
    while xs:
        try:
            out.append(1 // xs.pop())
        except ZeroDivisionError:
            if len(xs) == 1:
                continue
            return out
        finally:
            say(len(xs))
    return out


@case(2)
def return_in_finally(x):
    for i in range(3):
        try:
            1 // (i - x)
            if i == 1:
                raise KeyError
        except KeyError:
            return "key"
        finally:
            if i == 2:
                return "two"
    return "end"


# Contexts.


class Context:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        say("enter", self.name)
        return self

    def __exit__(self, kind, value, trace):
        say("exit", self.name, kind and kind.__name__)
        return self.swallow


@case(2)
def contexts(x):
    with Context("a") as a, Context("b", True) as b:
        say(a.name, b.name)
        1 // (x - 2)
        say("not reached")
    with Context("c"):
        y = x
    return y


@case([1, 2, 3])
def contexts_in_loops(xs):
    for x in xs:
        with Context(x):
            if x == 2:
                continue
            with Context(-x, True):
                if x == 3:
                    return "three"
                raise ValueError(x)
    return "none"


@case(1)
def context_raises(x):
    with Context("outer"):
        try:
            with Context("inner"):
                raise KeyError(x)
        except KeyError as e:
            say(repr(e))
            raise RuntimeError("again")


@contextlib.contextmanager
def managed(name):
    say("in", name)
    try:
        yield name * 2
    finally:
        say("out", name)


@case("m")
def context_manager(name):
    out = []
    with managed(name) as m, contextlib.suppress(KeyError):
        out.append(m)
        {}[m]
    with contextlib.ExitStack() as stack:
        out += [stack.enter_context(managed(n)) for n in "pq"]
    return out


# Closures and classes.


@case(3)
def closures(n):
    total = 0

    def add(k):
        nonlocal total, n
        total += k * n
        n += 1
        return lambda: (total, n)

    first = add(1)
    n += 10
    second = add(2)
    return first(), second(), total, n


@case(3)
def cell_unbound(n):
    def later():
        return value

    try:
        later()
    except NameError as e:
        message = str(e)
    value = n
    got = later()
    del value
    try:
        return message, got, later()
    except NameError as e:
        return message, got, str(e)


@case([1, 2])
def cells_in_loops(xs):
    fs = []
    for x in xs:
        def show(y=x):
            return x, y

        fs.append(show)
    return [f() for f in fs]


@case(2)
def decorated(n):
    def twice(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * 2

        return inner

    @twice
    def g(x: int, *, y: int = n) -> int:
        "doc"
        return x + y

    return g(1), g(1, y=5), g.__name__, g.__doc__, sorted(g.__annotations__)


@case(4)
def makes_class(n):
    class Point:
        scale = n

        def __init__(self, x):
            self.x = x * self.scale

        @property
        def double(self):
            return self.x * 2

        def get(self):
            return lambda: (self.x, n)

    class Sub(Point):
        def __init__(self, x):
            super().__init__(x + 1)
            self.y = super().double

    s = Sub(2)
    return s.x, s.y, s.get()(), Point(1).double


class Base:
    def __init__(self, x):
        self.items = [x]

    def grow(self, k):
        self.items.append(k)
        return self

    def size(self):
        return len(self.items)


class Derived(Base):
    def __init__(self, x):
        super().__init__(x)
        self.extra = {}

    def grow(self, k):
        for i in range(2):
            super().grow(k + i)
        self.extra[k] = super().size()
        return self

    def captured(self, k):
        def inner():
            return self.items

        super().grow(k)
        return inner() + [super().size()]

    def generic(self, *args):
        return super(Derived, self).size(), args


CASES += [(Derived.grow, (Derived(1), 4)), (Derived.captured, (Derived(1), 4)), (Derived.generic, (Derived(2), 3)),
          (Derived.__init__, (Derived(1), 5))]


@case(2)
def attributes(n):
    o = Base(n)
    o.name = "a"
    o.count = 0
    o.count += 3
    o.items[0] *= 4
    del o.name
    try:
        o.name
    except AttributeError as e:
        return str(e), o.count, o.items, getattr(o, "none", 7)


@dataclasses.dataclass
class Record:
    a: int
    b: list = dataclasses.field(default_factory=list)


@case(1)
def records(n):
    r = Record(n)
    r.b.append(n)
    s = dataclasses.replace(r, a=5)
    return r, s, r == s, dataclasses.asdict(s)


# Patterns.


@case([1, [1, 2, 3], {"k": 5, "z": 1}, Record(1, [2]), "x", None, (1, 2), 3.5])
def patterns(xs):
    out = []
    for x in xs:
        match x:
            case 1 | 2:
                out.append("small")
            case [a, *rest] if len(rest) == 2:
                out.append((a, rest))
            case {"k": v, **others}:
                out.append((v, others))
            case Record(a=a, b=[b]):
                out.append((a, b))
            case str() as s:
                out.append(s)
            case None:
                out.append("none")
            case (a, b):
                out.append(a + b)
            case _:
                out.append("other")
    return out


# Imports and rest.


@case(16)
def imports(x):
    import math
    import os.path as path
    from collections import OrderedDict as O, defaultdict

    d = defaultdict(list)
    d[x].append(math.sqrt(x))
    return O(d), path.basename("a/b")


@case(10)
def generators_inside(n):
    def walk(k):
        if k > 0:
            got = yield k
            say(got)
            yield from walk(k - 4)

    g = walk(n)
    out = [next(g), g.send("x")]
    out.extend(g)
    return out


@case([5, 3, 8])
def lambdas(xs):
    key = lambda x: -x
    return sorted(xs, key=key), list(filter(lambda x: x > 3, xs)), functools.reduce(lambda a, b: a * b, xs)


@case([1, 2, 3])
def mutates_arguments(xs):
    xs.append(4)
    ys = xs
    ys += [5]
    xs[0], xs[-1] = xs[-1], xs[0]
    return len(ys)


@case(3, 5)
def conditional_expressions(a, b):
    f = max if a > b else min
    return f(a, b), (a if a > b else b if b > 4 else 0), [a if x else b for x in (0, 1)], (lambda: a or b)()


@case(6)
def recursion(n):
    return 1 if n < 2 else n * recursion(n - 1)


@case([3, 1, 2])
def insertion_sort(xs):
    for i in range(1, len(xs)):
        x = xs[i]
        j = i - 1
        while j >= 0 and xs[j] > x:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = x
    return xs


@case(30)
def sieve(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    p = 2
    while p * p <= n:
        if flags[p]:
            flags[p * p::p] = [False] * len(flags[p * p::p])
        p += 1
    return [i for i, f in enumerate(flags) if f]


@case("the quick brown the lazy the end")
def words(text):
    counts = {}
    for w in text.split():
        counts[w] = counts.get(w, 0) + 1
    best, most = None, -1
    for w, c in counts.items():
        if c > most:
            best, most = w, c
    return best, most, counts


@case([[1, 2], [3, 4]])
def matrix(m):
    n = len(m)
    out = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                out[i][j] += m[i][k] * m[k][j]
    return out
