"""Calls that type checkers accept, with the types that they find. test_typing.py runs mypy --strict over it, and runs it."""

from typing import assert_type

import sconce
from sconce import Tensor, nn, optim
from sconce.library import custom_op

x = sconce.ones(2, 3)
assert_type(x, Tensor)
assert_type(sconce.zeros([2, 3], dtype=sconce.float64, requires_grad=True), Tensor)
assert_type(sconce.tensor([1.0, 2.0], dtype=sconce.float32), Tensor)
assert_type(x + 1, Tensor)
assert_type(2 * x - x / 3, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(x[0, 1:], Tensor)
assert_type(x > 0, Tensor)
assert_type(sconce.add(x, x, alpha=2), Tensor)
assert_type(sconce.add(x, 1.5), Tensor)
assert_type(sconce.add(input=x, other=x, out=sconce.empty(2, 3)), Tensor)
assert_type(x.view(3, 2), Tensor)
assert_type(x.view([3, 2]), Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.sum(0, keepdim=True), Tensor)
assert_type(x.to(sconce.float64), Tensor)
assert_type(x.float(), Tensor)
assert_type(x.size(0), int)
assert_type(x.dim(), int)
assert_type(x.ndim, int)
assert_type(x.requires_grad, bool)
assert_type(x.grad, Tensor | None)
assert_type(len(x), int)
assert_type(bool(x.any()), bool)
assert_type([row.sum() for row in x], list[Tensor])
assert_type(sconce.stack([x, x], dim=1), Tensor)

values, indices = sconce.sort(x, dim=1, descending=True)
assert_type(values, Tensor)
assert_type(x.max(dim=0).indices, Tensor)
assert_type(sconce.linalg.inv(sconce.eye(3)), Tensor)
assert_type(sconce.linalg.svd(x).S, Tensor)
assert_type(sconce.fft.fft(x), Tensor)
assert_type(sconce.special.erf(x), Tensor)
assert_type(nn.functional.dropout(x, p=0.5), Tensor)
assert_type(sconce.get_default_dtype(), sconce.dtype)

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = optim.SGD(model.parameters(), lr=0.1)
loss: Tensor = model(x).mean()
loss.backward()
optimizer.step()


@custom_op("typing::double", mutates_args=())
def double(x: Tensor) -> Tensor:
    return x * 2


sconce.ops.typing.double(x)
with sconce.no_grad():
    y = model(x)
