def while_loop(n: int) -> int:
    i = 0
    s = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if s > 50:
            break
        s += i
    return s
