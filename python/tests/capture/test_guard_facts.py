"""Guards, fact by fact: a change of what a program read compiles it again and gives the eager answer; a change of what it did not
read uses what is compiled.

A row: a function, arguments, and changes of them. `miss` and `hit` say what must happen when only that was changed.
"""

import types
import unittest

import sconce as torch

GLOBAL = {"scale": 2, "unread": 1}
NUMBER = 3


def t(*shape):
    return torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


class Thing:
    kind = 1

    def __init__(self):
        self.n, self.items, self.unread = 2, [1, 2], 5

    def method(self, x):
        return x * self.n


class Other(Thing):
    pass


def setter(name, value):
    return lambda args: setattr(args[1], name, value)


def on_class(name, value):
    def change(args):
        old = Thing.__dict__[name]
        setattr(Thing, name, value)
        return lambda: setattr(Thing, name, old)
    return change


def on_global(name, value):
    def change(args):
        old = globals()[name]
        globals()[name] = value
        return lambda: globals().__setitem__(name, old)
    return change


def replaced(index, make):
    def change(args):
        args[index] = make(args[index])
    return change


def grad_off(args):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    return lambda: torch.set_grad_enabled(before)


def default_double(args):
    torch.set_default_dtype(torch.float64)
    return lambda: torch.set_default_dtype(torch.float32)


def helper(x, n=2):
    return x + n


def helper_default(args):
    helper.__defaults__ = (5,)
    return lambda: setattr(helper, "__defaults__", (2,))


def helper_code(args):
    old = helper.__code__
    helper.__code__ = (lambda x, n=2: x - n).__code__
    return lambda: setattr(helper, "__code__", old)


def closure_over(value):
    def f(x):
        return x * value

    def change(new):
        nonlocal value
        value = new
    return f, change


def made(function, *args):
    return function, lambda: [make() for make in args]


class Facts(unittest.TestCase):
    """miss(...) and hit(...): one fact each."""

    def run_twice(self, function, make, change):
        torch.compiler.reset()
        compiled = torch.compile(function)
        args = make()
        compiled(*args)
        counters = torch._dynamo.utils.counters
        before = counters["stats"]["unique_graphs"]
        self.assertGreaterEqual(before, 1, "nothing was compiled")
        args = make()
        compiled(*args)
        self.assertEqual(counters["stats"]["unique_graphs"], before, "the same arguments compile again")
        args, again = make(), make()
        undo = change(args)
        change(again)
        try:
            expected = function(*again)
            got = compiled(*args)
        finally:
            if isinstance(undo, types.FunctionType):
                undo()
        self.assertTrue(torch.equal(got, expected) and got.dtype == expected.dtype, f"{got} compiled, {expected} eagerly")
        self.assertEqual(got.requires_grad, expected.requires_grad)
        return counters["stats"]["unique_graphs"] - before

    def miss(self, function, make, change):
        torch._dynamo.utils.counters.clear()
        self.assertGreaterEqual(self.run_twice(function, make, change), 1, "a guard is missing")

    def hit(self, function, make, change):
        torch._dynamo.utils.counters.clear()
        self.assertEqual(self.run_twice(function, make, change), 0, "compiled again for a fact that was not read")

    def test_tensors(self):
        f, make = made(lambda x: x * 2, lambda: t(2, 3))
        self.miss(f, make, replaced(0, lambda x: x.double()))
        self.miss(f, make, replaced(0, lambda x: x.reshape(6)))
        self.miss(f, make, replaced(0, lambda x: x.requires_grad_()))
        self.miss(f, make, replaced(0, torch.nn.Parameter))
        self.hit(f, make, replaced(0, lambda x: x + 1))
        self.hit(f, make, replaced(0, lambda x: x.clone()))

    def test_strides(self):
        f, make = made(lambda x: x.reshape(-1) * 2, lambda: t(3, 3))
        self.miss(f, make, replaced(0, lambda x: x.t()))

    def test_numbers(self):
        f, make = made(lambda x, n: x * n, lambda: t(3), lambda: 2)
        self.miss(f, make, replaced(1, lambda n: 3))
        self.miss(f, make, replaced(1, lambda n: 2.0))
        self.miss(f, make, replaced(1, lambda n: True))

    def test_unread_argument(self):
        f, make = made(lambda x, unread: x + 1, lambda: t(3), lambda: 2)
        self.hit(f, make, replaced(1, lambda n: 3))
        self.hit(f, make, replaced(1, lambda n: "text"))

    def test_lists(self):
        f, make = made(lambda x, items: x + items[0], lambda: t(3), lambda: [1, 2])
        self.miss(f, make, lambda args: args[1].__setitem__(0, 7))
        self.miss(f, make, replaced(1, tuple))
        self.hit(f, make, lambda args: args[1].__setitem__(1, 7))
        f, make = made(lambda x, items: x + len(items), lambda: t(3), lambda: [1, 2])
        self.miss(f, make, lambda args: args[1].append(7))
        self.hit(f, make, lambda args: args[1].__setitem__(0, "changed"))

    def test_dicts(self):
        f, make = made(lambda x, d: x + d["a"] + d.get("z", 0), lambda: t(3), lambda: {"a": 1, "b": 2})
        self.miss(f, make, lambda args: args[1].__setitem__("a", 7))
        self.miss(f, make, lambda args: args[1].__setitem__("z", 7))
        self.hit(f, make, lambda args: args[1].__setitem__("b", 7))
        self.hit(f, make, lambda args: args[1].__setitem__("new", 7))
        f, make = made(lambda x, d: x + sum(d.values()), lambda: t(3), lambda: {"a": 1, "b": 2})
        self.miss(f, make, lambda args: args[1].__setitem__("b", 7))
        self.miss(f, make, lambda args: args[1].__setitem__("c", 7))

    def test_absence(self):
        def f(x, d):
            return x * d["k"] if "k" in d else x + 1
        make = made(f, lambda: t(3), dict)[1]
        self.miss(f, make, lambda args: args[1].__setitem__("k", 4))
        self.hit(f, make, lambda args: args[1].__setitem__("other", 4))

        def g(x, obj):
            return x + getattr(obj, "extra", 1)
        make = made(g, lambda: t(3), Thing)[1]
        self.miss(g, make, setter("extra", 9))
        self.hit(g, make, setter("another", 9))

    def test_attributes(self):
        f, make = made(lambda x, obj: x * obj.n, lambda: t(3), Thing)
        self.miss(f, make, setter("n", 5))
        self.miss(f, make, replaced(1, lambda obj: Other()))
        self.hit(f, make, setter("unread", 9))
        self.hit(f, make, replaced(1, lambda obj: Thing()))
        f, make = made(lambda x, obj: x * obj.kind, lambda: t(3), Thing)
        self.miss(f, make, on_class("kind", 4))
        self.miss(f, make, setter("kind", 8))

    def test_methods(self):
        f, make = made(lambda x, obj: obj.method(x), lambda: t(3), Thing)
        self.miss(f, make, setter("n", 5))
        self.miss(f, make, on_class("method", lambda self, x: x - self.n))
        self.miss(f, make, setter("method", lambda x: x * 100))

    def test_globals(self):
        f, make = made(lambda x: x * NUMBER + GLOBAL["scale"], lambda: t(3))
        self.miss(f, make, on_global("NUMBER", 9))
        self.miss(f, make, on_global("GLOBAL", {"scale": 5, "unread": 1}))
        self.hit(f, make, on_global("GLOBAL", {"scale": 2, "unread": 7}))

    def test_functions(self):
        f, make = made(lambda x: helper(x), lambda: t(3))
        self.miss(f, make, helper_default)
        self.miss(f, make, helper_code)
        self.miss(f, make, on_global("helper", lambda x: x * 50))

    def test_closures(self):
        f, change = closure_over(2)
        make = made(f, lambda: t(3))[1]

        def changed(args):
            change(7)
            return lambda: change(2)
        self.miss(f, make, changed)

    def test_state_of_the_library(self):
        f, make = made(lambda x: x * 2, lambda: t(3).requires_grad_())
        self.miss(f, make, grad_off)
        f, make = made(lambda x: x + torch.ones(3), lambda: t(3))
        self.miss(f, make, default_double)

    def test_aliases(self):
        def f(x, y):
            x = x + y if x is y else x - y
            return x * 2
        make = made(f, lambda: t(3), lambda: t(3))[1]
        self.miss(f, make, lambda args: args.__setitem__(1, args[0]))

    def test_modules(self):
        f = lambda x, m: m(x)  # noqa: E731

        def module():
            torch.manual_seed(0)
            return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.0))
        make = made(f, lambda: t(2, 3), module)[1]
        self.miss(f, make, lambda args: args[1].eval())
        self.miss(f, make, lambda args: args[1].__setitem__(1, torch.nn.ReLU()))
        self.miss(f, make, lambda args: args[1][0].register_parameter("bias", None))
        self.miss(f, make, lambda args: args[1][0].register_forward_hook(lambda m, a, out: out * 2))
        self.hit(f, make, lambda args: args[1][0].weight.data.add_(1))
        self.hit(f, make, lambda args: setattr(args[1][0], "weight", torch.nn.Parameter(torch.ones(3, 3))))


if __name__ == "__main__":
    unittest.main()
