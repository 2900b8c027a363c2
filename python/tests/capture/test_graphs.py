"""Graphs of captured calls: recorded over fakes, then run; results and history are eager's."""

import operator
import pathlib
import runpy
import unittest

import sconce
from sconce import _sconce


def record(function, *tensors):
    """(IR as text, fx module, results of a run, the compiled graph)."""
    graph, _ = _sconce._capture_record(function, tensors)
    return graph.graph, graph.graph_module, graph(*tensors), graph


class GraphsTest(unittest.TestCase):
    def setUp(self):
        sconce.manual_seed(0)
        self.a = sconce.randn(3, 4)
        self.b = sconce.randn(3, 4, requires_grad=True)

    def agrees(self, function, *tensors):
        """The graph gives eager's bits, at the first call and by its plan; so does the fx module. Returns the IR's text."""
        text, module, results, graph = record(function, *tensors)
        wanted = function(*tensors)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for got in (results, graph(*tensors), graph(*tensors), graph(*tensors), module(*tensors)):
            self.assertEqual(len(got), len(wanted))
            for x, y in zip(got, wanted):
                self.assertTrue(sconce.equal(x, y))
                self.assertEqual((x.requires_grad, x.is_leaf, x.dtype, x.stride(), x.device),
                                 (y.requires_grad, y.is_leaf, y.dtype, y.stride(), y.device))
        return text

    def test_operators(self):
        self.assertIn("aten::abs", self.agrees(lambda x: sconce.abs(x) + 1, self.a))
        self.agrees(lambda x, y: (x + y).sum(), self.a, self.b)
        self.agrees(lambda x, y: sconce.cat([x, y], 1).split(2, 1)[0] * 2, self.a, self.b)
        self.agrees(lambda x: x[0] + x[:, 1:2].sum(), self.a)
        self.agrees(lambda x: x.max(0).values + x.T.sum(0).sum(), self.a)
        self.agrees(lambda x: (x.clone().add_(1), x[0]), self.a)
        self.agrees(lambda x: x[sconce.tensor([2, 0]), 1:] + x[:, [0, 1, 2]][sconce.tensor([0, 1])], self.a)
        self.agrees(lambda x: x.to("cpu").to(sconce.float64), self.a)

    def test_code_of_c_calls_operators(self):
        self.assertEqual(self.agrees(lambda x, y: sum([x, y, x]), self.a, self.b).count("aten::add"), 3)

    def test_factories(self):
        text = self.agrees(lambda x: x + sconce.zeros(4) + sconce.arange(4) + sconce.ones(4, device="cpu"), self.a)
        self.assertIn("aten::zeros", text)

    def test_tensors_from_outside_are_not_copied(self):
        outside = sconce.zeros(4)
        *_, graph = record(lambda x: x + outside, self.a)
        outside.add_(5)
        self.assertTrue(sconce.equal(graph(self.a)[0], self.a + 5))

    def test_random_numbers_are_drawn_as_eager_draws_them(self):
        *_, graph = record(lambda x: sconce.nn.functional.dropout(x) + sconce.randn(4), self.a)
        sconce.manual_seed(3)
        wanted = sconce.nn.functional.dropout(self.a) + sconce.randn(4)
        for _ in range(3):
            sconce.manual_seed(3)
            self.assertTrue(sconce.equal(graph(self.a)[0], wanted))

    def test_gradients_flow(self):
        *_, graph = record(lambda x, y: (x * y).sin(), self.a, self.b)
        for _ in range(3):
            self.b.grad = None
            graph(self.a, self.b)[0].sum().backward()
            self.assertTrue(sconce.allclose(self.b.grad, (self.a * self.b).cos() * self.a))

    def test_inputs_are_written(self):
        *_, graph = record(lambda x: x.add_(1) * 2, self.a.clone())
        x = self.a.clone()
        self.assertTrue(sconce.equal(graph(x)[0], (self.a + 1) * 2))
        self.assertTrue(sconce.equal(x, self.a + 1))

    def test_modes(self):
        def without(x):
            with sconce.no_grad():
                y = x * 2
            return y, x * 3

        def inference(x):
            with sconce.inference_mode():
                y = x * 2
            return y, x * 3

        def mixed(x):
            with sconce.autocast("cpu", dtype=sconce.bfloat16):
                y = x @ x.T
                with sconce.autocast("cpu", enabled=False):
                    z = x @ x.T
            return y, z, x @ x.T

        for function in (without, inference, mixed):
            for x in (self.a, self.b):
                with self.subTest(function=function.__name__):
                    self.agrees(function, x)
                    self.assertTrue(sconce.is_grad_enabled())
                    self.assertFalse(sconce.is_inference_mode_enabled() or sconce.is_autocast_enabled())
        with sconce.autocast("cpu", dtype=sconce.bfloat16):
            self.agrees(lambda x: x @ x.T, self.a)

    def test_modes_are_put_back_after_a_failure(self):
        def fails(x, i):
            with sconce.no_grad():
                return x * 2, sconce.nn.functional.embedding(i, x)

        for count in (1, 5):
            *_, graph = record(lambda x, i: fails(x + count, i), self.a, sconce.tensor([0]))
            for _ in range(3):
                with self.assertRaises(IndexError):
                    graph(self.a, sconce.tensor([9]))
                self.assertTrue(sconce.is_grad_enabled())

    def test_what_needs_data(self):
        for function in (lambda x: x.sum().item(), lambda x: bool(x.sum()), lambda x: x.nonzero(), lambda x: x[x > 0],
                         lambda x: x.tolist(), lambda x: sconce.equal(x, x), lambda x: int(x.sum())):
            with self.assertRaises(NotImplementedError):
                record(function, self.a)

    def test_errors_are_eagers(self):
        with self.assertRaisesRegex(RuntimeError, "cannot be multiplied"):
            record(lambda x: x @ x, self.a)


class CallsTest(unittest.TestCase):
    """Calls and attributes as the evaluator asks for them."""

    def record(self, function, *tensors):
        graph, _ = _sconce._capture_record(function, tensors, None, (0,) * len(tensors))
        return graph

    def test_names_are_those_of_the_program(self):
        T = sconce.Tensor

        def f(call, attribute, a, b):
            x = call(operator.truediv, a, call(operator.add, call(sconce.abs, a), 1))
            y = call(operator.add, 1, call(T.relu, b))
            return call(operator.mul, x, y), call(T.max, x, 1).values, attribute(a, "T")

        graph = self.record(f, sconce.randn(3, 4), sconce.randn(3, 4))
        self.assertEqual(graph.graph_module.code.strip(), """\
def forward(self, L_0_, L_1_):
    l_0_ = L_0_
    l_1_ = L_1_
    abs_1 = torch.abs(l_0_)
    add = abs_1 + 1;  abs_1 = None
    truediv = l_0_ / add;  add = None
    relu = l_1_.relu();  l_1_ = None
    add_1 = 1 + relu;  relu = None
    mul = truediv * add_1;  add_1 = None
    max_1 = truediv.max(1);  truediv = None
    getitem = max_1[0]
    getitem_1 = max_1[1];  max_1 = getitem_1 = None
    getattr_1 = l_0_.T;  l_0_ = None
    return (mul, getitem, getattr_1)""")

    def test_attributes(self):
        x = sconce.randn(3, 4, requires_grad=True)
        seen = {}

        def f(call, attribute, leaf, computed):
            for which, fake in (("leaf", leaf), ("computed", computed)):
                for name in ("device", "is_cpu", "is_meta", "is_leaf", "requires_grad", "dtype", "ndim", "shape", "layout", "nbytes"):
                    seen[which, name] = attribute(fake, name)
            return call(sconce.mul, leaf, 2)

        other = x * 2
        self.record(f, x, other)
        for (which, name), got in seen.items():
            self.assertEqual(got, getattr(x if which == "leaf" else other, name), (which, name))

    def test_tensors_made_of_data_are_new_in_each_run(self):
        graph = self.record(lambda call, attribute, x: call(sconce.Tensor.add_, call(sconce.tensor, [1.0, 2.0]), x), sconce.ones(2))
        for _ in range(4):
            self.assertEqual(graph(sconce.ones(2))[0].tolist(), [2, 3])

    def test_data_and_requires_grad(self):
        T = sconce.Tensor
        x = sconce.randn(3, requires_grad=True)
        graph = self.record(lambda call, attribute, x: (call(T.mul, attribute(x, "data"), 2),
                                                        call(T.requires_grad_, call(T.clone, attribute(x, "data")))), x)
        for _ in range(3):
            plain, leaf = graph(x)
            self.assertTrue(sconce.equal(plain, x.detach() * 2) and sconce.equal(leaf, x))
            self.assertEqual((plain.requires_grad, leaf.requires_grad, leaf.is_leaf), (False, True, True))

    def test_what_leads_out_of_a_graph(self):
        for name in ("item", "numpy", "tolist", "data_ptr", "register_hook", "__bool__"):
            with self.assertRaises(NotImplementedError, msg=name):
                self.record(lambda call, attribute, x: call(getattr(sconce.Tensor, name), x), sconce.ones(1, requires_grad=True))


class BackendsTest(unittest.TestCase):
    def test_backends(self):
        seen = []

        def mine(module, inputs):
            seen.append((module, inputs))
            return module.forward

        x = sconce.randn(3, 4)
        for backend in (mine, "eager", "interpreter", "sconce"):
            graph, _ = _sconce._capture_record(lambda x: sconce.relu(x) + 1, (x,), backend)
            for _ in range(4):
                self.assertTrue(sconce.equal(graph(x)[0], x.relu() + 1))
        self.assertEqual(len(seen), 1)
        self.assertIs(seen[0][1][0], x)

    def test_the_example(self):
        example = runpy.run_path(str(pathlib.Path(__file__).parents[3] / "examples/python_backend.py"))
        x = sconce.randn(5)
        self.assertTrue(sconce.equal(example["scaled"](x), sconce.relu(x / 4) + x / 3))
        self.assertEqual(dict(example["counts"]), {"truediv": 2, "relu": 1, "add": 1})

    def test_registry(self):
        from sconce.compiler import _backends

        @_backends.register_backend(tags=("debug",))
        def backend_of_a_test(module, inputs):
            return module.forward

        self.addCleanup(_backends._registered.pop, "backend_of_a_test")
        self.assertIs(_backends.lookup_backend("backend_of_a_test"), backend_of_a_test)
        self.assertNotIn("backend_of_a_test", _backends.list_backends())
        self.assertIn("backend_of_a_test", _backends.list_backends(exclude_tags=None))
        with self.assertRaisesRegex(ValueError, "no_such.*known are.*eager"):
            _backends.lookup_backend("no_such")
        with self.assertRaisesRegex(TypeError, "returned a int"):
            _sconce._capture_record(lambda x: x + 1, (sconce.ones(2),), lambda module, inputs: 3)


class FreeSizesTest(unittest.TestCase):
    """Sizes that are not fixed: one graph for all of them."""

    def agrees(self, function, shapes, more, bits=None):
        """Recorded at one list of shapes, right at others. Returns the relations."""
        tensors = tuple(sconce.randn(*shape) for shape in shapes)
        graph, relations = _sconce._capture_record(function, tensors, None, bits or (1,) * len(tensors))
        for shape in (shapes, *more):
            given = [sconce.randn(*s) for s in shape]
            wanted = function(lambda f, *args, **kwargs: f(*args, **kwargs), getattr, *given)
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            for got in (graph(*given), graph(*given), graph(*given), graph.graph_module(*given)):
                for x, y in zip(got, wanted, strict=True):
                    self.assertTrue(sconce.equal(x, y) if isinstance(y, sconce.Tensor) else x == y, (shape, x, y))
        return relations

    def test_sizes_are_values_of_the_graph(self):
        T = sconce.Tensor
        at = ("size", 0, 0)
        least = ("<=", 2, at)
        more = [[(7, 4)], [(2, 4)], [(50, 4)]]

        def flat(call, attribute, x):
            n = attribute(x, "shape")[0]
            return call(T.view, x, n * 2, 2), n, call(sconce.zeros, n + 1), n // 2 - 1

        self.assertEqual(self.agrees(flat, [(5, 4)], more), [least])

        def of_results(call, attribute, x):
            y = call(sconce.cat, [x, x])
            n = call(T.size, y, 0)
            return call(T.reshape, y, (n, 2, 2)), n, call(sconce.full, (n,), 1.5), call(T.mul, x, n)

        self.assertEqual(self.agrees(of_results, [(5, 4)], more), [least])

        def sliced(call, attribute, x):
            n = call(T.size, x, 0)
            return call(T.__getitem__, x, slice(0, n - 1)), call(T.expand, call(sconce.ones, 1), n), call(T.numel, x)

        self.assertEqual(self.agrees(sliced, [(5, 4)], more), [least])

    def test_comparisons_are_relations(self):
        T = sconce.Tensor
        at = ("size", 0, 0)

        def choose(call, attribute, x):
            n = call(T.size, x, 0)
            return call(T.mul, x, 2) if n > 3 else call(T.mul, x, 3)

        self.assertEqual(self.agrees(choose, [(5, 4)], [[(4, 4)], [(90, 4)]]), [("<=", 2, at), (">", at, 3)])

        def of_result(call, attribute, x):
            y = call(sconce.cat, [x, x])
            return call(T.mul, x, 2 if call(T.size, y, 0) >= 8 else 3)

        self.assertEqual(self.agrees(of_result, [(5, 4)], [[(4, 4)]]), [("<=", 2, at), (">=", ("*", at, 2), 8)])

        def used_as_an_index(call, attribute, x):
            total = x
            for _ in range(attribute(x, "shape")[0]):
                total = call(T.add, total, 1)
            return total

        self.assertIn(("==", at, 3), self.agrees(used_as_an_index, [(3, 4)], []))

    def test_what_depends_on_sizes_in_another_way_fixes_them(self):
        T = sconce.Tensor
        fixed = ("==", ("size", 0, 0), 6)
        self.assertIn(fixed, self.agrees(lambda call, attribute, x: call(T.view, x, 2, 3), [(6,)], []))
        self.assertIn(fixed, self.agrees(lambda call, attribute, x: tuple(call(T.unbind, x)), [(6, 2)], []))

    def test_equal_sizes_are_one_symbol(self):
        relations = self.agrees(lambda call, attribute, x, y: call(sconce.add, x, y), [(5, 4), (5, 4)], [[(3, 4), (3, 4)]])
        self.assertEqual(relations, [("<=", 2, ("size", 0, 0)), ("==", ("size", 1, 0), ("size", 0, 0))])

    def test_gradients(self):
        x = sconce.randn(5, 4, requires_grad=True)
        graph, _ = _sconce._capture_record(
            lambda call, attribute, x: call(sconce.Tensor.div, call(sconce.sum, call(sconce.sin, x)), attribute(x, "shape")[0]),
            (x,), None, (1,))
        for n in (5, 3, 9, 9, 9):
            x = sconce.randn(n, 4, requires_grad=True)
            graph(x)[0].backward()
            self.assertTrue(sconce.allclose(x.grad, x.cos() / n))


if __name__ == "__main__":
    unittest.main()
