def print_things(x: Tensor, n: int) -> str:
    return "{} {} {}".format(x, n, [1.5, 2.0]) + str(n) + str(2.5) + str(True) + str(None) + str([1, 2]) + str((1, "a"))
