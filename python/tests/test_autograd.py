"""Hooks, nodes of the graph, custom functions, saved tensors, anomaly mode, gradcheck."""

import gc
import threading
import unittest
import weakref

import sconce as torch
from sconce.autograd import Function
from sconce.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


class Inputs(unittest.TestCase):
    def test_no_inputs_are_not_all(self):
        x = leaf()
        for call in (lambda: x.sum().backward(inputs=[]), lambda: torch.autograd.backward(x.sum(), inputs=())):
            with self.assertRaisesRegex(RuntimeError, "cannot be empty"):
                call()
        self.assertIsNone(x.grad)


class TensorHooks(unittest.TestCase):
    def test_hook_sees_and_replaces_gradient(self):
        x = leaf()
        y = x * 2
        seen = []
        y.register_hook(seen.append)
        y.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g + 1)
        y.sum().backward()
        self.assertEqual(seen[0].tolist(), [1, 1, 1])
        self.assertEqual(x.grad.tolist(), [21, 21, 21])

    def test_handle_removes(self):
        x = leaf()
        calls = []
        handle = x.register_hook(lambda g: calls.append(g))
        x.sum().backward()
        handle.remove()
        handle.remove()
        x.sum().backward()
        self.assertEqual(len(calls), 1)
        with x.register_hook(lambda g: calls.append(g)):
            x.sum().backward()
        x.sum().backward()
        self.assertEqual(len(calls), 2)

    def test_post_accumulate(self):
        x = leaf()
        seen = []
        x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
        (x * 3).sum().backward()
        self.assertEqual(seen, [(True, [3, 3, 3])])

    def test_errors(self):
        with self.assertRaisesRegex(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
            torch.ones(2).register_hook(print)
        with self.assertRaisesRegex(RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
            (leaf() * 2).register_post_accumulate_grad_hook(print)
        with self.assertRaisesRegex(TypeError, "not callable"):
            leaf().register_hook(1)
        x = leaf()
        x.register_hook(lambda g: 5)
        with self.assertRaisesRegex(RuntimeError, "expected Variable, but hook returned 'int'"):
            x.sum().backward()

    def test_exception_of_hook_arrives(self):
        class Mine(Exception):
            pass

        def hook(grad):
            raise Mine("from the hook")

        x = leaf()
        x.register_hook(hook)
        with self.assertRaisesRegex(Mine, "from the hook"):
            (x * 2).sum().backward()

    def test_backward_within_hooks_to_any_depth(self):
        """Past some depth the engine continues on another thread: hooks and their exceptions work there, too."""
        depth = []

        def hook(grad):
            depth.append(threading.get_ident())
            if len(depth) < 100:
                with torch.enable_grad():
                    y = leaf()
                    y.register_hook(hook)
                    y.sum().backward()
            else:
                raise KeyError("deep")

        x = leaf()
        x.register_hook(hook)
        with self.assertRaisesRegex(KeyError, "deep"):
            x.sum().backward()
        self.assertGreater(len(set(depth)), 1)

    def test_retain_grad(self):
        x = leaf()
        y = x * 2
        self.assertFalse(y.retains_grad)
        y.retain_grad()
        self.assertTrue(y.retains_grad)
        y.sum().backward()
        self.assertEqual(y.grad.tolist(), [1, 1, 1])

    def test_hook_is_freed_with_its_tensor(self):
        class Hook:
            def __call__(self, grad):
                pass

        hook = Hook()
        gone = weakref.ref(hook)
        x = leaf()
        y = x * 2
        y.register_hook(hook)
        del hook
        gc.collect()
        self.assertIsNotNone(gone())
        del y
        self.assertIsNone(gone())


class Nodes(unittest.TestCase):
    def test_graph(self):
        x = leaf()
        y = x * 2
        z = y.sum()
        self.assertEqual(z.grad_fn.name(), "SumBackward0")
        self.assertEqual(type(z.grad_fn).__name__, "SumBackward0")
        self.assertRegex(repr(z.grad_fn), "^<SumBackward0 object at 0x[0-9a-f]+>$")
        self.assertIs(z.grad_fn, z.grad_fn)
        ((node, number),) = z.grad_fn.next_functions
        self.assertIs(node, y.grad_fn)
        self.assertEqual(number, 0)
        accumulate = node.next_functions[0][0]
        self.assertEqual(accumulate.name(), "AccumulateGrad")
        self.assertIs(accumulate.variable, x)
        self.assertIsNone(x.grad_fn)
        self.assertIsInstance(node, torch.autograd.graph.Node)
        with self.assertRaises(AttributeError):
            node.variable
        node.metadata["key"] = 1
        self.assertEqual(y.grad_fn.metadata, {"key": 1})
        edge = torch.autograd.graph.get_gradient_edge(x)
        self.assertIs(edge.node, accumulate)

    def test_hooks(self):
        x = leaf()
        y = x * 2
        seen = []
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
        handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, *inputs[1:]))
        y.sum().backward(retain_graph=True)
        self.assertEqual(seen, [([4, 4, 4], [2, 2, 2])])
        self.assertEqual(x.grad.tolist(), [5, 5, 5])
        handle.remove()
        x.grad = None
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [4, 4, 4])


class Square(Function):
    @staticmethod
    def forward(ctx, x, factor=1.0):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * grad, None


class CustomFunctions(unittest.TestCase):
    def test_forward_and_backward(self):
        x = leaf()
        y = Square.apply(x, 3.0)
        self.assertEqual(y.tolist(), [3, 12, 27])
        self.assertEqual(y.grad_fn.name(), "SquareBackward")
        self.assertIs(y.grad_fn, y.grad_fn)
        self.assertEqual(y.grad_fn.factor, 3.0)
        self.assertEqual(y.grad_fn.needs_input_grad, (True, False))
        self.assertIs(y.grad_fn.saved_tensors[0], x)
        self.assertEqual(y.grad_fn.next_functions[0][0].name(), "AccumulateGrad")
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [6, 12, 18])
        with self.assertRaisesRegex(RuntimeError, "second time"):
            y.grad_fn.saved_tensors

    def test_keyword_arguments(self):
        self.assertEqual(Square.apply(leaf(2.0), factor=2.0).tolist(), [8])

    def test_double_backward(self):
        x = leaf()
        (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x)
        self.assertEqual(gg.tolist(), [2, 2, 2])

    def test_setup_context(self):
        class Cube(Function):
            @staticmethod
            def forward(x, n=3):
                return x ** n, x * 0

            @staticmethod
            def setup_context(ctx, inputs, output):
                x, ctx.n = inputs
                ctx.save_for_backward(x)
                ctx.mark_non_differentiable(output[1])
                ctx.set_materialize_grads(False)

            @staticmethod
            def backward(ctx, grad, nothing):
                assert nothing is None
                return ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1) * grad, None

        x = leaf()
        y, z = Cube.apply(x)
        self.assertTrue(y.requires_grad)
        self.assertFalse(z.requires_grad)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 12, 27])

    def test_in_place(self):
        class AddOne(Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 5

        x = leaf()
        y = x * 1
        z = AddOne.apply(y)
        self.assertIs(y, z)
        z.sum().backward()
        self.assertEqual(x.grad.tolist(), [5, 5, 5])
        with self.assertRaisesRegex(RuntimeError, "a leaf Variable that requires grad has been used in an in-place operation"):
            AddOne.apply(x)

    def test_other_results(self):
        class Mixed(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, "text", 5

            @staticmethod
            def backward(ctx, grad, *others):
                return grad * 2

        y, text, five = Mixed.apply(leaf())
        self.assertEqual((text, five), ("text", 5))
        self.assertTrue(y.requires_grad)

    def test_errors(self):
        class Wrong(Function):
            @staticmethod
            def forward(ctx, x, result):
                ctx.result = result
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return ctx.result

        for result, kind, message in (((None,), RuntimeError, r"function WrongBackward returned an incorrect number of gradients "
                                       r"\(expected 2, got 1\)"),
                                      ((1, None), TypeError, r"expected Variable or None \(got int\)"),
                                      ((None, torch.ones(1)), RuntimeError, "different from None at position 2")):
            with self.subTest(result), self.assertRaisesRegex(kind, message):
                Wrong.apply(leaf(), result).sum().backward()
        with self.assertRaisesRegex(NotImplementedError, "You must implement the forward function"):
            Function.apply(leaf())

        class Bad(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(1)
                return x.clone()

        with self.assertRaisesRegex(TypeError, "save_for_backward can only save variables, but argument 0 is of type int"):
            Bad.apply(leaf())
        with self.assertRaisesRegex(NotImplementedError, "You must implement either the backward or vjp"):
            Bad.forward = staticmethod(lambda ctx, x: x.clone())
            Bad.apply(leaf()).sum().backward()

    def test_results_that_are_no_tensors(self):
        given = []

        class Mixed(Function):
            @staticmethod
            def forward(ctx, x):
                return "text", x * 2, None, x[:1]

            @staticmethod
            def backward(ctx, *grads):
                given.extend(grads)
                return grads[1] * 2

        x = leaf()
        text, y, none, view = Mixed.apply(x)
        self.assertEqual((text, none, y.grad_fn is view.grad_fn), ("text", None, True))
        y.sum().backward()
        self.assertEqual([g if g is None else g.tolist() for g in given], [None, [1, 1, 1], None, [0]])
        self.assertEqual(x.grad.tolist(), [2, 2, 2])

    def test_in_place_on_views(self):
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        for use in ("view", "base", "both"):
            x = leaf()
            base = x.clone()
            part = base[:2]
            made = Double.apply(part)
            self.assertIs(made, part)
            loss = made.sum() if use == "view" else base.sum() if use == "base" else made.sum() + base.sum()
            loss.backward()
            self.assertEqual(x.grad.tolist(), {"view": [2, 2, 0], "base": [2, 2, 1], "both": [4, 4, 1]}[use])

    def test_once_differentiable(self):
        class Once(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            @once_differentiable
            def backward(ctx, grad):
                return grad * 2

        x = leaf()
        Once.apply(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2, 2])
        grad_output = leaf()
        (g,) = torch.autograd.grad(Once.apply(x), x, grad_output, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "trying to differentiate twice a function that was marked with @once_differentiable"):
            g.sum().backward()

    def test_without_gradients(self):
        y = Square.apply(torch.ones(3))
        self.assertFalse(y.requires_grad)
        with torch.no_grad():
            self.assertFalse(Square.apply(leaf()).requires_grad)

    def test_contexts_are_freed(self):
        x = leaf()
        y = Square.apply(x)
        context = weakref.ref(y.grad_fn)
        self.assertIsNotNone(context())
        kept = y.grad_fn
        del y
        self.assertIs(context(), kept)
        with self.assertRaisesRegex(RuntimeError, "graph is gone"):
            kept.next_functions
        del kept
        self.assertIsNone(context())

    def test_threads(self):
        results = []

        def work():
            x = leaf()
            for _ in range(50):
                Square.apply(x).sum().backward()
            results.append(x.grad.tolist())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [[100, 200, 300]] * 4)


class SavedTensors(unittest.TestCase):
    def test_hooks(self):
        packed = []

        def pack(t):
            packed.append(t)
            return len(packed) - 1

        x = leaf()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda i: packed[i] * 10):
            y = x * x
        z = y * x
        count = len(packed)
        z.sum().backward()
        self.assertEqual(count, 2)
        self.assertEqual(len(packed), 2)
        self.assertEqual(x.grad.tolist(), [1 + 20, 4 + 80, 9 + 180])
        with torch.autograd.graph.save_on_cpu():
            (x * x).sum().backward()

    def test_exception(self):
        def unpack(packed):
            raise LookupError("lost")

        x = leaf()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x * x
        with self.assertRaisesRegex(LookupError, "lost"):
            y.sum().backward()


class Anomaly(unittest.TestCase):
    def test_says_where(self):
        x = leaf(0.0)
        with torch.autograd.detect_anomaly():
            y = torch.sqrt(x) * 0  # the line that is named
            with self.assertRaisesRegex(RuntimeError, r"returned nan values in its 0th output[\s\S]*the line that is named"):
                y.sum().backward()
        self.assertFalse(torch.is_anomaly_enabled())
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            (torch.sqrt(x) * 0).sum().backward()


class GradCheck(unittest.TestCase):
    def test_right_and_wrong(self):
        x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
        z = torch.tensor([0.5 + 1j, 1.5], dtype=torch.complex128, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda a: (a.exp() * a.sin(), a * 2), (x,)))
        self.assertTrue(torch.autograd.gradcheck(lambda a, b: a * b * b, (x, z)))
        self.assertTrue(torch.autograd.gradcheck(torch.angle, (z,), fast_mode=True))
        self.assertTrue(torch.autograd.gradcheck(Square.apply, (x,)))
        self.assertTrue(torch.autograd.gradgradcheck(lambda a: a.exp() * a.sin(), (x,)))

        class Wrong(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 3

        with self.assertRaisesRegex(torch.autograd.GradcheckError, "Jacobian mismatch for output 0 with respect to input 0"):
            torch.autograd.gradcheck(Wrong.apply, (x,))
        self.assertFalse(torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False, fast_mode=True))
        with self.assertRaisesRegex(ValueError, "at least one input tensor to require gradient"):
            torch.autograd.gradcheck(Square.apply, (torch.ones(1),))


class Modes(unittest.TestCase):
    def test_generators(self):
        decorators = [(torch.no_grad(), False), (torch.no_grad, False), (torch.enable_grad, True), (torch.set_grad_enabled(False), False),
                      (torch.inference_mode(), False), (torch.inference_mode, False)]
        for decorator, inside in decorators:
            seen = []

            @decorator
            def generate(n):
                try:
                    for i in range(n):
                        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
                        seen.append((yield i))
                        seen.append(torch.is_grad_enabled())
                except ValueError:
                    seen.append(torch.is_grad_enabled())
                    yield "caught"
                finally:
                    seen.append(torch.is_grad_enabled())
                return "end"

            outside = not inside
            inference = "inference" in str(decorator)
            with torch.set_grad_enabled(outside):
                generator = generate(2)
                self.assertEqual((next(generator), torch.is_grad_enabled()), (0, outside))
                self.assertEqual((generator.send("sent"), torch.is_grad_enabled()), (1, outside))
                with self.assertRaises(StopIteration) as end:
                    next(generator)
                self.assertEqual((end.exception.value, torch.is_grad_enabled()), ("end", outside))
                self.assertEqual(seen, [(inside, inference), "sent", inside, (inside, inference), None, inside, inside])
                seen.clear()
                generator = generate(2)
                next(generator)
                self.assertEqual((generator.throw(ValueError), torch.is_grad_enabled()), ("caught", outside))
                generator.close()
                self.assertEqual((seen[1:], torch.is_grad_enabled()), ([inside, inside], outside))
                seen.clear()
                generator = generate(1)
                next(generator)
                generator.close()
                self.assertEqual((seen[1:], torch.is_grad_enabled()), ([inside], outside))

    def test_decorators(self):
        before = torch.is_grad_enabled()
        decorator = torch.set_grad_enabled(False)
        self.assertFalse(torch.is_grad_enabled())
        function = decorator(torch.is_grad_enabled)
        self.assertEqual((torch.is_grad_enabled(), function(), torch.is_grad_enabled()), (before, False, before))

        @torch.no_grad
        def named():
            """Text."""
            return torch.is_grad_enabled()

        self.assertEqual((named(), named.__name__, named.__doc__), (False, "named", "Text."))
        with torch.no_grad():
            self.assertTrue(torch.enable_grad(torch.is_grad_enabled)())
        with self.assertWarnsRegex(FutureWarning, "Decorating classes is deprecated"):
            made = torch.no_grad()(type("Made", (), {"__init__": lambda self: setattr(self, "on", torch.is_grad_enabled())}))
        self.assertFalse(made().on)


class Functional(unittest.TestCase):
    def test_jacobian(self):
        x = torch.tensor([1.0, 2.0])
        self.assertEqual(torch.autograd.functional.jacobian(lambda a: a ** 2, x).tolist(), [[2, 0], [0, 4]])
        (to_a, to_b), (again, _) = torch.autograd.functional.jacobian(lambda a, b: (a * b, a.sum()), (x, torch.tensor([3.0, 5.0])))
        self.assertEqual((to_a.tolist(), to_b.tolist(), again.tolist()), ([[3, 0], [0, 5]], [[1, 0], [0, 2]], [1, 1]))
        y = x.clone().requires_grad_()
        j = torch.autograd.functional.jacobian(lambda a: a ** 3, y, create_graph=True)
        j.sum().backward()
        self.assertEqual(y.grad.tolist(), [6, 12])
        with self.assertRaisesRegex(RuntimeError, "independent of input 0"):
            torch.autograd.functional.jacobian(lambda a: torch.ones(2, requires_grad=True) * 1, x, strict=True)

    def test_hessian_and_products(self):
        f = torch.autograd.functional
        x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
        cubes = lambda a: (a ** 3).sum() + a[0] * a[1]  # noqa: E731
        self.assertEqual(f.hessian(cubes, x).tolist(), [[6, 1], [1, 12]])
        self.assertEqual(f.hvp(cubes, x, v)[1].tolist(), [16, 121])
        self.assertEqual(f.vhp(cubes, x, v)[1].tolist(), [16, 121])
        result, product = f.vjp(lambda a: a * a, x, v)
        self.assertEqual((result.tolist(), product.tolist()), ([1, 4], [2, 40]))
        result, product = f.jvp(lambda a: a.sum() * a, x, v)
        self.assertEqual((result.tolist(), product.tolist()), ([3, 6], [14, 52]))
        with self.assertRaisesRegex(RuntimeError, "should return a single Tensor with a single element"):
            f.hessian(lambda a: a, x)
        with self.assertRaisesRegex(RuntimeError, "Entry 0 in v has invalid size"):
            f.vjp(lambda a: a, x, torch.ones(3))


class SpecialValues(unittest.TestCase):
    """Gradients where a function has a kink, a tie, a pole or NaN."""

    def gradients(self, function, *data, dtype=torch.float64):
        inputs = [torch.tensor(d, dtype=dtype, requires_grad=True) for d in data]
        return [[round(v, 6) for v in g.flatten().tolist()] for g in torch.autograd.grad(function(*inputs).sum(), inputs)]

    def test_nan_shares_the_gradient_of_the_largest(self):
        nan = float("nan")
        for function in (torch.max, torch.min, torch.median):
            self.assertEqual(self.gradients(function, [nan] * 4), [[0.25] * 4])
            self.assertEqual(self.gradients(function, [1.0, nan, 2.0, nan]), [[0.0, 0.5, 0.0, 0.5]])
        self.assertEqual(self.gradients(torch.max, [2.0, 1.0, 2.0]), [[0.5, 0.0, 0.5]])

    def test_pairs(self):
        nan = float("nan")
        self.assertEqual(self.gradients(torch.maximum, [1.0, nan, 2.0, 3.0], [nan, 1.0, 2.0, 1.0]), [[1, 1, 0.5, 1], [1, 1, 0.5, 0]])
        self.assertEqual(self.gradients(torch.minimum, [1.0, nan, 2.0, 3.0], [nan, 1.0, 2.0, 1.0]), [[1, 1, 0.5, 0], [1, 1, 0.5, 1]])
        self.assertEqual(self.gradients(torch.atan2, [0.0, 3.0], [0.0, 4.0]), [[0, 0.16], [0, -0.12]])
        self.assertEqual(self.gradients(torch.xlogy, [0.0, 0.0, 0.0, 2.0], [0.0, -1.0, 1.0, 1.0])[0], [0, 0, 0, 0])
        self.assertAlmostEqual(self.gradients(torch.xlogy, [0.0], [4.0])[0][0], 1.386294)
        self.assertAlmostEqual(self.gradients(torch.special.xlog1py, [0.0], [3.0])[0][0], 1.386294)

    def test_gradients_that_do_not_exist_are_errors(self):
        x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0])
        for function in (torch.igamma, torch.igammac, torch.special.zeta):
            with self.assertRaisesRegex(NotImplementedError, "the derivative for '.*' is not implemented"):
                function(x, y).backward()

    def test_products_over_several_zeros_are_differentiated_once(self):
        x, src = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
        index = torch.tensor([0, 0, 1])
        for function, name in ((torch.scatter_reduce, "scatter_reduce"), (torch.index_reduce, "index_reduce")):
            first = torch.autograd.grad(function(x, 0, index, src, "prod").sum(), src, create_graph=True)[0]
            self.assertEqual(first.tolist(), [0, 0, 0])
            with self.assertRaisesRegex(RuntimeError, f"{name}.*: Double backward is unsupported"):
                first.sum().backward()
        one = torch.tensor([0.0, 2.0], requires_grad=True)
        first = torch.autograd.grad(torch.scatter_reduce(torch.ones(1), 0, torch.tensor([0, 0]), one, "prod").sum(), one, create_graph=True)[0]
        self.assertEqual(first.tolist(), [2, 0])
        self.assertEqual(torch.autograd.grad(first[0], one)[0].tolist(), [0, 1])


if __name__ == "__main__":
    unittest.main()
