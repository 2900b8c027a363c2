"""Parameters as one vector, and back."""

import sconce as torch


def parameters_to_vector(parameters):
    """All elements, one parameter after the other."""
    return torch.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Gives parameters the values of a vector: they become views of it."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at:at + count].view_as(parameter).data
        at += count
