"""Modes of the thread (gradients, inference mode, autocast) that a compiled function changes are as eager leaves them."""

import unittest

import sconce


def modes():
    return sconce.is_grad_enabled(), sconce.is_inference_mode_enabled(), sconce.is_autocast_enabled("cpu")


class ModesTest(unittest.TestCase):
    def tearDown(self):
        sconce.set_grad_enabled(True)

    def agrees(self, function):
        """Results and modes afterwards: eagerly, compiled, and compiled once more."""
        seen = []
        for run in (function, compiled := sconce.compile(function), compiled):
            sconce.set_grad_enabled(True)
            x = sconce.arange(3.0, requires_grad=True)
            y = run(x)
            seen.append((y.tolist(), y.requires_grad, str(y.dtype), modes()))
            self.assertEqual(seen[-1], seen[0])
        return seen[0]

    def test_set_for_good(self):
        def f(x):
            sconce.set_grad_enabled(False)
            return x * 2

        self.assertEqual(self.agrees(f)[3], (False, False, False))

    def test_set_without_an_operator(self):
        log = []

        def f(x):
            sconce.set_grad_enabled(False)
            log.append(1)
            return x

        self.assertEqual(self.agrees(f)[3], (False, False, False))

    def test_breaks_inside(self):
        def f(x):
            with sconce.no_grad():
                y = x * 2
                sconce._dynamo.graph_break()
                z = y + x
            return z * x

        def g(x):
            with sconce.inference_mode():
                y = x * 2
                sconce._dynamo.graph_break()
                z = y + x
            return z * 2

        def h(x):
            with sconce.autocast("cpu", dtype=sconce.bfloat16):
                y = x[None] @ x[:, None]
                sconce._dynamo.graph_break()
                z = y @ y
            return z @ z

        for one in (f, g, h):
            self.assertEqual(self.agrees(one)[3], (True, False, False))

    def test_weights_that_change_between_regions_of_autocast(self):
        layer = sconce.nn.Linear(3, 3)

        def f(x):
            with sconce.no_grad():
                layer.weight.fill_(0.1)
                layer.bias.fill_(0.0)
            with sconce.autocast("cpu", dtype=sconce.bfloat16):
                a = layer(x)
            with sconce.no_grad():
                layer.weight.add_(1)
            with sconce.autocast("cpu", dtype=sconce.bfloat16):
                b = layer(x)
            return a - b

        self.agrees(f)

    def test_the_end_of_autocast_in_a_frame_of_its_own(self):
        """__exit__ is called by code that was broken: it ends the mode, and forgets weights that it has converted."""
        layer = sconce.nn.Linear(3, 3)

        def f(x):
            total = 0
            for i in range(3):
                with sconce.no_grad():
                    layer.weight.fill_(0.1 * i)
                    layer.bias.fill_(0.0)
                with sconce.autocast("cpu", dtype=sconce.bfloat16):
                    y = layer(x)
                    sconce._dynamo.graph_break()
                    y = y + layer(y)
                total = total + y
            return total

        self.assertEqual(self.agrees(f)[3], (True, False, False))

    def test_decorators(self):
        @sconce.no_grad()
        def f(x):
            return x * 2

        @sconce.autocast("cpu", dtype=sconce.bfloat16)
        def g(x):
            return x[None] @ x[:, None]

        self.agrees(f)
        self.agrees(g)
        self.agrees(lambda x: f(x) + g(x))


if __name__ == "__main__":
    unittest.main()
