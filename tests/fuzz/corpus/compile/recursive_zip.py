def recursive_zip(a: List[int], b: List[float]) -> float:
    s = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        s += i * x * y
    for x in a[::-1]:
        s -= x
    return s
