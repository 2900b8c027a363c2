"""Graphs of captured calls: recorded over fakes, then run; results and history are eager's."""

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
                         lambda x: x.tolist(), lambda x: x.numpy(), lambda x: sconce.equal(x, x), lambda x: int(x.sum())):
            with self.assertRaises(NotImplementedError):
                record(function, self.a)

    def test_errors_are_eagers(self):
        with self.assertRaisesRegex(RuntimeError, "cannot be multiplied"):
            record(lambda x: x @ x, self.a)


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
