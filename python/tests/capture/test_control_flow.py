"""cond, while_loop, map and scan: eagerly, and as one node of a graph with graphs for their functions."""

import unittest

import sconce
from sconce._higher_order_ops import cond, map, scan, while_loop


def shown(value):
    if isinstance(value, sconce.Tensor):
        return value.tolist(), str(value.dtype), value.requires_grad
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    return [shown(v) for v in value] if isinstance(value, (tuple, list)) else value


class ControlFlowTest(unittest.TestCase):
    def agrees(self, function, *calls, operator=None, breaks=0):
        """Eagerly, compiled, and by a backend that runs the fx graph; `operator`: the node that the graph has."""
        sconce.compiler.reset()
        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        compiled, by_fx = sconce.compile(function), sconce.compile(function, backend=backend)
        for args in calls:
            wanted = shown(function(*args))
            self.assertEqual(shown(compiled(*args)), wanted)
            self.assertEqual(shown(by_fx(*args)), wanted)
        if operator is not None:
            targets = [n.target for g in graphs for n in g.graph.nodes if n.op == "call_function"]
            self.assertIn(operator, [getattr(t, "__name__", "") for t in targets if type(t).__name__ == "HigherOrderOperator"])
        sconce.compiler.reset()
        if breaks is not None:
            self.assertEqual(len(sconce._dynamo.explain(function)(*calls[0]).break_reasons), breaks)
        return graphs

    def setUp(self):
        self.x, self.y = sconce.arange(3.0), sconce.ones(3)

    def test_cond(self):
        def f(x, y):
            return sconce.cond(x.sum() > 0, lambda v: v + y, lambda v: v - 1, (x,))

        graphs = self.agrees(f, (self.x, self.y), (-self.x, self.y), operator="cond")
        self.assertEqual(len(graphs), 1)
        self.assertIn("torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (l_x_, l_y_))", graphs[0].code)
        self.assertIn("v + y".replace("v", "arg0_1").replace("y", "arg1_1"), graphs[0].cond_true_0.code)
        self.assertEqual(sorted(graphs[0]._modules), ["cond_false_0", "cond_true_0"])

    def test_cond_eager(self):
        self.assertEqual(cond(True, lambda v: v + 1, lambda v: v, (self.x,)).tolist(), [1, 2, 3])
        self.assertEqual(cond(sconce.tensor(False), lambda v: v + 1, lambda v: v * 2, (self.x,)).tolist(), [0, 2, 4])
        for args, message in (((sconce.tensor([True, False]), abs, abs, (self.x,)), "single-element tensor"),
                              ((True, abs, 3, (self.x,)), "branches to be callable"),
                              (("a", abs, abs, (self.x,)), "pred to be bool or tensor"),
                              ((True, abs, abs, self.x), "Expect operands to be a tuple")):
            with self.assertRaisesRegex(RuntimeError, message):
                cond(*args)

    def test_cond_of_nests(self):
        def f(x, y):
            return cond(x.sum() > 0, lambda d: {"a": d["p"] * 2, "b": [d["q"] + 1]}, lambda d: {"a": d["q"] * 3, "b": [d["p"] - 1]},
                        ({"p": x, "q": y},))

        self.agrees(f, (self.x, self.y), (-self.x, self.y), operator="cond")

    def test_cond_in_cond(self):
        def f(x, y):
            def outer(v):
                return cond(v.max() > 1, lambda w: w * y, lambda w: w + y, (v,)) + 1

            return cond(x.sum() > 0, outer, lambda v: v - y, (x,)) * 2

        self.agrees(f, (self.x, self.y), (-self.x, self.y), (self.x / 3, self.y), operator="cond")

    def test_cond_has_gradients(self):
        def f(x, w):
            return cond(x.sum() > 0, lambda v: v * w, lambda v: v - w, (x,)).sum()

        compiled = sconce.compile(f)
        for x in (self.x, -self.x):
            w, twin = (sconce.ones(3, requires_grad=True) for _ in range(2))
            compiled(x, w).backward()
            f(x, twin).backward()
            self.assertEqual(w.grad.tolist(), twin.grad.tolist())

    def test_cond_that_is_no_node(self):
        """Branches with effects, with other shapes, that raise, or hand a tensor through: eager's answer, and a break."""
        log = []

        def effects(x):
            return cond(x.sum() > 0, lambda v: (log.append(1), v + 1)[1], lambda v: v - 1, (x,))

        def owned(x):
            seen = []
            y = cond(x.sum() > 0, lambda v: (seen.append(1), v + 1)[1], lambda v: (seen.append(2), v - 1)[1], (x,))
            return y, seen

        def nonlocals(x):
            n = 0

            def one(v):
                nonlocal n
                n = 1
                return v + 1

            def other(v):
                nonlocal n
                n = 2
                return v - 1

            return cond(x.sum() > 0, one, other, (x,)), n

        def shapes(x):
            return cond(x.sum() > 0, lambda v: v + 1, lambda v: v[:2] - 1, (x,))

        def raising(x):
            def fails(v):
                raise ValueError("never")

            return cond(x.sum() > 0, lambda v: v + 1, fails, (x,))

        def handed(x):
            return cond(x.sum() > 0, lambda v: v, lambda v: v - 1, (x,))

        for function in (owned, nonlocals, shapes, handed):
            with self.subTest(function.__name__):
                self.agrees(function, (self.x,), (-self.x,), breaks=1)
        self.agrees(raising, (self.x,), breaks=1)
        compiled = sconce.compile(effects)
        log.clear()
        self.assertEqual(compiled(self.x).tolist(), [1, 2, 3])
        self.assertEqual(compiled(-self.x).tolist(), [-1, -2, -3])
        self.assertEqual(log, [1])

    def test_while_loop(self):
        def f(x, step):
            return while_loop(lambda i, v: i < 5, lambda i, v: (i + step, v * 2 + x), (sconce.tensor(0), x))

        self.agrees(f, (self.x, sconce.tensor(1)), (self.x, sconce.tensor(2)), (self.x, sconce.tensor(9)), operator="while_loop")

    def test_map(self):
        def f(x, y):
            return map(lambda row, z: (row * z, {"k": row.sum() + y.sum()}), x, y)

        rows = sconce.arange(6.0).reshape(2, 3)
        self.agrees(f, (rows, self.y), (rows + 1, self.x), operator="map_impl")
        with self.assertRaisesRegex(RuntimeError, "cannot be 0"):
            map(lambda v: v, sconce.ones(0, 2))

    def test_scan(self):
        def f(x, init):
            return scan(lambda carry, row: (carry + row, carry * row), init, x)

        def turned(x, init):
            return scan(lambda carry, row: (carry + row, carry * 1), init, x, dim=1, reverse=True)

        rows = sconce.arange(6.0).reshape(2, 3)
        self.agrees(f, (rows, self.y), (rows * 2, self.x), operator="scan")
        self.agrees(turned, (rows, sconce.ones(2)), operator="scan")
        carry, ys = scan(lambda c, a: (c + a, c * 1), sconce.zeros(2), sconce.ones(3, 2), reverse=True)
        self.assertEqual((carry.tolist(), ys.tolist()), ([3, 3], [[2, 2], [1, 1], [0, 0]]))

    def test_vmap(self):
        rows = sconce.arange(6.0).reshape(2, 3)

        def f(x, y):
            return sconce.func.vmap(lambda a, b: (a * b + y.sum(), a.sum()), in_dims=(0, None))(x, y)

        def turned(x, y):
            return sconce.func.vmap(lambda a: a * 2 + y[0], in_dims=1, out_dims=1)(x)

        def gradients(x, y):
            both = sconce.func.grad_and_value(lambda v, w: (v * w).sum(), argnums=(0, 1))
            return sconce.func.grad(lambda v: (v**2).sum())(x), both(x[0], y)

        def unmapped(x, y):
            return sconce.func.vmap(lambda a: (a + 1, y * 2), out_dims=(0, None))(x)

        def random(x):
            return sconce.func.vmap(lambda a: a + sconce.rand(3), randomness="different")(x)

        self.agrees(f, (rows, self.y), (rows + 1, self.x), operator="map_impl")
        self.agrees(turned, (rows, self.y), operator="map_impl")
        self.agrees(gradients, (rows, self.y))
        self.agrees(unmapped, (rows, self.y), breaks=None)
        compiled = sconce.compile(random)
        sconce.manual_seed(0)
        wanted = random(rows).tolist()
        for _ in range(2):
            sconce.manual_seed(0)
            self.assertEqual(compiled(rows).tolist(), wanted)
        with self.assertRaisesRegex(RuntimeError, "randomness error mode"):
            sconce.compile(lambda x: sconce.func.vmap(lambda a: a + sconce.rand(3))(x))(rows)


if __name__ == "__main__":
    unittest.main()
