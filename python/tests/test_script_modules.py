"""sconce.jit.script of live modules, and what it makes: modules that share the tensors, with PyTorch's methods."""

import copy
import gc
import io
import pathlib
import tempfile
import types
import unittest
from typing import Dict, Final, List, Optional, Tuple

import sconce as torch
import sconce.nn.functional as F
from sconce import Tensor, jit, nn


def gelu_like(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.7 * x)


class Block(nn.Module):
    __constants__ = ["repeat"]
    scale: Final[float]
    extra: Optional[Tensor]
    names: Dict[str, int]

    def __init__(self, n, repeat=2, act=F.relu):
        super().__init__()
        self.lin = nn.Linear(n, n)
        self.repeat = repeat
        self.scale = 0.5
        self.extra = None
        self.names = {}
        self.count = 0
        self.act = act

    def forward(self, x):
        self.count += 1
        extra = self.extra
        if extra is not None:
            x = x + extra
        for _ in range(self.repeat):
            x = self.act(self.lin(x)) * self.scale
        return x

    @jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.helper(x) + self.forward(x)

    def helper(self, x):
        return x * 2

    @property
    def total(self) -> int:
        return self.count + 100

    @jit.unused
    def left_out(self, x):
        return [y for y in (lambda: x)()]

    def never_compiled(self):
        try:
            yield 3
        finally:
            pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(4), Block(4, 3), Block(4, act=gelu_like)])
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4))
        self.table = nn.ModuleDict({"a": nn.Tanh(), "b": nn.Identity()})
        self.register_buffer("shift", torch.ones(4))
        self.register_buffer("hidden", torch.ones(4), persistent=False)
        self.w = nn.Parameter(torch.ones(4))
        self.absent = None

    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
        for i, block in enumerate(self.blocks):
            x = block(x) + i
        for name, layer in self.table.items():
            x = layer(x)
        if y is not None:
            x = x + y
        return self.seq(x) * self.w + self.shift


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        self.empty = jit.Attribute([], List[str])
        self.pair = (1, "a")
        self.numbers = {"a": 1}

    def forward(self, key: str) -> int:
        self.empty.append(key)
        return self.numbers[key] + len(self.empty) + self.pair[0]


class Overloaded(nn.Module):
    @jit._overload_method
    def pick(self, x: int) -> int: ...

    @jit._overload_method
    def pick(self, x: Tensor) -> Tensor: ...

    def pick(self, x):
        return x + 1

    def forward(self, x: Tensor, n: int):
        return self.pick(x) + self.pick(n)


class Base(nn.Module):
    factor: int

    def __init__(self):
        super().__init__()
        self.factor = 2

    def forward(self, x):
        return self.change(x) * self.factor

    def change(self, x):
        return x

    @staticmethod
    def shifted(x: Tensor, by: int = 1) -> Tensor:
        return x + by


class Derived(Base):
    def change(self, x):
        return self.shifted(x)


@jit.interface
class Layer(nn.Module):
    def forward(self, input: Tensor) -> Tensor:
        pass


class Choosing(nn.Module):
    chosen: Layer

    def __init__(self):
        super().__init__()
        self.chosen = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen.forward(x)


class Settable(nn.Module):
    def __init__(self):
        super().__init__()
        self._n = 1

    @property
    def n(self) -> int:
        return self._n

    @n.setter
    def n(self, value: int):
        self._n = value

    def forward(self) -> int:
        self.n = self.n + 1
        return self.n


class Ignoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))

    @jit.ignore
    def in_python(self, x: Tensor) -> Tensor:
        assert isinstance(self, jit.ScriptModule)
        return x + self.w + len("Python")

    def forward(self, x):
        return self.in_python(x) * 2


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


def before(self, args: Tuple[Tensor]) -> Tuple[Tensor]:
    return (args[0] + 1,)


def after(self, args: Tuple[Tensor], result: Tensor) -> Tensor:
    return result * 10


class Modules(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.net = Net()
        self.x = torch.randn(3, 4)
        self.scripted = jit.script(self.net)

    def test_same_results_and_tensors(self):
        net, scripted = self.net, self.scripted
        self.assertTrue(torch.equal(scripted(self.x), Net.forward(net, self.x)))
        self.assertTrue(torch.equal(scripted(self.x, y=self.x), net(self.x, self.x)))
        # Programs do not know buffers that are not saved, in PyTorch neither.
        self.assertEqual([name for name in scripted.state_dict() if name != "hidden"], list(net.state_dict()))
        for (name, mine), (other, theirs) in zip(scripted.named_parameters(), net.named_parameters()):
            self.assertEqual(name, other)
            self.assertIs(mine, theirs)
        self.assertIs(scripted.shift, net.shift)
        self.assertEqual([name for name, _ in scripted.named_modules()], [name for name, _ in net.named_modules()])

    def test_training(self):
        scripted = self.scripted
        self.assertTrue(scripted.training)
        self.assertFalse(scripted.eval().seq[2].training)
        scripted.train()
        before = self.net.w.detach().clone()
        optimizer = torch.optim.SGD(scripted.parameters(), 0.1)
        (scripted(self.x) ** 2).sum().backward()
        optimizer.step()
        self.assertFalse(torch.equal(before, self.net.w))

    def test_equal_instances_share_their_class(self):
        names = [block._c.type_name for block in self.scripted.blocks]
        self.assertEqual(names[0], names[1])
        self.assertEqual(len({names[0], names[2], names[3]}), 3)

    def test_attributes(self):
        block = self.scripted.blocks[0]
        self.assertEqual((block.count, block.total, block.scale, block.repeat), (0, 100, 0.5, 2))
        block(self.x)
        self.assertEqual((block.count, block.total, self.net.blocks[0].count), (1, 101, 0))
        block.count = 7
        self.assertEqual(block.total, 107)
        block.extra = torch.ones(4)
        self.assertEqual(block.extra.tolist(), [1, 1, 1, 1])
        block.extra = None
        self.assertIsNone(block.extra)
        self.assertIsNone(self.scripted.absent)
        with self.assertRaisesRegex(AttributeError, "Cannot mutate TorchScript constant value: 'scale'"):
            block.scale = 1.0
        with self.assertRaises(AttributeError):
            block.helper_of_nothing
        with self.assertRaisesRegex(RuntimeError, "type int"):
            block.count = "seven"

    def test_methods(self):
        block = self.scripted.blocks[0]
        self.assertTrue(torch.equal(block.twice(self.x), self.x * 2 + block(self.x)))
        self.assertIn("def twice(self,\n    x: Tensor) -> Tensor:", block.twice.code)
        self.assertEqual(block.left_out([3]), [3])

    def test_containers(self):
        self.assertEqual(len(self.scripted.blocks), 4)
        self.assertEqual([m.original_name for m in self.scripted.seq], ["Linear", "ReLU", "BatchNorm1d"])
        self.assertEqual(list(self.scripted.table), ["a", "b"])
        self.assertTrue("a" in self.scripted.table)
        self.assertEqual(self.scripted.seq[-1].original_name, "BatchNorm1d")

    def test_repr(self):
        self.assertEqual(repr(self.scripted.seq), "RecursiveScriptModule(\n  original_name=Sequential\n"
                         "  (0): RecursiveScriptModule(original_name=Linear)\n  (1): RecursiveScriptModule(original_name=ReLU)\n"
                         "  (2): RecursiveScriptModule(original_name=BatchNorm1d)\n)")

    def test_files(self):
        x, net = self.x, self.scripted.eval()
        expected = net(x)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.pt"
            jit.save(net, path, _extra_files={"notes.txt": "hello"})
            extra = {"notes.txt": ""}
            again = jit.load(path, map_location="cpu", _extra_files=extra)
            self.assertEqual(extra["notes.txt"], b"hello")
        self.assertTrue(torch.equal(again(x), expected))
        self.assertIsInstance(again, nn.Module)
        self.assertTrue(all(isinstance(p, nn.Parameter) and p.requires_grad for p in again.parameters()))
        self.assertEqual(again.blocks[2].repeat, 3)
        buffer = io.BytesIO()
        net.save(buffer)
        buffer.seek(0)
        self.assertTrue(torch.equal(jit.load(buffer)(x), expected))
        self.assertTrue(torch.equal(copy.deepcopy(net)(x), expected))
        self.assertIsNot(copy.deepcopy(net).w, net.w)

    def test_hooks_of_python(self):
        calls = []
        handle = self.scripted.register_forward_hook(lambda module, args, result: calls.append(result.shape))
        self.scripted(self.x)
        handle.remove()
        self.scripted(self.x)
        self.assertEqual(len(calls), 1)

    def test_conversions(self):
        self.scripted.double()
        self.assertEqual(self.scripted(self.x.double()).dtype, torch.float64)
        self.assertEqual(self.net.w.dtype, torch.float64)

    def test_types_of_attributes(self):
        m = jit.script(Typed())
        self.assertEqual([m("a"), m("a")], [3, 4])
        self.assertEqual((m.empty, m.pair, m.numbers), (["a", "a"], (1, "a"), {"a": 1}))

    def test_overloads(self):
        self.assertEqual(jit.script(Overloaded())(torch.ones(1), 3).tolist(), [6])

    def test_inheritance(self):
        self.assertEqual(jit.script(Derived())(torch.ones(1)).tolist(), [4])

        class Wider(nn.Linear):
            def forward(self, input):
                return F.linear(input, self.weight) * self.in_features

        linear = Wider(2, 3)
        self.assertTrue(torch.equal(jit.script(linear)(torch.ones(1, 2)), linear(torch.ones(1, 2))))

    def test_interfaces(self):
        self.assertEqual(jit.script(Choosing())(torch.ones(2) * -1).tolist(), [0, 0])

    def test_properties(self):
        m = jit.script(Settable())
        self.assertEqual(m(), 2)
        m.n = 5
        self.assertEqual((m(), m.n), (6, 6))

    def test_modules_scripted_before(self):
        inner = jit.script(nn.Linear(2, 2))

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x) + 1

        x = torch.ones(1, 2)
        m = jit.script(Outer())
        self.assertTrue(torch.equal(m(x), inner(x) + 1))
        self.assertIs(m.inner.weight, inner.weight)

    def test_modules_of_files_inside_of_others(self):
        buffer = io.BytesIO()
        jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).save(buffer)
        buffer.seek(0)
        loaded = jit.load(buffer)

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = loaded

            def forward(self, x):
                return self.inner(x) + 1

        x = torch.ones(1, 2)
        expected = loaded(x) + 1
        module = jit.script(Outer())
        del loaded
        gc.collect()  # the program of the file lives on
        self.assertTrue(torch.equal(module(x), expected))
        self.assertIn("forward", module.inner.code)

    def test_calls_of_python(self):
        m = jit.script(Ignoring())
        y = m(torch.ones(1))
        self.assertEqual(y.tolist(), [16])
        y.backward()
        self.assertEqual(m.w.grad.tolist(), [2])
        self.assertEqual(m.in_python(torch.zeros(1)).tolist(), [7])
        with self.assertRaisesRegex(RuntimeError, "Could not export Python function call 'in_python'"):
            m.save("never.pt")

    def test_methods_in_python_of_one_instance(self):
        @jit.ignore
        def in_python(self, x: Tensor) -> Tensor:
            return x * 100 + self.w

        module = Ignoring()
        module.in_python = types.MethodType(in_python, module)
        self.assertEqual(jit.script(module).in_python(torch.ones(1)).tolist(), [101])

    def test_hooks_are_compiled(self):
        m = Hooked()
        m.register_forward_pre_hook(before)
        m.register_forward_hook(after)
        m.lin.register_forward_hook(after)
        expected = m(torch.ones(1))
        scripted = jit.script(m)
        self.assertEqual(scripted(torch.ones(1)).tolist(), expected.tolist())
        buffer = io.BytesIO()
        scripted.save(buffer)
        buffer.seek(0)
        self.assertEqual(jit.load(buffer)(torch.ones(1)).tolist(), expected.tolist())

    def test_freeze(self):
        with self.assertRaisesRegex(RuntimeError, "only implemented for modules in eval mode"):
            jit.freeze(self.scripted)
        with self.assertRaisesRegex(RuntimeError, "Freezing expects a ScriptModule as input"):
            jit.freeze(self.net)
        scripted = self.scripted.eval()
        frozen = jit.freeze(scripted, preserved_attrs=["shift"])
        self.assertTrue(torch.allclose(frozen(self.x), scripted(self.x)))
        self.assertEqual(list(frozen.parameters()), [])
        self.assertEqual(frozen.shift.tolist(), [1, 1, 1, 1])
        faster = jit.optimize_for_inference(scripted)
        self.assertTrue(torch.allclose(faster(self.x), scripted(self.x)))
        self.assertFalse(hasattr(faster, "training"))

    def test_errors(self):
        class Bad(nn.Module):
            def __init__(self):
                super().__init__()
                self.thing = object()
                self.nothing = []

            def forward(self, x):
                return x + self.thing

        with self.assertRaisesRegex(RuntimeError, "Module 'Bad' has no attribute 'thing' .This attribute exists on the Python module, "
                                    "but we failed to convert Python type: 'object' to a TorchScript type"):
            jit.script(Bad())
        for _ in range(2):  # what failed once is not taken for compiled
            with self.assertRaisesRegex(RuntimeError, "has no attribute 'thing'"):
                jit.script(Bad())

        class Lambda(nn.Module):
            fc: nn.Linear

            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)
                self.unused = lambda x: x

            def forward(self, x):
                return self.fc(x)

        self.assertEqual(jit.script(Lambda())(torch.ones(1, 2)).shape, (1, 2))
        with self.assertRaisesRegex(TypeError, "a function, class or module was expected, got str"):
            jit.script("def f(x): return x")
        with self.assertRaisesRegex(RuntimeError, "after ScriptModule construction"):
            self.scripted.register_buffer("new", torch.ones(1))


if __name__ == "__main__":
    unittest.main()
