# Draws by the operators that Core ATen has for them.


def kept_noise(x: Tensor, shape: List[int], p: float) -> Tensor:
    # 1 with probability 1 - p, else 0: the mask of native_dropout, which draws what bernoulli_ draws.
    out, mask = torch.native_dropout(torch.full(shape, 1, dtype=x.dtype, device=x.device), p, True)
    return mask.to(x.dtype)


def feature_sizes(x: Tensor) -> List[int]:
    # One number a channel.
    assert x.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input"
    return x.shape[:2] + [1 for d in range(x.dim() - 2)]


def alpha_dropped(x: Tensor, noise: Tensor, p: float) -> Tensor:
    # Mean and variance of self-normalising networks stay what they are: -1.758 is what selu comes to, far to the left.
    scale = ((3.09091329228798 * p + 1) * (1 - p)) ** -0.5
    shift = (noise - 1) * (1.7580993408473766 * scale) + 1.7580993408473766 * scale * p
    return x * (noise * scale) + shift


def memory_order(strides: List[int]) -> List[int]:
    # Dims, those furthest apart in memory first.
    order: List[int] = []
    for d in range(len(strides)):
        place = len(order)
        while place > 0 and strides[order[max(place - 1, 0)]] < strides[d]:
            place = place - 1
        order = order[:place] + [d] + order[place:]
    return order


def uniform_as(layout: Tensor) -> Tensor:
    # Numbers are drawn in the order of memory. (Those of normal_ are not: PyTorch draws otherwise where memory has gaps or
    # dims are in another order.)
    order = memory_order(layout.stride())
    made = torch.rand([layout.size(d) for d in order], dtype=layout.dtype, device=layout.device)
    return made.permute(inverse_permutation(order))
