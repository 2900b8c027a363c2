# Products of matrices and vectors.


def scaled_sum(x: Tensor, product: Tensor, beta: number, alpha: number) -> Tensor:
    # beta * x + alpha * product; x is not looked at where beta is 0.
    # Integers are multiplied by integers.
    a = int(alpha) if is_whole_dtype(product.dtype) else alpha
    b = int(beta) if is_whole_dtype(product.dtype) else beta
    scaled = product if a == 1 else product * a
    if b == 0:
        return scaled
    return (x if b == 1 else x * b) + scaled


def cross_products(a: Tensor, b: Tensor, dim: int) -> Tensor:
    shape = broadcast_shapes(a.shape, b.shape)
    d = wrap_dim(dim, len(shape))
    x = a.expand(shape)
    y = b.expand(shape)
    parts: List[Tensor] = []
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        parts.append((x.select(d, j) * y.select(d, k) - x.select(d, k) * y.select(d, j)).unsqueeze(d))
    return torch.cat(parts, d)
