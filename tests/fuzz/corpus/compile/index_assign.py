def index_assign(x: Tensor, i: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 7
    y[:, 1] = T([1., 2., 3.])
    y[i, 2] = -1.0
    y[y > 6] = 0
    y[1:, -1] += 5
    return y
