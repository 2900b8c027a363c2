"""A few hundred random programs (random_programs.py makes more), and that a wrong one would be seen and made smaller."""

import contextlib
import io
import unittest

import random_programs
import sconce

COUNT = 300


class RandomPrograms(unittest.TestCase):
    def test_compiled_as_eager(self):
        with contextlib.redirect_stdout(io.StringIO()):
            found = [text for seed in range(COUNT) if (text := random_programs.check(seed))]
        self.assertEqual(found, [])

    def test_every_round_captured(self):
        with contextlib.redirect_stdout(io.StringIO()), sconce._dynamo.config.patch(capture_every_round=True):
            found = [text for seed in range(1000, 1000 + COUNT // 2) if (text := random_programs.check(seed))]
        self.assertEqual(found, [])

    def test_a_difference_is_seen_and_made_small(self):
        def wrong(function):
            def call(x, y, n, items, table, obj):
                result = function(x, y, n, items, table, obj)
                if "z" in table:
                    items.append("wrong")
                return result
            return call
        statements = ["x = x + 1", "if n == 2:", ["m = 3", "table['z'] = 1", "k = 4"], "else:", ["y = x"], "m = 5"]
        self.assertNotEqual(random_programs.differs(statements, wrong), "")
        self.assertEqual(random_programs.shrink(statements, wrong), ["table['z'] = 1"])
        self.assertEqual(random_programs.differs(["x = x + 1"], wrong), "")

    def test_programs_mostly_run(self):
        ends = []
        for seed in range(200):
            with contextlib.redirect_stdout(io.StringIO()):
                ends += [error for _, error, *_ in random_programs.run(random_programs.source(random_programs.Writer(seed).program()), lambda f: f)]
        self.assertGreater(ends.count(None), len(ends) // 2)
        self.assertGreater(len({error[0] for error in ends if error}), 4)


if __name__ == "__main__":
    unittest.main()
