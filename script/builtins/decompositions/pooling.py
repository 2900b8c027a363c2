# Pooling over windows that do not stand in equal steps: their elements are gathered, then the largest is taken.


def adaptive_windows(size: int, count: int, device: Device) -> Tensor:
    # [count, length]: the places of each window. Shorter ones have their last place several times.
    each = torch.arange(0, count, 1, dtype=torch.int64, device=device).unsqueeze(1)
    first = torch.div(each * size, max(count, 1), rounding_mode="floor")
    end = torch.div((each + 1) * size + (count - 1), max(count, 1), rounding_mode="floor")
    length = (size + max(count, 1) - 1) // max(count, 1) + 1
    step = torch.arange(0, length, 1, dtype=torch.int64, device=device)
    return first + torch.minimum(step, end - first - 1)


def all_windows(windows: List[Tensor], sizes: List[int]) -> Tensor:
    # Places of each dim, [..., count, length], as places in a plane: [..., windows, places of one].
    rank = len(windows)
    lead = windows[0].dim() - 2
    shape = windows[0].shape[:lead]
    places = torch.full([1 for d in range(lead + 2 * rank)], 0, dtype=torch.int64, device=windows[0].device)
    count = 1
    length = 1
    for d in range(rank):
        beside = shape + [1 for i in range(2 * rank)]
        beside[lead + d] = windows[d].size(lead)
        beside[lead + rank + d] = windows[d].size(lead + 1)
        places = places * sizes[d] + contiguous_reshape(windows[d], beside)
        count = count * windows[d].size(lead)
        length = length * windows[d].size(lead + 1)
    return contiguous_reshape(places, shape + [count, length])


def largest_in(planes: Tensor, places: Tensor) -> Tuple[Tensor, Tensor]:
    # Of [planes, elements] at [planes, windows, places of one]: the first of equal elements; of NaN the last.
    around = planes.size(0)
    count = places.size(1)
    length = places.size(2)
    found = planes.gather(1, contiguous_reshape(places, [around, count * length])).view([around, count, length])
    best, at = torch.max(found, 2, True)
    nan = torch.isnan(found)
    last = length - 1 - torch.argmax(nan.to(torch.int64).flip([2]), 2, True)
    at = torch.where(torch.any(nan, 2, True), last, at)
    return best.squeeze(2), places.gather(2, at).squeeze(2)


def largest_of_windows(x: Tensor, places: Tensor, rank: int, output_size: List[int]) -> Tuple[Tensor, Tensor]:
    lead = x.shape[:x.dim() - rank]
    elements = prod(x.shape[x.dim() - rank:])
    around = prod(lead)
    out = lead + output_size
    if around == 0 or prod(output_size) == 0:
        return torch.full(out, 0, dtype=x.dtype, device=x.device), torch.full(out, 0, dtype=torch.int64, device=x.device)
    best, at = largest_in(contiguous_reshape(x, [around, elements]), places.expand([around, places.size(1), places.size(2)]))
    return best.view(out), at.view(out)


def adaptive_max_pooled(x: Tensor, output_size: List[int], rank: int) -> Tuple[Tensor, Tensor]:
    assert x.dim() == rank + 1 or x.dim() == rank + 2, f"adaptive_max_pool{rank}d(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {x.shape}"
    sizes = x.shape[x.dim() - rank:]
    counts = [at(output_size, d) for d in range(rank)]
    windows = [adaptive_windows(sizes[d], counts[d], x.device) for d in range(rank)]
    best, places = largest_of_windows(x, all_windows(windows, sizes).unsqueeze(0), rank, counts)
    if rank == 2:
        return in_format_of(best, x), in_format_of(places, x)
    return best, places


def shifted_windows(sample: Tensor, size: int, count: int, length: int) -> Tensor:
    # [planes, count, length]: steps of one width, shifted by a number of each plane; the last window ends with the plane.
    end = torch.full([sample.size(0), 1], size - length, dtype=torch.int64, device=sample.device)
    first = end
    if count > 1:
        width = torch.full([], size - length, dtype=sample.dtype, device=sample.device) / torch.full([], count - 1, dtype=sample.dtype, device=sample.device)
        place = torch.arange(0, count - 1, 1, dtype=torch.int64, device=sample.device).to(sample.dtype)
        shift = (sample * width).to(torch.int64).unsqueeze(1)
        start = ((place + sample.unsqueeze(1)) * width).to(torch.int64) - shift
        first = torch.cat([start.clamp(0, size - length), end], 1)
    return first.unsqueeze(2) + torch.arange(0, length, 1, dtype=torch.int64, device=sample.device)


def fractional_max_pooled(x: Tensor, kernel_size: List[int], output_size: List[int], samples: Tensor, rank: int) -> Tuple[Tensor, Tensor]:
    sizes = x.shape[x.dim() - rank:]
    counts = [at(output_size, d) for d in range(rank)]
    around = prod(x.shape[:x.dim() - rank])
    for d in range(rank):
        length = at(kernel_size, d)
        assert length <= sizes[d] and counts[d] <= sizes[d] - length + (1 if rank == 2 else 0), f"fractional_max_pool{rank}d(): pool {length} too large relative to input {sizes[d]}"
    if around == 0 or prod(counts) == 0:
        none = x.shape[:x.dim() - rank] + counts
        return torch.full(none, 0, dtype=x.dtype, device=x.device), torch.full(none, 0, dtype=torch.int64, device=x.device)
    each = contiguous_reshape(samples, [samples.numel() // rank, rank]).slice(0, 0, around)
    # One plane's samples stand in the order width, height in 2-d, time, height, width in 3-d.
    windows = [shifted_windows(each.select(1, 1 - d if rank == 2 else d), sizes[d], counts[d], at(kernel_size, d)) for d in range(rank)]
    return largest_of_windows(x, all_windows(windows, sizes), rank, counts)


def adaptive_shares(size: int, count: int, like: Tensor) -> Tensor:
    # [count, size]: what each place adds to the mean of each window.
    each = torch.arange(0, count, 1, dtype=torch.int64, device=like.device).unsqueeze(1)
    first = torch.div(each * size, max(count, 1), rounding_mode="floor")
    end = torch.div((each + 1) * size + (count - 1), max(count, 1), rounding_mode="floor")
    place = torch.arange(0, size, 1, dtype=torch.int64, device=like.device)
    inside = torch.logical_and(place >= first, place < end)
    return inside.to(like.dtype) / (end - first).to(like.dtype)


def adaptive_mean_gradient(grad: Tensor, x: Tensor, rank: int) -> Tensor:
    out = grad
    for d in range(rank):
        dim = x.dim() - rank + d
        count = grad.size(dim)
        size = x.size(dim)
        shares = adaptive_shares(size, count, grad).view([count, size] + [1 for i in range(rank - 1 - d)])
        out = (out.unsqueeze(dim + 1) * shares).sum([dim])
    return out
