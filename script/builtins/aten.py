# Overloads of operators that are tried after those of the operator table, in this order; a call becomes the body.
# Arithmetic and comparison of a number with a tensor: the operators take the tensor first.


def mul(a: float, b: Tensor) -> Tensor:
    return b * a


def mul(a: int, b: Tensor) -> Tensor:
    return b * a


def mul(a: complex, b: Tensor) -> Tensor:
    return b * a


def add(a: float, b: Tensor) -> Tensor:
    return b + a


def add(a: int, b: Tensor) -> Tensor:
    return b + a


def add(a: complex, b: Tensor) -> Tensor:
    return b + a


def sub(a: float, b: Tensor) -> Tensor:
    return torch.neg(b) + a


def sub(a: int, b: Tensor) -> Tensor:
    return torch.neg(b) + a


def sub(a: complex, b: Tensor) -> Tensor:
    return torch.neg(b) + a


def div(a: float, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a


def div(a: int, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a


def div(a: complex, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a


def ne(a: float, b: Tensor) -> Tensor:
    return b != a


def ne(a: int, b: Tensor) -> Tensor:
    return b != a


def ne(a: complex, b: Tensor) -> Tensor:
    return b != a


def eq(a: float, b: Tensor) -> Tensor:
    return b == a


def eq(a: int, b: Tensor) -> Tensor:
    return b == a


def eq(a: complex, b: Tensor) -> Tensor:
    return b == a


def lt(a: float, b: Tensor) -> Tensor:
    return b > a


def lt(a: int, b: Tensor) -> Tensor:
    return b > a


def le(a: float, b: Tensor) -> Tensor:
    return b >= a


def le(a: int, b: Tensor) -> Tensor:
    return b >= a


def gt(a: float, b: Tensor) -> Tensor:
    return b < a


def gt(a: int, b: Tensor) -> Tensor:
    return b < a


def ge(a: float, b: Tensor) -> Tensor:
    return b <= a


def ge(a: int, b: Tensor) -> Tensor:
    return b <= a


def floordiv(a: Tensor, b: number) -> Tensor:
    return torch.floor_divide(a, b)


def floordiv(a: Tensor, b: Tensor) -> Tensor:
    return torch.floor_divide(a, b)


# Numbers for every dimension.


def _single(x: BroadcastingList1[int]) -> List[int]:
    return x


def _single(x: BroadcastingList1[float]) -> List[float]:
    return x


def _pair(x: BroadcastingList2[int]) -> List[int]:
    return x


def _pair(x: BroadcastingList2[float]) -> List[float]:
    return x


def _triple(x: BroadcastingList3[int]) -> List[int]:
    return x


def _triple(x: BroadcastingList3[float]) -> List[float]:
    return x


def _quadruple(x: BroadcastingList4[int]) -> List[int]:
    return x


def _quadruple(x: BroadcastingList4[float]) -> List[float]:
    return x


# A string within a string.


def __contains__(self: str, key: str) -> bool:
    return self.find(key, 0, len(self)) != -1
