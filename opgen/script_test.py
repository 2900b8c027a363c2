"""Script text: what of it the generator sees."""

import unittest

from opgen.schema import parse
from opgen.script import only_call, translate_expression


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


if __name__ == "__main__":
    unittest.main()
