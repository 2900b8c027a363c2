"""Functions of torch that are written in Python there, too: approximate decompositions of low rank, and indices of flat positions."""

import math

import sconce as torch


def unravel_index(indices, shape):
    """The index in each dimension of flat positions in an array of a shape."""
    if isinstance(indices, bool) or not isinstance(indices, torch.Tensor) or indices.is_floating_point() or indices.is_complex() or \
            indices.dtype is torch.bool:
        kind = indices.dtype if isinstance(indices, torch.Tensor) else type(indices).__name__
        raise ValueError(f"expected 'indices' to be integer dtype, but got {kind}")
    if isinstance(shape, torch.Tensor):
        shape = shape.tolist()
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(not isinstance(size, int) for size in shape):
        raise ValueError(f"expected 'shape' sequence elements to be ints, but got {shape}")
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return tuple(indices.div(step, rounding_mode="floor") % size for step, size in zip(steps, shape))


def _basis(a, q, niter, mean):
    """Columns that span most of the range of a - mean: random ones, made better by products with a and its adjoint."""
    dtype = a.dtype if a.is_floating_point() or a.is_complex() else torch.get_default_dtype()

    def times(x):
        return a.matmul(x) if mean is None else a.matmul(x) - mean.matmul(x)

    def adjoint_times(x):
        return a.mH.matmul(x) if mean is None else a.mH.matmul(x) - mean.mH.matmul(x)

    columns = torch.linalg.qr(times(torch.randn((*a.shape[:-2], a.shape[-1], q), dtype=dtype, device=a.device)))[0]
    for _ in range(niter):
        columns = torch.linalg.qr(adjoint_times(columns))[0]
        columns = torch.linalg.qr(times(columns))[0]
    return columns, adjoint_times


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) of rank q with A - M close to U diag(S) V^H, by random projections."""
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    mean = None if M is None else M.broadcast_to(A.shape)
    tall = rows >= columns
    if not tall:
        A, mean = A.mH, None if mean is None else mean.mH
    basis, adjoint_times = _basis(A, q, niter, mean)
    left, values, right = torch.linalg.svd(adjoint_times(basis).mH, full_matrices=False)
    left = basis.matmul(left)
    return (left, values, right.mH) if tall else (right.mH, values, left)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components of the rows of A, by svd_lowrank."""
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=(-2,), keepdim=True)
    return svd_lowrank(A, q, niter=niter)
