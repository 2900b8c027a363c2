# Order: stable sorts, distinct elements and slices, elements in the middle, counts.


def starts_of_runs(sorted: Tensor, dim: int) -> Tensor:
    # Where an element differs from the one before, along a dim that is not empty; the first always does.
    n = sorted.size(dim)
    behind = sorted.slice(dim, 1, n)
    before = sorted.slice(dim, 0, n - 1)
    first = torch.full(replaced(sorted.shape, dim, 1), True, dtype=torch.bool, device=sorted.device)
    return torch.cat([first, behind != before], dim)


def sorted_by_place(x: Tensor, dim: int, descending: bool) -> Tuple[Tensor, Tensor]:
    # Core ATen's sort says nothing about equal elements: they are ranked alike, and ordered by where they stood.
    if x.dim() == 0:
        return x.clone(), torch.full([], 0, dtype=torch.int64, device=x.device)
    d = wrap_dim(dim, x.dim())
    n = x.size(d)
    values, places = torch.sort(x, d, descending)
    if n == 0:
        return values, places
    starts = starts_of_runs(values, d)
    if x.is_floating_point():
        # NaN is like NaN here.
        nan = torch.isnan(values)
        again = torch.logical_and(nan, torch.logical_not(starts_of_runs(nan, d)))
        starts = torch.logical_and(starts, torch.logical_not(again))
    ranks = starts.to(torch.int64).cumsum(d) * n + places
    order, moved = torch.sort(ranks, d, False)
    found = order.remainder(n)
    return x.gather(d, found), found


def run_lengths(firsts: Tensor, n: int) -> Tensor:
    # Of runs that begin at these places, of n elements in all.
    count = firsts.size(0)
    if count == 0:
        return firsts.clone()
    ends = torch.cat([firsts.slice(0, 1, count), torch.full([1], n, dtype=torch.int64, device=firsts.device)])
    return ends - firsts


def no_indices(x: Tensor) -> Tensor:
    return torch.full([0], 0, dtype=torch.int64, device=x.device)


def distinct_elements(x: Tensor, return_inverse: bool, return_counts: bool) -> Tuple[Tensor, Tensor, Tensor]:
    # NaN equals nothing, so each one is kept.
    n = x.numel()
    inverse = no_indices(x)
    counts = no_indices(x)
    if n == 0:
        if return_inverse:
            inverse = torch.full(x.shape, 0, dtype=torch.int64, device=x.device)
        return torch.full([0], 0, dtype=x.dtype, device=x.device), inverse, counts
    values, places = sorted_by_place(flat(x), 0, False)
    starts = starts_of_runs(values, 0)
    firsts = torch.nonzero(starts).squeeze(1)
    if return_inverse:
        each = starts.to(torch.int64).cumsum(0) - 1
        inverse = contiguous_reshape(torch.scatter(places, 0, places, each), x.shape)
    if return_counts:
        counts = run_lengths(firsts, n)
    return values.index_select(0, firsts), inverse, counts


def runs_of_elements(x: Tensor, return_inverse: bool, return_counts: bool) -> Tuple[Tensor, Tensor, Tensor]:
    # The same of neighbours only: nothing is sorted.
    n = x.numel()
    inverse = no_indices(x)
    counts = no_indices(x)
    if n == 0:
        if return_inverse:
            inverse = torch.full(x.shape, 0, dtype=torch.int64, device=x.device)
        return torch.full([0], 0, dtype=x.dtype, device=x.device), inverse, counts
    values = flat(x)
    starts = starts_of_runs(values, 0)
    firsts = torch.nonzero(starts).squeeze(1)
    if return_inverse:
        inverse = contiguous_reshape(starts.to(torch.int64).cumsum(0) - 1, x.shape)
    if return_counts:
        counts = run_lengths(firsts, n)
    return values.index_select(0, firsts), inverse, counts


def ranks_of(x: Tensor) -> Tensor:
    # Of a vector: how many distinct elements are smaller.
    values, places = torch.sort(x, 0, False)
    return torch.scatter(places, 0, places, starts_of_runs(values, 0).to(torch.int64).cumsum(0) - 1)


def slices_first(x: Tensor, dim: int) -> Tensor:
    # One row a slice along the dim.
    return contiguous_reshape(x.permute([dim] + other_dims(x.dim(), dim)), [x.size(dim), x.numel() // max(x.size(dim), 1)])


def slices_back(rows: Tensor, x: Tensor, dim: int) -> Tensor:
    # Rows, of which there may be fewer, as slices of a tensor like x.
    others = other_dims(x.dim(), dim)
    return rows.view([rows.size(0)] + [x.size(d) for d in others]).permute(inverse_permutation([dim] + others))


def check_slices(x: Tensor, dim: int) -> int:
    assert x.dim() > 0, f"Dimension specified as {dim} but tensor has no dimensions"
    d = wrap_dim(dim, x.dim())
    for i in range(x.dim()):
        assert i == d or x.size(i) > 0, f"There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: {x.shape}"
    return d


def distinct_slices(x: Tensor, dim: int) -> Tuple[Tensor, Tensor, Tensor]:
    # Slices are ranked by their first elements, those of equal rank by the next, and so on.
    d = check_slices(x, dim)
    n = x.size(d)
    if n == 0:
        return x.clone(), no_indices(x), no_indices(x)
    rows = slices_first(x, d)
    ranks = torch.full([n], 0, dtype=torch.int64, device=x.device)
    for column in range(rows.size(1)):
        ranks = ranks_of(ranks * n + ranks_of(rows.select(1, column)))
    order, places = sorted_by_place(ranks, 0, False)
    firsts = torch.nonzero(starts_of_runs(order, 0)).squeeze(1)
    return slices_back(rows.index_select(0, places.index_select(0, firsts)), x, d), ranks, run_lengths(firsts, n)


def runs_of_slices(x: Tensor, dim: int) -> Tuple[Tensor, Tensor, Tensor]:
    d = check_slices(x, dim)
    n = x.size(d)
    if n == 0:
        return x.clone(), no_indices(x), no_indices(x)
    rows = slices_first(x, d)
    starts = torch.any(starts_of_runs(rows, 0), 1)
    firsts = torch.nonzero(starts).squeeze(1)
    return slices_back(rows.index_select(0, firsts), x, d), starts.to(torch.int64).cumsum(0) - 1, run_lengths(firsts, n)


def middle_along(x: Tensor, dim: int, keepdim: bool, skip_nan: bool) -> Tuple[Tensor, Tensor]:
    # The lower of two; the first NaN where there is one, or those left out. (Of nothing but NaN the first.)
    if x.dim() == 0:
        wrap_dim(dim, 0)
        return x.clone(), torch.full([], 0, dtype=torch.int64, device=x.device)
    d = wrap_dim(dim, x.dim())
    n = x.size(d)
    assert n > 0, f"median(): Expected reduction dim {d} to have non-zero size."
    values, places = sorted_by_place(x, d, False)
    at = torch.full(replaced(x.shape, d, 1), (n - 1) // 2, dtype=torch.int64, device=x.device)
    if x.is_floating_point():
        nans = torch.isnan(x).to(torch.int64).sum([d], True)
        if skip_nan:
            at = torch.div(n - 1 - nans, 2, rounding_mode="floor").clamp(0)
        else:
            # NaN stands last.
            at = torch.where(nans > 0, n - nans, at)
    found = places.gather(d, at)
    middle = values.gather(d, at)
    if keepdim:
        return middle, found
    return middle.squeeze(d), found.squeeze(d)


def middle_of_all(x: Tensor, skip_nan: bool) -> Tensor:
    if x.numel() == 0:
        assert x.is_floating_point(), "median() operation does not have an identity for empty input tensor"
        return torch.full([], float("nan"), dtype=x.dtype, device=x.device)
    middle, place = middle_along(flat(x), 0, False, skip_nan)
    return middle


def counted(x: Tensor, weights: Optional[Tensor], minlength: int) -> Tensor:
    # How often each of 0, 1, 2, ... occurs, or the sum of the weights of its occurrences.
    assert x.dim() == 1, f"bincount only supports 1-d non-negative integral inputs, got {x.shape}"
    assert minlength >= 0, f"minlength should be >= 0, got {minlength}"
    places = x.to(torch.int64)
    if x.size(0) == 0:
        return torch.full([minlength], 0, dtype=torch.int64, device=x.device)
    least = int(places.amin([0]))
    assert least >= 0, f"bincount only supports 1-d non-negative integral inputs, got {least}"
    bins = max(int(places.amax([0])) + 1, minlength)
    if weights is not None:
        assert weights.shape == x.shape, f"weights should be 1-d and have the same length as input, got {weights.shape} and {x.shape}"
        # They add up in double.
        sums = torch.full([bins], 0.0, dtype=torch.float64, device=x.device).scatter_add(0, places, weights.to(torch.float64))
        return sums.to(torch.float32) if weights.dtype == torch.float32 else sums
    each = torch.full([x.size(0)], 1, dtype=torch.int64, device=x.device)
    return torch.full([bins], 0, dtype=torch.int64, device=x.device).scatter_add(0, places, each)
