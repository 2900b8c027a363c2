# Reductions by those of Core ATen: sums, extremes, moments, norms.


def all_true(x: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    # What no element is false of. Of bytes it is a byte, as any is.
    found = torch.any(torch.logical_not(x), dim, keepdim)
    return torch.logical_not(found).to(torch.uint8) if x.dtype == torch.uint8 else torch.logical_not(found)


def some_dims(dim: Optional[int]) -> List[int]:
    # No dim stands for all of them.
    out: List[int] = []
    if dim is not None:
        out.append(dim)
    return out


def sum_without_nan(x: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if x.is_floating_point():
        return torch.where(torch.isnan(x), zero_of(x), x).sum(dim, keepdim, dtype=dtype)
    return x.sum(dim, keepdim, dtype=dtype)


def real_of(x: Tensor) -> Tensor:
    # A conversion to a real dtype drops the imaginary part.
    if x.dtype == torch.complex128:
        return x.to(torch.float64)
    return x.to(torch.float32) if x.dtype == torch.complex64 else x


def log_of_sum(x: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    # The largest exponent is taken out, unless it is infinite: then the sum is, too, or nothing is there.
    each = wide(x.to(default_dtype()) if is_integral(x) else x)
    kept = default_dtype() if is_integral(x) else x.dtype
    if each.numel() == 0:
        return each.exp().sum(dim, keepdim).log().to(kept)
    top = real_of(each).amax(dim, True)
    top = torch.where(torch.isinf(top), zero_of(top), top)
    total = (each - top).exp().sum(dim, True).log() + top
    return (total if keepdim else without_dims(total, dim)).to(kept)


def without_dims(x: Tensor, dims: List[int]) -> Tensor:
    # Dims of one element that a reduction has left.
    return x.squeeze(dims if len(dims) > 0 else all_dims(x.dim()))


def deviation(x: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    kept = real_of(x).dtype
    return torch.var(wide(x), dim, correction=correction, keepdim=keepdim).sqrt().to(kept)


def vector_norm(x: Tensor, ord: number, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    given = x
    if dtype is not None:
        given = x.to(dtype)
    kept = real_of(given).dtype
    dims: List[int] = []
    if dim is not None:
        dims = dim
    size = torch.abs(wide(given))
    if ord == 2:
        return (size * size).sum(dims, keepdim).sqrt().to(kept)
    if ord == 1:
        return size.sum(dims, keepdim).to(kept)
    if ord == 0:
        return (size != 0).sum(dims, keepdim).to(kept)
    if ord == float("inf"):
        # Of no elements it is 0.
        return (size.sum(dims, keepdim) if size.numel() == 0 else size.amax(dims, keepdim)).to(kept)
    if ord == -float("inf"):
        return size.amin(dims, keepdim).to(kept)
    return size.pow(ord).sum(dims, keepdim).pow(1.0 / float(ord)).to(kept)


def log_added(x: Tensor, y: Tensor) -> Tensor:
    # The larger, by its real part, is taken out.
    dtype = (x + y).dtype
    a = wide(x.to(dtype))
    b = wide(y.to(dtype))
    if is_complex(dtype):
        first = real_of(a) >= real_of(b)
        return torch.where(first, a, b) + (torch.where(first, b - a, a - b).exp() + 1).log()
    large = torch.maximum(a, b)
    gap = torch.minimum(a, b) - large
    # Of equal infinities there is no difference.
    return torch.where(a == b, a + 0.6931471805599453, large + gap.exp().log1p()).to(dtype)
