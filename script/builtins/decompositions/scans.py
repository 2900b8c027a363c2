# Running products along a dim, in as many steps as the length has binary digits.


def running_product(x: Tensor, dim: int) -> Tensor:
    if x.dim() == 0:
        return x.clone()
    d = wrap_dim(dim, x.dim())
    out = x
    reach = 1
    while reach < x.size(d):
        # Products of `reach` elements, and of those before them.
        pad = [0 for i in range(2 * x.dim())]
        pad[2 * (x.dim() - 1 - d)] = reach
        out = out * torch.constant_pad_nd(out.slice(d, 0, x.size(d) - reach), pad, 1)
        reach = 2 * reach
    return out.clone() if x.size(d) <= 1 else out


def running_product_gradient(grad: Tensor, x: Tensor, dim: int, output: Tensor) -> Tensor:
    if x.dim() == 0 or x.numel() == 0:
        return grad.clone()
    d = wrap_dim(dim, x.dim())
    zeros_up_to = (x == 0).to(torch.int64).cumsum(d)
    before = zeros_up_to == 0
    first = torch.logical_and(zeros_up_to == 1, x == 0)
    # Before the first zero: the products from here on, divided by the element.
    parts = torch.where(before, grad * output.conj(), zero_of(grad))
    behind = parts.flip([d]).cumsum(d).flip([d]) / torch.where(before, x, torch.full([], 1, dtype=x.dtype, device=x.device)).conj()
    # The first zero: those products without it. What stands behind it has a factor 0.
    others = running_product(torch.where(first, torch.full([], 1, dtype=x.dtype, device=x.device), x), d)
    total = torch.where(before, zero_of(grad), grad * others.conj()).sum([d], True)
    return torch.where(first, total, torch.where(before, behind, zero_of(behind)))


def sum_dtype(x: Tensor) -> int:
    # Integers and bools become int64.
    return torch.int64 if is_whole_dtype(x.dtype) else x.dtype
