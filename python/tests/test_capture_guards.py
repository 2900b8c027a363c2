"""Guards: each kind of source and fact holds, fails when what it says changes, prints itself, and says why it failed."""

import gc
import unittest
import weakref

import sconce
from sconce import _sconce
from sconce.nn import Linear, Sequential


class Builder:
    """Sources and facts by hand."""

    def __init__(self, locals=("x",), free=()):
        self.sources, self.facts, self.locals, self.free = [], [], list(locals), list(free)

    def add(self, step, base=-1, index=0, key=..., object=...):
        self.sources.append((step, base, index, key, object))
        return len(self.sources) - 1

    def guard(self, source, kind, object=..., number=0):
        self.facts.append((source, kind, object, number))
        return self

    def make(self, inputs=()):
        return _sconce._capture_guards(self.sources, self.facts, list(inputs), self.locals, self.free)


def guarded(kind, object=..., number=0, **more):
    b = Builder(**more)
    return b.guard(b.add("local"), kind, object, number).make([0])


class Facts(unittest.TestCase):
    def expect(self, guards, good, bad, closure=None):
        for frame in good:
            self.assertIsNotNone(guards.check(frame, closure), guards.why(frame, closure))
            self.assertEqual(guards.why(frame, closure), "")
        for frame, why in bad:
            self.assertIsNone(guards.check(frame, closure), frame)
            self.assertIn(why, guards.why(frame, closure))

    def test_equal(self):
        self.expect(guarded("equal", 3), [[3]], [([4], "L['x'] == 3  # actual 4"), ([3.0], "L['x'] == 3"), ([True], "L['x'] == 3")])
        self.expect(guarded("equal", 0.0), [[0.0]], [([-0.0], "L['x'] == 0.0  # actual -0.0"), ([0], "actual 0")])
        self.expect(guarded("equal", float("nan")), [[float("nan")]], [([1.0], "nan")])
        self.expect(guarded("equal", "ab"), [["".join("ab")]], [(["b"], "L['x'] == 'ab'  # actual 'b'")])
        self.expect(guarded("equal", None), [[None]], [([0], "L['x'] is None")])
        self.expect(guarded("equal", (1, "a", (2.0,))), [[(1, "a", (2.0,))]], [([(1, "a", (2,))], "==")])
        self.expect(guarded("equal", slice(1, None)), [[slice(1, None)]], [([slice(2, None)], "==")])
        self.expect(guarded("equal", 1 << 70), [[1 << 70]], [([1 << 71], "==")])

    def test_type_and_identity(self):
        class A:
            pass

        a = A()
        self.expect(guarded("type", A), [[a], [A()]], [([3], "___check_type_id(L['x'], ")])
        self.expect(guarded("identity", a), [[a]], [([A()], "___check_obj_id(L['x'], ")])
        self.assertIn("<class 'int'>", guarded("type", A).why([3]))

    def test_identity_dies(self):
        class A:
            pass

        a = A()
        guards = guarded("identity", a)
        seen = weakref.ref(a)
        self.assertFalse(guards.is_dead())
        del a
        gc.collect()
        self.assertIsNone(seen(), "guards keep what they compare by identity")
        self.assertTrue(guards.is_dead())
        self.assertIsNone(guards.check([A()]))

    def test_containers(self):
        self.expect(guarded("length", number=2), [[[1, 2]], [(1, 2)], [{1: 1, 2: 2}], ["ab"]], [([[1]], "len(L['x']) == 2  # actual 1")])
        self.expect(guarded("keys", ("a", "b")), [[{"a": 1, "b": 2}]], [([{"b": 1, "a": 2}], "list(dict.keys(L['x'])) == ['a', 'b']"),
                                                                    ([{"a": 1}], "list(dict.keys")])
        self.expect(guarded("truth", number=1), [[[1]], [2]], [([[]], "bool(L['x']) == True")])

    def test_presence(self):
        b = Builder()
        b.guard(b.add("item", b.add("local"), key="k"), "absent")
        self.expect(b.make(), [[{}], [{"j": 1}]], [([{"k": 1}], "'k' not in L['x']")])
        b = Builder()
        b.guard(b.add("item", b.add("local"), key="k"), "present")
        self.expect(b.make(), [[{"k": 1}]], [([{}], "L['x']['k']")])
        b = Builder()
        b.guard(b.add("attribute", b.add("local"), key="nope"), "absent")
        self.assertEqual(b.make().texts(), ["DICT_CONTAINS: not hasattr(L['x'], 'nope')"])

    def test_aliases(self):
        b = Builder(("x", "y"))
        x, y = b.add("local"), b.add("local", index=1)
        same, other = b.guard(x, "same_object", number=y).make(), Builder(("x", "y"))
        x, y = other.add("local"), other.add("local", index=1)
        other = other.guard(y, "other_object", number=x).make()
        a, c = [], []
        self.expect(same, [[a, a]], [([a, c], "L['y'] is L['x']")])
        self.expect(other, [[a, c]], [([a, a], "L['y'] is not L['x']")])

    def test_tensor(self):
        x = sconce.ones(2, 4)
        guards = guarded("tensor", x)
        self.assertEqual(guards.texts(), [
            "TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), "
            "torch.float32, device=None, requires_grad=False, size=[2, 4], stride=[4, 1])"])
        self.assertIs(guards.check([x])[0], x)
        self.expect(guards, [[sconce.zeros(2, 4)], [sconce.zeros(4, 4)[:2]]], [
            ([sconce.ones(3, 4)], "tensor 'L['x']' size mismatch at index 0. expected 2, actual 3"),
            ([sconce.ones(2, 4, dtype=sconce.float64)], "tensor 'L['x']' dtype mismatch. expected Float, actual Double"),
            ([sconce.ones(2)], "tensor 'L['x']' rank mismatch. expected 2, actual 1"),
            ([sconce.ones(4, 2).t()], "tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1"),
            ([sconce.ones(2, 4, requires_grad=True)], "requires_grad mismatch. expected requires_grad=0"),
            ([sconce.ones(2, 4, requires_grad=True)[:]], "requires_grad mismatch"),
            ([sconce.nn.Parameter(x)], "to be a tensor type"), ([3], "to be a tensor type"),
            ([sconce.ones(2, 4, device="meta")], "dispatch key set mismatch")])

    def test_free_sizes(self):
        guards = guarded("tensor", sconce.ones(5, 4), 1)
        self.assertIn("size=[None, 4], stride=[4, 1]", guards.texts()[0])
        self.expect(guards, [[sconce.ones(2, 4)], [sconce.ones(9, 4)]], [
            ([sconce.ones(1, 4)], "size mismatch at index 0. expected 2 or more, actual 1"),
            ([sconce.ones(3, 5)], "size mismatch at index 1. expected 4, actual 5"), ([sconce.ones(4, 3).t()], "memory format mismatch")])
        guards = guarded("tensor", sconce.ones(5, 4), 2)
        self.assertIn("size=[5, None], stride=[None, 1]", guards.texts()[0])
        self.expect(guards, [[sconce.ones(5, 7)]], [([sconce.ones(7, 5).t()], "memory format mismatch")])

    def test_relations(self):
        b = Builder(("x", "n"))
        x, n = b.add("local"), b.add("local", index=1)
        b.guard(x, "tensor", sconce.ones(5, 4), 1).guard(n, "type", int)
        b.guard(x, "relation", ("==", ("%", ("size", x, 0), ("int", n)), 0)).guard(x, "relation", ("<=", 2, ("size", x, 0)))
        guards = b.make()
        self.assertIn("SYMBOLIC_SHAPE_GUARD: (L['x'].size()[0] % L['n']) == 0", guards.texts())
        self.assertIn("SYMBOLIC_SHAPE_GUARD: 2 <= L['x'].size()[0]", guards.texts())
        self.expect(guards, [[sconce.ones(6, 4), 3]], [([sconce.ones(6, 4), 4], "% L['n']) == 0"), ([sconce.ones(6, 4), 0], "%"),
                                                       ([sconce.ones(6, 4), 1 << 80], "%")])
        with self.assertRaisesRegex(ValueError, "a relation must be an int or a tuple"):
            Builder().guard(-1, "relation", ("?", 1, 2)).make()

    def test_global_state(self):
        guards = guarded("equal", 1)
        with sconce.no_grad():
            self.assertIsNone(guards.check([1]))
            self.assertEqual(guards.why([1]), "GLOBAL_STATE changed: grad_mode")
        with sconce.autocast("cpu"):
            self.assertEqual(guards.why([1]), "GLOBAL_STATE changed: autocast_state")
        sconce.set_default_dtype(sconce.float64)
        self.assertEqual(guards.why([1]), "GLOBAL_STATE changed: default_dtype")
        sconce.set_default_dtype(sconce.float32)
        with sconce.DisableTorchFunctionSubclass():
            self.assertEqual(guards.why([1]), "GLOBAL_STATE changed: torch_function")
        self.assertEqual(guards.why([1]), "")


class Steps(unittest.TestCase):
    def reach(self, start, path, want, text, locals=("x",), closure=None, free=()):
        b = Builder(locals, free)
        at = b.add(*start) if isinstance(start, tuple) else b.add("local")
        for step, index, key in path:
            at = b.add(step, at, index, key)
        guards = b.guard(at, "present").make([at])
        found = guards.check([self.object], closure)
        self.assertIsNotNone(found, guards.why([self.object], closure))
        self.assertIs(found[0], want)
        # The text of the source, through a guard that shows it.
        self.assertEqual(b.guard(at, "length", number=77).make().texts()[-1], f"LENGTH_CHECK: len({text}) == 77")

    def test_paths(self):
        class Thing:
            size = "of the class"

        thing = self.object = Thing()
        thing.items, thing.table = [1, ("a", "b")], {"k": ["v"], 3: "three"}
        self.reach(None, [("instance_item", 0, "items"), ("element", 1, ...), ("element", 0, ...)], "a", "L['x'].items[1][0]")
        self.reach(None, [("attribute", 0, "table"), ("item", 0, 3)], "three", "L['x'].table[3]")
        self.reach(None, [("instance_dict", 0, ...), ("item", 0, "items")], thing.items, "L['x'].__dict__['items']")
        self.reach(None, [("type", 0, ...), ("class_item", 0, "size")], Thing.size, "type(L['x']).size")
        self.reach(None, [("instance_item", 0, "table"), ("key_at", 1, ...)], 3, "list(dict.keys(L['x'].table))[1]")

    def test_functions(self):
        outer = object()

        def f(a, b=[1], *, c={}):
            return outer

        self.object = f
        self.reach(None, [("defaults", 0, ...), ("element", 0, ...)], f.__defaults__[0], "L['x'].__defaults__[0]")
        self.reach(None, [("keyword_defaults", 0, ...), ("item", 0, "c")], f.__kwdefaults__["c"], "L['x'].__kwdefaults__['c']")
        self.reach(None, [("closure", 0, ...), ("element", 0, ...), ("contents", 0, ...)], outer, "L['x'].__closure__[0].cell_contents")
        self.reach(None, [("code", 0, ...)], f.__code__, "L['x'].__code__")
        self.reach(None, [("globals", 0, ...), ("item", 0, "unittest")], unittest, "L['x'].__globals__['unittest']")
        self.reach(("free_variable", -1, 0), [("contents", 0, ...)], outer, "L['outer']", closure=f.__closure__, free=("outer",))
        self.reach(("global", -1, 0, "unittest", globals()), [], unittest, "G['unittest']")
        self.object = self.reach
        self.reach(None, [("method_self", 0, ...)], self, "L['x'].__self__")
        self.reach(None, [("method_function", 0, ...)], Steps.reach, "L['x'].__func__")

    def test_gradient(self):
        x = self.object = sconce.ones(2, requires_grad=True)
        x.sum().backward()
        self.reach(None, [("gradient", 0, ...)], x.grad, "L['x'].grad")

    def test_wrong_kinds_are_misses(self):
        for step in ("item", "key_at", "element", "contents", "defaults", "closure", "method_self", "class_item", "instance_item"):
            b = Builder()
            at = b.add(step, b.add("local"), 0, "k")
            guards = b.guard(at, "present").make([at])
            self.assertIsNone(guards.check([3]), step)
            self.assertIn("there is no such object", guards.why([3]))


def module_guards(module, free=0):
    """Guards of a module's parameters, as capture of its forward would make them."""
    b = Builder(("self", "x"))
    inputs = []

    def visit(at, module):
        b.guard(at, "type", type(module))
        own = b.add("instance_dict", at)
        for table in ("_parameters", "_modules"):
            held = b.add("item", own, key=table)
            b.guard(held, "type", dict).guard(held, "keys", tuple(getattr(module, table)))
            for name, value in getattr(module, table).items():
                at = b.add("item", held, key=name)
                if table == "_parameters":
                    b.guard(at, "tensor", value)
                    inputs.append(at)
                else:
                    visit(at, value)

    visit(b.add("local"), module)
    x = b.add("local", index=1)
    b.guard(x, "tensor", sconce.ones(1, 4))
    return b.make(inputs + [x])


class Modules(unittest.TestCase):
    def setUp(self):
        self.net = Sequential(*[Linear(4, 4) for _ in range(3)])
        self.x = sconce.ones(1, 4)
        self.guards = module_guards(self.net)
        for _ in range(3):
            self.assertEqual(len(self.guards.check([self.net, self.x])), 7)

    def fails(self):
        self.assertIsNone(self.guards.check([self.net, self.x]))
        return self.guards.why([self.net, self.x])

    def passes(self):
        found = self.guards.check([self.net, self.x])
        self.assertIsNotNone(found, self.guards.why([self.net, self.x]))
        for given, parameter in zip(found, self.net.parameters()):
            self.assertIs(given, parameter)

    def test_other_parameter(self):
        self.net[1].weight = sconce.nn.Parameter(sconce.zeros(4, 4))
        self.passes()
        self.net[1].weight = sconce.nn.Parameter(sconce.zeros(4, 4, dtype=sconce.float64))
        self.assertIn("['1'].__dict__['_parameters']['weight']' dtype mismatch", self.fails())

    def test_writes(self):
        for _ in range(10):
            self.net[0].steps = 1
            self.passes()
        self.net[0].__dict__["_parameters"]["extra"] = None
        self.assertIn("list(dict.keys(", self.fails())

    def test_metadata(self):
        self.net[2].bias.requires_grad_(False)
        self.assertIn("requires_grad mismatch", self.fails())
        self.net[2].bias.requires_grad_(True)
        self.passes()
        self.net[2].weight.data = sconce.zeros(4, 5)
        self.assertIn("size mismatch at index 1. expected 4, actual 5", self.fails())

    def test_other_class(self):
        class Other(Linear):
            pass

        self.net[1].__class__ = Other
        self.assertIn("___check_type_id", self.fails())

    def test_other_dict(self):
        kept = self.net[1].__dict__
        self.net[1].__dict__ = dict(kept, _parameters=dict(kept["_parameters"], weight=None))
        self.assertIn("to be a tensor type", self.fails())

    def test_other_module(self):
        self.net = Sequential(*[Linear(4, 4) for _ in range(3)])
        self.passes()
        self.net = Sequential(*[Linear(4, 4) for _ in range(2)])
        self.fails()

    def test_dead_module(self):
        for _ in range(20):
            self.net = None
            gc.collect()
            self.net = Sequential(*[Linear(4, 4) for _ in range(3)])
            self.passes()


if __name__ == "__main__":
    unittest.main()
