# torch.nn.functional: pooling. Functions with a `return_indices` flag are two functions each, one for either value of the
# flag; boolean_dispatch picks one while the caller is compiled, from the constant it passes.
from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor
from torch._jit_internal import boolean_dispatch, BroadcastingList1, BroadcastingList2, BroadcastingList3


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return torch._C._nn.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    return torch._C._nn.adaptive_avg_pool3d(input, output_size)


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: BroadcastingList1[int],
                                     return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool1d(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch(
    arg_name="return_indices", arg_index=2, default=False, if_true=adaptive_max_pool1d_with_indices,
    if_false=_adaptive_max_pool1d, module_name="torch.nn.functional", func_name="adaptive_max_pool1d")


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: BroadcastingList2[int],
                                     return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch._C._nn.adaptive_max_pool2d(input, output_size)


def _adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tensor:
    return torch._C._nn.adaptive_max_pool2d(input, output_size)[0]


adaptive_max_pool2d = boolean_dispatch(
    arg_name="return_indices", arg_index=2, default=False, if_true=adaptive_max_pool2d_with_indices,
    if_false=_adaptive_max_pool2d, module_name="torch.nn.functional", func_name="adaptive_max_pool2d")


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: BroadcastingList3[int],
                                     return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch._C._nn.adaptive_max_pool3d(input, output_size)


def _adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tensor:
    return torch._C._nn.adaptive_max_pool3d(input, output_size)[0]


adaptive_max_pool3d = boolean_dispatch(
    arg_name="return_indices", arg_index=2, default=False, if_true=adaptive_max_pool3d_with_indices,
    if_false=_adaptive_max_pool3d, module_name="torch.nn.functional", func_name="adaptive_max_pool3d")


def max_pool1d_with_indices(input: Tensor, kernel_size: BroadcastingList1[int],
                            stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
                            dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
                padding: BroadcastingList1[int] = 0, dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False,
                return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch(
    arg_name="return_indices", arg_index=6, default=False, if_true=max_pool1d_with_indices, if_false=_max_pool1d,
    module_name="torch.nn.functional", func_name="max_pool1d")


def max_pool2d_with_indices(input: Tensor, kernel_size: BroadcastingList2[int],
                            stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
                            dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch._C._nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
                padding: BroadcastingList2[int] = 0, dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False,
                return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool2d = boolean_dispatch(
    arg_name="return_indices", arg_index=6, default=False, if_true=max_pool2d_with_indices, if_false=_max_pool2d,
    module_name="torch.nn.functional", func_name="max_pool2d")


def max_pool3d_with_indices(input: Tensor, kernel_size: BroadcastingList3[int],
                            stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
                            dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch._C._nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
                padding: BroadcastingList3[int] = 0, dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False,
                return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool3d = boolean_dispatch(
    arg_name="return_indices", arg_index=6, default=False, if_true=max_pool3d_with_indices, if_false=_max_pool3d,
    module_name="torch.nn.functional", func_name="max_pool3d")


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: BroadcastingList2[int],
                                       output_size: Optional[BroadcastingList2[int]] = None,
                                       output_ratio: Optional[BroadcastingList2[float]] = None,
                                       return_indices: bool = False,
                                       _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    if output_size is None:
        if output_ratio is None:
            raise ValueError("fractional_max_pool2d requires specifying either an output_size or an output_ratio")
        if len(output_ratio) > 2:
            raise ValueError("fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(-2) * output_ratio[0]), int(input.size(-1) * output_ratio[1])]
    if _random_samples is None:
        batch = 1 if input.dim() == 3 else input.size(0)
        _random_samples = torch.rand(batch, input.size(-3), 2, dtype=input.dtype, device=input.device)
    return torch._C._nn.fractional_max_pool2d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int],
                           output_size: Optional[BroadcastingList2[int]] = None,
                           output_ratio: Optional[BroadcastingList2[float]] = None, return_indices: bool = False,
                           _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, return_indices,
                                              _random_samples)[0]


fractional_max_pool2d = boolean_dispatch(
    arg_name="return_indices", arg_index=4, default=False, if_true=fractional_max_pool2d_with_indices,
    if_false=_fractional_max_pool2d, module_name="torch.nn.functional", func_name="fractional_max_pool2d")


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: BroadcastingList3[int],
                                       output_size: Optional[BroadcastingList3[int]] = None,
                                       output_ratio: Optional[BroadcastingList3[float]] = None,
                                       return_indices: bool = False,
                                       _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    if output_size is None:
        if output_ratio is None:
            raise ValueError("fractional_max_pool3d requires specifying either an output_size or an output_ratio")
        output_size = [int(input.size(-3) * output_ratio[0]), int(input.size(-2) * output_ratio[1]),
                       int(input.size(-1) * output_ratio[2])]
    if _random_samples is None:
        batch = 1 if input.dim() == 4 else input.size(0)
        _random_samples = torch.rand(batch, input.size(-4), 3, dtype=input.dtype, device=input.device)
    return torch._C._nn.fractional_max_pool3d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int],
                           output_size: Optional[BroadcastingList3[int]] = None,
                           output_ratio: Optional[BroadcastingList3[float]] = None, return_indices: bool = False,
                           _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, return_indices,
                                              _random_samples)[0]


fractional_max_pool3d = boolean_dispatch(
    arg_name="return_indices", arg_index=4, default=False, if_true=fractional_max_pool3d_with_indices,
    if_false=_fractional_max_pool3d, module_name="torch.nn.functional", func_name="fractional_max_pool3d")


# The sizes that max_unpool gives: what pooling with these numbers would have come from, or the wanted ones when they
# differ from that by less than a stride.
def _unpool_output_size(input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int],
                        output_size: Optional[List[int]]) -> List[int]:
    n = len(kernel_size)
    usual: List[int] = []
    for d in range(n):
        usual.append((input.size(d - n) - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    sizes = usual
    if output_size is not None:
        sizes = output_size
        if len(sizes) == n + 2:
            sizes = sizes[2:]
        if len(sizes) != n:
            raise ValueError("output_size should be a sequence containing {} or {} elements, but it has a length of '{}'"
                             .format(n, n + 2, len(sizes)))
        for d in range(n):
            least = usual[d] - stride[d]
            most = usual[d] + stride[d]
            if sizes[d] <= least or sizes[d] >= most:
                raise ValueError('invalid output_size "{}" (dim {} must be between {} and {})'.format(
                    sizes, d, least, most))
    for d in range(n):
        if sizes[d] < 0:
            raise ValueError("max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                             "output_size[{}]={}".format(d, sizes[d]))
    return sizes


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int],
                 stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
                 output_size: Optional[BroadcastingList1[int]] = None) -> Tensor:
    steps = kernel_size
    if stride is not None:
        steps = stride
    sizes = _unpool_output_size(input, kernel_size, steps, padding, output_size)
    return torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), sizes + [1]).squeeze(-1)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int],
                 stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
                 output_size: Optional[BroadcastingList2[int]] = None) -> Tensor:
    steps = kernel_size
    if stride is not None:
        steps = stride
    sizes = _unpool_output_size(input, kernel_size, steps, padding, output_size)
    return torch._C._nn.max_unpool2d(input, indices, sizes)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int],
                 stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
                 output_size: Optional[BroadcastingList3[int]] = None) -> Tensor:
    steps = kernel_size
    if stride is not None:
        steps = stride
    sizes = _unpool_output_size(input, kernel_size, steps, padding, output_size)
    return torch._C._nn.max_unpool3d(input, indices, sizes, steps, padding)


# The p-norm of a window from the average of its powers: (mean(x^p) * window)^(1/p).
def _root_of_mean(mean: Tensor, window: int, norm_type: float) -> Tensor:
    return (torch.sign(mean) * torch.relu(torch.abs(mean))).mul(window).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: Union[int, float], kernel_size: int,
              stride: Optional[BroadcastingList1[int]] = None, ceil_mode: bool = False) -> Tensor:
    p = float(norm_type)
    steps = torch.jit.annotate(List[int], [])
    if stride is not None:
        steps = stride
    if p == float("inf"):
        return torch.max_pool1d(input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -torch.max_pool1d(-input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    return _root_of_mean(torch.avg_pool1d(input.pow(p), kernel_size, steps, 0, ceil_mode), kernel_size, p)


def lp_pool2d(input: Tensor, norm_type: Union[int, float], kernel_size: BroadcastingList2[int],
              stride: Optional[BroadcastingList2[int]] = None, ceil_mode: bool = False) -> Tensor:
    p = float(norm_type)
    steps = torch.jit.annotate(List[int], [])
    if stride is not None:
        steps = stride
    if p == float("inf"):
        return torch.max_pool2d(input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -torch.max_pool2d(-input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    window = kernel_size[0] * kernel_size[1]
    return _root_of_mean(torch._C._nn.avg_pool2d(input.pow(p), kernel_size, steps, 0, ceil_mode), window, p)


def lp_pool3d(input: Tensor, norm_type: Union[int, float], kernel_size: BroadcastingList3[int],
              stride: Optional[BroadcastingList3[int]] = None, ceil_mode: bool = False) -> Tensor:
    p = float(norm_type)
    steps = torch.jit.annotate(List[int], [])
    if stride is not None:
        steps = stride
    if p == float("inf"):
        return torch.max_pool3d(input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -torch.max_pool3d(-input.abs(), kernel_size, steps, 0, 1, ceil_mode)
    window = kernel_size[0] * kernel_size[1] * kernel_size[2]
    return _root_of_mean(torch._C._nn.avg_pool3d(input.pow(p), kernel_size, steps, 0, ceil_mode), window, p)
