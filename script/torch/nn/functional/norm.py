# torch.nn.functional: normalisation.
from typing import List, Optional

import torch
from torch import Tensor


# Statistics of one value are no statistics: refused when they are taken from the input.
def _verify_batch_size(size: List[int]) -> None:
    count = size[0]
    for i in range(2, len(size)):
        count *= size[i]
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size {}".format(size))


def _verify_spatial_size(size: List[int]) -> None:
    count = 1
    for i in range(2, len(size)):
        count *= size[i]
    if count == 1:
        raise ValueError("Expected more than 1 spatial element when training, got input size {}".format(size))


def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor],
               weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    if training:
        _verify_batch_size(input.size())
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None,
                  weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None,
             eps: Optional[float] = None) -> Tensor:
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               eps: float = 1e-5) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("Expected at least 2 dimensions for input tensor but received {}".format(input.dim()))
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups] + input.size()[2:])
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


# Each element by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta.
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError("Expected 3D or higher dimensionality input (got {} dimensions)".format(input.dim()))
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if input.dim() == 3:
        padded = torch._C._nn.pad(squares.unsqueeze(1), [0, 0, size // 2, (size - 1) // 2])
        mean = torch._C._nn.avg_pool2d(padded, [size, 1], stride=1).squeeze(1)
    else:
        planes = squares.view(input.size(0), 1, input.size(1), input.size(2), -1)
        padded = torch._C._nn.pad(planes, [0, 0, 0, 0, size // 2, (size - 1) // 2])
        mean = torch._C._nn.avg_pool3d(padded, [size, 1, 1], stride=1).squeeze(1).view(input.size())
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None) -> Tensor:
    length = input.norm(p, [dim], keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / length
    return torch.div(input, length, out=out)
