# torch: functions that are no operators, or take more kinds of arguments than the operator does. Within this file
# torch.ops.aten.norm is the operator.
from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor
from torch._jit_internal import boolean_dispatch


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    mode: Optional[int] = None
    if compute_mode == "use_mm_for_euclid_dist":
        mode = 1
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        mode = 2
    elif compute_mode != "use_mm_for_euclid_dist_if_necessary":
        raise ValueError("{} is not a valid value for compute_mode".format(compute_mode))
    return torch.ops.aten.cdist(x1, x2, p, mode)


def _tensordot(a: Tensor, b: Tensor, dims_a: List[int], dims_b: List[int], out: Optional[Tensor]) -> Tensor:
    if out is None:
        return torch.ops.aten.tensordot(a, b, dims_a, dims_b)
    return torch.ops.aten.tensordot(a, b, dims_a, dims_b, out=out)


# Over the last `dims` dimensions of a and the first of b.
def _tensordot_count(a: Tensor, b: Tensor, dims: int, out: Optional[Tensor]) -> Tensor:
    if dims < 0:
        raise RuntimeError("tensordot expects dims >= 0, but got dims={}".format(dims))
    if dims > min(a.dim(), b.dim()):
        raise RuntimeError("tensordot expects dims < ndim_a or ndim_b, but got dims={}".format(dims))
    return _tensordot(a, b, [i - dims for i in range(dims)], [i for i in range(dims)], out)


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor] = None) -> Tensor:
    pass


def tensordot(a, b, dims=2, out: Optional[Tensor] = None):
    if isinstance(dims, int):
        return _tensordot_count(a, b, dims, out)
    elif isinstance(dims, Tensor):
        if dims.numel() > 1:
            dims_a = torch.jit.annotate(List[int], dims[0].tolist())
            dims_b = torch.jit.annotate(List[int], dims[1].tolist())
            return _tensordot(a, b, dims_a, dims_b, out)
        return _tensordot_count(a, b, int(dims.item()), out)
    else:
        return _tensordot(a, b, dims[0], dims[1], out)


def _lu_with_infos(A: Tensor, pivot: bool = True, get_infos: bool = False,
                   out: Optional[Tuple[Tensor, Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor, Tensor]:
    result = torch._lu_with_info(A, pivot=pivot, check_errors=(not get_infos))
    if out is not None:
        for i in range(3):
            out[i].resize_as_(result[i]).copy_(result[i])
        return out
    return result


def _lu_no_infos(A: Tensor, pivot: bool = True, get_infos: bool = False,
                 out: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
    result = torch._lu_with_info(A, pivot=pivot, check_errors=(not get_infos))
    if out is not None:
        out[0].resize_as_(result[0]).copy_(result[0])
        out[1].resize_as_(result[1]).copy_(result[1])
        return out
    return result[0], result[1]


lu = boolean_dispatch(
    arg_name="get_infos", arg_index=2, default=False, if_true=_lu_with_infos, if_false=_lu_no_infos,
    module_name="torch.functional", func_name="lu")


# A named norm ("fro", "nuc") or the p-norm, over all dimensions when `dim` is None.
def _norm_by_name(input: Tensor, p: str, dim: Optional[List[int]], keepdim: bool, out: Optional[Tensor],
                  dtype: Optional[int]) -> Tensor:
    if p == "fro":
        if dtype is not None:
            raise ValueError("dtype argument is not supported in frobenius norm")
        dims = torch.jit.annotate(List[int], [])
        if dim is not None:
            dims = dim
        if out is None:
            return torch.frobenius_norm(input, dims, keepdim=keepdim)
        return torch.frobenius_norm(input, dims, keepdim=keepdim, out=out)
    if p == "nuc":
        if dtype is not None:
            raise ValueError("dtype argument is not supported in nuclear norm")
        if dim is None:
            if out is None:
                return torch.nuclear_norm(input, keepdim=keepdim)
            return torch.nuclear_norm(input, keepdim=keepdim, out=out)
        if out is None:
            return torch.nuclear_norm(input, dim, keepdim=keepdim)
        return torch.nuclear_norm(input, dim, keepdim=keepdim, out=out)
    raise RuntimeError("only valid string values are 'fro' and 'nuc', found {}".format(p))


def _norm_by_power(input: Tensor, p: Optional[Union[int, float, complex]], dim: Optional[List[int]], keepdim: bool,
                   out: Optional[Tensor], dtype: Optional[int]) -> Tensor:
    dims = torch.jit.annotate(List[int], [])
    if dim is not None:
        dims = dim
    else:
        for i in range(input.dim()):
            dims.append(i)
    if out is None:
        if dtype is None:
            return torch.ops.aten.norm(input, p, dims, keepdim)
        return torch.ops.aten.norm(input, p, dims, keepdim, dtype=dtype)
    if dtype is None:
        return torch.ops.aten.norm(input, p, dims, keepdim, out=out)
    return torch.ops.aten.norm(input, p, dims, keepdim, dtype=dtype, out=out)


@torch.jit._overload
def norm(input: Tensor, p: str = "fro", dim: Optional[List[int]] = None, keepdim: bool = False,
         out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: Optional[Union[int, float, complex]], dim: Optional[List[int]] = None,
         keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: Optional[Union[int, float, complex]], dim: Optional[int] = None,
         keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: str = "fro", dim: Optional[int] = None, keepdim: bool = False,
         out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


def norm(input: Tensor, p="fro", dim=None, keepdim: bool = False, out: Optional[Tensor] = None,
         dtype: Optional[int] = None):
    dims: Optional[List[int]] = None
    if dim is not None:
        if isinstance(dim, int):
            dims = [dim]
        else:
            dims = dim
    if isinstance(p, str):
        return _norm_by_name(input, p, dims, keepdim, out, dtype)
    else:
        return _norm_by_power(input, p, dims, keepdim, out, dtype)


def _unique(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool,
            dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        return torch.ops.aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return torch.ops.aten._unique2(input, sorted, return_inverse, return_counts)


def _return_output(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
                   dim: Optional[int] = None) -> Tensor:
    return _unique(input, sorted, return_inverse, return_counts, dim)[0]


def _return_counts(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
                   dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    output, _, counts = _unique(input, sorted, return_inverse, return_counts, dim)
    return output, counts


def _return_inverse(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
                    dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    output, inverse, _ = _unique(input, sorted, return_inverse, return_counts, dim)
    return output, inverse


def _return_inverse_and_counts(input: Tensor, sorted: bool = True, return_inverse: bool = False,
                               return_counts: bool = False,
                               dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    return _unique(input, sorted, return_inverse, return_counts, dim)


_unique_without_inverse = boolean_dispatch(
    arg_name="return_counts", arg_index=3, default=False, if_true=_return_counts, if_false=_return_output,
    module_name="torch.functional", func_name="unique")
_unique_with_inverse = boolean_dispatch(
    arg_name="return_counts", arg_index=3, default=False, if_true=_return_inverse_and_counts,
    if_false=_return_inverse, module_name="torch.functional", func_name="unique")
unique = boolean_dispatch(
    arg_name="return_inverse", arg_index=2, default=False, if_true=_unique_with_inverse,
    if_false=_unique_without_inverse, module_name="torch.functional", func_name="unique")


def _consecutive_return_output(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                               dim: Optional[int] = None) -> Tensor:
    return torch.ops.aten.unique_consecutive(input, return_inverse, return_counts, dim)[0]


def _consecutive_return_counts(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                               dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    output, _, counts = torch.ops.aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return output, counts


def _consecutive_return_inverse(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                                dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    output, inverse, _ = torch.ops.aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return output, inverse


def _consecutive_return_inverse_and_counts(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                                           dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.ops.aten.unique_consecutive(input, return_inverse, return_counts, dim)


_consecutive_without_inverse = boolean_dispatch(
    arg_name="return_counts", arg_index=2, default=False, if_true=_consecutive_return_counts,
    if_false=_consecutive_return_output, module_name="torch.functional", func_name="unique_consecutive")
_consecutive_with_inverse = boolean_dispatch(
    arg_name="return_counts", arg_index=2, default=False, if_true=_consecutive_return_inverse_and_counts,
    if_false=_consecutive_return_inverse, module_name="torch.functional", func_name="unique_consecutive")
unique_consecutive = boolean_dispatch(
    arg_name="return_inverse", arg_index=1, default=False, if_true=_consecutive_with_inverse,
    if_false=_consecutive_without_inverse, module_name="torch.functional", func_name="unique_consecutive")


def stft(input: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None,
         window: Optional[Tensor] = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
         onesided: Optional[bool] = None, return_complex: Optional[bool] = None,
         align_to_window: Optional[bool] = None) -> Tensor:
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    return torch.ops.aten.stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
                               return_complex, align_to_window)
