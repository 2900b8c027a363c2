"""RNNBase._flat_weights: the weights of a recurrent module as one list, in the order of the operator.

The list follows the module. functional_call, parametrizations, weight_norm, `load_state_dict(assign=True)` and
assignments to attributes replace tensors of the module, and forward uses the new ones. A list that a program assigns,
or whose items it writes, is used for as long as the module's weights are those of that moment.
"""


class _Seen:
    """The weights that a module had when its list was assigned."""

    __slots__ = ("weights",)

    def __init__(self, weights):
        self.weights = weights


def _current(module):
    return [getattr(module, name, None) for name in module._flat_weights_names]


def _get(module):
    own = module.__dict__
    if "_flat_weights" not in own:
        raise AttributeError(f"'{type(module).__name__}' object has no attribute '_flat_weights'")
    current = _current(module)
    seen = own.get("_flat_weights_seen")
    if seen is not None and len(seen.weights) == len(current):
        for before, weight in zip(seen.weights, current):
            if before is not weight:
                return current
        return own["_flat_weights"]
    return current


def _set(module, weights):
    own = module.__dict__
    own["_flat_weights"] = weights
    own["_flat_weights_seen"] = _Seen(_current(module))


flat_weights = property(_get, _set)
