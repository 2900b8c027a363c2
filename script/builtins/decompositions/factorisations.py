# Factorisations of matrices, a column at a time over whole batches.


def places_of(count: int, x: Tensor) -> Tensor:
    return torch.arange(0, count, 1, dtype=torch.int64, device=x.device)


def batch_of(x: Tensor) -> List[int]:
    return [x.size(d) for d in range(x.dim() - 2)]


def swapped_last(x: Tensor) -> Tensor:
    dims = [d for d in range(x.dim() - 2)]
    dims.append(x.dim() - 1)
    dims.append(x.dim() - 2)
    return x.permute(dims)


def by_columns(x: Tensor) -> Tensor:
    # Matrices in memory as LAPACK has them.
    return swapped_last(swapped_last(x).clone(memory_format=torch.contiguous_format))


def pivot_size(x: Tensor) -> Tensor:
    # As LAPACK compares candidates.
    if x.is_complex():
        return real_part(x).abs() + imaginary_part(x).abs()
    return x.abs()


def lu_factored(A: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    # LU, pivots from 1 on, and the first column without a pivot, or 0.
    assert A.dim() >= 2, f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {A.shape} instead"
    m = A.size(-2)
    n = A.size(-1)
    rows = places_of(m, A)
    columns = places_of(n, A)
    zero = torch.full([], 0, dtype=A.dtype, device=A.device)
    one = torch.full([], 1, dtype=A.dtype, device=A.device)
    lu = A.clone()
    info = torch.zeros(batch_of(A), dtype=torch.int32, device=A.device)
    pivots: List[Tensor] = [torch.zeros(batch_of(A) + [0], dtype=torch.int32, device=A.device)]
    for k in range(min(m, n)):
        sizes = pivot_size(lu.select(-1, k))
        chosen = torch.where(rows >= k, sizes, torch.full([], -1, dtype=sizes.dtype, device=A.device)).argmax(-1).unsqueeze(-1)
        pivots.append((chosen + 1).to(torch.int32))
        here = torch.full([], k, dtype=torch.int64, device=A.device)
        order = torch.where(rows == k, chosen, torch.where(rows == chosen, here, rows))
        lu = lu.gather(-2, order.unsqueeze(-1).expand(A.shape))
        top = lu.select(-2, k)
        pivot = top.select(-1, k)
        missing = pivot == 0
        info = torch.where(torch.logical_and(missing, info == 0), torch.full([], k + 1, dtype=torch.int32, device=A.device), info)
        factors = torch.where(rows > k, lu.select(-1, k) / torch.where(missing, one, pivot).unsqueeze(-1), zero).unsqueeze(-1)
        lu = lu - factors * torch.where(columns > k, top, zero).unsqueeze(-2)
        lu = torch.where(torch.logical_and((rows > k).unsqueeze(-1), columns == k), factors, lu)
    return by_columns(lu), torch.cat(pivots, -1), info


def row_order(pivots: Tensor, m: int) -> Tensor:
    # Which row of A is where after the exchanges.
    rows = places_of(m, pivots)
    sizes = [pivots.size(d) for d in range(pivots.dim() - 1)]
    order = rows.expand(sizes + [m])
    for k in range(pivots.size(-1)):
        chosen = (pivots.select(-1, k).to(torch.int64) - 1).unsqueeze(-1)
        here = torch.full([], k, dtype=torch.int64, device=pivots.device)
        order = order.gather(-1, torch.where(rows == k, chosen, torch.where(rows == chosen, here, rows)).expand(sizes + [m]))
    return order


def rows_in_order(x: Tensor, order: Tensor) -> Tensor:
    return x.gather(-2, order.unsqueeze(-1).expand(x.shape))


def lower_part(x: Tensor, diagonal: int) -> Tensor:
    kept = places_of(x.size(-1), x) <= (places_of(x.size(-2), x) + diagonal).unsqueeze(-1)
    return torch.where(kept, x, torch.full([], 0, dtype=x.dtype, device=x.device))


def upper_part(x: Tensor, diagonal: int) -> Tensor:
    kept = places_of(x.size(-1), x) >= (places_of(x.size(-2), x) + diagonal).unsqueeze(-1)
    return torch.where(kept, x, torch.full([], 0, dtype=x.dtype, device=x.device))


def unit_matrix(n: int, x: Tensor) -> Tensor:
    same = places_of(n, x).unsqueeze(-1) == places_of(n, x)
    return same.to(x.dtype)


def lu_unpacked(lu: Tensor, pivots: Tensor, data: bool, permutation: bool) -> Tuple[Tensor, Tensor, Tensor]:
    assert lu.dim() >= 2, f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {lu.shape} instead"
    m = lu.size(-2)
    k = min(m, lu.size(-1))
    none = torch.zeros([0], dtype=lu.dtype, device=lu.device)
    p = none
    l = none
    u = none
    if permutation:
        order = row_order(pivots, m)
        p = (places_of(m, lu).unsqueeze(-1) == order.unsqueeze(-2)).to(lu.dtype)
    if data:
        left = lu.slice(-1, 0, k)
        l = lower_part(left, -1) + (places_of(m, lu).unsqueeze(-1) == places_of(k, lu)).to(lu.dtype)
        u = upper_part(lu.slice(-2, 0, k), 0)
    return p, l, u


def same_batches(A: Tensor, B: Tensor) -> Tuple[Tensor, Tensor]:
    batch = broadcast_shapes(batch_of(A), batch_of(B))
    return A.expand(batch + [A.size(-2), A.size(-1)]), B.expand(batch + [B.size(-2), B.size(-1)])


def substituted(A: Tensor, B: Tensor, upper: bool, unit: bool) -> Tensor:
    # X of A X = B, a row at a time.
    n = A.size(-1)
    x = B.clone()
    rows = places_of(n, A)
    for i in range(n):
        k = n - 1 - i if upper else i
        row = x.select(-2, k)
        if not unit:
            row = row / A.select(-1, k).select(-1, k).unsqueeze(-1)
        left = (rows < k) if upper else (rows > k)
        column = torch.where(left, A.select(-1, k), torch.full([], 0, dtype=A.dtype, device=A.device)).unsqueeze(-1)
        x = torch.where((rows == k).unsqueeze(-1), row.unsqueeze(-2), x - column * row.unsqueeze(-2))
    return x


def triangular_solution(A: Tensor, B: Tensor, upper: bool, left: bool, unit: bool) -> Tensor:
    if left:
        a, b = same_batches(A, B)
        return by_columns(substituted(a, b, upper, unit))
    a, b = same_batches(swapped_last(A), swapped_last(B))
    return by_columns(swapped_last(substituted(a, b, not upper, unit)))


def lu_solution(lu: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    # A = P L U; X A = B is the same for transposed matrices.
    if not left:
        flipped = lu_solution_left(lu, pivots, conjugated(swapped_last(B)), not adjoint)
        return conjugated(swapped_last(flipped)).clone(memory_format=torch.contiguous_format)
    return by_columns(lu_solution_left(lu, pivots, B, adjoint))


def lu_solution_left(lu: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    a, b = same_batches(lu, B)
    order = row_order(pivots, lu.size(-1))
    sizes = [a.size(d) for d in range(a.dim() - 1)]
    order = order.expand(sizes)
    if not adjoint:
        return substituted(a, substituted(a, rows_in_order(b, order), False, True), True, False)
    h = conjugated(swapped_last(a))
    x = substituted(h, substituted(h, b, False, False), True, True)
    return rows_in_order(x, order.argsort(-1))


def permutation_sign(pivots: Tensor, dtype: int) -> Tensor:
    moved = pivots != (places_of(pivots.size(-1), pivots) + 1).to(torch.int32)
    return torch.where(moved, torch.full([], -1, dtype=dtype, device=pivots.device), torch.full([], 1, dtype=dtype, device=pivots.device)).prod(-1)


def solution(A: Tensor, B: Tensor, left: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    vector = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    assert left or not vector, "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False"
    lu, pivots, info = lu_factored(A)
    x = lu_solution(lu, pivots, B.unsqueeze(-1) if vector else B, left, False)
    if vector:
        x = x.squeeze(-1)
        x = by_columns(x) if x.dim() >= 2 else x
    return x, lu, pivots, info


def inverse_of(A: Tensor) -> Tuple[Tensor, Tensor]:
    lu, pivots, info = lu_factored(A)
    return lu_solution(lu, pivots, unit_matrix(A.size(-1), A), True, False), info


def factored_either(A: Tensor) -> Tuple[Tensor, Tensor]:
    # Of a real matrix stored by rows the transpose is factored, which has the same determinant.
    lu, pivots, info = lu_factored(swapped_last(A) if A.is_contiguous() and not A.is_complex() else A)
    return lu, pivots


def signs_of(x: Tensor) -> Tensor:
    # Of NaN 0, as the kernel has it.
    if x.is_complex():
        size = x.abs()
        zero = torch.full([], 0, dtype=x.dtype, device=x.device)
        return torch.where(size == 0, zero, x / size)
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def determinant(A: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    lu, pivots = factored_either(A)
    return permutation_sign(pivots, A.dtype) * lu.diagonal(0, -2, -1).prod(-1), lu, pivots


def log_determinant(A: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    lu, pivots = factored_either(A)
    diagonal = lu.diagonal(0, -2, -1)
    return permutation_sign(pivots, A.dtype) * signs_of(diagonal).prod(-1), torch.log(torch.abs(diagonal)).sum(-1), lu, pivots


def cholesky_factored(A: Tensor, upper: bool) -> Tuple[Tensor, Tensor]:
    # L of A = L L^H, which reads the lower half; or L^H, which reads the upper one.
    n = A.size(-1)
    rest = lower_part(conjugated(swapped_last(A)) if upper else A, 0)
    rows = places_of(n, A)
    zero = torch.full([], 0, dtype=A.dtype, device=A.device)
    info = torch.zeros(batch_of(A), dtype=torch.int32, device=A.device)
    for k in range(n):
        corner = rest.select(-1, k).select(-1, k)
        size = real_part(corner) if corner.is_complex() else corner
        bad = torch.logical_not(size > 0)
        info = torch.where(torch.logical_and(bad, info == 0), torch.full([], k + 1, dtype=torch.int32, device=A.device), info)
        root = torch.sqrt(size).to(A.dtype).unsqueeze(-1)
        below = torch.where(rows > k, rest.select(-1, k) / root, zero)
        column = torch.where(rows == k, root, below)
        products = below.unsqueeze(-1) * conjugated(below).unsqueeze(-2)
        going = (info == 0).unsqueeze(-1).unsqueeze(-1)
        rest = torch.where(going, torch.where(rows == k, column.unsqueeze(-1), lower_part(rest - products, 0)), rest)
    return by_columns(conjugated(swapped_last(rest)) if upper else rest), info
