"""Script text: what of it the generator sees."""

import unittest

from opgen.schema import parse
from opgen.script import only_call, translate_body, translate_expression


class OnlyCalls(unittest.TestCase):
    def test_aliases(self):
        call = only_call("return div(self, other, rounding_mode=mode)")
        self.assertEqual((call.name, call.first, call.text), ("div", "self", "div(self, other, rounding_mode=mode)"))
        self.assertEqual(only_call("return torch.abs(self)").name, "abs")
        self.assertIsNone(only_call("return pow(self.to(dtype), 2)").first)

    def test_other_bodies(self):
        for body in ("return self", "return self.abs()", "x = abs(self)\nreturn abs(x)", "return abs(self) + 1"):
            self.assertIsNone(only_call(body), body)


class Calls(unittest.TestCase):
    SCHEMAS = {"abs": [parse("abs(Tensor self) -> Tensor")], "f": [parse("sconce::f(Tensor self) -> Tensor")]}

    def translated(self, text):
        return translate_expression(text, self.SCHEMAS["abs"][0].arguments, self.SCHEMAS)[0]

    def test_methods_of_results_in_another_namespace(self):
        f = self.translated("torch.ops.sconce.f(self)")
        self.assertEqual(self.translated("torch.ops.sconce.f(self).abs()"), f"sconce::abs({f})")
        self.assertEqual(self.translated("torch.ops.sconce.f(self).dim()"), f + ".dim()")
        self.assertEqual(self.translated("(torch.ops.sconce.f(self) + self).abs()"),
                         f"sconce::abs(body::add({f}, self))")


class Sizes(unittest.TestCase):
    ARGUMENTS = parse("f(Tensor self, int[] size, int step) -> Tensor").arguments

    def test_whole_numbers_of_rules_are_checked(self):
        def rule(text):
            return translate_expression(text, self.ARGUMENTS, {}, checked=True)[0]
        self.assertEqual(rule("self.dim() * step - 1"), "body::checked::sub(body::checked::mul(self.dim(), step), int64_t{1})")
        self.assertEqual(rule("-step < sum(size) // prod(size)"),
                         "body::lt(body::checked::neg(step), body::floordiv(body::checked::sum(size), body::checked::prod(size)))")

    def test_bodies_wrap_around_as_programs_do(self):
        self.assertEqual(translate_expression("step + 1", self.ARGUMENTS, {})[0], "body::add(step, int64_t{1})")
        lines = translate_body("n = step + 1\nn += step\nreturn [n]", self.ARGUMENTS, {}, [], checked=True)
        self.assertEqual([line.strip() for line in lines][1], "n = body::checked::add(n, step);")


if __name__ == "__main__":
    unittest.main()
