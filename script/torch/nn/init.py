# torch.nn.init: how parameters begin. Each draws what PyTorch draws, in the same order.
import math
import warnings

import torch


def calculate_gain(nonlinearity, param=None):
    linear = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
    if nonlinearity in linear or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError("negative_slope {} not a valid number".format(slope))
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError("Unsupported nonlinearity {}".format(nonlinearity))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


# Of candidates between a and b, the logarithm of their density relative to its largest value there. Overwrites them.
def _relative_log_density_(candidates, mean: float, std: float, log_peak: float):
    return candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)


# Values of the normal distribution within [a, b], by rejection: draws outside are drawn again or, where fewer than
# three in ten would be inside, uniform draws are kept with the probability of their density.
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.")
    with torch.no_grad():
        below_a = (1.0 + math.erf((a - mean) / std / math.sqrt(2.0))) / 2.0
        below_b = (1.0 + math.erf((b - mean) / std / math.sqrt(2.0))) / 2.0
        if below_b - below_a > 0.3:
            bounds = torch.tensor([a, b], dtype=tensor.dtype)  # as the dtype holds them
            low = bounds[0].item()
            high = bounds[1].item()
            tensor.normal_(mean, std, generator=generator)
            drawn = tensor
            outside = (drawn < low) | (drawn > high)
            while bool(outside.any()):
                again = torch.empty_like(drawn).normal_(mean, std, generator=generator)
                drawn = torch.where(outside, again, drawn)
                outside = (drawn < low) | (drawn > high)
        else:
            log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
            candidates = torch.empty_like(tensor)
            chances = torch.empty_like(tensor)
            tensor.uniform_(a, b, generator=generator)
            drawn = tensor
            candidates.copy_(drawn)
            _relative_log_density_(candidates, mean, std, log_peak)
            rejected = chances.uniform_(0.0, 1.0, generator=generator).log_() > candidates
            while bool(rejected.any()):
                candidates.uniform_(a, b, generator=generator)
                drawn = torch.where(rejected, candidates, drawn)
                _relative_log_density_(candidates, mean, std, log_peak)
                again = chances.uniform_(0.0, 1.0, generator=generator).log_() > candidates
                rejected = torch.where(rejected, again, rejected)
        if drawn is not tensor:
            tensor.copy_(drawn)
        return tensor


def constant_(tensor, val):
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        tensor.copy_(torch.eye(tensor.size(0), tensor.size(1), dtype=tensor.dtype, device=tensor.device))
    return tensor


# One at the centre of every kernel of a convolution that keeps channels as they are.
def dirac_(tensor, groups=1):
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    kept = min(per_group, tensor.size(1))
    with torch.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(kept):
                at = tensor[g * per_group + d, d]
                for k in range(tensor.dim() - 3):
                    at = at[tensor.size(k + 2) // 2]
                at[tensor.size(-1) // 2] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for d in range(2, tensor.dim()):
        field = field * tensor.size(d)
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    name = mode.lower()
    if name not in ["fan_in", "fan_out"]:
        raise ValueError("Mode {} not supported, please use one of ['fan_in', 'fan_out']".format(name))
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if name == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = torch.empty(rows, columns, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
    if rows < columns:
        flat.t_()
    q, r = torch.linalg.qr(flat)
    q *= torch.diag(r, 0).sign()
    if rows < columns:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows = tensor.size(0)
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(tensor.size(1)):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor
