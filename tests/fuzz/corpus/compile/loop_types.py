def loop_types(n: int) -> Tuple[List[List[int]], Dict[str, List[Tensor]]]:
    grid = [[i * j for j in range(3)] for i in range(n)]
    d: Dict[str, List[Tensor]] = {}
    for i in range(n):
        k = "even" if i % 2 == 0 else "odd"
        if k not in d:
            d[k] = []
        d[k].append(torch.full([1], i))
    return grid, d
