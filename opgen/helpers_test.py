"""Functions of script/ that decompositions may call."""

import unittest

from opgen import schema, script
from opgen.helpers import decomposition_functions


def error_of(text):
    arguments = schema.parse("f(Tensor self, int[] shape) -> Tensor").arguments
    try:
        script.translate_body(text, arguments, decomposition_functions(), [])
    except script.ScriptError as e:
        return e.message
    return "no error"


class Helpers(unittest.TestCase):
    def test_signatures(self):
        found = decomposition_functions()
        self.assertEqual([a.name for a in found["contiguous_reshape"][0].arguments], ["x", "shape"])
        self.assertEqual([a.default for a in found["reduced_shape"][0].arguments], [None, None, None, "True"])
        self.assertEqual(len(found["likelihood_loss"][0].returns), 2)

    def test_calls(self):
        self.assertEqual(error_of("return contiguous_reshape(self, shape)"), "no error")
        self.assertEqual(error_of("return contiguous_shape(self, shape)"), "no operator 'contiguous_shape' in the table")


if __name__ == "__main__":
    unittest.main()
