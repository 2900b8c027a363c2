"""Gradient clipping: by the norm of all gradients together, or element by element."""

import functools

import sconce as torch


def _without_grad(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with torch.no_grad():
            return function(*args, **kwargs)

    return wrapped


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


@_without_grad
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors as if they were one vector. `foreach` chooses among ways to compute it elsewhere; here is one."""
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    if not tensors:
        return torch.tensor(0.0)
    norm_type = float(norm_type)
    norms = torch._foreach_norm(tensors, norm_type)
    total = torch.linalg.vector_norm(torch.stack(list(norms)), norm_type)
    if error_if_nonfinite and bool(torch.logical_or(total.isnan(), total.isinf())):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
                           "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@_without_grad
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients whose norm is known so that it is max_norm at most."""
    gradients = _gradients(parameters)
    if gradients:
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.dtype) if gradient.dtype is not factor.dtype else factor)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their norm together is max_norm at most; returns what it was."""
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


@_without_grad
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps each element of the gradients to [-clip_value, clip_value]."""
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-float(clip_value), max=float(clip_value))
