"""Programs that random_programs.py found to differ, made small, and what was wrong."""

import contextlib
import io
import unittest

import random_programs
import sconce

FINDINGS = {
    "two views of one tensor are two objects, though a plan computes them once": [
        "for i1 in zip(range(2), 'ab'):", ["try:", ["items.append(y.reshape(-1))", "raise ValueError(m)"],
                                           "except (IndexError, ValueError):", ["x = x + len(items)", "items.append(items[0].mean())"]]],
    "the same with an element that is no tensor": [
        "items.append(max(((m // 3) // 2), (max(k, len(items)) * table['p'])))", "for i1 in items[:3]:", ["items.append(y.reshape(-1))"],
        "x = x + len(items)", "x = x + len(items)", "x = x + len(items)"],
    "a cell that is empty in resumed code is a local variable": [
        "def f1(p, q=2):", ["try:", ["items = [torch.tanh(items[-1]) for j in range(2)]"], "except Exception as error:", ["x = items[0]"]],
        "a = f1(x)"],
    "the same after a call": [
        "def f1(p, q=2):", ["log(list(table))", "x = x + len(items)", "items = [x for j in range(2)]"], "k = f1(x)"],
    "a generator inside of a try lives as long as its variable, though nothing reads that": [
        "def f1():", ["try:", ["yield k"], "finally:", ["log('closed')"]], "g = f1()", "next(g)", "log((3 // 2))"],
}


class RandomFindings(unittest.TestCase):
    def test_compiled_as_eager(self):
        for why, statements in FINDINGS.items():
            with self.subTest(why), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(random_programs.differs(statements, sconce.compile), "")


if __name__ == "__main__":
    unittest.main()
