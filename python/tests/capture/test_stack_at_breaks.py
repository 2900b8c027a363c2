"""What lies on the stack at a break and is written later: methods of C with their objects, containers that are being built."""

import unittest

import sconce


class BoundMethodsTest(unittest.TestCase):
    def test_a_break_between_a_method_and_its_call(self):
        def f(out, x):
            out.append(x.sum().item())
            return out

        compiled = sconce.compile(f)
        for _ in range(3):
            out = []
            self.assertIs(compiled(out, sconce.ones(3)), out)
            self.assertEqual(out, [3.0])

    def test_as_an_argument(self):
        def f(add, x):
            add(1)
            return x + 1

        compiled = sconce.compile(f)
        first, second, third = [], set(), []
        for owner, method in ((first, first.append), (second, second.add), (third, third.append), (first, first.append)):
            before = len(owner)
            compiled(method, sconce.ones(2))
            self.assertEqual(len(owner), 1 if owner is second else before + 1)
        removed = [1, 2]
        compiled(removed.remove, sconce.ones(2))
        self.assertEqual(removed, [2])

    def test_loops(self):
        def f(xs):
            return [x.sum().item() for x in xs]

        compiled = sconce.compile(f)
        for n in (1, 2, 3):
            self.assertEqual(compiled([sconce.ones(2)] * n), [2.0] * n)

    def test_containers_that_are_being_built(self):
        def f(x):
            return {i: x.sum().item() for i in range(2)}, {x.max().item() for _ in range(2)}, [1, *(x.sum().item(), 2), x.min().item()]

        compiled = sconce.compile(f)
        for _ in range(3):
            self.assertEqual(compiled(sconce.ones(2)), f(sconce.ones(2)))

    def test_resume_functions_that_come_back_to_themselves_are_freed(self):
        def f(x):
            for _ in range(3):
                x = x + x.sum().item()
            return x

        for _ in range(20):
            sconce.compile(f)(sconce.ones(2))
            sconce.compiler.reset()


if __name__ == "__main__":
    unittest.main()
