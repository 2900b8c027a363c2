# Operators whose kernels call others: on lists they compare tensors, and aten::_foreach_sqrt takes roots. No file names these.
class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows: List[Tensor] = [x.sum(), x.sum() + 2, x.sum() + 1]
        at = rows.index(x.sum() + 1) + 10 * rows.count(x.sum())
        if rows == [x.sum(), x.sum() + 2, x.sum() + 1]:
            at += 100
        rows.sort()
        roots = torch._foreach_sqrt([x, x + 3])
        return rows[1] - x.sum() + at + roots[0] + roots[1]
