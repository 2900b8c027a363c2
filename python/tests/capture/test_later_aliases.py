"""Arguments that were objects of their own when a function was compiled, and are one object, or views of one memory, later."""

import unittest

import sconce as torch
from harness import describe, difference


class Thing:
    def __init__(self):
        self.count = 0
        self.items = []


class LaterAliases(unittest.TestCase):
    def check(self, f, *calls):
        """`calls` make arguments; each call is made twice, eagerly and compiled."""
        torch._dynamo.reset()
        compiled = torch.compile(f)
        for make in [call for call in calls for _ in range(2)]:
            outcomes = []
            for function in (f, compiled):
                args = make()
                try:
                    value = function(*args)
                except Exception as error:  # noqa: BLE001
                    value = error
                seen = {}
                outcomes.append([describe(value, torch, seen), describe(list(args), torch, seen)])
            self.assertEqual(difference(*outcomes), "")

    def apart_then_one(self, f, make):
        def one():
            thing = make()
            return thing, thing
        self.check(f, lambda: (make(), make()), one, lambda: (make(), make()))
        self.check(f, one, lambda: (make(), make()))

    def test_one_tensor_written_in_place(self):
        for f in (lambda x, y: (x.add_(1), y * 2), lambda x, y: (y * 2, x.mul_(3), y + 1), lambda x, y: (x.copy_(y + 1), y.neg_(), x + y),
                  lambda x, y: (x[0].zero_(), y.sum()), lambda x, y: (x.t_().shape, y.shape, y + 0), lambda x, y: (x.t_() + 1, y @ y),
                  lambda x, y: (x.requires_grad_(), y.requires_grad), lambda x, y: (x.squeeze_(0).shape, y.dim(), y + 1)):
            self.apart_then_one(f, lambda: torch.arange(6.0).reshape(1, 2, 3)[0])
            self.apart_then_one(f, lambda: torch.arange(3.0).reshape(1, 3))

    def test_attributes_of_one_tensor(self):
        def f(x, y):
            x.mark = 1
            return x + 1, hasattr(y, "mark")
        self.apart_then_one(f, lambda: torch.ones(2))

    def test_views_of_one_memory(self):
        def parts():
            base = torch.arange(6.0)
            return base[:4], base[2:]

        def whole():
            base = torch.arange(4.0)
            return base, base.view(4)

        def apart():
            return torch.arange(4.0), torch.arange(4.0)
        for f in (lambda x, y: (x.add_(1), y * 2), lambda x, y: (x.copy_(y), y.sum()), lambda x, y: (y.mul_(x), x.mul_(y), x + y)):
            self.check(f, apart, parts, whole, apart)
            self.check(f, parts, apart, whole)

    def test_one_list_dict_set_or_object(self):
        def lists(a, b):
            a.append(torch.ones(1) + 1)
            return len(b), len(a)

        def dicts(a, b):
            a["k"] = torch.ones(1) + 1
            return b.get("k"), list(b), len(b)

        def sets(a, b):
            a.add(3)
            return torch.ones(1) + len(b), 3 in b

        def objects(a, b):
            a.count += 1
            a.items.append(1)
            return torch.ones(1) + b.count, b.items, b.count

        for f, make in ((lists, list), (dicts, dict), (sets, set), (objects, Thing)):
            with self.subTest(f.__name__):
                self.apart_then_one(f, make)

    def test_objects_that_are_only_read_may_become_one(self):
        counter = torch._dynamo.testing.CompileCounter()
        torch._dynamo.reset()
        compiled = torch.compile(lambda a, b: a[0] + b[0], backend=counter)
        x, y = [torch.ones(1)], [torch.ones(1)]
        compiled(x, y)
        compiled(x, [x[0] + 1])
        self.assertEqual(counter.frame_count, 1)


if __name__ == "__main__":
    unittest.main()
