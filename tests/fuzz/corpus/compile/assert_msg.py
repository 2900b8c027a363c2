def assert_msg(x: Tensor) -> Tensor:
    assert x.dim() == 2, "want 2-d, got {}".format(x.dim())
    return x.t()
