# Views: orders of dims, and parts of a tensor along a dim.


def swapped_dims(rank: int, dim0: int, dim1: int) -> List[int]:
    dims = all_dims(rank)
    if rank > 0:
        dims[wrap_dim(dim0, rank)] = wrap_dim(dim1, rank)
        dims[wrap_dim(dim1, rank)] = wrap_dim(dim0, rank)
    return dims


def moved_dims(rank: int, source: List[int], destination: List[int]) -> List[int]:
    # The dims that are not moved keep their order around the others.
    out = [-1 for d in range(rank)]
    taken = [False for d in range(rank)]
    for i in range(len(source)):
        out[wrap_dim(destination[i], rank)] = wrap_dim(source[i], rank)
        taken[wrap_dim(source[i], rank)] = True
    place = 0
    for d in range(rank):
        if not taken[d]:
            while out[place] >= 0:
                place = place + 1
            out[place] = d
    return out


def other_dims(rank: int, dim: int) -> List[int]:
    out: List[int] = []
    for d in range(rank):
        if d != dim:
            out.append(d)
    return out


def contiguous_reshape(x: Tensor, shape: List[int]) -> Tensor:
    if x.is_contiguous():
        return x.view(shape)
    return x.clone(memory_format=torch.contiguous_format).view(shape)


def split_lengths(size: int, length: int) -> List[int]:
    # Parts of one length, and what is left.
    out: List[int] = []
    at = 0
    while at < size:
        out.append(min(length, size - at))
        at = at + length
    return out if size > 0 else [0]


def split_sections(size: int, sections: int) -> List[int]:
    # As many parts as asked for; the first ones are longer by one.
    return [size // sections + (1 if i < size % sections else 0) for i in range(sections)]


def chunk_lengths(size: int, chunks: int) -> List[int]:
    length = (size + chunks - 1) // chunks
    # Of a dim without elements there are as many chunks as asked for.
    return split_lengths(size, length) if length > 0 else [0 for i in range(chunks)]


def sliced_at(x: Tensor, places: List[int], dim: int) -> List[Tensor]:
    # The parts before, between and behind places, which need not ascend.
    out: List[Tensor] = []
    start = 0
    for place in places:
        out.append(x.slice(dim, start, place))
        start = place
    out.append(x.slice(dim, start, None))
    return out


def copied_parts(parts: List[Tensor]) -> List[Tensor]:
    return [part.clone(memory_format=torch.contiguous_format) for part in parts]


def selected(x: Tensor, dim: int) -> List[Tensor]:
    return [x.select(dim, i) for i in range(x.size(dim))]


def windows_of(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    # Overlapping windows of the same memory, as a last dim.
    sizes = [s for s in x.shape]
    strides = [s for s in x.stride()]
    if len(sizes) == 0:
        return x.as_strided([size], [1])
    d = wrap_dim(dim, len(sizes))
    sizes.append(size)
    strides.append(strides[d])
    sizes[d] = (sizes[d] - size) // step + 1
    strides[d] = strides[d] * step
    return x.as_strided(sizes, strides)


def dense_strides(size: List[int], order: List[int]) -> List[int]:
    # Dims lie in memory in this order, the last one closest together.
    out = [0 for s in size]
    step = 1
    for i in range(len(order)):
        d = order[len(order) - 1 - i]
        out[d] = step
        step = step * max(size[d], 1)
    return out


def needs_no_copy(x: Tensor, copy: bool, memory_format: Optional[int]) -> bool:
    if copy:
        return False
    if memory_format is None:
        return True
    return memory_format == torch.preserve_format or x.is_contiguous(memory_format=memory_format)


def converted(x: Tensor, dtype: Optional[int], device: Optional[Device], non_blocking: bool, copy: bool, memory_format: Optional[int]) -> Tensor:
    wanted = x.dtype
    if dtype is not None:
        wanted = dtype
    place = x.device
    if device is not None:
        place = device
    if wanted == x.dtype and place == x.device and needs_no_copy(x, copy, memory_format):
        return torch.alias(x)
    return torch._to_copy(x, dtype=wanted, device=place, non_blocking=non_blocking, memory_format=memory_format)


def reversed_dims(rank: int) -> List[int]:
    return [rank - 1 - d for d in range(rank)]


def on_cpu(x: Tensor) -> Tensor:
    return converted(x, None, torch.device("cpu"), False, False, None)


def all_on_cpu(tensors: List[Tensor]) -> List[Tensor]:
    return [on_cpu(x) for x in tensors]


def with_new_dim(tensors: List[Tensor], dim: int) -> List[Tensor]:
    return [x.unsqueeze(dim) for x in tensors]


def cat_of_chunks(tensors: List[Tensor], dim: int, num_chunks: int) -> Tensor:
    # Each tensor padded with zeros to a multiple of num_chunks, then [..., num_chunks, rest].
    d = wrap_dim(dim, tensors[0].dim())
    parts: List[Tensor] = []
    for x in tensors:
        length = (x.size(d) + num_chunks - 1) // num_chunks
        pad = [0 for i in range(2 * (x.dim() - d))]
        pad[2 * (x.dim() - d) - 1] = length * num_chunks - x.size(d)
        padded = torch.constant_pad_nd(x, pad, 0)
        parts.append(contiguous_reshape(padded, x.shape[:d] + [num_chunks, length * prod(x.shape[d + 1:])]))
    return torch.cat(parts, d + 1)


def rolled(x: Tensor, shifts: List[int], dims: List[int]) -> Tensor:
    # Without dims, the elements in their order.
    out = flat(x) if len(dims) == 0 else x
    if x.numel() == 0:
        return x.clone()
    for i in range(len(shifts)):
        d = 0 if len(dims) == 0 else dims[i]
        size = out.size(d)
        first = (size - shifts[i] % size) % size
        out = torch.cat([out.slice(d, first, size), out.slice(d, 0, first)], d)
    return contiguous_reshape(out, x.shape)
