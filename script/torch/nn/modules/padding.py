# torch.nn: padding. Sizes are (left, right, top, bottom, front, back), as many as the dimensions need.
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Module
from torch.nn.modules.utils import _pair, _quadruple, _tuple_of


class CircularPad1d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError("expected 2D or 3D input (got {}D input)".format(input.dim()))
        return F.pad(input, self.padding, "circular")


class CircularPad2d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError("expected 3D or 4D input (got {}D input)".format(input.dim()))
        return F.pad(input, self.padding, "circular")


class CircularPad3d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _tuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4 and input.dim() != 5:
            raise ValueError("expected 4D or 5D input (got {}D input)".format(input.dim()))
        return F.pad(input, self.padding, "circular")


class ConstantPad1d(Module):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _pair(padding)
        self.value = float(value)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad2d(Module):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _quadruple(padding)
        self.value = float(value)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad3d(Module):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__()
        self.padding = _tuple_of(padding, 6)
        self.value = float(value)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ReflectionPad1d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad2d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad3d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _tuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReplicationPad1d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _pair(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad2d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _quadruple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad3d(Module):
    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _tuple_of(padding, 6)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ZeroPad1d(ConstantPad1d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ZeroPad2d(ConstantPad2d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ZeroPad3d(ConstantPad3d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)
