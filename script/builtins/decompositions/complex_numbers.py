# Complex numbers taken apart and put together. Core ATen has no operator for that, but a conversion to a real dtype keeps the
# real part, sums are sums of parts, and a product with i exchanges them.


def part_dtype(dtype: int) -> int:
    return torch.float64 if dtype == torch.complex128 else torch.float32


def whole_dtype(dtype: int) -> int:
    return torch.complex128 if dtype == torch.float64 else torch.complex64


def real_part(z: Tensor) -> Tensor:
    return z.to(part_dtype(z.dtype))


def imaginary_part(z: Tensor) -> Tensor:
    real = real_part(z)
    if bool(torch.logical_or(torch.isinf(real), torch.isnan(real)).any()):
        # Infinity less infinity is NaN, and stays so in any product.
        return imaginary_numbers(z)
    # (0 + bi) * (-0 - i) is b, a zero with its sign.
    return ((z - real.to(z.dtype)) * complex(-0.0, -1.0)).to(real.dtype)


def imaginary_numbers(z: Tensor) -> Tensor:
    # Element by element, as numbers.
    flat = z.reshape([-1])
    parts: List[Tensor] = []
    for i in range(z.numel()):
        number = torch.ops.sconce.imaginary(complex(flat.select(0, i).item()))
        parts.append(torch.full([1], number, dtype=part_dtype(z.dtype), device=z.device))
    return torch.cat(parts).view(z.shape)


def complex_number(real: Tensor, imag: Tensor) -> Tensor:
    # Sums multiply their second argument by 1 + 0i. It must be finite, and not below 0, for zeros to keep their signs.
    dtype = whole_dtype(real.dtype)
    sizes = broadcast_shapes(real.shape, imag.shape)
    real = real.expand(sizes)
    imag = imag.expand(sizes)
    whole = torch.neg(torch.neg(real).to(dtype))
    above = whole + imag.to(dtype) * complex(-0.0, 1.0)
    below = torch.neg(torch.neg(real.to(dtype)) + torch.neg(imag).to(dtype) * complex(-0.0, 1.0))
    out = torch.where(torch.reciprocal(imag) < 0, below, above)
    odd = torch.logical_or(torch.isinf(imag), torch.isnan(imag))
    infinite = torch.where(imag < 0, complex_constant(-float("inf"), dtype, imag.device), complex_constant(float("inf"), dtype, imag.device))
    along = torch.where(torch.isnan(imag), complex_constant(float("nan"), dtype, imag.device), infinite)
    out = torch.where(odd, along + real.to(dtype), out)
    both = torch.logical_and(odd, torch.logical_or(torch.isinf(real), torch.isnan(real)))
    return torch.where(both, torch.cat([whole.unsqueeze(0), along.unsqueeze(0)]).sum(0), out)


def complex_constant(imag: float, dtype: int, device: Device) -> Tensor:
    return torch.full([], complex(-0.0, imag), dtype=dtype, device=device)


def parts_of_complex(z: Tensor) -> Tensor:
    return torch.cat([real_part(z).unsqueeze(-1), imaginary_part(z).unsqueeze(-1)], -1)


def complex_of_parts(x: Tensor) -> Tensor:
    assert x.dim() > 0 and x.size(-1) == 2, "Tensor must have a last dimension of size 2"
    return complex_number(x.select(-1, 0), x.select(-1, 1))


def conjugated(z: Tensor) -> Tensor:
    if z.is_complex():
        return complex_number(real_part(z), torch.neg(imaginary_part(z)))
    return z.clone()


def transformed(z: Tensor, dim: List[int], normalization: int, forward: bool) -> Tensor:
    # By transforms of the two parts; backwards is forward between two conjugates.
    real = real_part(z)
    imag = imaginary_part(z)
    if len(dim) == 0:
        return z.clone()
    first = torch._fft_r2c(real, dim, normalization, False)
    second = torch._fft_r2c(imag if forward else torch.neg(imag), dim, normalization, False)
    out = first + second * complex(0.0, 1.0)
    return out if forward else conjugated(out)
