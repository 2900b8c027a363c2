# torch.nn.functional: images. Resizing, sampling, patches.
import math
import warnings
from typing import List, Optional

import torch
from torch import Tensor
from torch._jit_internal import BroadcastingList2


def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
           padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch._C._nn.im2col(input, kernel_size, dilation, padding, stride)


def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int],
         dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0,
         stride: BroadcastingList2[int] = 1) -> Tensor:
    return torch._C._nn.col2im(input, output_size, kernel_size, dilation, padding, stride)


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return torch._C._nn.pad(input, pad, mode, value)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: Optional[bool] = None) -> Tensor:
    if mode == "bilinear":
        mode_number = 0
    elif mode == "nearest":
        mode_number = 1
    elif mode == "bicubic":
        mode_number = 2
    else:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
                         "'{}'".format(mode))
    if padding_mode == "zeros":
        padding_number = 0
    elif padding_mode == "border":
        padding_number = 1
    elif padding_mode == "reflection":
        padding_number = 2
    else:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         "but got: '{}'".format(padding_mode))
    if align_corners is None:
        warnings.warn("grid_sample: align_corners is False unless given (it was True before 1.3)")
        align_corners = False
    return torch.grid_sampler(input, grid, mode_number, padding_number, align_corners)


def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    if align_corners is None:
        warnings.warn("affine_grid: align_corners is False unless given (it was True before 1.3)")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError("Expected theta to have floating point type, but got {}".format(theta.dtype))
    if len(size) == 4:
        if theta.dim() != 3 or theta.size(-2) != 2 or theta.size(-1) != 3:
            raise ValueError("Expected a batch of 2D affine matrices of shape Nx2x3 for size {}. Got {}.".format(
                size, theta.size()))
        spatial = size[-2:]
    elif len(size) == 5:
        if theta.dim() != 3 or theta.size(-2) != 3 or theta.size(-1) != 4:
            raise ValueError("Expected a batch of 3D affine matrices of shape Nx3x4 for size {}. Got {}.".format(
                size, theta.size()))
        spatial = size[-3:]
    else:
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  "respectively. Got size {}.".format(size))
    if align_corners and min(spatial) == 1:
        warnings.warn("affine_grid: with align_corners=True a dimension of size 1 has its only point at the centre")
    elif min(size) <= 0:
        raise ValueError("Expected non-zero, positive output size. Got {}".format(size))
    return torch.affine_grid_generator(theta, size, align_corners)


# The sizes that scale factors mean, rounded down.
def _scaled_sizes(input: Tensor, scale_factors: List[float]) -> List[int]:
    sizes: List[int] = []
    for i in range(len(scale_factors)):
        sizes.append(math.floor(float(input.size(i + 2)) * scale_factors[i]))
    return sizes


# interpolate with lists: one of size and scale_factor is given.
def _interpolate(input: Tensor, size: Optional[List[int]], scale_factor: Optional[List[float]], mode: str,
                 align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    keeps_grid = mode == "nearest" or mode == "area" or mode == "nearest-exact"
    if keeps_grid and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
                         "| trilinear")
    align = False
    if align_corners is not None:
        align = align_corners
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    dims = input.dim() - 2
    if size is not None and len(size) != dims:
        raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial "
                         "dimensions of {} and output size of {}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                         "format and output size in (o1, o2, ...,oK) format.".format(input.size()[2:], size))
    if scale_factor is not None and len(scale_factor) != dims:
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with "
                         "spatial dimensions of {} and scale_factor of shape {}. Please provide input tensor in (N, C, "
                         "d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.".format(
                             input.size()[2:], scale_factor))
    recompute = recompute_scale_factor is not None and recompute_scale_factor
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scale_factor is not None and (recompute or mode == "area"):
        size = _scaled_sizes(input, scale_factor)
        scale_factor = None
    if antialias and not (input.dim() == 4 and (mode == "bilinear" or mode == "bicubic" or mode == "lanczos")):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")

    if input.dim() == 3:
        if mode == "nearest":
            return torch._C._nn.upsample_nearest1d(input, size, scale_factor)
        if mode == "nearest-exact":
            return torch._C._nn._upsample_nearest_exact1d(input, size, scale_factor)
        if mode == "linear":
            return torch._C._nn.upsample_linear1d(input, size, align, scale_factor)
        if mode == "area":
            assert size is not None
            return torch.adaptive_avg_pool1d(input, size)
        if mode == "bilinear":
            raise NotImplementedError("Got 3D input, but bilinear mode needs 4D input")
        if mode == "trilinear":
            raise NotImplementedError("Got 3D input, but trilinear mode needs 5D input")
    if input.dim() == 4:
        if mode == "nearest":
            return torch._C._nn.upsample_nearest2d(input, size, scale_factor)
        if mode == "nearest-exact":
            return torch._C._nn._upsample_nearest_exact2d(input, size, scale_factor)
        if mode == "bilinear":
            if antialias:
                return torch._C._nn._upsample_bilinear2d_aa(input, size, align, scale_factor)
            return torch._C._nn.upsample_bilinear2d(input, size, align, scale_factor)
        if mode == "bicubic":
            if antialias:
                return torch._C._nn._upsample_bicubic2d_aa(input, size, align, scale_factor)
            return torch._C._nn.upsample_bicubic2d(input, size, align, scale_factor)
        if mode == "lanczos":
            if align:
                raise ValueError("Lanczos mode does not support align_corners=True")
            if not antialias:
                raise ValueError("Lanczos mode requires antialias=True")
            return torch._C._nn._upsample_lanczos2d_aa(input, size, align, scale_factor)
        if mode == "area":
            assert size is not None
            return torch._C._nn.adaptive_avg_pool2d(input, size)
        if mode == "linear":
            raise NotImplementedError("Got 4D input, but linear mode needs 3D input")
        if mode == "trilinear":
            raise NotImplementedError("Got 4D input, but trilinear mode needs 5D input")
    if input.dim() == 5:
        if mode == "nearest":
            return torch._C._nn.upsample_nearest3d(input, size, scale_factor)
        if mode == "nearest-exact":
            return torch._C._nn._upsample_nearest_exact3d(input, size, scale_factor)
        if mode == "trilinear":
            return torch._C._nn.upsample_trilinear3d(input, size, align, scale_factor)
        if mode == "area":
            assert size is not None
            return torch._C._nn.adaptive_avg_pool3d(input, size)
        if mode == "linear":
            raise NotImplementedError("Got 5D input, but linear mode needs 3D input")
        if mode == "bilinear":
            raise NotImplementedError("Got 5D input, but bilinear mode needs 4D input")
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | "
                              "linear | bilinear | bicubic | trilinear | area | nearest-exact (got {})".format(
                                  input.dim(), mode))


# One number stands for every spatial dimension.
def _each_dim_int(input: Tensor, size: Optional[int]) -> Optional[List[int]]:
    if size is None:
        return None
    return [size for _ in range(input.dim() - 2)]


def _each_dim_float(input: Tensor, scale_factor: Optional[float]) -> Optional[List[float]]:
    if scale_factor is None:
        return None
    return [scale_factor for _ in range(input.dim() - 2)]


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None,
                mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None,
                mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None, mode: str = "nearest",
                align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None,
                antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None,
                mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    if isinstance(size, Optional[int]):
        sizes = _each_dim_int(input, size)
    else:
        sizes = size
    if isinstance(scale_factor, Optional[float]):
        factors = _each_dim_float(input, scale_factor)
    elif isinstance(scale_factor, int):
        factors = _each_dim_float(input, float(scale_factor))
    else:
        factors = scale_factor
    return _interpolate(input, sizes, factors, mode, align_corners, recompute_scale_factor, antialias)


@torch.jit._overload
def upsample(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None, mode: str = "nearest",
             align_corners: Optional[bool] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None,
             mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    pass


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@torch.jit._overload
def upsample_nearest(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_nearest(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


def upsample_nearest(input, size=None, scale_factor=None):
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[List[int]] = None,
                      scale_factor: Optional[List[float]] = None) -> Tensor:
    pass


def upsample_bilinear(input, size=None, scale_factor=None):
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
