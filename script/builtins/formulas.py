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
