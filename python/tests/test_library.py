"""sconce.library: operators, kernels, shapes and gradients from Python."""

import pathlib
import tempfile
import typing
import unittest
from typing import List, Optional, Sequence, Tuple, Union

import sconce
import sconce as torch
from sconce import Tensor
from sconce.library import Library, OpCheckError, custom_op, infer_schema, opcheck

try:
    import numpy
except ImportError:
    numpy = None


def _squareplus(x, b):
    return (x + (x * x + b).sqrt()) / 2


@custom_op("libtest::squareplus", mutates_args=())
def squareplus(x: Tensor, b: float = 4.0) -> Tensor:
    """A smooth relu."""
    return _squareplus(x, b)


@squareplus.register_fake
def _(x, b=4.0):
    return sconce.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output)


def _backward(ctx, grad):
    x, result = ctx.saved_tensors
    return grad * result / (2 * result - x), None


squareplus.register_autograd(_backward, setup_context=_setup)


class Schemas(unittest.TestCase):
    # Recorded from PyTorch 2.13's torch.library.infer_schema.
    def check(self, function, expected, **options):
        self.assertEqual(infer_schema(function, **{"mutates_args": (), **options}), expected)

    def test_arguments(self):
        def f(a: Tensor, b: Optional[Tensor], c: int, d: float, e: bool, g: str, h: Union[int, float, bool]) -> Tensor: ...
        self.check(f, "(Tensor a, Tensor? b, SymInt c, float d, bool e, str g, Scalar h) -> Tensor")

    def test_lists(self):
        def f(a: Sequence[Tensor], b: List[Optional[Tensor]], c: list[int], d: Optional[List[float]], e: Sequence[bool]) -> None: ...
        self.check(f, "(Tensor[] a, Tensor?[] b, SymInt[] c, float[]? d, bool[] e) -> ()")

    def test_defaults(self):
        def f(x: Tensor, n: int = 3, *, s: str = "a", y: float = 2.5, t: Optional[torch.dtype] = None,
              u: torch.dtype = torch.float32, d: torch.device = torch.device("cpu")) -> Tuple[Tensor, int]: ...
        self.check(f, '(Tensor x, SymInt n=3, *, str s="a", float y=2.5, ScalarType? t=None, ScalarType u=float32, Device d="cpu")'
                      ' -> (Tensor, SymInt)')

    def test_mutated(self):
        def f(x: Tensor, y: List[Tensor], n: int) -> None: ...
        self.check(f, "(Tensor(a0!) x, Tensor[] y, SymInt n) -> ()", mutates_args=["x"])
        self.check(f, "(Tensor(a0!) x, Tensor(a1!)[] y, SymInt n) -> ()", mutates_args="unknown")
        self.check(f, "f(Tensor x, Tensor(a1!)[] y, SymInt n) -> ()", mutates_args={"y"}, op_name="f")

    def test_text_annotations(self):
        def f(x: "Tensor", n: "int | None" = None) -> "Tensor": ...
        self.check(f, "(Tensor x, SymInt? n=None) -> Tensor")

    def test_refused(self):
        def unannotated(x) -> Tensor: ...
        def no_result(x: Tensor): ...
        def rest(*x: Tensor) -> Tensor: ...
        def a_dict(x: dict) -> Tensor: ...
        def a_set(x: Tensor) -> set: ...
        for function, message in ((unannotated, "Parameter x must have a type annotation"), (no_result, "No return type annotation"),
                                  (rest, "do not support positional-only args, varargs"),
                                  (a_dict, "Parameter x has unsupported type <class 'dict'>"),
                                  (a_set, "Return has unsupported type <class 'set'>")):
            with self.assertRaisesRegex(ValueError, message):
                infer_schema(function, mutates_args=())

        def numbers(n: int) -> Tensor: ...
        with self.assertRaisesRegex(ValueError, "only Tensors or collections of Tensors can be mutated"):
            infer_schema(numbers, mutates_args=["n"])
        with self.assertRaisesRegex(ValueError, "were not found in the custom op's signature"):
            infer_schema(numbers, mutates_args=["z"])


class CustomOps(unittest.TestCase):
    def test_runs(self):
        x = sconce.linspace(-2, 2, 5)
        expected = _squareplus(x, 4.0)
        self.assertTrue(sconce.equal(squareplus(x), expected))
        self.assertTrue(sconce.equal(sconce.ops.libtest.squareplus(x), expected))
        self.assertTrue(sconce.equal(sconce.ops.libtest.squareplus.default(x, b=1.0), _squareplus(x, 1.0)))
        self.assertEqual(squareplus.__doc__, "A smooth relu.")

    def test_checks_arguments(self):
        with self.assertRaises(TypeError):
            squareplus("text")
        with self.assertRaises(TypeError):
            squareplus(sconce.ones(2), 1.0, 3)

    def test_gradients(self):
        x = sconce.randn(4, dtype=sconce.float64, requires_grad=True)
        y = squareplus(x, 2.0)
        self.assertIn("GeneratedBackwardFor_libtest_squareplus", repr(y.grad_fn))
        (found,) = sconce.autograd.grad(y.sum(), x)
        (expected,) = sconce.autograd.grad(_squareplus(x, 2.0).sum(), x)
        self.assertTrue(sconce.allclose(found, expected))
        self.assertTrue(sconce.autograd.gradcheck(lambda t: squareplus(t, 2.0), (x,)))
        with sconce.no_grad():
            self.assertFalse(squareplus(x).requires_grad)

    def test_meta(self):
        y = squareplus(sconce.empty(2, 3, device="meta"))
        self.assertEqual((tuple(y.shape), y.device.type), ((2, 3), "meta"))

    def test_no_fake(self):
        @custom_op("libtest::bare", mutates_args=())
        def bare(x: Tensor) -> Tensor:
            return x + 1

        with self.assertRaisesRegex(RuntimeError, "There was no fake impl registered for <CustomOpDef\\(libtest::bare\\)>"):
            bare(sconce.empty(2, device="meta"))
        with self.assertRaisesRegex(RuntimeError, "Trying to backward through libtest.bare.* but no autograd formula was registered"):
            bare(sconce.ones(2, requires_grad=True)).sum().backward()

    def test_mutates(self):
        @custom_op("libtest::fill", mutates_args=["out"])
        def fill(out: Tensor, value: float) -> None:
            out.zero_().add_(value)

        x = sconce.ones(3)
        before = x._version
        self.assertIsNone(fill(x, 2.0))
        self.assertEqual(x.tolist(), [2.0, 2.0, 2.0])
        self.assertGreater(x._version, before)
        self.assertIsNone(fill(sconce.empty(3, device="meta"), 2.0))
        with self.assertRaisesRegex(RuntimeError, "Cannot register autograd formula for non-functional operator"):
            fill.register_autograd(_backward)

    def test_several_results_and_lists(self):
        @custom_op("libtest::sums", mutates_args=())
        def sums(xs: List[Tensor], scale: float) -> Tuple[Tensor, Tensor]:
            return sum(x.sum() for x in xs) * scale, sconce.stack([x.sum() for x in xs])

        def setup(ctx, inputs, output):
            ctx.shapes, ctx.scale = [x.shape for x in inputs[0]], inputs[1]

        def backward(ctx, total, each):
            return [(total * ctx.scale + each[i]).expand(shape) for i, shape in enumerate(ctx.shapes)], None

        sums.register_autograd(backward, setup_context=setup)
        a, b = sconce.randn(2, requires_grad=True), sconce.randn(3, requires_grad=True)
        total, each = sums([a, b], 3.0)
        self.assertEqual((tuple(total.shape), tuple(each.shape)), ((), (2,)))
        (total + 2 * each[1]).backward()
        self.assertEqual(a.grad.tolist(), [3.0, 3.0])
        self.assertEqual(b.grad.tolist(), [5.0, 5.0, 5.0])

    def test_keyword_only(self):
        @custom_op("libtest::scaled", mutates_args=())
        def scaled(x: Tensor, *, by: float) -> Tensor:
            return x * by

        def setup(ctx, inputs, keyword_only_inputs, output):
            ctx.by = keyword_only_inputs["by"]

        scaled.register_autograd(lambda ctx, grad: grad * ctx.by, setup_context=setup)
        x = sconce.ones(2, requires_grad=True)
        scaled(x, by=3.0).sum().backward()
        self.assertEqual(x.grad.tolist(), [3.0, 3.0])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_numpy(self):
        @custom_op("libtest::numpy_sin", mutates_args=(), device_types="cpu")
        def numpy_sin(x: Tensor) -> Tensor:
            return sconce.from_numpy(numpy.sin(x.numpy()))

        self.assertTrue(sconce.allclose(numpy_sin(sconce.ones(3)), sconce.sin(sconce.ones(3))))

    def test_alias_is_refused(self):
        @custom_op("libtest::same", mutates_args=())
        def same(x: Tensor) -> Tensor:
            return x

        with self.assertRaisesRegex(RuntimeError, "must not also be an input to this custom operator"):
            same(sconce.ones(2))

    def test_errors_of_functions(self):
        class Own(Exception):
            pass

        @custom_op("libtest::failing", mutates_args=())
        def failing(x: Tensor, kind: str) -> Tensor:
            if kind == "raise":
                raise Own("told you")
            return "text" if kind == "text" else x.clone()

        with self.assertRaisesRegex(Own, "told you"):
            failing(sconce.ones(2), "raise")
        with self.assertRaisesRegex(TypeError, "the kernel for CPU returned str, the schema says Tensor"):
            failing(sconce.ones(2), "text")
        with self.assertRaisesRegex(RuntimeError, "failed in the TorchScript interpreter[^|]*Own: told you"):
            sconce.jit.CompilationUnit("def f(x: Tensor) -> Tensor:\n    return torch.ops.libtest.failing(x, 'raise')\n").f(sconce.ones(2))

    def test_defined_again(self):
        for number in (1, 2):
            @custom_op("libtest::again", mutates_args=())
            def again(x: Tensor) -> Tensor:
                return x * 0 + number

            self.assertEqual(sconce.ops.libtest.again(sconce.ones(1)).tolist(), [float(number)])
        with self.assertRaisesRegex(RuntimeError, "was defined as libtest::again\\(Tensor x\\) -> Tensor before"):
            @custom_op("libtest::again", mutates_args=())
            def other(x: Tensor, y: Tensor) -> Tensor:
                return x

    def test_kernels_of_devices(self):
        @custom_op("libtest::placed", mutates_args=())
        def placed(x: Tensor) -> Tensor:
            return x + 1

        @placed.register_kernel("cpu")
        def _(x):
            return x + 2

        self.assertEqual(placed(sconce.zeros(1)).item(), 2.0)
        with placed.set_kernel_enabled("cpu", False):
            self.assertEqual(placed(sconce.zeros(1)).item(), 1.0)
        self.assertEqual(placed(sconce.zeros(1)).item(), 2.0)
        with self.assertRaisesRegex(NotImplementedError, "'tpu'"):
            placed.register_kernel("tpu", lambda x: x)


class Libraries(unittest.TestCase):
    def test_define_and_impl(self):
        library = Library("libtest2", "DEF")
        self.assertEqual(library.define("twice(Tensor x) -> Tensor"), "twice")
        library.impl("twice", lambda x: x * 2, "CPU")
        library.impl("twice", lambda x: sconce.empty_like(x), "Meta")
        self.assertEqual(sconce.ops.libtest2.twice(sconce.ones(1)).item(), 2.0)
        self.assertEqual(sconce.ops.libtest2.twice(sconce.ones(1, device="meta")).device.type, "meta")
        with self.assertRaisesRegex(RuntimeError, "already a kernel registered from python overriding twice's behavior for CPU"):
            library.impl("twice", lambda x: x, "CPU")
        with self.assertRaisesRegex(RuntimeError, "with the same name and overload name multiple times"):
            library.define("twice(Tensor x) -> Tensor")
        with self.assertRaisesRegex(RuntimeError, "Only a single TORCH_LIBRARY"):
            Library("libtest2", "DEF")
        library.define("twice.n(Tensor x, int n) -> Tensor")
        library.impl("twice.n", lambda x, n: x * 2 * n)
        self.assertEqual(sconce.ops.libtest2.twice.overloads(), ["default", "n"])
        self.assertEqual(sconce.ops.libtest2.twice(sconce.ones(1), 3).item(), 6.0)

    def test_composite_is_differentiated_through(self):
        library = Library("libtest", "FRAGMENT")
        library.define("cube(Tensor x) -> Tensor")
        library.impl("cube", lambda x: x * x * x, "CompositeImplicitAutograd")
        x = sconce.tensor([2.0], requires_grad=True)
        sconce.ops.libtest.cube(x).backward()
        self.assertEqual(x.grad.item(), 12.0)

    def test_kernel_of_a_native_operator(self):
        with sconce.library._scoped_library("aten", "IMPL") as library:
            library.impl("cosh", lambda x: x * 0 + 7, "CPU")
            self.assertEqual(sconce.cosh(sconce.ones(1)).item(), 7.0)
        self.assertAlmostEqual(sconce.cosh(sconce.zeros(1)).item(), 1.0)

    def test_autograd_key(self):
        class Negated(sconce.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return sconce.ops.libtest.negated(x)

            @staticmethod
            def backward(ctx, grad):
                return grad * -1

        library = Library("libtest", "FRAGMENT")
        library.define("negated(Tensor x) -> Tensor")
        library.impl("negated", lambda x: -x, "CPU")
        library.impl("negated", Negated.apply, "Autograd")
        x = sconce.ones(2, requires_grad=True)
        sconce.ops.libtest.negated(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [-1.0, -1.0])

    def test_functions(self):
        sconce.library.define("libtest::plus", "(Tensor x, Tensor y) -> Tensor")

        @sconce.library.impl("libtest::plus", "cpu")
        def plus(x, y):
            return x + y

        @sconce.library.register_fake("libtest::plus")
        def _(x, y):
            return sconce.empty_like(x)

        sconce.library.register_autograd("libtest::plus", lambda ctx, grad: (grad, grad * 2))
        x, y = sconce.ones(2, requires_grad=True), sconce.ones(2, requires_grad=True)
        sconce.ops.libtest.plus(x, y).sum().backward()
        self.assertEqual((x.grad.tolist(), y.grad.tolist()), ([1.0, 1.0], [2.0, 2.0]))
        self.assertEqual(sconce.ops.libtest.plus(x.to("meta"), y.to("meta")).device.type, "meta")

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "Unsupported kind: ALL"):
            Library("libtest", "ALL")
        with self.assertRaisesRegex(ValueError, "prim is a reserved namespace"):
            Library("prim", "FRAGMENT")
        library = Library("libtest", "FRAGMENT")
        with self.assertRaisesRegex(TypeError, "required to be a callable"):
            library.impl("squareplus", 3, "CPU")
        with self.assertRaisesRegex(NotImplementedError, "AutocastCPU"):
            library.impl("squareplus", lambda x: x, "AutocastCPU")
        with self.assertRaisesRegex(RuntimeError, "libtest::nothing does not exist"):
            library.impl("nothing", lambda x: x, "CPU")
        with self.assertRaisesRegex(RuntimeError, "expected '\\)', got '-'"):
            library.define("broken(Tensor x -> Tensor")
        with self.assertRaisesRegex(RuntimeError, "Cannot define an operator"):
            Library("libtest", "IMPL").define("f(Tensor x) -> Tensor")


class Smooth(sconce.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = sconce.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.libtest.squareplus(self.linear(x), 1.0)


class Programs(unittest.TestCase):
    def test_file(self):
        model, x = Smooth(), sconce.randn(2, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "smooth.pt"
            sconce.jit.script(model).save(path)
            loaded = sconce.jit.load(path)
        self.assertTrue(sconce.equal(loaded(x), model(x)))

    def test_trace(self):
        model, x = Smooth(), sconce.randn(2, 3)
        traced = sconce.jit.trace(model, (x,))
        self.assertIn("libtest::squareplus", str(traced.graph))
        other = sconce.randn(4, 3)
        self.assertTrue(sconce.equal(traced(other), model(other)))

    TEXT = "def f(x: Tensor) -> Tensor:\n    return torch.ops.libtest.squareplus(x, 1.0) * 2\n"

    def test_script(self):
        unit = sconce.jit.CompilationUnit(self.TEXT)
        x = sconce.randn(3, requires_grad=True)
        y = unit.f(x)
        self.assertTrue(sconce.equal(y, _squareplus(x, 1.0) * 2))
        y.sum().backward()
        (expected,) = sconce.autograd.grad((_squareplus(x, 1.0) * 2).sum(), x)
        self.assertTrue(sconce.allclose(x.grad, expected))
        self.assertIn("libtest::squareplus", str(unit.f.graph))

    def test_steady_memory(self):
        x = sconce.ones(2)

        def objects():
            import gc

            gc.collect()
            return len(gc.get_objects())

        squareplus(x)
        before = objects()
        for _ in range(1000):
            squareplus(x)
        self.assertLess(objects() - before, 20)

    def test_threads(self):
        import threading

        unit = sconce.jit.CompilationUnit(self.TEXT)
        x = sconce.ones(100)
        expected = _squareplus(x, 1.0) * 2
        wrong = []

        def work():
            for _ in range(50):
                if not sconce.equal(unit.f(x), expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Checks(unittest.TestCase):
    def test_passes(self):
        found = opcheck(squareplus, (sconce.randn(3, requires_grad=True), 2.0))
        self.assertEqual(found, dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor"), "SUCCESS"))
        self.assertEqual(opcheck(sconce.ops.aten.add.Tensor, (sconce.ones(2), sconce.ones(2)))["test_schema"], "SUCCESS")

    def test_finds_writes(self):
        @custom_op("libtest::sneaky", mutates_args=())
        def sneaky(x: Tensor) -> Tensor:
            x.add_(1)
            return x * 2

        with self.assertRaisesRegex(OpCheckError, "Argument x is not defined as mutable but was mutated"):
            opcheck(sneaky, (sconce.ones(2),), test_utils="test_schema")

    def test_finds_wrong_shapes(self):
        @custom_op("libtest::shapes", mutates_args=())
        def shapes(x: Tensor) -> Tensor:
            return x.sum(0)

        shapes.register_fake(lambda x: sconce.empty_like(x))
        results = opcheck(shapes, (sconce.ones(2, 3),), raise_exception=False)
        self.assertIsInstance(results["test_faketensor"], OpCheckError)
        self.assertEqual(results["test_schema"], "SUCCESS")

    def test_finds_missing_gradients(self):
        library = Library("libtest", "FRAGMENT")
        library.define("plain(Tensor x) -> Tensor")
        library.impl("plain", lambda x: x + 1, "CPU")
        with self.assertRaisesRegex(OpCheckError, "has no autograd kernel"):
            opcheck("libtest::plain", (sconce.ones(1, requires_grad=True),), test_utils="test_autograd_registration")


if __name__ == "__main__":
    unittest.main()
