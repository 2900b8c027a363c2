# Indexing along one dim, by masks, and to places of the flattened tensor.


def places_along(dim: int, index: Tensor) -> List[Optional[Tensor]]:
    # Indices that take all of the dims before this one.
    places: List[Optional[Tensor]] = []
    for i in range(dim):
        places.append(None)
    places.append(index)
    return places


def optional_tensors(indices: List[Tensor]) -> List[Optional[Tensor]]:
    out: List[Optional[Tensor]] = []
    for index in indices:
        out.append(index)
    return out


def flat(x: Tensor) -> Tensor:
    return contiguous_reshape(x, [x.numel()])


def put_along(x: Tensor, dim: int, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    # Slices of `source` written to, or added to, those of x that a vector of indices names.
    d = wrap_dim(dim, x.dim())
    base = x.unsqueeze(0) if x.dim() == 0 else x
    part = source.unsqueeze(0) if source.dim() == 0 else source
    out = torch.index_put(base, places_along(d, flat(index).to(torch.int64)), part, accumulate)
    return out.squeeze(0) if x.dim() == 0 else out


def index_expanded(index: Tensor, dim: int, sizes: List[int]) -> Tensor:
    # A vector of indices along a dim, for scatter.
    shape = [1 for s in sizes]
    shape[dim] = index.numel()
    return contiguous_reshape(index.to(torch.int64), shape).expand(sizes)


def reduce_along(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    d = wrap_dim(dim, x.dim())
    base = x.unsqueeze(0) if x.dim() == 0 else x
    part = source.unsqueeze(0) if source.dim() == 0 else source
    out = torch.scatter_reduce(base, d, index_expanded(index, d, part.shape), part, reduce, include_self=include_self)
    return out.squeeze(0) if x.dim() == 0 else out


def scatter_combined(x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    if reduce == "add":
        return torch.scatter_add(x, dim, index, src)
    assert reduce == "multiply", "reduce argument must be either add or multiply."
    return torch.scatter_reduce(x, dim, index, src, "prod", include_self=True)


def clamped_indices(x: Tensor, indices: List[Optional[Tensor]]) -> List[Optional[Tensor]]:
    out: List[Optional[Tensor]] = []
    d = 0
    for index in indices:
        if index is None:
            out.append(None)
        else:
            out.append(index.clamp(0, x.size(d) - 1))
        d = d + 1
    return out


def nonzero_rows(x: Tensor, count: int, fill_value: int) -> Tensor:
    # The first rows of nonzero(x), and rows of a number where it has fewer.
    found = torch.nonzero(x)
    rows = found.size(0)
    if rows >= count:
        return found.slice(0, 0, count).clone(memory_format=torch.contiguous_format)
    return torch.cat([found.clone(memory_format=torch.contiguous_format), torch.full([count - rows, x.dim()], fill_value, dtype=torch.int64, device=x.device)])


def renormed_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    # Rows that indices name, scaled down where they are longer.
    used = torch.full([weight.size(0)], False, dtype=torch.bool, device=weight.device)
    used = torch.index_put(used, places_along(0, flat(indices)), torch.full([], True, dtype=torch.bool, device=weight.device))
    norms = torch.linalg_vector_norm(weight, norm_type, [1], True)
    scale = torch.full_like(norms, max_norm) / (norms + 1e-7)
    return torch.where(used.unsqueeze(1).logical_and(norms > max_norm), weight * scale, weight)


def zero_of(x: Tensor) -> Tensor:
    return torch.full([], 0, dtype=x.dtype, device=x.device)


def triangle_mask(x: Tensor, diagonal: int) -> Tensor:
    # Column minus row, less the diagonal: <= 0 on it and below.
    rows = torch.arange(0, x.size(-2), 1, dtype=torch.int64, device=x.device)
    columns = torch.arange(0, x.size(-1), 1, dtype=torch.int64, device=x.device)
    return columns - rows.unsqueeze(1) - diagonal


def diagonal_matrix(x: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    side = x.size(-1) + abs(offset)
    padded = torch.constant_pad_nd(x, [0, abs(offset)], 0)
    place = torch.arange(0, side, 1, dtype=torch.int64, device=x.device)
    # Elements are spread along rows for a diagonal above the main one, along columns for one below.
    on = (place - place.unsqueeze(1)) == offset
    spread = padded.unsqueeze(-1) if offset >= 0 else padded.unsqueeze(-2)
    out = torch.where(on, spread, zero_of(x))
    rank = x.dim() + 1
    order = moved_dims(rank, [rank - 2, rank - 1], [dim1, dim2])
    return out.permute(order).clone(memory_format=torch.contiguous_format)


def reflected_index(size: int, before: int, behind: int, device: Device) -> Tensor:
    # Where the elements of a padded dim come from: 2 1 | 0 1 2 3 | 2 1.
    place = torch.arange(-before, size + behind, 1, dtype=torch.int64, device=device)
    return size - 1 - (size - 1 - place.abs()).abs()


def repeated_index(size: int, before: int, behind: int, device: Device) -> Tensor:
    return torch.arange(-before, size + behind, 1, dtype=torch.int64, device=device).clamp(0, size - 1)


def padding_gradient(grad: Tensor, x: Tensor, padding: List[int], reflect: bool) -> Tensor:
    # Gradients are added up where elements come from, one dim after the other.
    out = grad
    for i in range(len(padding) // 2):
        d = x.dim() - 1 - i
        size = x.size(d)
        if reflect:
            index = reflected_index(size, padding[2 * i], padding[2 * i + 1], x.device)
        else:
            index = repeated_index(size, padding[2 * i], padding[2 * i + 1], x.device)
        base = torch.full(replaced(out.shape, d, size), 0, dtype=out.dtype, device=out.device)
        out = torch.index_put(base, places_along(d, index), out, True)
    return out


def window_columns(x: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    # im2col: [N, C, H, W] to [N, C * kernel, places].
    images = x.unsqueeze(0) if x.dim() == 3 else x
    padded = torch.constant_pad_nd(images, [at(padding, 1), at(padding, 1), at(padding, 0), at(padding, 0)], 0)
    counts: List[int] = []
    places: List[Optional[Tensor]] = [None, None]
    for i in range(2):
        reach = at(dilation, i) * (at(kernel_size, i) - 1) + 1
        count = (padded.size(2 + i) - reach) // at(stride, i) + 1
        tap = torch.arange(0, at(kernel_size, i), 1, dtype=torch.int64, device=x.device) * at(dilation, i)
        first = torch.arange(0, count, 1, dtype=torch.int64, device=x.device) * at(stride, i)
        place = tap.unsqueeze(1) + first
        # [kh, 1, oh, 1] and [kw, 1, ow]
        places.append(place.unsqueeze(1).unsqueeze(3) if i == 0 else place.unsqueeze(1))
        counts.append(count)
    taken = torch.index(padded, places)
    columns = contiguous_reshape(taken, [images.size(0), images.size(1) * at(kernel_size, 0) * at(kernel_size, 1), counts[0] * counts[1]])
    return columns.squeeze(0) if x.dim() == 3 else columns


def unfolded_gradient(grad: Tensor, input_sizes: List[int], dim: int, size: int, step: int) -> Tensor:
    base = torch.full(input_sizes, 0, dtype=grad.dtype, device=grad.device)
    if len(input_sizes) == 0:
        return base + grad.select(0, 0)
    d = wrap_dim(dim, len(input_sizes))
    first = torch.arange(0, grad.size(d), 1, dtype=torch.int64, device=grad.device) * step
    place = first.unsqueeze(1) + torch.arange(0, size, 1, dtype=torch.int64, device=grad.device)
    # The elements of a window stand behind their window.
    order = moved_dims(grad.dim(), [grad.dim() - 1], [d + 1])
    return torch.index_put(base, places_along(d, place), grad.permute(order), True)


def unpooled(x: Tensor, indices: Tensor, output_size: List[int]) -> Tensor:
    rank = len(output_size)
    lead = x.shape[:x.dim() - rank]
    plane = prod(output_size)
    count = prod(x.shape[x.dim() - rank:])
    base = torch.full(lead + [plane], 0, dtype=x.dtype, device=x.device)
    out = torch.scatter(base, -1, contiguous_reshape(indices, lead + [count]), contiguous_reshape(x, lead + [count])).view(lead + output_size)
    return in_format_of(out, x) if rank == 2 else out


def masked_index(x: Tensor, mask: Tensor, indices: List[Optional[Tensor]], fill: number) -> Tensor:
    # Elements where the mask is set, a number where it is not; indices there may be anything.
    nothing = torch.full([], fill, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return nothing.expand(mask.shape).clone(memory_format=torch.contiguous_format)
    return torch.where(mask, torch.index(x, clamped_indices(x, indices)), nothing)


def masked_index_added(x: Tensor, mask: Tensor, indices: List[Optional[Tensor]], values: Tensor) -> Tensor:
    if x.numel() == 0:
        return x.clone()
    return torch.index_put(x, clamped_indices(x, indices), torch.where(mask, values, zero_of(values)), True)


def one_hot_rows(x: Tensor, num_classes: int) -> Tensor:
    classes = num_classes
    if classes == -1:
        classes = int(flat(x).amax([0])) + 1
    base = torch.full(x.shape + [classes], 0, dtype=torch.int64, device=x.device)
    return torch.scatter(base, -1, x.unsqueeze(-1), 1)


def masked_elements(x: Tensor, mask: Tensor) -> Tensor:
    shape = broadcast_shapes(broadcast_shapes(x.shape, mask.shape), [1])
    return torch.index(x.expand(shape), places_along(0, mask.expand(shape)))


def found_in(elements: Tensor, test_elements: Tensor, invert: bool) -> Tensor:
    found = (elements.unsqueeze(-1) == flat(test_elements)).any(-1)
    return found.logical_not() if invert else found


def with_diagonal(x: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    part = x.diagonal(offset, dim1, dim2)
    assert part.shape == src.shape, f"expected src to have a size equal to the slice of self. src size = {src.shape}, slice size = {part.shape}"
    count = src.size(-1)
    if count == 0:
        return x.clone()
    rows = wrap_dim(dim1, x.dim())
    columns = wrap_dim(dim2, x.dim())
    order: List[int] = []
    for d in range(x.dim()):
        if d != rows and d != columns:
            order.append(d)
    order = order + [rows, columns]
    row = torch.arange(0, x.size(rows), 1, dtype=torch.int64, device=x.device)
    column = torch.arange(0, x.size(columns), 1, dtype=torch.int64, device=x.device)
    # Each row has the element of src that its place on the diagonal takes, whether or not it has such a place.
    found = src.index_select(-1, (row + min(offset, 0)).clamp(0, count - 1)).unsqueeze(-1).to(x.dtype)
    placed = torch.where(column - row.unsqueeze(1) == offset, found, x.permute(order))
    return placed.permute(inverse_permutation(order)).clone(memory_format=torch.contiguous_format)


def repeated_places(repeats: Tensor, output_size: Optional[int]) -> Tensor:
    assert repeats.dim() == 1, f"repeat_interleave only accept 1D vector as repeat, got {repeats.shape}"
    assert repeats.dtype == torch.int64 or repeats.dtype == torch.int32, "repeats has to be Long or Int tensor"
    counts = repeats.to(torch.int64)
    total = 0
    if counts.numel() > 0:
        assert not bool(torch.any(counts < 0)), "repeats can not be negative"
        total = int(counts.sum())
    if output_size is not None:
        assert output_size == total, f"allocated size does not match required size: {output_size} and {total}"
    # How many have ended before each place.
    ends = counts.cumsum(0)
    marks = torch.full([total + 1], 0, dtype=torch.int64, device=repeats.device).scatter_add(0, ends, torch.full_like(ends, 1))
    return marks.cumsum(0).slice(0, 0, total).to(repeats.dtype)


def combination_places(n: int, r: int, with_replacement: bool) -> Tensor:
    # Of all lists of r places those that ascend, one behind the other.
    each = torch.arange(0, n, 1, dtype=torch.int64)
    ascends = torch.full([n for d in range(r)], True, dtype=torch.bool)
    for d in range(r - 1):
        place = each.view([n if i == d else 1 for i in range(r)])
        following = each.view([n if i == d + 1 else 1 for i in range(r)])
        ascends = torch.logical_and(ascends, place <= following if with_replacement else place < following)
    return flat(torch.nonzero(ascends))
