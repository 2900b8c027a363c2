"""gradcheck: gradients against differences of the function itself."""

import random
import warnings

import sconce

from .. import _sconce
from . import grad
from .function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient is not what it should be."""


class _NoGradient(Function):
    """The identity, which hands no gradient on."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


def _tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def _is_differentiable(x):
    return isinstance(x, _sconce.Tensor) and x.requires_grad


def _refuse(name, **options):
    for option, value in options.items():
        if value:
            raise NotImplementedError(f"{name}: {option}=True is not supported")


def _outputs(func, inputs):
    return [y for y in _tuple(func(*inputs)) if _is_differentiable(y)]


def _units(tensor):
    """Directions of one element: along the real axis, and for complex tensors along the imaginary one."""
    return (1, 1j) if tensor.is_complex() else (1,)


def _numerical(func, inputs, x, output, direction, eps):
    """d Re<direction, output> / dx by central differences, for every element; the result is like a gradient of torch."""
    flat = x.detach().reshape(-1)
    found = sconce.zeros_like(flat)
    for k in range(flat.numel()):
        for unit in _units(flat):
            sides = []
            for sign in (1, -1):
                moved = flat.clone()
                moved[k] += sign * eps * unit
                changed = [moved.reshape(x.shape).requires_grad_() if i is x else i for i in inputs]
                y = _outputs(func, changed)[output].detach()
                product = direction.conj() * y if y.is_complex() else direction * y
                sides.append(float((product.real if product.is_complex() else product).sum()))
            found[k] += unit * (sides[0] - sides[1]) / (2 * eps)
    return found.reshape(x.shape)


def _directions(y, fast_mode):
    """Every element of the result alone; in fast mode one random combination of all."""
    if fast_mode:
        draw = sconce.tensor([random.uniform(0.5, 1.5) for _ in range(y.numel())], dtype=sconce.float64)
        yield draw.reshape(y.shape).to(y.dtype)
        return
    for k in range(y.numel()):
        for unit in _units(y):
            direction = sconce.zeros(y.numel(), dtype=y.dtype)
            direction[k] = unit
            yield direction.reshape(y.shape)


def _check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode):
    variables = [x for x in inputs if _is_differentiable(x)]
    if not variables:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for index, x in enumerate(inputs):
        if _is_differentiable(x) and x.dtype not in (sconce.float64, sconce.complex128):
            warnings.warn(f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                          "will likely fail if all the inputs are not of double precision floating point or complex. ", stacklevel=3)
    outputs = _outputs(func, inputs)
    for number, y in enumerate(outputs):
        for direction in _directions(y, fast_mode):
            found = [grad([y], variables, [direction], retain_graph=True, allow_unused=True) for _ in range(2)]
            for place, (x, first, second) in enumerate(zip(variables, *found)):
                zero = sconce.zeros_like(x)
                first, second = (zero if g is None else g for g in (first, second))
                if check_grad_dtypes and first.dtype != x.dtype:
                    raise GradcheckError(f"Gradient has dtype mismatch: it is {first.dtype}, the input {x.dtype}")
                numerical = _numerical(func, inputs, x, number, direction, eps)
                if not sconce.allclose(first, numerical, rtol, atol):
                    raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\n"
                                         f"numerical:{numerical}\nanalytical:{first}\n")
                if float((first - second).abs().max() if x.numel() else 0) > nondet_tol:
                    raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                                         "times gives different values, although analytical gradient matches numerical gradient.\n"
                                         f"The tolerance for nondeterminism was {nondet_tol}.")
    if check_undefined_grad and outputs:
        for missing in range(len(outputs)):
            again = _outputs(func, inputs)
            given = [_NoGradient.apply(y) if i == missing or missing == 0 else y for i, y in enumerate(again)]
            ones = [sconce.zeros_like(y) for y in given]
            for g in grad(given, variables, ones, allow_unused=True):
                if g is not None and bool((g != 0).any()):
                    raise GradcheckError("Expected backward function to handle undefined output grads. Please look at 'Notes about "
                                         "undefined output gradients' in 'tools/autograd/derivatives.yaml'")
    return True


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Compares gradients with small finite differences: True, or an error (False without raise_exception)."""
    _refuse("gradcheck", check_batched_grad=check_batched_grad, check_batched_forward_grad=check_batched_forward_grad,
            check_forward_ad=check_forward_ad, masked=masked)
    if not check_backward_ad:
        raise NotImplementedError("gradcheck: check_backward_ad=False leaves nothing to check here")
    try:
        return _check(func, _tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """The same for gradients of gradients."""
    _refuse("gradgradcheck", gen_non_contig_grad_outputs=gen_non_contig_grad_outputs, check_batched_grad=check_batched_grad,
            check_fwd_over_rev=check_fwd_over_rev, masked=masked)
    if not check_rev_over_rev:
        raise NotImplementedError("gradgradcheck: check_rev_over_rev=False leaves nothing to check here")
    inputs = _tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple(sconce.randn_like(y).requires_grad_() for y in _outputs(func, inputs))
    grad_outputs = _tuple(grad_outputs)

    def gradients(*args):
        given, directions = args[:len(inputs)], args[len(inputs):]
        variables = [x for x in given if _is_differentiable(x)]
        found = grad(_outputs(func, given), variables, directions, create_graph=True, allow_unused=True)
        return tuple(g for g in found if isinstance(g, _sconce.Tensor) and g.requires_grad)

    return gradcheck(gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     fast_mode=fast_mode)
