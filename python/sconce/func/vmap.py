"""vmap: a function over one dimension of its arguments."""

import functools

import sconce as torch

from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

_RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
           "vmap or perform the randomness operation out of vmap")


def _name(function):
    return function.__name__ if hasattr(function, "__name__") else repr(function)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function whose arguments have one more dimension, at in_dims, and its results at out_dims. The function is called once for each
    index; `chunk_size`, for ways that take many at once, changes nothing."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return _mapped(func, in_dims, out_dims, randomness, args, kwargs)

    return wrapped


def _mapped(func, in_dims, out_dims, randomness, args, kwargs):
    """The call of a mapped function; compiled functions have another way (_polyfills/of_control_flow.py)."""
    leaves, spec = tree_flatten(args)
    dims, size = _checked(in_dims, args, leaves, spec, func)
    named, named_spec = tree_flatten(kwargs)
    begun = torch.get_rng_state()
    results, rows = [], []
    for index in range(size):
        if randomness == "same":
            torch.set_rng_state(begun)
        row = [leaf if dim is None else leaf.select(dim, index) for leaf, dim in zip(leaves, dims)]
        rows.append(row)
        # Arguments by name are mapped over their first dimension, as PyTorch does.
        by_name = tree_unflatten([v.select(0, index) if isinstance(v, torch.Tensor) else v for v in named], named_spec)
        results.append(func(*tree_unflatten(row, spec), **by_name))
        if randomness == "error" and not torch.equal(torch.get_rng_state(), begun):
            raise RuntimeError(_RANDOM)
    return _stacked(results, out_dims, func, leaves, dims, rows)


def _checked(in_dims, args, leaves, spec, func):
    """The dimension of each leaf, or None, and how long it is."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, list, tuple)):
        raise ValueError(where + f"expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                         "function with no inputs. The latter is unsupported.")
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(where + "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    checked, sizes = [], []
    for leaf, dim in zip(leaves, dims):
        if dim is None:
            checked.append(None)
            continue
        if not isinstance(dim, int):
            raise ValueError(where + f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, torch.Tensor):
            raise ValueError(where + f"Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                             "arguments, please use None as the respective in_dim")
        if leaf.dim() == 0 or not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(where + f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so expected "
                             f"in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}.")
        checked.append(dim)
        sizes.append(leaf.size(dim))
    if not sizes:
        raise ValueError(where + "at least one input must be mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    if sizes[0] == 0:
        raise RuntimeError("vmap: a mapped dimension of size 0 is not supported")
    return checked, sizes[0]


def _argument_of(column, leaves, dims, rows):
    """The argument of which every call has returned its part, as methods in place do, or None.

    The mapped dimension is first.
    """
    for number, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is not None and all(result is row[number] for result, row in zip(column, rows)):
            return leaf.movedim(dim, 0)
    return None


def _joined(column, dim, leaves, dims, rows, func):
    """The results of all calls as one tensor."""
    if dim is None:
        return _shared(column, func)
    whole = _argument_of(column, leaves, dims, rows)
    return torch.stack(list(column), dim) if whole is None else whole.movedim(0, dim)


def _stacked(results, out_dims, func, leaves, in_dims, rows):
    flat, specs = zip(*(tree_flatten(result) for result in results))
    for leaf in flat[0]:
        if not isinstance(leaf, torch.Tensor):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
                             "out_dims= to None for output?")
    dims = _broadcast_to_and_flatten(tuple(out_dims) if isinstance(out_dims, list) else out_dims, specs[0])
    if dims is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of `outputs`. out_dims "
                         f"has structure {tree_flatten(out_dims)[1]} but outputs has structure {specs[0]}.")
    joined = [_joined(column, dim, leaves, in_dims, rows, func) for column, dim in zip(zip(*flat), dims)]
    return tree_unflatten(joined, specs[0])


def _shared(column, func):
    """The result that all calls have in common."""
    first = column[0]
    for other in column[1:]:
        equal = other is first or torch.equal(first, other)
        if not equal and not (first.is_floating_point() and torch.allclose(first, other, 0.0, 0.0, equal_nan=True)):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None")
    return first
