"""Script text: what of it the generator sees."""

import unittest

from opgen.script import only_call


class OnlyCalls(unittest.TestCase):
    def test_aliases(self):
        call = only_call("return div(self, other, rounding_mode=mode)")
        self.assertEqual((call.name, call.first, call.text), ("div", "self", "div(self, other, rounding_mode=mode)"))
        self.assertEqual(only_call("return torch.abs(self)").name, "abs")
        self.assertIsNone(only_call("return pow(self.to(dtype), 2)").first)

    def test_other_bodies(self):
        for body in ("return self", "return self.abs()", "x = abs(self)\nreturn abs(x)", "return abs(self) + 1"):
            self.assertIsNone(only_call(body), body)


if __name__ == "__main__":
    unittest.main()
