"""Expressions to loops: what comes out, and what is refused with which words."""

import unittest

from opgen.loops.pointwise import PointwiseOp, compile_loops, pointwise_header, pointwise_registry_source, pointwise_source


def op(expr, inputs=("self", "other"), params=(), types=("float",), **kw):
    return PointwiseOp("test_op", "ops/test.toml:7", [(n, "common") for n in inputs], list(params), expr, types=types,
                       **kw)


def body(operator, compute="f32"):
    """The expression that is stored."""
    lines = compile_loops(operator)[compute].text.splitlines()
    return next(line.strip() for line in lines if line.strip().startswith("put"))


class Translation(unittest.TestCase):
    def test_operators_and_literals(self):
        self.assertEqual(body(op("0.5 * self + other")), "put(out, ((0.5f * self) + other));")
        self.assertEqual(body(op("1 - self", ["self"]), "f64"), "put(out, (1.0 - self));")
        modulo = op("self % 3", ["self"], types=["int"])
        self.assertEqual(body(modulo, "i64"), "put(out, remainder(self, splat<I64>(3)));")

    def test_comparisons_are_masks(self):
        between = op("0 < self <= other", result="bool")
        self.assertEqual(body(between), "put_mask(out, ((0.0f < self) & (self <= other)));")
        self.assertEqual(body(op("self > 0", ["self"])), "put(out, from_mask<F32>((self > 0.0f)));")
        self.assertEqual(body(op("not self", ["self"], result="bool")), "put_mask(out, ~(self != 0.0f));")

    def test_conditions(self):
        want = "put(out, select<F32>((self > 0.0f), self, (self * slope)));"
        self.assertEqual(body(op("self if self > 0 else self * slope", ["self"], ["slope"])), want)
        self.assertEqual(body(op("where(self > 0, self, self * slope)", ["self"], ["slope"])), want)

    def test_bools_add_as_or(self):
        self.assertEqual(body(op("self + other * other", types=["bool"]), "u8"),
                         "put_mask(out, ((self | (other & other)) != 0));")

    def test_complex_numbers_of_two_parts(self):
        swap = op("complex(imag(self), real(self))", ["self"], types=["complex"])
        self.assertEqual(body(swap, "c64"), "put_complex(out, Z(Z(imag(self), real(self))));")

    def test_neighbours_are_those_of_the_result(self):
        near = op("nextafter(self, other)")
        self.assertEqual(body(near), "put(out, nextafter(self, other, narrow_mode));")
        self.assertEqual(body(near, "f64"), "put(out, nextafter(self, other));")

    def test_arguments_hide_constants(self):
        text = compile_loops(op("where(isnan(self), nan, self)", ["self"], ["nan"]))["f32"].text
        self.assertIn("select<F32>(isnan(self), nan, self)", text)

    def test_parameters_are_computed_once(self):
        text = compile_loops(op("self * (1 - p) + exp(p) * p", ["self"], ["p"]))["f32"].text
        before, inside = text.split("for (")
        self.assertIn("const auto c0 = (1.0f - p);", before)
        self.assertIn("const auto c1 = (exp(p) * p);", before)
        self.assertNotIn("exp", inside)

    def test_parts_have_names(self):
        text = compile_loops(op("e = exp(self); e / (1 + e)", ["self"]))["f32"].text
        self.assertIn("const auto e = exp(self);", text)
        self.assertIn("put(out, (e / (1.0f + e)));", text)

    def test_names_of_cpp_are_no_trouble(self):
        self.assertIn("put(out, (out_ + exp_));", compile_loops(op("out + exp", ["out", "exp"]))["f32"].text)

    def test_complex(self):
        loops = compile_loops(op("abs(self)", ["self"], types=["float", "complex"], result="real"))
        self.assertIn("put_scalar<float>(out, abs(self));", loops["c64"].text)
        self.assertIn("put(out, abs(self));", loops["f32"].text)

    def test_bool_without_byte_loop_goes_through_int32(self):
        loops = compile_loops(op("self ** other", types=["bool", "int"]))
        self.assertEqual(sorted(loops), ["i32", "i64"])

    def test_integer_divisors_are_known(self):
        loop = compile_loops(op("self // other", types=["int"]))["i32"]
        self.assertEqual(loop.translator.divisor_inputs, 2)
        loop = compile_loops(op("self // d", ["self"], ["d"], types=["int"]))["i32"]
        self.assertEqual(loop.translator.divisor_params, 1)


class Files(unittest.TestCase):
    def test_only_math_is_compiled_for_avx512(self):
        ops = [op("self + other"), PointwiseOp("other_op", "ops/test.toml:9", [("self", "common")], [], "exp(self)")]
        source = pointwise_source("test", ops)
        self.assertLess(source.index("other_op_f32"), source.index("#if SCONCE_ISA != 4"))
        self.assertLess(source.index("#if SCONCE_ISA != 4"), source.index("test_op_f32"))
        self.assertIn("// ops/test.toml:9: other_op: exp(self)", source)
        registry = pointwise_registry_source("test", ops)
        self.assertIn("        {v2::test_op_f32, v2::test_op_f64, nullptr,", registry)
        self.assertIn("SCONCE_FROM_LEVEL_3({v3::test_op_f32, v3::test_op_f64, nullptr,", registry)
        self.assertIn("SCONCE_FROM_LEVEL_4({v3::test_op_f32, v3::test_op_f64, nullptr,", registry)
        self.assertIn("SCONCE_FROM_LEVEL_4({v4::other_op_f32, v4::other_op_f64, nullptr,", registry)
        self.assertIn("extern const PointwiseLoops loops_other_op;", pointwise_header("test", ops))


class Errors(unittest.TestCase):
    def check(self, operator, message):
        with self.assertRaises(ValueError) as caught:
            compile_loops(operator)
        self.assertIn("ops/test.toml:7: test_op: ", str(caught.exception))
        self.assertIn(message, str(caught.exception))

    def test_messages(self):
        self.check(op("self + wrong"), "unknown name 'wrong'")
        self.check(op("sine(self)"), "unknown function 'sine'")
        self.check(op("exp(self, other)"), "exp takes 1 arguments, got 2")
        self.check(op("self +"), "not an expression")
        self.check(op("self / other", types=["int"]), "/ is for floats")
        self.check(op("exp(self)", types=["int"]), "exp is not defined for int")
        self.check(op("self & other"), "& is for integers, bools and conditions")
        self.check(op("self + 0.5", types=["int"]), "the number 0.5 is no integer")
        self.check(op("self // (other + 1)", types=["int"]), "only those are tested for zero")
        self.check(op("self - other", types=["bool"]), "bools have no -")
        self.check(op("self < other", types=["complex"], result="bool"), "complex numbers have no order")
        self.check(op("[self]"), "List is not part of the expression language")
        self.check(op("self", types=["quaternion"]), "unknown class 'quaternion'")
        self.check(op("self", result="fancy"), "unknown result 'fancy'")


if __name__ == "__main__":
    unittest.main()
