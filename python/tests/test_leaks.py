"""Memory of hot paths: it does not grow, however often they are called.

    python3 python/tests/test_leaks.py [CALLS]
"""

import copy
import gc
import itertools
import pickle
import resource
import sys

import sconce as torch
from sconce import nn


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Named(torch.Tensor):
    """Functions ask its class."""


def paths():
    a, b = torch.arange(8.0), torch.ones(8)
    m = torch.ones(4, 4)
    leaf = torch.ones(8, requires_grad=True)
    linear = nn.Linear(4, 4)
    named = torch.ones(8).as_subclass(Named)
    generator = torch.Generator()

    def with_attribute():
        t = a + b
        t.note = t  # a cycle

    def hooks():
        y = leaf * 2
        handle = y.register_hook(lambda g: g * 2)
        y.sum().backward()
        handle.remove()
        leaf.register_hook(lambda g: g).remove()
        leaf.grad = None

    def custom():
        y = Double.apply(leaf)
        y.grad_fn.next_functions
        y.sum().backward()
        leaf.grad = None

    def saved():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            (leaf * leaf).sum().backward()
        leaf.grad = None

    def refused():
        try:
            torch.add(a, "text")
        except TypeError:
            pass
        try:
            a @ m
        except RuntimeError:
            pass

    numbers = itertools.count()

    def compiled():  # and dropped, with what goes on behind its break
        names = {"torch": torch}
        exec(f"def f(x):\n    y = x * {next(numbers)}\n    torch._dynamo.graph_break()\n    return y + 1", names)
        torch.compile(names["f"])(a)

    return {"compiled": compiled, "add": lambda: torch.add(a, b), "plus": lambda: a + b, "plus number": lambda: a + 1.0, "in place": lambda: a.mul_(1.0),
            "keyword": lambda: torch.sum(a, dim=0), "binder": lambda: torch.addcmul(a, b, b, value=2), "list": lambda: torch.cat([a, b]),
            "several results": lambda: a.sort(), "view": lambda: a.view(2, 4).t()[0], "index": lambda: a[0], "mask": lambda: a[a > 2],
            "assign": lambda: a.__setitem__(0, 1.0), "shape": lambda: a.shape + a.size(), "item": lambda: a[1].item(),
            "tensor": lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "tolist": lambda: m.tolist(), "attribute": with_attribute,
            "backward": lambda: (leaf * 2).sum().backward(), "grad": lambda: torch.autograd.grad((leaf * leaf).sum(), leaf),
            "grad_fn": lambda: (leaf * 2).grad_fn.next_functions, "hooks": hooks, "custom": custom, "saved tensors": saved,
            "linear": lambda: linear(m), "subclass": lambda: named + 1, "deepcopy": lambda: copy.deepcopy(a),
            "pickle": lambda: pickle.loads(pickle.dumps(a)), "storage": lambda: a.untyped_storage(), "random": lambda: torch.rand(4, generator=generator),
            "dlpack": lambda: torch.from_dlpack(a), "buffer": lambda: memoryview(a), "print": lambda: str(a), "refused": refused,
            "lookup": lambda: torch.ops.aten.add.Tensor(a, b), "ints": lambda: torch.zeros(2, 3), "iterate": lambda: list(m)}


# Paths that cost more than a few microseconds.
SLOW = {"attribute": 10, "hooks": 10, "custom": 10, "saved tensors": 10, "deepcopy": 5, "pickle": 10, "print": 10, "refused": 10, "subclass": 5,
        "grad": 3, "backward": 3, "linear": 3, "compiled": 20}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def growth(path, calls):
    for _ in range(calls):
        path()
    gc.collect()
    return resident(), sys.getallocatedblocks()


def main(calls):
    failed = 0
    for name, path in paths().items():
        n = calls // SLOW.get(name, 1)
        growth(path, n // 4)
        before, blocks = growth(path, n // 4)
        # A leaked object a call would be at least 32 bytes each, and one block each, again and again. An allocator that still settles
        # (a sanitizer's does for some thousand calls) grows once or twice.
        for _ in range(3):
            after, blocks_after = growth(path, n)
            bytes_more, blocks_more = after - before, blocks_after - blocks
            if blocks_more <= n // 20 + 100 and bytes_more <= max(16 * n, 1 << 20):
                break
            before, blocks = after, blocks_after
        else:
            print(f"{name}: {bytes_more} bytes and {blocks_more} blocks more after {n} calls")
            failed += 1
    print(f"{len(paths())} paths, {failed} of them grow")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100000))
