# Fake quantisation: the number that an element would be after quantisation, and whether it was in range.


def fake_quantized(x: Tensor, scale: Tensor, zero_point: Tensor, least: int, most: int) -> Tuple[Tensor, Tensor]:
    # Scales are inverted in float32 whatever x is; integers are float64.
    assert least <= most, f"`quant_min` should be less than or equal to `quant_max`, got {least} and {most}"
    assert x.is_floating_point(), "fake quantisation needs floats"
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    inverse = torch.reciprocal(scale.to(torch.float32)).to(work)
    zero = zero_point.to(torch.float64)
    integer = torch.round(x.to(work) * inverse).to(torch.float64) + zero
    above = integer >= least
    inside = torch.where(above, integer.clamp(None, most), torch.full([], least, dtype=torch.float64, device=x.device))
    out = (inside - zero).to(work) * scale.to(work)
    return out.to(x.dtype), torch.logical_and(above, integer <= most)


def fake_quantized_if(x: Tensor, scale: Tensor, zero_point: Tensor, enabled: Tensor, least: int, most: int) -> Tuple[Tensor, Tensor]:
    assert least <= most, f"`quant_min` should be less than or equal to `quant_max`, got {least} and {most}"
    if bool(enabled.view([]) < 1):
        return x.clone(), torch.full(x.shape, True, dtype=torch.bool, device=x.device)
    return fake_quantized(x, scale.view([]), zero_point.view([]), least, most)


def fake_quantized_channels(x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, least: int, most: int) -> Tuple[Tensor, Tensor]:
    assert axis >= 0 and axis < x.dim(), "`axis` must be between 0 and number of dimensions of input"
    assert scale.dim() == 1 and zero_point.dim() == 1, "scale and zero point need to be 1-D tensors"
    channels = x.size(axis)
    assert scale.numel() == channels and zero_point.numel() == channels, "dimensions of scale and zero-point are not consistent with input tensor"
    sizes = [channels if d == axis else 1 for d in range(x.dim())]
    return fake_quantized(x, scale.view(sizes), zero_point.view(sizes), least, most)
