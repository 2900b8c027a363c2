# Grid sampling: a sample is the sum over taps, of which each dim has one (nearest), two (linear) or four (cubic).


def clipped_place(place: Tensor, slope: Tensor, size: int, nan_place: int) -> Tuple[Tensor, Tensor]:
    inside = torch.logical_and(place > 0, place < size - 1)
    at_most = torch.where(place.isnan(), torch.full([], nan_place, dtype=place.dtype, device=place.device), place.clamp(0, size - 1))
    return at_most, torch.where(inside, slope, zero_of(slope))


def reflected_place(place: Tensor, slope: Tensor, low: int, high: int) -> Tuple[Tensor, Tensor]:
    # Mirrored into [low / 2, high / 2] as often as needed.
    if low == high:
        return place * 0, slope * 0
    least = low / 2
    span = (high - low) / 2
    x = (place - least).abs()
    extra = x.fmod(span)
    even = (x / span).floor().fmod(2) == 0
    turned = torch.where(place - least < 0, -slope, slope)
    return torch.where(even, extra + least, span - extra + least), torch.where(even, turned, -turned)


def padded_place(place: Tensor, slope: Tensor, size: int, padding_mode: int, align_corners: bool, nan_place: int) -> Tuple[Tensor, Tensor]:
    if padding_mode == 0:
        return place, slope
    if padding_mode == 2:
        low = 0 if align_corners else -1
        high = 2 * (size - 1) if align_corners else 2 * size - 1
        place, slope = reflected_place(place, slope, low, high)
    return clipped_place(place, slope, size, nan_place)


def cubic_far(x: Tensor) -> Tensor:
    return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0


def cubic_near(x: Tensor) -> Tensor:
    return (1.25 * x - 2.25) * x * x + 1.0


def cubic_far_slope(x: Tensor) -> Tensor:
    return (-2.25 * x + 7.5) * x - 6.0


def cubic_near_slope(x: Tensor) -> Tensor:
    return (3.75 * x - 4.5) * x


def grid_taps(number: Tensor, size: int, mode: int, padding_mode: int, align_corners: bool, nan_place: int) -> Tuple[List[Tensor], List[Tensor], List[Tensor]]:
    # Places, weights, and derivatives of the weights by the grid's number.
    if align_corners:
        place = ((number + 1) / 2) * (size - 1)
        slope = torch.full_like(number, (size - 1) / 2)
    else:
        place = ((number + 1) * size - 1) / 2
        slope = torch.full_like(number, size / 2)
    if mode == 2:
        first = place.floor()
        t = place - first
        places: List[Tensor] = []
        for k in range(4):
            at_k, unused = padded_place(first + (k - 1), slope, size, padding_mode, align_corners, nan_place)
            places.append(at_k.trunc())
        return places, [cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)], [cubic_far_slope(t + 1) * slope, cubic_near_slope(t) * slope, -cubic_near_slope(1 - t) * slope, -cubic_far_slope(2 - t) * slope]
    place, slope = padded_place(place, slope, size, padding_mode, align_corners, nan_place)
    if mode == 1:
        return [place.round()], [torch.full_like(place, 1)], [torch.full_like(place, 0)]
    first = place.floor()
    t = place - first
    return [first, first + 1], [1 - t, t], [-slope, slope]


def tap_of(k: int, dim: int, count: int) -> int:
    # Tap k of all dims together, as that of one of them.
    for i in range(dim):
        k = k // count
    return k % count


def grid_products(input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool, nan_place: int) -> Tuple[List[Tensor], List[Tensor], List[List[Tensor]]]:
    # For every combination of taps: where it is in the flattened image, its weight (0 outside), and the derivatives of
    # that by the numbers of the grid. All are [N, places].
    rank = input.dim() - 2
    count = 4 if mode == 2 else (1 if mode == 1 else 2)
    numbers = contiguous_reshape(wide(grid), [grid.size(0), prod(grid.shape[1:rank + 1]), rank])
    places: List[List[Tensor]] = []
    weights: List[List[Tensor]] = []
    slopes: List[List[Tensor]] = []
    for d in range(rank):
        # The grid names the last dim first.
        size = input.size(input.dim() - 1 - d)
        p, w, s = grid_taps(numbers.select(2, d), size, mode, padding_mode, align_corners, size - 1 if nan_place < 0 else nan_place)
        places.append(p)
        weights.append(w)
        slopes.append(s)
    flat_places: List[Tensor] = []
    products: List[Tensor] = []
    derivatives: List[List[Tensor]] = []
    total = 1
    for d in range(rank):
        total = total * count
    for k in range(total):
        place = torch.full_like(numbers.select(2, 0), 0, dtype=torch.int64)
        inside = torch.full_like(place, True, dtype=torch.bool)
        product = torch.full_like(numbers.select(2, 0), 1)
        step = 1
        for d in range(rank):
            size = input.size(input.dim() - 1 - d)
            p = places[d][tap_of(k, d, count)]
            here = torch.logical_and(p >= 0, p <= size - 1)
            inside = torch.logical_and(inside, here)
            place = place + torch.where(here, p, zero_of(p)).to(torch.int64) * step
            product = product * weights[d][tap_of(k, d, count)]
            step = step * size
        by_number: List[Tensor] = []
        for d in range(rank):
            slope = slopes[d][tap_of(k, d, count)]
            for e in range(rank):
                if e != d:
                    slope = slope * weights[e][tap_of(k, e, count)]
            by_number.append(torch.where(inside, slope, zero_of(slope)))
        flat_places.append(torch.where(inside, place, zero_of(place)))
        products.append(torch.where(inside, product, zero_of(product)))
        derivatives.append(by_number)
    return flat_places, products, derivatives


def sampled_grid(input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool, nan_place: int) -> Tensor:
    rank = input.dim() - 2
    places, products, derivatives = grid_products(input, grid, mode, padding_mode, align_corners, nan_place)
    image = contiguous_reshape(wide(input), [input.size(0), input.size(1), prod(input.shape[2:])])
    shape = [input.size(0), input.size(1), places[0].size(1)]
    out = torch.full(shape, 0, dtype=image.dtype, device=input.device)
    for k in range(len(places)):
        # What lies outside counts nothing, even beside an infinite element.
        value = image.gather(2, places[k].unsqueeze(1).expand(shape)) * products[k].unsqueeze(1)
        out = out + torch.where((products[k] == 0).unsqueeze(1), zero_of(value), value)
    return out.to(input.dtype).view([input.size(0), input.size(1)] + grid.shape[1:rank + 1])


def sampled_grid_gradients(grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool, nan_place: int, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    rank = input.dim() - 2
    places, products, derivatives = grid_products(input, grid, mode, padding_mode, align_corners, nan_place)
    count = places[0].size(1)
    image = contiguous_reshape(wide(input), [input.size(0), input.size(1), prod(input.shape[2:])])
    shape = [input.size(0), input.size(1), count]
    g = contiguous_reshape(wide(grad), shape)
    for_image = torch.full_like(image, 0)
    by_number = [torch.full([input.size(0), count], 0, dtype=g.dtype, device=input.device) for d in range(rank)]
    for k in range(len(places)):
        index = places[k].unsqueeze(1).expand(shape)
        if output_mask[0]:
            for_image = torch.scatter_add(for_image, 2, index, g * products[k].unsqueeze(1))
        if output_mask[1]:
            along = (image.gather(2, index) * g).sum([1])
            for d in range(rank):
                by_number[d] = by_number[d] + along * derivatives[k][d]
    for_input: Optional[Tensor] = None
    for_grid: Optional[Tensor] = None
    if output_mask[0]:
        for_input = for_image.to(input.dtype).view(input.shape)
    if output_mask[1]:
        for_grid = torch.cat([n.unsqueeze(2) for n in by_number], 2).to(grid.dtype).view(grid.shape)
    return for_input, for_grid
