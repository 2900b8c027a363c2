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
    "an exception that passes a handler is not kept alive by code that has ended": [
        "def f1():", ["try:", ["yield x + 1"], "finally:", ["log('closed')"]], "g = f1()", "next(g)",
        "try:", ["k = dict(enumerate(f3()))"], "except ZeroDivisionError:", ["pass"]],
    "the same, raised by the function itself": [
        "def f1():", ["try:", ["yield x + 1"], "finally:", ["log('closed')"]], "g = f1()", "next(g)",
        "try:", ["raise ValueError(m)"], "except ZeroDivisionError:", ["pass"]],
    "a generator is closed where its variable gets another value": [
        "def f3():", ["try:", ["for v in range(3):", ["got = yield v"]], "finally:", ["log('closed')"]], "g = f3()", "next(g)",
        "for i1 in range(m % 4):", ["with Manager(seen.append):", ["pass"], "g = gen(m % 3, x)"]],
    "a handler that was compiled for one exception is given another": [
        "try:", ["assert m, text", "k = table[m]"], "except KeyError:", ["k = max(f1(), m)"]],
    "a generator from outside loses its variable, behind a break": [
        "def f1():", ["try:", ["yield x + 1"], "finally:", ["seen.append(m)"]], "g = f1()", "next(g)",
        "rate = rate + x.sum().item()", "if rate > 0.4:", ["pass"],
        "def f8():", ["try:", ["yield x + 1"], "finally:", ["log('closed')"]], "g = f8()", "k = next(g)"],
    "x.t_() where a number is not fixed": ["x = x * ticks", "x.t_()", "x = x.clone()", "x += y"],
    "x.t_() in two stages of a graph": [
        "a = (x.clone() - torch.stack([x.sum(), torch.tanh(a).sum()]).sum())", "x.t_()", "k = random.random()", "x.t_()"],
    "a function that its own closure leads to is one object": [
        "def f1(step=1):", ["return k"], "items.append(f1)",
        "def f2():", ["for v in items[:2]:", ["got = yield v"]], "k = dict(enumerate(f2()))"],
    "a key that holds a number that is not fixed is one object": [
        "def f1(p, q=2):", ["return a.reshape(-1), box[0]"], "k = f1(m)", "marks |= {k, 1}"],
    "the name of an attribute is a text that comes later": [
        "text = '%s' % x.sum()", "try:", ["k = getattr(state, text, n)"], "except Exception as error:", ["pass"]],
}


class RandomFindings(unittest.TestCase):
    def test_compiled_as_eager(self):
        for why, statements in FINDINGS.items():
            with self.subTest(why), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(random_programs.differs(statements, sconce.compile), "")
                with sconce._dynamo.config.patch(capture_every_round=True):
                    self.assertEqual(random_programs.differs(statements, sconce.compile), "")


if __name__ == "__main__":
    unittest.main()
