"""Arrays of numpy while a function is evaluated: samples of them, and calls that a graph makes."""

import sconce


def ones(shape, dtype):
    """An array as Tensor.numpy() of such a tensor is."""
    return sconce.ones(shape, dtype=dtype).numpy()


def quietly(function, *args):
    import numpy

    with numpy.errstate(all="ignore"):
        return function(*args)


def shares_memory(array):
    """Does somebody else have the memory of the array, perhaps?"""
    return not (hasattr(array, "flags") and array.flags.owndata and array.base is None)


def compute(expression):
    """The value of (compute, function, arguments...), through tuples and lists."""
    if type(expression) is tuple and expression and expression[0] is compute:
        return expression[1](*[compute(part) for part in expression[2:]])
    if type(expression) in (tuple, list):
        return type(expression)(compute(part) for part in expression)
    return expression


def make_tensor(function, names, expression, *options):
    return function(compute(expression), **dict(zip(names, options)))


def sketch(function, names, array, *options):
    """A tensor without memory that looks as the one that the function makes of the array."""
    made = function(array, **dict(zip(names, options)))
    return sconce.empty(made.shape, dtype=made.dtype, device="meta")
