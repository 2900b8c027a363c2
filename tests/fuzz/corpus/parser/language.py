"""doc"""
import torch, a.b as c
from torch import (nn, Tensor as T,)
@torch.jit.script
def f(a, b, *, c: "Optional[List['int']]" = None, d=-9223372036854775808):
    # type: (int, str, bool, float) -> Tensor
    """doc"""
    x = []  # type: List[int]
    y: int = 0x1F; z = 0b101 + 0o17 + 1_000
    x, *y = 1.5e3, 2j, .5
    a = b = c < d < e != 4 and not q or ~x == y
    -x ** 2
    2 ** -1
    s = 'a' "b\n\x41\u00e9" f"{a + 1}{{{b['k']}"  r"\n"
    t = x[1:2, ..., None, ::2, a]
    return (a,
      # comment
      b)
class A(nn.Module, Generic):
    __parameters__ = []
    training : bool
    __annotations__["0"] = Type
    def forward(self, x, k):
        # type: (Tensor, int) -> Tensor
        with torch.no_grad(), a as b: pass
        with (c as d, e as f):
            del a, b[0]
        for i, (j, *k) in enumerate(x): x += 1; y @= 2
        if a: b
        elif c: d
        else:
            e
        while x not in y and x is not None:
            raise ValueError("x") from e
        assert a, "m"
        global zz
        q = [i for i, j in x] if False else f(x for x in y)
        def __inner(a): return a
        return lambda_
