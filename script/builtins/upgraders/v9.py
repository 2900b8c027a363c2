# Operators as archives of format version 9 and before mean them: gelu is the exact one.


def gelu(self: Tensor) -> Tensor:
    return torch.gelu(self, approximate="none")


def gelu(self: Tensor, *, out: Tensor) -> Tensor:
    return torch.gelu(self, approximate="none", out=out)
