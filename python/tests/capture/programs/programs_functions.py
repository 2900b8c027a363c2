# Calls: closures, defaults, star arguments, decorators, partials, functools, itertools, operator, builtins.
import functools
import itertools
import operator

SCALE = 3


def helper(x, n=2, *, shift=0):
    return x * n + shift


@program(lambda: (t(3),), lambda: (t(5),))
def calls_function(x):
    return helper(x) + helper(x, 3) + helper(x, shift=1)


@program(lambda: (t(3), 1), lambda: (t(3), 2), lambda: ((t(3),), {"b": 4}))
def default_arguments(x, b=5, *, c=2):
    return x * b + c


@program(lambda: (t(3), 1, 2, 3), lambda: (t(3),), lambda: (t(3), 1))
def star_args(x, *args):
    for a in args:
        x = x + a
    return x, len(args)


@program(lambda: ((t(3),), {"a": 1, "b": 2}), lambda: ((t(3),), {"b": 2, "a": 1}), lambda: ((t(3),), {}))
def star_keywords(x, **kw):
    for name in sorted(kw):
        x = x * 2 + kw[name]
    return x, kw


@program(lambda: (t(3), (2,), {"shift": 1}), lambda: (t(3), (), {}))
def star_call(x, args, keywords):
    return helper(x, *args, **keywords)


@program(lambda: (t(3),))
def mixed_star_call(x):
    def f(a, b, *rest, k, **more):
        return a + b + sum(rest) + k, more
    return f(x, *[1, 2], *(3,), k=4, **{"z": 5}, **{"y": 6})


@program(lambda: (t(3),))
def wrong_arguments(x):
    try:
        return helper()
    except TypeError as error:
        return x + 1, str(error)


@program(lambda: (t(3),), lambda: (t(3),))
def positional_only(x):
    def f(a, /, b, *, c):
        return a + b * c
    return f(x, 2, c=3) + f(x, b=1, c=1)


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def closure_reads(x, n):
    def inner(y):
        return y * n + x
    return inner(x + 1)


@program(lambda: (t(3),))
def closure_writes(x):
    count = 0

    def add():
        nonlocal count, x
        count += 1
        x = x + count
        return x
    add()
    add()
    return x, count


@program(lambda: (t(3),))
def closure_late_binding(x):
    functions = [lambda: x * i for i in range(3)]
    return [f() for f in functions]


@program(lambda: (t(3),))
def closure_returned(x):
    def add(y, k=2):
        return x + y * k
    return add(1), add.__name__, add.__defaults__


@program(lambda: (t(3),))
def closure_escapes_and_runs(x):
    y = x + 1

    def add(z):
        return y + z
    made = [add]
    return made[0](x)


@program(lambda: (t(3),))
def lambda_calls(x):
    f = lambda a, b=1: a + b  # noqa: E731
    return (lambda g: g(x) * g(x, 2))(f)


@program(lambda: (t(3), 4), lambda: (t(3), 5))
def recursion(x, n):
    def go(y, k):
        return y if k == 0 else go(y * 1.5, k - 1)
    return go(x, n)


@program(lambda: (t(3),))
def mutual_recursion(x):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)
    return x + even(6) * 2 - odd(5) * 1


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **keywords):
        return function(function(*args, **keywords))
    return wrapper


@twice
def add_one(x):
    return x + 1


@program(lambda: (t(3),))
def decorated(x):
    return add_one(x), add_one.__name__


def repeat(n):
    def decorate(function):
        def wrapper(x):
            for _ in range(n):
                x = function(x)
            return x
        return wrapper
    return decorate


@program(lambda: (t(3),))
def decorated_inside(x):
    @repeat(3)
    def double(y):
        return y * 2
    return double(x)


add_two = functools.partial(helper, n=1, shift=2)


@program(lambda: (t(3),))
def partial_global(x):
    return add_two(x) + functools.partial(helper, x)(n=4)


@program(lambda: (t(3), functools.partial(helper, n=4)), lambda: (t(3), functools.partial(helper, n=5)))
def partial_argument(x, f):
    return f(x), f.keywords, f.args


@program(lambda: (t(3),))
def partial_returned(x):
    return functools.partial(helper, x + 1, n=3)


@program(lambda: ([t(2), t(2) + 1, t(2) + 2],))
def reduce_tensors(xs):
    return functools.reduce(lambda a, b: a * 2 + b, xs), functools.reduce(operator.add, xs, 1)


@program(lambda: ([t(2), t(2) + 1],))
def map_filter(xs):
    doubled = list(map(lambda x: x * 2, xs))
    return doubled, list(filter(None, [0, 1, 2])), list(map(operator.add, xs, doubled)), list(map(torch.relu, xs))


@program(lambda: (t(3),))
def map_lazily(x):
    log = []

    def f(i):
        log.append(i)
        return x + i
    m = map(f, [1, 2, 3])
    first = next(m)
    log.append("between")
    return first, list(m), log


@program(lambda: (t(3), ["bb", "a", "ccc"]))
def sorted_with_key(x, words):
    return x, sorted(words, key=len), sorted(words, key=lambda w: (-len(w), w), reverse=True), max(words, key=len), min(words, key=lambda w: w[0])


@program(lambda: (t(3), [3, 1, 2]))
def list_sort_with_key(x, items):
    items.sort(key=lambda v: -v)
    return x + items[0]


@program(lambda: (t(3),))
def cmp_to_key(x):
    return x, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


@functools.lru_cache(None)
def cached(n):
    return n * 2


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def lru_cached_call(x, n):
    return x + cached(n)


@program(lambda: (t(3),))
def itertools_infinite(x):
    out = []
    for i, c in zip(itertools.count(2, 3), itertools.cycle("ab")):
        if i > 12:
            break
        out.append((x + i, c))
    return out, list(itertools.islice(itertools.repeat(x, 3), 2))


@program(lambda: ([t(2), t(2) + 1],))
def itertools_combining(xs):
    pairs = [a + b for a, b in itertools.product(xs, repeat=2)]
    return pairs, [a - b for a, b in itertools.combinations(xs, 2)], list(itertools.permutations([1, 2, 3], 2))


@program(lambda: ([t(2), t(2) + 1, t(2) + 2],))
def itertools_chain_accumulate(xs):
    return list(itertools.accumulate(xs)), list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)), [
        x * 2 for x in itertools.chain(xs, [1], *[[2, 3]])], list(itertools.chain.from_iterable([[1], [2]]))


@program(lambda: (t(3),))
def itertools_while(x):
    return [x + i for i in itertools.takewhile(lambda i: i < 3, [1, 2, 3, 1])], list(itertools.dropwhile(lambda i: i < 3, [1, 3, 1])), list(
        itertools.starmap(lambda a, b: a * b, [(1, 2), (3, 4)])), list(itertools.filterfalse(lambda i: i % 2, range(5)))


@program(lambda: (t(3),))
def itertools_groups(x):
    groups = {k: [x + v for v in g] for k, g in itertools.groupby([1, 1, 2, 3, 3], key=lambda i: i % 2)}
    return groups, list(itertools.pairwise([1, 2, 3])), list(itertools.zip_longest([1], [2, 3], fillvalue=0)), list(itertools.compress("abc", [1, 0, 1]))


@program(lambda: (t(3),))
def itertools_tee(x):
    a, b = itertools.tee([x, x + 1])
    return list(a)[0] + list(b)[1]


@program(lambda: (t(3), {"w": t(3), "n": 2}))
def operator_functions(x, d):
    get = operator.itemgetter("w", "n")
    w, n = get(d)
    return operator.mul(x, w) + operator.methodcaller("sum")(x), operator.attrgetter("shape")(x), operator.getitem(d, "n"), operator.neg(x) ** n


@program(lambda: (t(3), torch.relu), lambda: (t(3), torch.sigmoid), lambda: (t(3), helper))
def function_argument(x, f):
    return f(x) + 1


@program(lambda: (t(3), "relu"), lambda: (t(3), "tanh"))
def getattr_of_library(x, name):
    return getattr(torch, name)(x) + getattr(x, name)()


@program(lambda: (t(3),))
def global_read(x):
    return x * SCALE


@program(lambda: (t(3), 2.5), lambda: (t(3), 2), lambda: (t(3), True), lambda: (t(3), None))
def isinstance_branches(x, v):
    if isinstance(v, bool):
        return x + 1
    if isinstance(v, (int, float)) and not isinstance(v, float):
        return x * v
    if type(v) is float:
        return x / v
    return x, callable(v), issubclass(bool, int)


@program(lambda: (t(3), 7), lambda: (t(3), -7))
def builtin_numbers(x, n):
    return x + abs(n) + divmod(n, 3)[1] + pow(n, 2) + round(2.567, 1) + int("12") + float("1.5") + ord("a") + len(hex(n)), bin(n), chr(97)


@program(lambda: (t(3),))
def callable_object(x):
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, y, *, times=1):
            return y + self.n * times
    return Adder(2)(x) + Adder(3)(x, times=2)


@program(lambda: (t(3),))
def bound_methods(x):
    add = x.add
    items = []
    push = items.append
    push(add(1))
    push(x.mul(2))
    return items


@program(lambda: (t(3),))
def function_attributes(x):
    def f(y):
        f.calls += 1
        return y + f.calls
    f.calls = 0
    f(x)
    return f(x), f.calls


@program(lambda: (t(3),))
def walrus(x):
    if (n := len(x)) > 2:
        x = x + n
    return [y := x * 2, y + 1], [v for i in range(4) if (v := i * i) > 1]


@program(lambda: (t(3), 2), lambda: (t(3), 0))
def conditional_expressions(x, n):
    y = x if n else -x
    return y and (n or 5), not n, (1 < n <= 5) != (n == 0), n is not None


@program(lambda: (t(3),))
def import_inside(x):
    import math
    from math import pi as p
    return x * math.sqrt(16) + p


@program(lambda: (t(3), 2), lambda: (t(3), -1))
def assert_statement(x, n):
    assert n > 0, f"n must be positive, got {n}"
    return x * n


@program(lambda: (t(3),))
def del_local(x):
    y = x + 1
    del y
    try:
        return y
    except UnboundLocalError as error:
        return x, str(error)


@program(lambda: (t(3),))
def vars_dir_locals_hasattr(x):
    class A:
        k = 1
    a = A()
    a.z = 5
    return x, vars(a), hasattr(a, "k"), hasattr(a, "q"), getattr(a, "q", 7), a.__dict__


@program(lambda: (t(3),))
def eval_order(x):
    log = []

    def note(v):
        log.append(v)
        return v
    d = {note("k"): note(1), note("j"): note(2)}
    x = x + note(3) * note(4)
    helper(note(x), n=note(5))
    return x, d, log


@program(lambda: (t(3), [1, 2, 3]))
def generator_expression(x, items):
    return sum(x * i for i in items), list(i + 1 for i in items if i > 1), tuple(x + i for i in items)


@program(lambda: (t(3),))
def sum_any_all_of_generators(x):
    return any(i > 2 for i in [1, 2, 3]), all(i > 2 for i in [1, 2]), max((i * 2 for i in range(3)), default=0), x, dict((i, x + i) for i in range(2))


@program(lambda: (t(3),))
def annotations_and_docs(x):
    def f(a: int, b: "str" = "x") -> float:
        """Text."""
        return a
    return f.__annotations__, f.__doc__, f(x)


@program(lambda: (t(3),))
def keyword_only_defaults_mutable(x):
    def f(v, acc=[]):  # noqa: B006
        acc.append(v)
        return acc
    f(1)
    return f(x), f(2)


def accumulate_into(v, acc=[]):  # noqa: B006
    acc.append(v)
    return len(acc)


@program(lambda: (t(3),), lambda: (t(3),))
def mutable_default_of_global(x):
    return x + accumulate_into(1)


@program(lambda: (t(3),))
def singledispatch(x):
    @functools.singledispatch
    def f(v):
        return "other"

    @f.register
    def _(v: int):
        return "int"
    return x, f(1), f("a")


@program(lambda: (t(3),))
def type_calls(x):
    return type(x) is torch.Tensor, isinstance(x, torch.Tensor), type(3), type([]), str(5), list("ab"), tuple([1]), bool([]), complex(1, 2), x
