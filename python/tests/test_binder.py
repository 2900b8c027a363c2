"""Calls of operators: overloads, keywords, results with names, refusals."""

import threading
import unittest

import sconce as torch
from sconce import _sconce


class Binder(unittest.TestCase):
    def test_keywords(self):
        t = torch.tensor([[3.0, 1.0], [2.0, 4.0]])
        self.assertEqual(torch.sum(input=t, dim=0).tolist(), [5, 5])
        self.assertEqual(t.sum(dim=1, keepdim=True).shape, (2, 1))
        self.assertEqual(torch.add(t, t, alpha=2).tolist(), (t * 3).tolist())
        self.assertEqual(t.transpose(dim0=0, dim1=1).tolist(), [[3, 2], [1, 4]])

    def test_named_results(self):
        values, indices = pair = torch.tensor([3.0, 1.0, 2.0]).sort()
        self.assertEqual((values.tolist(), indices.tolist()), ([1, 2, 3], [1, 2, 0]))
        self.assertIs(pair.values, values)
        self.assertIs(pair.indices, indices)
        self.assertEqual(torch.max(torch.tensor([[1, 5], [7, 2]]), 1).values.tolist(), [5, 7])

    def test_out(self):
        out = torch.empty(2)
        self.assertIs(torch.add(torch.ones(2), 1, out=out), out)
        self.assertEqual(out.tolist(), [2, 2])
        values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.max(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
        self.assertEqual((values.tolist(), indices.tolist()), ([5, 7], [1, 0]))

    def test_operators_by_overload(self):
        add = torch.ops.aten.add
        self.assertIn("Tensor", add.overloads())
        self.assertEqual(add.Tensor(torch.ones(2), torch.ones(2), alpha=3).tolist(), [4, 4])
        self.assertEqual(add(torch.ones(1), 2).item(), 3)
        with self.assertRaises(AttributeError):
            add.no_such_overload
        with self.assertRaises(AttributeError):
            torch.ops.aten.no_such_operator

    def test_refusals_say_what_was_given(self):
        with self.assertRaisesRegex(TypeError, r"received an invalid combination of arguments - got \(Tensor, str\)"):
            torch.add(torch.ones(2), "text")
        with self.assertRaisesRegex(TypeError, r"relu\(\): argument 'input' \(position 1\) must be Tensor, not int"):
            torch.relu(3)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'colour'"):
            torch.relu(torch.ones(2), colour=1)
        with self.assertRaisesRegex(TypeError, "missing a required argument: 'input'"):
            torch.relu()
        with self.assertRaises(AttributeError):
            torch.no_such_function
        with self.assertRaises(AttributeError):
            torch.ones(2).no_such_method
        with self.assertRaisesRegex(RuntimeError, "size"):
            torch.ones(2) + torch.ones(3)
        with self.assertRaises(IndexError):
            torch.ones(2).sum(5)

    def test_numbers_of_any_kind(self):
        self.assertEqual(torch.full([2], 7).dtype, torch.int64)
        self.assertEqual(torch.full([2], 7.0).dtype, torch.float32)
        self.assertEqual(torch.clamp(torch.tensor([1.0, 5.0]), max=torch.tensor(2)).tolist(), [1, 2])
        with self.assertRaises(OverflowError):
            torch.zeros(1 << 70)

    def test_lists_without_brackets(self):
        a, b = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
        self.assertEqual((a.shape, b.shape), ((2, 3), (2, 3)))
        self.assertEqual(torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))[1].shape, (2, 3))
        self.assertEqual(torch.ones(6).reshape(2, 3).permute(1, 0).shape, (3, 2))

    def test_functions_of_the_library(self):
        self.assertEqual(torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape, (2, 4))
        self.assertEqual(torch.unique(torch.tensor([2, 1, 2])).tolist(), [1, 2])
        self.assertEqual(torch.unique_consecutive(torch.tensor([2, 2, 1]), return_counts=True)[1].tolist(), [2, 1])

    def test_tensors_without_dimensions_are_tensors_before_they_are_numbers(self):
        yes, short, wide = torch.tensor([True]), torch.tensor(1, dtype=torch.int32), torch.tensor(0.5, dtype=torch.float64)
        for function in (torch.clamp, torch.clamp_min, torch.clamp_max, torch.clip, torch.Tensor.clamp):
            self.assertIs(function(yes, short).dtype, torch.int32)
            self.assertIs(function(torch.tensor([1]), wide).dtype, torch.float64)
            self.assertIs(function(torch.tensor([1.0]), wide).dtype, torch.float32)
        self.assertIs(torch.lerp(torch.ones(2), torch.ones(2), wide).dtype, torch.float32)
        self.assertEqual([t.tolist() for t in torch.tensor([[0, 1], [2, 0]]).nonzero(as_tuple=True)], [[0, 1], [1, 0]])
        self.assertEqual(torch.linalg.det(torch.eye(2)).item(), 1)
        self.assertEqual(torch.norm(torch.tensor([3.0, 4.0])).item(), 5)
        self.assertEqual(torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2)).tolist(), [[3, 3], [3, 3]])

    def test_functions_describe_themselves(self):
        self.assertIn("relu(input: Tensor) -> Tensor", torch.relu.__doc__)
        self.assertEqual(torch.relu.__name__, "relu")
        self.assertIn("softmax", dir(torch))
        self.assertGreater(len(dir(torch)), 1000)

    def test_nothing_grows(self):
        a, layer = torch.ones(8), torch.nn.Linear(8, 8)

        def calls(count):
            for _ in range(count):
                layer(a + 1)[2:].sum().backward()
                layer.zero_grad()
                torch.ops.aten.add.Tensor(a, a)
                torch.einsum("i,i->", a, a)
                try:
                    torch.add(a, "text")
                except TypeError:
                    pass

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        calls(2000)
        before = resident()
        calls(5000)
        self.assertLess(resident() - before, 1 << 18)  # the heap breathes; a leak of 64 bytes a call would be more

    def test_threads(self):
        def work(results):
            for _ in range(200):
                t = torch.rand(64, 64)
                results.append(((t @ t).sum() - torch.matmul(t, t).sum()).item())

        results = []
        threads = [threading.Thread(target=work, args=(results,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [0.0] * 800)


class Named(torch.Tensor):
    """Results of functions are of the same class."""


class Logged(torch.Tensor):
    """Notes the functions that are called with it."""

    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Standing:
    """No tensor, but functions ask it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, len(args), kwargs or {}


class TorchFunction(unittest.TestCase):
    def test_subclasses_keep_their_class(self):
        x = torch.ones(3).as_subclass(Named)
        for y in (x + 1, 1 + x, torch.add(x, torch.ones(3)), torch.ones(3) * x, x.sum(), x[0], x[1:], -x, x == x, x.view(3, 1), *x):
            self.assertIs(type(y), Named)
        for y in (2 ** x, 2 % x, 2 - x, 2 / x):
            self.assertEqual((type(y), y.tolist()[0]), (Named, y.as_subclass(torch.Tensor)[0].item()))
        values, indices = torch.sort(x)
        self.assertEqual((type(values), type(indices)), (Named, Named))
        self.assertIs(type(torch.stack([torch.ones(3), x])), Named)
        self.assertIs(type(torch.nn.Parameter(torch.ones(2)) + 1), torch.Tensor)

    def test_override(self):
        Logged.calls.clear()
        x = torch.ones(3).as_subclass(Logged)
        y = torch.add(x, 1)
        self.assertIs(type(y), Logged)
        y.sum()
        y * 2
        self.assertEqual(Logged.calls, ["add", "sum", "mul"])
        with torch.overrides.DisableTorchFunctionSubclass():
            self.assertIs(type(x + 1), torch.Tensor)
        self.assertEqual(len(Logged.calls), 3)

    def test_other_classes(self):
        s = Standing()
        self.assertEqual(torch.add(torch.ones(2), s, alpha=2), ("add", (Standing,), 2, {"alpha": 2}))
        self.assertEqual(torch.cat([torch.ones(2), s])[0], "cat")
        self.assertEqual((torch.ones(2) + s)[0], "add")
        self.assertTrue(torch.overrides.has_torch_function((s,)))
        self.assertFalse(torch.overrides.has_torch_function((torch.ones(1), 5)))
        self.assertEqual(torch.overrides.handle_torch_function(torch.add, (s,), s, alpha=1), ("add", (Standing,), 1, {"alpha": 1}))

    def test_modes(self):
        class Mode(torch.overrides.TorchFunctionMode):
            def __init__(self, calls, name):
                self.calls, self.name = calls, name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.calls.append(self.name + func.__name__)
                return func(*args, **(kwargs or {})) if func is not torch.exp else NotImplemented

        calls, x = [], torch.ones(2)
        with Mode(calls, "a "):
            x + 1
            with Mode(calls, "b "):
                torch.mul(x, x)
                x[0]
                torch.zeros(1)
            with torch.overrides.BaseTorchFunctionMode():
                x.sum()
            with self.assertRaisesRegex(TypeError, "no implementation found"):
                torch.exp(x)
        x + 1
        self.assertEqual(calls, ["a add", "b mul", "a mul", "b __getitem__", "a __getitem__", "b zeros", "a zeros", "a sum", "a exp"])
        with self.assertRaisesRegex(RuntimeError, "no TorchFunctionMode"):
            torch.overrides.TorchFunctionMode().__exit__(None, None, None)

    def test_modes_of_threads(self):
        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return "taken"

        seen = []
        with Mode():
            thread = threading.Thread(target=lambda: seen.append((torch.ones(1) + 1).item()))
            thread.start()
            thread.join()
            seen.append(torch.ones(1))
        self.assertEqual(seen, [2.0, "taken"])

    def test_nobody_answers(self):
        class Silent:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        with self.assertRaisesRegex(TypeError, "no implementation found for"):
            torch.add(torch.ones(2), Silent())


class Names(unittest.TestCase):
    def test_all_functions_are_there(self):
        """The names that the module has are found without parsing schemas: the same as by parsing them."""
        listed = {}
        _sconce._add_functions(listed)
        self.assertEqual(set(listed), set(_sconce._function_names()))
        for function in (*listed.values(), *vars(torch.Tensor).values()):
            if type(function) is type(torch.add):
                self.assertTrue(function.__doc__)

    def test_no_getattr(self):
        """A module with __getattr__ is slow."""
        self.assertNotIn("__getattr__", vars(torch))
        with self.assertRaisesRegex(AttributeError, "module 'sconce' has no attribute 'nonsense'"):
            torch.nonsense
        with self.assertRaisesRegex(AttributeError, "'sconce.Tensor' object has no attribute 'nonsense'"):
            torch.ones(1).nonsense


class Sizes(unittest.TestCase):
    def test_size(self):
        s = torch.ones(2, 3, 4).shape
        self.assertEqual((repr(s), s.numel(), s == (2, 3, 4)), ("torch.Size([2, 3, 4])", 24, True))
        for other in (s[1:], s + (5,), s * 2, torch.Size([1, 2])):
            self.assertIs(type(other), torch.Size)
        self.assertEqual((s[0], s[-1], hash(s)), (2, 4, hash((2, 3, 4))))
        with self.assertRaisesRegex(TypeError, "takes an iterable of 'int'"):
            torch.Size([1.5])
        a, *b = s
        self.assertEqual(b, [3, 4])
        self.assertEqual(torch.Size(range(10)).numel(), 0)


class Results(unittest.TestCase):
    def test_lists_of_tensors_are_tuples(self):
        x = torch.arange(6.0).reshape(2, 3)
        for parts in (torch.split(x, 1), x.split([1, 1]), x.unbind(), torch.chunk(x, 2), torch.where(x > 1), x.hsplit(3),
                      torch.broadcast_tensors(x, x), torch._foreach_add([x, x], 1), torch.histogramdd(x, [2, 2, 2])[1]):
            self.assertIs(type(parts), tuple)
        self.assertIs(type(torch.ops.aten.split.Tensor(x, 1)), list)

    def test_several_have_names(self):
        found = torch.tensor([[1.0, 3.0], [2.0, 0.0]]).max(0)
        self.assertEqual(repr(found), "torch.return_types.max(\nvalues=tensor([2., 3.]),\nindices=tensor([1, 0]))")
        self.assertIs(found.indices, found[1])
        self.assertIs(type(torch.ops.aten.max.dim(torch.ones(2, 2), 0)), tuple)


if __name__ == "__main__":
    unittest.main()
