def union_isinstance(x: Union[int, float, List[int]]) -> float:
    if isinstance(x, int):
        return float(x) + 1.0
    elif isinstance(x, float):
        return x * 2
    else:
        return float(len(x))
