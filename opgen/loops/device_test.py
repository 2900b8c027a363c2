"""Expressions to CUDA text: one text a class of dtypes, with the compute type left open."""

import unittest

from opgen.loops.device import pointwise_text, reduction_text
from opgen.loops.pointwise import PointwiseOp
from opgen.loops.reductions import ReduceOp


def text(expr, cls="float", inputs=("self",), params=(), **kw):
    op = PointwiseOp("test_op", "ops/test.toml:7", [(n, "common") for n in inputs], list(params), expr, types=(cls,), **kw)
    return pointwise_text(op, cls)


class DeviceText(unittest.TestCase):
    def test_literals_leave_the_type_open(self):
        self.assertEqual(text("0.5 * self + inf")[0],
                         "DEVICE V op(V self, int narrow_mode) { return V(((L(0.5) * self) + V_INF)); }\n")
        self.assertIn("(self + 3)", text("self + 3", "int")[0])

    def test_conditions_are_bools(self):
        self.assertIn("select<V>((self > L(0.0)), self, (self * slope))",
                      text("self if self > 0 else self * slope", params=["slope"])[0])
        self.assertTrue(text("self > 0", result="bool")[0].startswith("DEVICE bool op("))
        self.assertIn("return (self != 0);", text("self", "bool")[0])

    def test_complex_results_may_be_real(self):
        self.assertTrue(text("abs(self)", "complex", result="real")[0].startswith("DEVICE P op(Z self"))

    def test_special_functions_name_their_files(self):
        self.assertEqual(text("zeta(self, 2)"), (
            "DEVICE V op(V self, int narrow_mode) { return V(V(special::zeta(self, splat<V>(L(2.0))))); }\n", 1))
        self.assertEqual(text("igamma(self, 1)")[1], 2)

    def test_sigmoids_know_how_exact_the_result_is(self):
        for expr in ("1 / (1 + exp(-self))", "sigmoid(self)"):
            self.assertEqual(text(expr)[0], "DEVICE V op(V self, int narrow_mode) { return V(logistic(self, narrow_mode)); }\n")
        self.assertIn("(L(1.0) / (L(1.0) + exp(self)))", text("1 / (1 + exp(self))")[0])
        self.assertNotIn("logistic", text("1 / (1 + exp(-self))", "complex")[0])

    def test_reductions_are_structs(self):
        var = ReduceOp("var", "ops/test.toml:9", "var", ["total", "squares"],
                       {"total": {"default": "self"}, "squares": {"default": "d = self - total / n; d * d"}},
                       {"total": {"default": "a + b"}, "squares": {"default": "a + b"}},
                       {"total": {"default": "0"}, "squares": {"default": "0"}},
                       {"squares": {"default": "a_squares + b_squares + a_n * b_n"}}, [{"default": "squares / n"}], [], ("float",))
        made = reduction_text(var, "float")
        self.assertIn("accumulators = 2, results = 1;", made)
        self.assertIn("counted = true, plain = false;", made)
        self.assertIn("if constexpr (k == 1) { const V self = x_; const V n_ = count_; const V total = acc_[0];", made)


if __name__ == "__main__":
    unittest.main()
