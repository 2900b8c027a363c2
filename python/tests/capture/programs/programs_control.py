# Loops, branches, exceptions, contexts, generators, matching.
import contextlib


@program(lambda: (t(3), 5), lambda: (t(3), 3))
def for_break_continue_else(x, n):
    for i in range(n):
        if i == 1:
            continue
        if i == 4:
            break
        x = x + i
    else:
        x = x * 2
    return x


@program(lambda: (t(3), 3), lambda: (t(3), 0))
def while_loop_known(x, n):
    while n > 0:
        x = x * 2
        n -= 1
    else:
        x = x + 1
    return x


@program(lambda: (t(3),))
def nested_loops(x):
    for i in range(3):
        for j in range(i):
            if j == 1:
                break
            x = x + i * j + 1
    return x


@program(lambda: (t(3),))
def for_over_tensor(x):
    total = 0
    for row in x:
        total = total + row * 2
    return total


@program(lambda: (t(3),), lambda: (-t(3) - 5,))
def branch_on_tensor(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@program(lambda: (t(3), t(3)), lambda: (t(3), -t(3) + 9))
def overview_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


@program(lambda: (t(3),))
def while_on_tensor(x):
    n = 0
    while x.abs().sum() < 50:
        x = x * 2
        n += 1
    return x, n


@program(lambda: (t(4),))
def branch_in_loop(x):
    out = []
    for i in range(4):
        y = x + i
        if y[0] > 1:
            y = y * 2
        out.append(y)
    return out


@program(lambda: (t(3),))
def try_except(x):
    try:
        y = x + 1
        raise ValueError("bad")
    except ValueError as error:
        return y, str(error), error.args


@program(lambda: (t(3),))
def try_else_finally(x):
    log = []
    try:
        x = x + 1
    except ValueError:
        log.append("except")
    else:
        log.append("else")
    finally:
        log.append("finally")
        x = x * 2
    return x, log


@program(lambda: (t(3),))
def return_in_finally(x):
    def f():
        try:
            return x
        finally:
            return x + 1  # noqa: B012
    return f()


@program(lambda: (t(3), 0), lambda: (t(3), 2))
def zero_division(x, n):
    try:
        return x * (1 // n)
    except ZeroDivisionError as error:
        return x, str(error)


@program(lambda: (t(3),))
def nested_exceptions(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        return x + 1, repr(error.__cause__), error.__suppress_context__, repr(error.__context__)


@program(lambda: (t(3),))
def reraise(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            x = x + 1
            raise
    except LookupError as error:
        return x, type(error).__name__


@program(lambda: (t(3), 1), lambda: (t(3), -1))
def raises_out(x, n):
    x = x + 1
    if n < 0:
        raise ValueError(f"negative: {n}")
    return x


class Custom(Exception):
    def __init__(self, code, text="none"):
        super().__init__(f"{code}: {text}")
        self.code = code


@program(lambda: (t(3),))
def custom_exception(x):
    try:
        raise Custom(7, text="seven")
    except Custom as error:
        return x + error.code, str(error)


@program(lambda: (t(3),))
def exception_through_functions(x):
    log = []

    def inner():
        try:
            raise IndexError("deep")
        finally:
            log.append("inner")

    def middle():
        try:
            inner()
        except KeyError:
            log.append("wrong")
    try:
        middle()
    except IndexError as error:
        log.append(str(error))
    return x + len(log), log


@program(lambda: (t(3),))
def except_tuple_and_bare(x):
    try:
        [][1]
    except (KeyError, IndexError):
        x = x + 1
    try:
        {}["k"]
    except:  # noqa: E722
        x = x + 2
    return x


@program(lambda: (t(3), {"a": 1}), lambda: (t(3), {}))
def key_error_handled(x, d):
    try:
        return x * d["a"]
    except KeyError:
        return x - 1


@program(lambda: (t(3),))
def attribute_error_handled(x):
    try:
        return x.no_such_attribute
    except AttributeError:
        return x + 1


@program(lambda: (t(3), t(4)), lambda: (t(3), t(3)))
def operator_error_handled(x, y):
    try:
        return x + y
    except RuntimeError:
        return x * 2


@program(lambda: (t(3), t(4)))
def operator_error_raised(x, y):
    return x + y


@program(lambda: (t(3),))
def stop_iteration_handled(x):
    it = iter([x])
    next(it)
    try:
        next(it)
    except StopIteration:
        return x + 1


@program(lambda: (t(3),))
def exception_groups(x):
    try:
        raise ExceptionGroup("many", [ValueError("a"), KeyError("b")])
    except* ValueError as group:
        x = x + len(group.exceptions)
    except* KeyError:
        x = x * 2
    return x


class Log:
    def __init__(self, swallow=False):
        self.swallow = swallow
        self.log = []

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


@program(lambda: (t(3),))
def with_own_manager(x):
    m = Log()
    with m as same:
        x = x + len(same.log)
    return x, m.log


@program(lambda: (t(3),))
def with_swallows(x):
    m = Log(True)
    with m:
        x = x + 1
        raise KeyError("swallowed")
    return x, m.log


@program(lambda: (t(3),))
def with_raises(x):
    m = Log()
    try:
        with m:
            raise KeyError("passes")
    except KeyError as error:
        return x, m.log, str(error)


@program(lambda: (t(3),))
def with_two(x):
    a, b = Log(), Log()
    with a, b as c:
        x = x * 2
        c.log.append("body")
    return x, a.log, b.log


@program(lambda: (t(3),))
def with_return_inside(x):
    m = Log()

    def f():
        with m:
            return x + 1
    return f(), m.log


@contextlib.contextmanager
def scaled(log, k):
    log.append("before")
    try:
        yield k * 2
    finally:
        log.append("after")


@program(lambda: (t(3),))
def contextmanager_function(x):
    log = []
    with scaled(log, 3) as k:
        x = x * k
    return x, log


@program(lambda: (t(3),))
def contextmanager_with_error(x):
    log = []
    try:
        with scaled(log, 1):
            raise ValueError("inside")
    except ValueError:
        x = x + 1
    return x, log


@program(lambda: (t(3),))
def suppress_and_nullcontext(x):
    with contextlib.suppress(KeyError):
        x = x + 1
        {}["missing"]
        x = x + 100
    with contextlib.nullcontext(5) as n:
        x = x + n
    return x


@program(lambda: (t(3),))
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        for k in range(2):
            x = x + stack.enter_context(scaled(log, k))
        stack.callback(log.append, "callback")
    return x, log


@program(lambda: (t(3),))
def break_inside_with(x):
    m = Log()
    with m:
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
    return x, m.log


@program(lambda: (t(3),))
def break_inside_try(x):
    try:
        x = x + 1
        torch._dynamo.graph_break()
        x = x * 2
        raise ValueError("after the break")
    except ValueError as error:
        x = x - 1
        text = str(error)
    finally:
        x = x + 100
    return x, text


@program(lambda: (t(3),))
def break_inside_loop(x):
    for i in range(3):
        x = x + i
        torch._dynamo.graph_break()
        x = x * 2
    return x


@program(lambda: (t(3),))
def break_inside_call(x):
    def inner(y):
        y = y + 1
        torch._dynamo.graph_break()
        return y * 2
    x = x - 1
    x = inner(x)
    return x + 5


@program(lambda: (t(3),))
def break_with_stack(x):
    def middle(y):
        torch._dynamo.graph_break()
        return y
    return [x + 1, middle(x * 2), (x - 1, middle(3))], {"k": middle(x)}


def count_to(n):
    i = 0
    while i < n:
        yield i
        i += 1


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def generator_consumed(x, n):
    for i in count_to(n):
        x = x + i
    return x, list(count_to(2)), sum(count_to(4))


@program(lambda: (t(3),))
def generator_over_tensors(x):
    def rows(y):
        for i in range(3):
            yield y + i
    return torch.stack(list(rows(x))), [r * 2 for r in rows(x)]


@program(lambda: (t(3),))
def generator_interleaves(x):
    log = []

    def produce():
        for i in range(3):
            log.append(f"make {i}")
            yield x + i
    out = []
    for v in produce():
        log.append("use")
        out.append(v * 2)
        if len(out) == 2:
            break
    return out, log


@program(lambda: (t(3),))
def generator_send(x):
    def average():
        total, n = x, 1
        while True:
            value = yield total / n
            total, n = total + value, n + 1
    g = average()
    next(g)
    g.send(2.0)
    last = g.send(4.0)
    g.close()
    return last


@program(lambda: (t(3),))
def generator_throw_and_close(x):
    log = []

    def f():
        try:
            yield 1
        except ValueError as error:
            log.append(str(error))
            yield 2
        finally:
            log.append("closed")
    g = f()
    a = next(g)
    b = g.throw(ValueError("thrown"))
    g.close()
    return x + a + b, log


@program(lambda: (t(3),))
def generator_yield_from(x):
    def inner():
        got = yield x
        return got or 5

    def outer():
        result = yield from inner()
        yield x + result
        yield from [1, 2]
    return list(outer())


@program(lambda: (t(3),))
def generator_return_value(x):
    def f():
        yield 1
        return 7
    g = f()
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        return x + stop.value


@program(lambda: (t(3),))
def generator_raises(x):
    def f():
        yield x
        raise ValueError("in generator")
    try:
        return list(f())
    except ValueError as error:
        return x + 1, str(error)


@program(lambda: (t(3), 2), lambda: (t(3), 3))
def generator_returned(x, n):
    y = x + 1
    return (y * i for i in range(n))


@program(lambda: (t(3),))
def generator_function_compiled(x):
    y = x + 1
    yield y
    yield y * 2


@program(lambda: (t(3), 2), lambda: (t(3), "a"), lambda: (t(3), None), lambda: (t(3), 9))
def match_literals(x, v):
    match v:
        case 1 | 2:
            return x + 1
        case "a":
            return x + 2
        case None:
            return x + 3
        case _:
            return x + 4


@program(lambda: (t(3), [1, 2, 3]), lambda: (t(3), [1]), lambda: (t(3), (5, 6)), lambda: (t(3), []))
def match_sequences(x, v):
    match v:
        case [a]:
            return x + a
        case [a, b]:
            return x + a * b
        case [a, *rest]:
            return x + a, rest
        case _:
            return x


@program(lambda: (t(3), {"kind": "a", "n": 2}), lambda: (t(3), {"kind": "b", "z": 1}), lambda: (t(3), {}))
def match_mappings(x, v):
    match v:
        case {"kind": "a", "n": n}:
            return x * n
        case {"kind": kind, **rest}:
            return x, kind, rest
    return x


class P:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


@program(lambda: (t(3), P(1, 2)), lambda: (t(3), P(0, 5)), lambda: (t(3), 7), lambda: (t(3), "s"))
def match_classes(x, v):
    match v:
        case P(0, b):
            return x + b
        case P(a, b=2) if a > 0:
            return x - a
        case int(n):
            return x * n
        case str() as s:
            return x, s


@program(lambda: (t(3),), lambda: (t(3) * 0,))
def item_decides(x):
    n = int(x.abs().sum().item())
    return x + n if n > 2 else x - 1


@program(lambda: (t(3),))
def print_between(x):
    x = x + 1
    print("shape", tuple(x.shape))
    x = x * 2
    print("done")
    return x


@program(lambda: (t(3),))
def tolist_between(x):
    items = (x + 1).tolist()
    return x * len(items), items


@program(lambda: (t(3), 3))
def assert_on_tensor(x, n):
    assert x.shape[0] == n, "size"
    assert torch.all(x == x)
    return x + 1


@program(lambda: (t(3),))
def boolean_operators_on_tensors(x):
    y = (x.sum() > 0) and (x.max() > 1)
    z = (x.sum() > 100) or x.min()
    return y, z, not x.any()


@program(lambda: (t(3),))
def async_function_left_alone(x):
    async def f():
        return x + 1
    c = f()
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value
