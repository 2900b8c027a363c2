# torch.nn.functional: dropout of elements and of whole channels.
import warnings

import torch
from torch import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError("dropout probability has to be between 0 and 1, but got {}".format(p))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return torch.dropout_(input, p, training)
    return torch.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return torch.alpha_dropout_(input, p, training)
    return torch.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return torch.feature_alpha_dropout_(input, p, training)
    return torch.feature_alpha_dropout(input, p, training)


# Channel-wise dropout of one sample without a batch dimension: it gets one for the call.
def _feature_dropout_unbatched(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if inplace:
        return torch.feature_dropout_(input.unsqueeze_(0), p, training).squeeze_(0)
    return torch.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if inplace:
        return torch.feature_dropout_(input, p, training)
    return torch.feature_dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if input.dim() != 2 and input.dim() != 3:
        raise RuntimeError("dropout1d: Expected 2D or 3D input, but received a {}D input. It drops channels of inputs "
                           "that have a channel dimension, one spatial dimension and perhaps a batch dimension".format(
                               input.dim()))
    if input.dim() == 2:
        return _feature_dropout_unbatched(input, p, training, inplace)
    return _feature_dropout(input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if input.dim() != 3 and input.dim() != 4:
        warnings.warn("dropout2d: Received a {}-D input, which is deprecated: it drops channels of inputs with two "
                      "spatial dimensions (3-D or 4-D). Use dropout for other inputs".format(input.dim()))
    if input.dim() == 3:
        warnings.warn("dropout2d: a 3-D input is taken as (N, C, L), with channel-wise dropout; dropout1d does that by "
                      "name")
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if input.dim() != 4 and input.dim() != 5:
        warnings.warn("dropout3d: Received a {}-D input, which is deprecated: it drops channels of inputs with three "
                      "spatial dimensions (4-D or 5-D). Use dropout for other inputs".format(input.dim()))
    if input.dim() != 5:
        return _feature_dropout_unbatched(input, p, training, inplace)
    return _feature_dropout(input, p, training, inplace)
