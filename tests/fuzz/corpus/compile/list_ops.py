def list_ops(n: int) -> Tuple[List[int], int, int, List[int]]:
    a: List[int] = []
    for i in range(n):
        a.append(i * i)
    a.insert(1, 99)
    a.extend([5, 4])
    b = a.pop()
    a.reverse()
    c = a.index(99)
    a.remove(99)
    d = a[1:4] + a[::-1]
    d.sort()
    a[0] = -1
    return a, b, c, d
