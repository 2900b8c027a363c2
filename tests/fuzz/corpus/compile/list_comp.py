def list_comp(xs: List[Tensor]) -> List[Tensor]:
    ys = [x * 2 for x in xs]
    return [y + i for i, y in enumerate(ys)]
