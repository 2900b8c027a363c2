# Factories: lists as tensors, evenly spaced points.


def integers(values: List[int], dtype: int, device: Optional[Device]) -> Tensor:
    if len(values) == 0:
        return torch.empty([0], dtype=dtype, device=device)
    return torch.cat([torch.full([1], value, dtype=dtype, device=device) for value in values])


def numbers_in(x: Tensor) -> List[int]:
    # The elements of a vector, which a program waits for.
    return [int(x[i]) for i in range(x.size(0))]


def points_dtype(start: Tensor, end: Tensor, dtype: Optional[int]) -> int:
    # What linspace and logspace give.
    if dtype is not None:
        return dtype
    if start.is_complex() or end.is_complex():
        return torch.complex128 if default_dtype() == torch.float64 else torch.complex64
    return default_dtype()


def points_work_dtype(dtype: int) -> int:
    # What they compute in.
    if is_complex(dtype):
        return torch.complex128
    return torch.float32 if dtype == torch.float32 else torch.float64


def is_whole_dtype(dtype: int) -> bool:
    return not (is_floating_point(dtype) or is_complex(dtype))


def points_between(start: Tensor, end: Tensor, steps: int, dtype: int) -> Tensor:
    # From the nearer end, so that both ends are exact. `start` and `end` are numbers of the dtype that is computed in.
    first = start.trunc() if is_whole_dtype(dtype) else start
    last = end.trunc() if is_whole_dtype(dtype) else end
    step = (last - first) / max(steps - 1, 1)
    place = torch.arange(0, steps, 1, dtype=torch.int64, device=start.device)
    # Products of float32 are rounded as such: places are converted first.
    ahead = place.to(start.dtype)
    behind = (steps - 1 - place).to(start.dtype)
    if steps <= 1:
        return first.expand([steps]).clone()
    return torch.where(place < steps // 2, first + step * ahead, last - step * behind)


def identity_matrix(rows: int, columns: int, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    row = torch.arange(0, rows, 1, dtype=torch.int64, device=device).unsqueeze(1)
    column = torch.arange(0, columns, 1, dtype=torch.int64, device=device)
    return torch.where(row == column, torch.full([], 1.0, dtype=dtype, device=device), torch.full([], 0.0, dtype=dtype, device=device))


def range_points(start: number, end: number, step: number, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    # `end` is a point, too.
    to = default_dtype()
    if dtype is not None:
        to = dtype
    count = int((float(end) - float(start)) / float(step) + 1)
    if is_whole_dtype(to):
        first = torch.full([], start, dtype=torch.int64, device=device)
        return (torch.arange(0, count, 1, dtype=torch.int64, device=device) * torch.full([], step, dtype=torch.int64, device=device) + first).to(to)
    return (torch.arange(0, count, 1, dtype=torch.float64, device=device) * float(step) + float(start)).to(to)


def triangle_indices(rows: int, columns: int, offset: int, lower: bool, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    row = torch.arange(0, rows, 1, dtype=torch.int64, device=device).unsqueeze(1)
    distance = torch.arange(0, columns, 1, dtype=torch.int64, device=device) - row - offset
    found = torch.nonzero(distance <= 0 if lower else distance >= 0).permute([1, 0]).clone(memory_format=torch.contiguous_format)
    return found if dtype is None else found.to(dtype)


def number_as_tensor(a: number) -> Tensor:
    # The widest dtype of its kind.
    if isinstance(a, int):
        return torch.scalar_tensor(a, dtype=torch.int64)
    if isinstance(a, float):
        return torch.scalar_tensor(a, dtype=torch.float64)
    if isinstance(a, bool):
        return torch.scalar_tensor(a, dtype=torch.bool)
    return torch.scalar_tensor(a, dtype=torch.complex128)


# Lists of numbers as tensors: floats are rounded to the default dtype first, for every dtype that is asked for.


def joined_elements(elements: List[Tensor], natural: int, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    made = torch.full([0], 0, dtype=natural, device=device) if len(elements) == 0 else torch.cat(elements)
    return made if dtype is None else made.to(dtype)


def joined_rows(rows: List[Tensor], natural: int, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    if len(rows) == 0:
        return joined_elements(rows, natural, dtype, device)
    return torch.cat([row.unsqueeze(0) for row in rows])


def vector_of_int(values: List[int], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.int64
    return joined_elements([torch.full([1], value, dtype=natural, device=device) for value in values], natural, dtype, device)


def rows_of_int(values: List[List[int]], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.int64
    return joined_rows([vector_of_int(row, dtype, device) for row in values], natural, dtype, device)


def vector_of_float(values: List[float], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = default_dtype()
    return joined_elements([torch.full([1], value, dtype=natural, device=device) for value in values], natural, dtype, device)


def rows_of_float(values: List[List[float]], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = default_dtype()
    return joined_rows([vector_of_float(row, dtype, device) for row in values], natural, dtype, device)


def vector_of_bool(values: List[bool], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.bool
    return joined_elements([torch.full([1], value, dtype=natural, device=device) for value in values], natural, dtype, device)


def rows_of_bool(values: List[List[bool]], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.bool
    return joined_rows([vector_of_bool(row, dtype, device) for row in values], natural, dtype, device)


def vector_of_complex(values: List[complex], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.complex128 if default_dtype() == torch.float64 else torch.complex64
    return joined_elements([torch.full([1], value, dtype=natural, device=device) for value in values], natural, dtype, device)


def rows_of_complex(values: List[List[complex]], dtype: Optional[int], device: Optional[Device]) -> Tensor:
    natural = torch.complex128 if default_dtype() == torch.float64 else torch.complex64
    return joined_rows([vector_of_complex(row, dtype, device) for row in values], natural, dtype, device)
