def optional_refine(x: Optional[Tensor], y: Optional[int] = None) -> Tensor:
    if x is None:
        r = torch.zeros(2)
    else:
        r = x
    if y is not None and y > 2:
        r = r * y
    assert r is not None
    return r
