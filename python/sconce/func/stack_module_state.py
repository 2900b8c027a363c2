"""stack_module_state: the parameters of several modules of one kind, stacked for vmap."""

import sconce as torch


def _stacked(tensors):
    leaf = all(tensor.is_leaf for tensor in tensors)
    made = torch.stack(list(tensors))
    return made.detach().requires_grad_(tensors[0].requires_grad) if leaf else made


def stack_module_state(models):
    """(parameters, buffers) by path, with a first dimension of the models."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return ({name: _stacked([row[name] for row in parameters]) for name in parameters[0]},
            {name: _stacked([row[name] for row in buffers]) for name in buffers[0]})
