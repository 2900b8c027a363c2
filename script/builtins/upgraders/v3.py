# Operators as archives of format version 3 and before mean them: division of integers truncates.


def div(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        return torch.true_divide(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def div(self: Tensor, other: float) -> Tensor:
    return torch.true_divide(self, other)


def div(self: Tensor, other: int) -> Tensor:
    if self.is_floating_point():
        return torch.true_divide(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def div(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        return torch.true_divide(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def div(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point() or out.is_floating_point():
        return torch.true_divide(self, other, out=out)
    return torch.div(self, other, rounding_mode="trunc", out=out)


def div_(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        return self.true_divide_(other)
    return self.div_(other, rounding_mode="trunc")


def div_(self: Tensor, other: float) -> Tensor:
    return self.true_divide_(other)


def div_(self: Tensor, other: int) -> Tensor:
    if self.is_floating_point():
        return self.true_divide_(other)
    return self.div_(other, rounding_mode="trunc")


def div_(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        return self.true_divide_(other)
    return self.div_(other, rounding_mode="trunc")
