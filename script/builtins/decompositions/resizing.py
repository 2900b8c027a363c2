# Resizing: where the elements of a resized dim come from, and with which weights.


def resize_ratio(size: int, count: int, align_corners: bool, scale: Optional[float]) -> float:
    if align_corners:
        return float(size - 1) / float(count - 1) if count > 1 else 0.0
    if scale is not None:
        if scale > 0:
            return 1.0 / scale
    return float(size) / float(count)


def nearest_places(size: int, count: int, scale: Optional[float], exact: bool, special: bool, in_float: bool, device: Device) -> Tensor:
    # Places are computed in float32, or in float64 and rounded to that, as PyTorch does.
    if special and not exact and (count == size or count == 2 * size):
        return torch.arange(0, count, 1, dtype=torch.int64, device=device).div(count // max(size, 1), rounding_mode="floor")
    ratio = torch.full([], resize_ratio(size, count, False, scale), dtype=torch.float32 if in_float else torch.float64, device=device)
    place = torch.arange(0, count, 1, dtype=ratio.dtype, device=device)
    if exact:
        place = (place.to(torch.float64) + 0.5) * ratio.to(torch.float64)
    else:
        place = place * ratio
    return place.to(torch.float32).floor().clamp(0, size - 1).to(torch.int64)


def in_format_of(out: Tensor, x: Tensor) -> Tensor:
    # Images that lie pixel by pixel stay so.
    if not x.is_contiguous():
        if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
            return out.clone(memory_format=torch.channels_last)
        if x.dim() == 5 and x.is_contiguous(memory_format=torch.channels_last_3d):
            return out.clone(memory_format=torch.channels_last_3d)
    return out.clone(memory_format=torch.contiguous_format)


def resized_nearest(x: Tensor, output_size: List[int], scales: List[Optional[float]], exact: bool) -> Tensor:
    rank = len(output_size)
    # PyTorch has a kernel of its own for small images and for those that lie pixel by pixel.
    small = rank == 2 and output_size[0] + output_size[rank - 1] <= 128
    pixels = not x.is_contiguous()
    special = small or (pixels and (rank == 2 or x.size(1) > 3))
    in_float = special or x.dtype != torch.float64
    out = x
    for i in range(rank):
        out = out.index_select(2 + i, nearest_places(x.size(2 + i), output_size[i], scales[i], exact, special, in_float, x.device))
    return in_format_of(out, x)


def resized_linear(x: Tensor, output_size: List[int], align_corners: bool, scales: List[Optional[float]]) -> Tensor:
    # One dim after the other; each place is between two.
    work = torch.float64 if x.dtype == torch.float64 or x.dtype == torch.uint8 else torch.float32
    out = x.to(work)
    for i in range(len(output_size)):
        size = x.size(2 + i)
        count = output_size[i]
        if size != count:
            ratio = torch.full([], resize_ratio(size, count, align_corners, scales[i]), dtype=work, device=x.device)
            place = torch.arange(0, count, 1, dtype=work, device=x.device)
            if align_corners:
                place = place * ratio
            else:
                place = ((place + 0.5) * ratio - 0.5).clamp(0)
            first = place.floor().clamp(0, size - 1)
            weight = (place - first).clamp(0, 1)
            shape = [1 for d in range(x.dim())]
            shape[2 + i] = count
            weight = weight.view(shape)
            low = first.to(torch.int64)
            high = (low + 1).clamp(0, size - 1)
            out = out.index_select(2 + i, low) * (1 - weight) + out.index_select(2 + i, high) * weight
    if x.dtype == torch.uint8:
        out = out.round().clamp(0, 255)
    return in_format_of(out.to(x.dtype), x)


def resized_cubic(x: Tensor, output_size: List[int], align_corners: bool, scales: List[Optional[float]]) -> Tensor:
    # The same with four taps; those outside are the ones at the border.
    work = torch.float64 if x.dtype == torch.float64 or x.dtype == torch.uint8 else torch.float32
    out = x.to(work)
    for i in range(len(output_size)):
        size = x.size(2 + i)
        count = output_size[i]
        ratio = torch.full([], resize_ratio(size, count, align_corners, scales[i]), dtype=work, device=x.device)
        place = torch.arange(0, count, 1, dtype=work, device=x.device)
        place = place * ratio if align_corners else (place + 0.5) * ratio - 0.5
        first = place.floor()
        t = place - first
        weights = [cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)]
        shape = [1 for d in range(x.dim())]
        shape[2 + i] = count
        parts: List[Tensor] = []
        for k in range(4):
            index = (first + (k - 1)).clamp(0, size - 1).to(torch.int64)
            parts.append(out.index_select(2 + i, index) * weights[k].view(shape))
        out = parts[0] + parts[1] + parts[2] + parts[3]
    if x.dtype == torch.uint8:
        out = out.round().clamp(0, 255)
    return in_format_of(out.to(x.dtype), x)
