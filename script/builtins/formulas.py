# Functions of numbers and sizes that bodies of operators and formulas of derivatives may call beside operators
# (sconce/dispatch/body_runtime.h has them for what the generator translates to C++).


def prod(items: List[int]) -> int:
    result = 1
    for item in items:
        result = result * item
    return result


def sum(items: List[int]) -> int:
    result = 0
    for item in items:
        result = result + item
    return result


def broadcast_shapes(a: List[int], b: List[int]) -> List[int]:
    rank = max(len(a), len(b))
    out: List[int] = []
    for i in range(rank):
        j = i - (rank - len(a))
        k = i - (rank - len(b))
        m = a[j] if j >= 0 else 1
        n = b[k] if k >= 0 else 1
        assert m == n or m == 1 or n == 1, f"sizes {a} and {b} cannot be broadcast"
        out.append(n if m == 1 else m)
    return out


def list_of() -> List[int]:
    out: List[int] = []
    return out


def default_dtype() -> int:
    return torch.full([], 0.0).dtype


def is_complex(dtype: int) -> bool:
    return dtype == torch.complex64 or dtype == torch.complex128


def is_floating_point(dtype: int) -> bool:
    return dtype == torch.float32 or dtype == torch.float64 or dtype == torch.float16 or dtype == torch.bfloat16 or dtype == torch.float8_e4m3fn or dtype == torch.float8_e5m2


def is_integral(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex())


def all_dims(rank: int) -> List[int]:
    return [i for i in range(rank)]


def wrap_dim(dim: int, rank: int) -> int:
    count = max(rank, 1)
    assert dim >= -count and dim < count, f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})"
    return dim + count if dim < 0 else dim


def inverse_permutation(dims: List[int]) -> List[int]:
    out = [0 for d in dims]
    for i in range(len(dims)):
        out[wrap_dim(dims[i], len(dims))] = i
    return out


# Shape rules: what `shape` and `sizes` of the table may call, too.


def at(values: List[int], i: int) -> int:
    # A list of one stands for all dimensions.
    return values[i] if len(values) > 1 else values[0]


def reduced_shape(shape: List[int], dim: Optional[List[int]], keepdim: bool, none_is_all: bool = True) -> List[int]:
    reduced = [True for s in shape]
    if dim is not None:
        if len(dim) > 0 or not none_is_all:
            reduced = [False for s in shape]
            for d in dim:
                w = wrap_dim(d, len(shape))
                if w < len(shape):
                    reduced[w] = True
    out: List[int] = []
    for i in range(len(shape)):
        if not reduced[i]:
            out.append(shape[i])
        elif keepdim:
            out.append(1)
    return out


def replaced(shape: List[int], dim: int, size: int) -> List[int]:
    out = [s for s in shape]
    if len(shape) > 0:
        out[wrap_dim(dim, len(shape))] = size
    return out


def without_dim(shape: List[int], dim: int) -> List[int]:
    d = wrap_dim(dim, len(shape))
    return shape[:d] + shape[d + 1:]


def squeezed_shape(shape: List[int], dims: List[int]) -> List[int]:
    squeezed = [wrap_dim(d, len(shape)) for d in dims]
    out: List[int] = []
    for i in range(len(shape)):
        if shape[i] != 1 or i not in squeezed:
            out.append(shape[i])
    return out


def permuted_shape(shape: List[int], dims: List[int]) -> List[int]:
    return [shape[d] for d in dims]


def expanded_shape(shape: List[int], size: List[int]) -> List[int]:
    return [shape[i - len(size)] if size[i] == -1 else size[i] for i in range(len(size))]


def repeated_shape(shape: List[int], repeats: List[int]) -> List[int]:
    lead = len(repeats) - len(shape)
    return [repeats[i] * (shape[i - lead] if i >= lead else 1) for i in range(len(repeats))]


def split_shapes(shape: List[int], sizes: List[int], dim: int) -> List[List[int]]:
    return [replaced(shape, dim, size) for size in sizes]


def pooled_shape(shape: List[int], rank: int, kernel: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> List[int]:
    lead = len(shape) - rank
    out = shape[:lead]
    for i in range(rank):
        k = at(kernel, i)
        step = at(stride, i) if len(stride) > 0 else k
        p = at(padding, i)
        size = shape[lead + i]
        count = (size + 2 * p - at(dilation, i) * (k - 1) - 1 + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (count - 1) * step >= size + p:
            count = count - 1
        out.append(count)
    return out


def convolved_shape(input: List[int], weight: List[int], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> List[int]:
    out = [input[0], weight[1] * groups if transposed else weight[0]]
    for i in range(len(input) - 2):
        reach = at(dilation, i) * (weight[i + 2] - 1) + 1
        size = input[i + 2]
        if transposed:
            out.append((size - 1) * at(stride, i) - 2 * at(padding, i) + reach + at(output_padding, i))
        else:
            out.append((size + 2 * at(padding, i) - reach) // at(stride, i) + 1)
    return out


def padded_shape(shape: List[int], pad: List[int]) -> List[int]:
    out = [s for s in shape]
    for i in range(len(pad) // 2):
        d = len(shape) - 1 - i
        out[d] = out[d] + pad[2 * i] + pad[2 * i + 1]
    return out


def sliced_size(size: int, start: Optional[int], end: Optional[int], step: int) -> int:
    first = 0
    if start is not None:
        first = start
    last = size
    if end is not None:
        last = end
    first = min(max(first + size if first < 0 else first, 0), size)
    last = min(max(last + size if last < 0 else last, first), size)
    return (last - first + step - 1) // step


def viewed_shape(numel: int, size: List[int]) -> List[int]:
    known = 1
    for s in size:
        if s != -1:
            known = known * s
    return [numel // max(known, 1) if s == -1 else s for s in size]


def indexed_shape(shape: List[int], indices: List[Optional[Tensor]]) -> List[int]:
    # Of index tensors; how many elements a mask chooses depends on its values.
    joined: List[int] = []
    before: List[int] = []
    behind: List[int] = []
    seen = 0
    apart = False
    place = 0
    for index in indices:
        if index is None:
            if seen > 0:
                behind.append(shape[place])
            else:
                before.append(shape[place])
        else:
            assert index.dtype != torch.bool and index.dtype != torch.uint8, "how many elements a mask chooses depends on its values"
            apart = apart or len(behind) > 0
            joined = broadcast_shapes(joined, index.shape)
            seen = seen + 1
        place = place + 1
    behind = behind + shape[place:]
    return joined + before + behind if apart else before + joined + behind
