# Where PyTorch 2.13's capture gives another answer than eager does, or gave one once. Eager is right.
import contextlib


@program(lambda: (t(3), {}), lambda: (t(3), {"k": 2}), lambda: (t(3), {}))
def absent_key_in_try(x, d):
    try:
        return x * d["k"]
    except KeyError:
        return x - 1


@program(lambda: (t(3), {}), lambda: (t(3), {"k": 2}))
def absent_key_suppressed(x, d):
    with contextlib.suppress(KeyError):
        x = x * d["k"]
    return x + 1


@program(lambda: (t(3),))
def append_in_enter(x):
    log = []

    class Manager:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, *error):
            log.append("exit")
    with Manager():
        x = x + 1
    return x, log


@program(lambda: (t(3), t(4)))
def operator_error_caught(x, y):
    try:
        return x @ y
    except RuntimeError as error:
        return x + 1, type(error).__name__


@program(lambda: (t(3),))
def generator_leaves(x):
    y = x + 1
    return (y + i for i in range(3))


@program(lambda: (t(3),))
def numpy_scalar_leaves(x):
    import numpy
    return x + 1, numpy.float64(2.0), numpy.int32(3)


class Opt:
    pass


@program(lambda: (t(3), Opt()), lambda: (t(3), (lambda o: (setattr(o, "k", 5), o)[1])(Opt())))
def absent_attribute(x, o):
    return x + getattr(o, "k", 1)


@program(lambda: (t(3), Opt()), lambda: (t(3), (lambda o: (setattr(o, "k", 5), o)[1])(Opt())))
def absent_attribute_in_try(x, o):
    try:
        return x * o.k
    except AttributeError:
        return x


later = {}


@program(lambda: (t(3), None), lambda: (t(3), 3), lambda: (t(3), None))
def absent_global(x, value):
    if value is None:
        globals().pop("maybe_there", None)
    else:
        globals()["maybe_there"] = value
    return read_maybe(x)


def read_maybe(x):
    try:
        return x * maybe_there  # noqa: F821
    except NameError:
        return x + 1


@program(lambda: (t(3), [1, 2, 3]), lambda: (t(3), [1, 2]), lambda: (t(3), [2, 1, 3]))
def membership_guarded(x, items):
    return x + 1 if 3 in items else x - 1, items.index(2)


@program(lambda: (t(3), {1, 2}), lambda: (t(3), {1}), lambda: (t(3), {1, 2, 3}))
def set_absence(x, s):
    return x + 1 if 2 not in s else x * 2


@program(lambda: (t(3), (1, 2)), lambda: (t(3), (1, 2.0)), lambda: (t(3), (True, 2)))
def equal_but_not_same_type(x, pair):
    return x, [type(p).__name__ for p in pair]


@program(lambda: (t(3), 0.0), lambda: (t(3), -0.0))
def minus_zero(x, v):
    import math
    return x + 1, math.copysign(1, v)


@program(lambda: (t(3), {"a": 1, "b": 2}), lambda: (t(3), {"b": 2, "a": 1}))
def dict_order(x, d):
    return x + 1, list(d)


@program(lambda: (t(3), [t(3)]), lambda: (lambda a: (a, [a]))(t(3)))
def tensor_aliases_element(x, items):
    items[0].add_(1)
    return x + 1, items[0] is x


@program(lambda: (lambda a: (a, a[1:]))(t(4)), lambda: (t(4), t(3)))
def overlapping_views(x, y):
    x.mul_(2)
    return y + 1


@program(lambda: (t(3),))
def mutation_through_method_closure(x):
    seen = []

    class A:
        def f(self, v):
            seen.append(v)
            return v + 1
    y = A().f(x)
    return y, seen


@program(lambda: (t(3),), lambda: (t(3),))
def global_state_mode(x):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(not before)
    try:
        y = x + 1
    finally:
        torch.set_grad_enabled(before)
    return y, torch.is_grad_enabled() == before


@program(lambda: (t(3),))
def exception_identity(x):
    error = ValueError("one")
    try:
        raise error
    except ValueError as caught:
        return x + 1, caught is error


@program(lambda: (t(3),))
def late_binding_cell(x):
    fs = []
    for i in range(3):
        def f():
            return i
        fs.append(f)
    return x + sum(f() for f in fs), [f() for f in fs]


@program(lambda: (t(3),), drain=True)
def map_leaves(x):
    return map(lambda v: v + 1, [x, x * 2])


@program(lambda: (t(3), [1, 2, 3]))
def list_changed_while_iterated(x, items):
    for i in items:
        x = x + i
        if len(items) < 5:
            items.append(i * 10)
    return x


@program(lambda: (t(3), {"a": 1}))
def dict_changed_while_iterated(x, d):
    try:
        for k in d:
            d[k + "x"] = 2
    except RuntimeError as error:
        return x + 1, str(error)


@program(lambda: (t(3),))
def finally_runs_with_break(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                break
            x = x + i
        finally:
            log.append(i)
    return x, log
