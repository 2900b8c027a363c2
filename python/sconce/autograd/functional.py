"""Derivatives of functions: jacobian, hessian, and their products with vectors."""

import sconce

from .. import _sconce
from . import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(x, name, kind):
    """The tensors as a tuple, and whether they were one."""
    given = isinstance(x, tuple)
    items = x if given else (x,)
    for i, item in enumerate(items):
        if not isinstance(item, _sconce.Tensor):
            raise TypeError(f"The {name} given to {kind} must be either a Tensor or a tuple of Tensors but the value at index {i} has type "
                            f"{type(item)}.")
    return items, given


def _as_given(items, was_tuple):
    return tuple(items) if was_tuple else items[0]


def _variables(inputs, create_graph):
    """Inputs that are differentiated: views of those given where gradients go further, else copies without history."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().clone().requires_grad_() for x in inputs)


def _gradients(outputs, inputs, directions, create_graph, strict, what):
    """Gradients with zeros for inputs that the outputs do not depend on, or an error in strict mode."""
    differentiable = [(y, d) for y, d in zip(outputs, directions) if y.requires_grad]
    found = grad([y for y, _ in differentiable], inputs, [d for _, d in differentiable], create_graph=create_graph, retain_graph=True,
                 allow_unused=True) if differentiable else (None,) * len(inputs)
    for i, g in enumerate(found):
        if g is None and strict:
            raise RuntimeError(f"Output of the user-provided function is independent of input {i}. This is not allowed in strict mode "
                               f"({what}).")
    return tuple(sconce.zeros_like(x) if g is None else g for x, g in zip(inputs, found))


def _run(func, inputs, what):
    outputs, was_tuple = _tuple(func(*inputs), f"outputs of the user-provided function to {what}", what)
    return outputs, was_tuple


def _finished(items, create_graph):
    return tuple(items) if create_graph else tuple(t.detach() for t in items)


def _check_vectors(v, like, name):
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {name} is a single Tensor with a single element.")
        return tuple(sconce.ones_like(t) for t in like)
    vectors, _ = _tuple(v, "vector", name)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (a, b) in enumerate(zip(vectors, like)):
        if a.shape != b.shape:
            raise RuntimeError(f"Entry {i} in v has invalid size: should be {b.shape} but got {a.shape}.")
    return vectors


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The results of func, and the product of v with its Jacobian."""
    inputs, was_tuple = _tuple(inputs, "inputs", "vjp")
    with sconce.enable_grad():
        variables = _variables(inputs, create_graph)
        outputs, outputs_tuple = _run(func, variables, "vjp")
        vectors = _check_vectors(v, outputs, "output of the user-provided function")
        found = _gradients(outputs, variables, vectors, create_graph, strict, "vjp")
    return _as_given(_finished(outputs, create_graph), outputs_tuple), _as_given(_finished(found, create_graph), was_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The results of func, and the product of its Jacobian with v."""
    inputs, _ = _tuple(inputs, "inputs", "jvp")
    vectors = _check_vectors(v, inputs, "input to the user-provided function")
    with sconce.enable_grad():
        variables = _variables(inputs, create_graph)
        outputs, outputs_tuple = _run(func, variables, "jvp")
        # v^T J is linear in v: its derivative with respect to v is J^T, so two backwards make a forward.
        directions = tuple(sconce.zeros_like(y).requires_grad_() for y in outputs)
        back = _gradients(outputs, variables, directions, True, strict, "jvp")
        found = _gradients(back, directions, vectors, create_graph, False, "jvp")
    return _as_given(_finished(outputs, create_graph), outputs_tuple), _as_given(_finished(found, create_graph), outputs_tuple)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of every element of the results with respect to every element of the inputs."""
    if strategy != "reverse-mode":
        raise NotImplementedError(f"jacobian: strategy={strategy!r} is not supported, only 'reverse-mode'")
    if vectorize:
        raise NotImplementedError("jacobian: vectorize=True is not supported")
    inputs, was_tuple = _tuple(inputs, "inputs", "jacobian")
    with sconce.enable_grad():
        variables = _variables(inputs, create_graph)
        outputs, outputs_tuple = _run(func, variables, "jacobian")
        made = []
        for y in outputs:
            rows = []
            for k in range(y.numel()):
                direction = sconce.zeros(y.numel(), dtype=y.dtype)
                direction[k] = 1
                rows.append(_gradients((y,), variables, (direction.reshape(y.shape),), create_graph, strict, "jacobian"))
            of_inputs = [sconce.stack([row[i] for row in rows]).reshape((*y.shape, *x.shape)) if rows
                         else sconce.zeros((*y.shape, *x.shape), dtype=x.dtype) for i, x in enumerate(variables)]
            made.append(_as_given(_finished(of_inputs, create_graph), was_tuple))
    return _as_given(made, outputs_tuple)


def _scalar(func, name):
    def checked(*args):
        result = func(*args)
        if not isinstance(result, _sconce.Tensor) or result.numel() != 1:
            raise RuntimeError(f"The function given to {name} should return a single Tensor with a single element.")
        return result.reshape(())

    return checked


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one number as result."""
    if outer_jacobian_strategy != "reverse-mode":
        raise NotImplementedError(f"hessian: outer_jacobian_strategy={outer_jacobian_strategy!r} is not supported, only 'reverse-mode'")
    inputs, was_tuple = _tuple(inputs, "inputs", "hessian")
    scalar = _scalar(func, "hessian")

    def first(*args):
        return jacobian(scalar, args, create_graph=True, strict=strict)

    found = jacobian(first, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize)
    return found if was_tuple else found[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The result of func, and the product of v with its Hessian."""
    inputs, was_tuple = _tuple(inputs, "inputs", "vhp")
    vectors = _check_vectors(v, inputs, "input to the user-provided function")
    with sconce.enable_grad():
        variables = _variables(inputs, create_graph)
        result = _scalar(func, "vhp")(*variables)
        slopes = _gradients((result,), variables, (sconce.ones_like(result),), True, strict, "vhp")
        found = _gradients(slopes, variables, vectors, create_graph, strict, "vhp")
    return _finished((result,), create_graph)[0], _as_given(_finished(found, create_graph), was_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The result of func, and the product of its Hessian, which is symmetric, with v."""
    return vhp(func, inputs, v, create_graph, strict)
