"""The plain reference of real_sizes: its gradients, first and second, against differences; its convolution against the definition."""

import pathlib
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

sys.path[0] = str(pathlib.Path(__file__).parents[1])
from real_sizes import layers as L
from real_sizes import reference as R

draws = np.random.RandomState(0)


def normal(*shape):
    return draws.standard_normal(shape)


def slope(f, values, directions, step=1e-6):
    """The change of the number f(*values) along directions."""
    ahead = f(*(v + step * d for v, d in zip(values, directions)))
    behind = f(*(v - step * d for v, d in zip(values, directions)))
    return (ahead - behind) / (2 * step)


def check(test, f, *values):
    """First and second derivatives of a function of arrays along random directions."""
    weights = []

    def loss(nodes):
        outputs = f(*nodes)
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        while len(weights) < len(outputs):
            o = outputs[len(weights)]
            weights.append(normal(*o.shape) + (1j * normal(*o.shape) if o.value.dtype.kind == "c" else 0))
        return [R.sum(R.real(o * np.conj(w))) for o, w in zip(outputs, weights)]

    def total(nodes):
        parts = loss(nodes)
        return parts[0] if len(parts) == 1 else R.sum(R.stack(parts))

    def random_like(v):
        return normal(*v.shape) + (1j * normal(*v.shape) if v.dtype.kind == "c" else 0)

    def along(nodes, directions):
        grads = R.grad([total(nodes)], nodes)
        parts = [R.sum(R.real(g * np.conj(d))) for g, d in zip(grads, directions) if g is not None]
        return R.sum(R.stack(parts))

    first = [random_like(v) for v in values]
    nodes = [R.variable(v) for v in values]
    wanted = slope(lambda *vs: float(total([R.variable(v) for v in vs]).value), values, first)
    got = along(nodes, first)
    test.assertAlmostEqual(float(got.value), wanted, delta=1e-6 * (1 + abs(wanted)))
    second = [random_like(v) for v in values]
    wanted = slope(lambda *vs: float(along([R.variable(v) for v in vs], first).value), values, second)
    twice = R.grad([got], nodes) if got.needs else [None] * len(nodes)
    value = sum(float(np.sum(np.real(g.value * np.conj(d)))) for g, d in zip(twice, second) if g is not None)
    test.assertAlmostEqual(value, wanted, delta=1e-5 * (1 + abs(wanted)))


class Gradients(unittest.TestCase):
    def test_arithmetic(self):
        check(self, lambda a, b: a * b / (b * b + 2.0) - b, normal(3, 4), normal(4))
        check(self, lambda a: R.exp(a) * R.sin(a) + R.log(a * a + 1.0) + R.sqrt(a * a + 1.0), normal(5))
        check(self, lambda a: R.tanh(a) + R.sigmoid(a) * R.erf(a) + R.normal_cdf(a) + R.absolute(a) ** 3, normal(7))
        check(self, lambda a, b: R.absolute(a) * b + R.conj(b) * a / (b * b), normal(4) + 1j * normal(4), normal(4) + 1j * normal(4))
        check(self, lambda a, b: R.maximum(a, b) * R.minimum(a, b) * R.relu(a) + R.clamp(b, -0.5, 0.5), normal(9), normal(9))

    def test_sums(self):
        check(self, lambda a: R.var(a, (0, 2)), normal(3, 4, 2))
        check(self, lambda a: R.cumsum(a * a, 1) * R.cumprod(a, 0) * R.prod(a, 1, keepdims=True), normal(3, 4))
        check(self, lambda a: R.logsumexp(a, 1) * R.amax(a, 1) + R.sum(R.softmax(a, 1) * R.log_softmax(a, 0) * a, 1), normal(3, 4))

    def test_places(self):
        index = draws.randint(0, 12, (2, 5))
        check(self, lambda a: R.take(a, index) ** 2, normal(3, 4))
        check(self, lambda a: R.pad(a * a, [(1, 2), (-1, 1)]) * R.pad(R.flip(a, (0, 1)), [(2, 1), (0, 0)]), normal(3, 4))
        check(self, lambda a, b: R.concatenate([a * a, b, R.transpose(a, (1, 0))[1:2, :].__mul__(b[:1])], 0), normal(4, 4), normal(2, 4))
        check(self, lambda a: R.take_along(a * a, np.array([[0, 2], [1, 1]]), 1), normal(2, 3))

    def test_products(self):
        check(self, R.matmul, normal(2, 1, 3, 4), normal(5, 4, 2))
        check(self, R.matmul, normal(4), normal(2, 4, 3))
        check(self, R.matmul, normal(2, 3) + 1j * normal(2, 3), normal(3) + 1j * normal(3))
        check(self, lambda a, b: R.einsum("bij,kj->ik", a, b), normal(2, 3, 4), normal(5, 4))
        check(self, lambda a: R.inverse(a), normal(3, 3) + 3 * np.eye(3))
        check(self, lambda a: R.fft(a, 1) * R.fft(a, 0, True), normal(3, 4) + 1j * normal(3, 4))

    def test_convolutions(self):
        for complex_ in (0, 1j):
            def draw(*shape):
                return normal(*shape) + complex_ * normal(*shape) if complex_ else normal(*shape)
            check(self, lambda x, w, b: L.conv(x, w, b, (2, 1), (1, 2), (1, 2), 2), draw(2, 4, 6, 5), draw(6, 2, 3, 2), draw(6))
            check(self, lambda x, w: L.conv_transpose(x, w, None, (2, 3), (1, 0), (1, 2), (2, 1), 2), draw(2, 4, 3, 2), draw(4, 3, 2, 3))

    def test_layers(self):
        check(self, lambda x: L.max_pool(x, (3, 2), (2, 2), (1, 0), (1, 2), True)[0] ** 2, normal(2, 2, 6, 5))
        check(self, lambda x: L.avg_pool(x, (3, 2), (2, 2), (1, 0), True, False, None) ** 2, normal(2, 2, 6, 5))
        check(self, lambda x: L.adaptive_max_pool(x, (2, 3))[0] * L.adaptive_avg_pool(x, (2, 3)), normal(2, 2, 5, 7))
        check(self, lambda x, w, b: L.layer_norm(x, 2, w, b, 1e-5), normal(2, 3, 4), normal(3, 4), normal(3, 4))
        check(self, lambda x, w, b: L.batch_norm(x, w, b, 1e-5)[0] + L.group_norm(x, 2, w, b, 1e-5), normal(3, 4, 5), normal(4), normal(4))
        check(self, lambda x: L.resize(x, (7, 3), "cubic", False), normal(1, 2, 4, 5))
        mask = draws.rand(2, 1, 3, 5) < 0.5
        check(self, lambda q, k, v: L.attention(q, k, v, mask, grouped=True), normal(2, 4, 3, 6), normal(2, 2, 5, 6), normal(2, 2, 5, 6))

    def test_recurrent(self):
        for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
            def run(x, h, c, wi, wh, bi, bh, back):
                state = (h, c) if kind == "LSTM" else (h,)
                y, last = L.rnn(kind, x, [state, state], [[(wi, wh, bi, bh, None), (back, wh, None, None, None)]], lengths=np.array([3, 2]))
                return [y, *last[0], *last[1]]
            g = 3 * gates
            check(self, run, normal(3, 2, 4), normal(2, 3), normal(2, 3), normal(g, 4), normal(g, 3), normal(g), normal(g), normal(g, 4))


class Definitions(unittest.TestCase):
    def test_convolution_by_loops(self):
        x, w = normal(2, 4, 6, 5), normal(6, 2, 3, 2)
        y = R.conv(R.node(x), R.node(w), (2, 1), (1, 2), (1, 2), 2).value
        for n, o, i, j in np.ndindex(*y.shape):
            total = 0.0
            for c, a, b in np.ndindex(2, 3, 2):
                row, column = 2 * i + a - 1, j + 2 * b - 2
                if 0 <= row < 6 and 0 <= column < 5:
                    total += x[n, o // 3 * 2 + c, row, column] * w[o, c, a, b]
            self.assertAlmostEqual(y[n, o, i, j], total, places=12)

    def test_one_gradient_for_each_use(self):
        x = R.variable(np.array([2.0]))
        y = x * x * x
        (first,) = R.grad([R.sum(y)], [x])
        (second,) = R.grad([R.sum(first)], [x])
        (third,) = R.grad([R.sum(second)], [x])
        self.assertEqual([float(v.value[0]) for v in (first, second, third)], [12.0, 12.0, 6.0])
        self.assertEqual(R.grad([y], [R.variable(np.zeros(1))]), [None])


if __name__ == "__main__":
    unittest.main()
