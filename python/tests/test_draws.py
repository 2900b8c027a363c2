"""Random draws whose values depend on dtype, layout or algorithm: as PyTorch 2.13 draws them after manual_seed(0)."""

import unittest

import sconce as torch
from sconce import nn
from sconce.utils.data import DataLoader

STRIDED = lambda n, dtype: torch.empty(2 * n, dtype=dtype)[::2]
TRUNCATED = [  # size, dtype, (mean, std, a, b), the first values, their sum
    (3, "float32", (0.0, 1.0, -2.0, 2.0), [1.5409960746765137, -0.293428897857666, -1.3985954523086548], -0.151028),
    (3, "float32", (0.0, 1.0, 2.0, 4.0), [2.044651508331299, 2.066305160522461, 2.176954746246338], 6.287911),
    (20, "float32", (0.0, 0.02, -2.0, 2.0), [-0.022516796365380287, -0.023047203198075294, -0.005011571571230888], 0.138814),
    (20, "float32", (0.0, 1.0, 2.0, 4.0), [2.0387067794799805, 2.013462543487549, 2.176954746246338], 47.662382),
    (20, "bfloat16", (0.0, 1.0, -2.0, 2.0), [-1.125, -1.15625, -0.25], -0.847656),
    (20, "bfloat16", (0.0, 1.0, 2.0, 4.0), [2.03125, 2.015625, 2.171875], 47.265625),
]
REDUCED = [  # dtype, size, sums of uniform_(-0.3, 0.1), normal_(0.5, 0.1), that of every second element
    ("float16", 3, -0.35886, 1.407227, 1.407227),
    ("float16", 16, -2.137821, 7.809814, 7.615479),
    ("float16", 20, -2.561481, 9.91626, 9.355957),
    ("bfloat16", 3, -0.357941, 1.404297, 1.404297),
    ("bfloat16", 16, -2.136993, 7.8125, 7.607422),
    ("bfloat16", 20, -2.560699, 9.916016, 9.349609),
]


def total(draw):
    torch.manual_seed(0)
    return draw().double().sum().item()


class Draws(unittest.TestCase):
    def test_reduced_floats(self):
        for name, n, uniform, normal, strided in REDUCED:
            dtype = getattr(torch, name)
            with self.subTest(dtype=name, n=n):
                self.assertAlmostEqual(total(lambda: torch.empty(n, dtype=dtype).uniform_(-0.3, 0.1)), uniform, 5)
                self.assertAlmostEqual(total(lambda: torch.empty(n, dtype=dtype).normal_(0.5, 0.1)), normal, 5)
                self.assertAlmostEqual(total(lambda: STRIDED(n, dtype).normal_(0.5, 0.1)), strided, 5)

    def test_reduced_floats_have_many_values(self):
        torch.manual_seed(0)
        values = torch.empty(100000, dtype=torch.bfloat16).uniform_()
        self.assertGreater(values.unique().numel(), 1000)
        self.assertLess(values.max().item(), 1)

    def test_truncated_normal(self):
        for n, name, arguments, first, expected in TRUNCATED:
            with self.subTest(n=n, dtype=name, arguments=arguments):
                torch.manual_seed(0)
                drawn = nn.init.trunc_normal_(torch.empty(n, dtype=getattr(torch, name)), *arguments)
                self.assertEqual(drawn[:3].tolist(), first)
                self.assertAlmostEqual(drawn.double().sum().item(), expected, 4)
        self.assertAlmostEqual(total(lambda: nn.init.trunc_normal_(torch.empty(5, 8).t(), 0.0, 1.0, -0.5, 1.0)), 8.33526, 4)

    def test_row_major_results(self):
        torch.manual_seed(0)
        drawn = torch.bernoulli(torch.full((3, 4), 0.5).t())
        self.assertEqual((drawn.stride(), drawn.tolist()), ((3, 1), [[1, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]]))
        for dtype, expected in ((torch.float32, -13.005555), (torch.float64, -13.005555), (torch.bfloat16, -12.976562)):
            self.assertAlmostEqual(total(lambda: torch.rrelu(torch.full((2, 3), -3.1, dtype=dtype).t(), 0.1, 0.9, True)), expected, 5)

    def test_convolutions_begin_alike_in_every_format(self):
        for make, memory_format in ((nn.Conv2d, torch.channels_last), (nn.Conv3d, torch.channels_last_3d)):
            plain, other = make(2, 3, 2), make(2, 3, 2).to(memory_format=memory_format)
            for module in (plain, other):
                torch.manual_seed(0)
                module.reset_parameters()
            self.assertTrue(torch.equal(plain.weight, other.weight) and torch.equal(plain.bias, other.bias))
            self.assertTrue(other.weight.is_contiguous(memory_format=memory_format))

    def test_persistent_workers(self):
        torch.manual_seed(3)
        loader = DataLoader(torch.arange(6), 6, shuffle=True, num_workers=1, persistent_workers=True)
        self.assertEqual([batch.tolist() for _ in range(3) for batch in loader], ORDERS)
        self.assertEqual(torch.rand(1).item(), AFTER)


ORDERS = [[2, 4, 0, 1, 3, 5], [3, 4, 0, 5, 1, 2], [3, 2, 0, 1, 4, 5]]
AFTER = 0.5944212079048157


if __name__ == "__main__":
    unittest.main()
