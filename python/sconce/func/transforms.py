"""Derivatives of functions as functions."""

import functools

import sconce as torch

from ..utils._pytree import tree_flatten, tree_map, tree_unflatten


def _watched(value, level):
    """A tensor of this level: one that records, beside the one that was given; a graph outside goes on through it."""
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    if value.requires_grad:
        return value.view_as(value)
    made = value.detach().requires_grad_()
    level.append(made)
    return made


def _reaches_others(tensor, own):
    """Does the history of a tensor lead to leaves other than those of the level?"""
    own = {id(leaf) for leaf in own}
    seen, stack = set(), [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) not in own:
            return True
        stack += [following for following, _ in node.next_functions]
    return False


def _left(value, level):
    """A result as callers outside of the level see it: without a history that only leads to the level's own tensors."""
    if not isinstance(value, torch.Tensor) or not value.requires_grad or value.is_leaf:
        return value
    return value if _reaches_others(value, level) else value.detach()


def _check_argnums(argnums, args, name):
    for i in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int or tuple of ints, but got {type(i)}")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"{name}: Got argnum={i}, but only {len(args)} positional inputs")


def _split(argnums, args, level):
    """(arguments with watched ones in their places, the watched ones as given by argnums)."""
    args = list(args)
    chosen = []
    for i in argnums if isinstance(argnums, tuple) else (argnums,):
        args[i] = tree_map(lambda leaf: _watched(leaf, level), args[i])
        chosen.append(args[i])
    return args, (tuple(chosen) if isinstance(argnums, tuple) else chosen[0])


def _gradients(outputs, inputs, grad_outputs=None):
    """Gradients of tensors for the leaves of a tree; zeros where there is no way."""
    leaves, spec = tree_flatten(inputs)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    found = [None] * len(leaves)
    alive = [(o, g) for o, g in zip(outputs, grad_outputs or [None] * len(outputs)) if o.requires_grad]
    if alive and at:
        some = torch.autograd.grad([o for o, _ in alive], [leaves[i] for i in at],
                                   [torch.ones_like(o) if g is None else g for o, g in alive], create_graph=True, allow_unused=True)
        for i, gradient in zip(at, some):
            found[i] = gradient
    zeros = [torch.zeros_like(leaf) if gradient is None and isinstance(leaf, torch.Tensor) else gradient
             for leaf, gradient in zip(leaves, found)]
    return tree_unflatten(zeros, spec)


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, which returns one number, and its value."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = []
        _check_argnums(argnums, args, "grad_and_value")
        with torch.enable_grad():
            given, chosen = _split(argnums, args, level)
            output, aux = func(*given, **kwargs), None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True")
                output, aux = output
            if not isinstance(output, torch.Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(output)}")
            if output.dim() != 0:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                                   f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            gradients = _gradients([output], chosen)
        gradients = tree_map(lambda leaf: _left(leaf, level), gradients)
        value = _left(output, level)
        return (gradients, (value, tree_map(lambda leaf: _left(leaf, level), aux))) if has_aux else (gradients, value)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, which returns one number."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function that multiplies vectors with the Jacobian from the left)."""
    level = []
    with torch.enable_grad():
        watched = tuple(tree_map(lambda leaf: _watched(leaf, level), primal) for primal in primals)
        output, aux = func(*watched), None
    if has_aux:
        if not (isinstance(output, tuple) and len(output) == 2):
            raise RuntimeError("vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True")
        output, aux = output
    leaves, spec = tree_flatten(output)
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(f"vjp(f, *primals): Expected f(*args) to return only tensors, got unsupported type {type(leaf)}")

    def product(*cotangents, retain_graph=True, create_graph=None):
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        found, given = tree_flatten(tree)
        if given != spec and not (spec.kind is None and given.kind is None):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {given}, primal output: {spec}")
        with torch.enable_grad():
            result = _gradients(leaves, watched, found)
        result = tree_map(lambda leaf: _left(leaf, level), result)
        return tuple(result)

    shown = tree_map(lambda leaf: _left(leaf, level), output)
    return (shown, product, tree_map(lambda leaf: _left(leaf, level), aux)) if has_aux else (shown, product)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the Jacobian times the tangents): the gradient of vjp with respect to its vector."""
    if strict:
        raise NotImplementedError("jvp: strict=True is not supported")
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure.")
    level = []
    with torch.enable_grad():
        watched = tuple(tree_map(lambda leaf: _watched(leaf, level), primal) for primal in primals)
        output, aux = func(*watched), None
        if has_aux:
            output, aux = output
        leaves, spec = tree_flatten(output)
        vectors = [torch.zeros_like(leaf).requires_grad_() for leaf in leaves]
        level += vectors
        products = tree_flatten(_gradients(leaves, watched, vectors))[0]
        given = tree_flatten(tangents)[0]
        pairs = [(p, t) for p, t in zip(products, given) if isinstance(p, torch.Tensor) and p.requires_grad]
        if pairs:
            found = torch.autograd.grad([p for p, _ in pairs], vectors, [t.to(p.dtype) for p, t in pairs], create_graph=True, allow_unused=True)
        else:
            found = [None] * len(vectors)
        found = [torch.zeros_like(leaf) if tangent is None else tangent for leaf, tangent in zip(leaves, found)]
    shown = tree_unflatten([_left(leaf, level) for leaf in leaves], spec)
    result = tree_unflatten([_left(tangent, level) for tangent in found], spec)
    return (shown, result, aux) if has_aux else (shown, result)


def linearize(func, *primals):
    """(func(*primals), a function that multiplies the Jacobian with tangents)."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def _units(tensor):
    """Unit vectors of the tensor's shape, one for each element."""
    count = tensor.numel()
    rows = torch.eye(count, dtype=tensor.dtype, device=tensor.device)
    return [row.reshape(tensor.shape) for row in rows.unbind(0)]


def _check_chunk(chunk_size):
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian, row by row; `chunk_size` is for ways that take many at once."""
    _check_chunk(chunk_size)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _check_argnums(argnums, args, "jacrev")
        places = [i % len(args) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]

        def of_chosen(*chosen):
            given = list(args)
            for i, value in zip(places, chosen):
                given[i] = value
            return func(*given, **kwargs)

        output, product, *aux = vjp(of_chosen, *(args[i] for i in places), has_aux=has_aux)
        leaves, spec = tree_flatten(output)

        def rows_of(index):
            """Products with all unit vectors of one output."""
            for unit in _units(leaves[index]):
                vectors = [unit if i == index else torch.zeros_like(leaf) for i, leaf in enumerate(leaves)]
                row = product(tree_unflatten(vectors, spec)) if len(vectors) > 1 or spec.kind is not None else product(unit)
                yield row

        results = []
        for index, leaf in enumerate(leaves):
            stacked = list(rows_of(index))
            per_argument = []
            for place in range(len(places)):
                parts, inner = zip(*(tree_flatten(row[place]) for row in stacked)) if stacked else ([], [])
                if not stacked:
                    raise RuntimeError("jacrev: a result has no elements")
                joined = [torch.stack(list(column)).reshape((*leaf.shape, *column[0].shape)) for column in zip(*parts)]
                per_argument.append(tree_unflatten(joined, inner[0]))
            results.append(tuple(per_argument) if isinstance(argnums, tuple) else per_argument[0])
        result = tree_unflatten(results, spec)
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian, column by column."""
    if randomness != "error":
        raise NotImplementedError(f"jacfwd: randomness={randomness!r} is not supported")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _check_argnums(argnums, args, "jacfwd")
        places = [i % len(args) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]
        aux = None
        columns = []
        for place in places:
            def of_one(value, place=place):
                given = list(args)
                given[place] = value
                return func(*given, **kwargs)

            parts = []
            for unit in _units(args[place]):
                _, tangent, *more = jvp(of_one, (args[place],), (unit,), has_aux=has_aux)
                aux = more[0] if more else None
                parts.append(tangent)
            flat = [tree_flatten(part)[0] for part in parts]
            joined = [torch.stack(list(column), -1).reshape((*column[0].shape, *args[place].shape)) for column in zip(*flat)]
            columns.append(tree_unflatten(joined, tree_flatten(parts[0])[1]))
        result = tuple(columns) if isinstance(argnums, tuple) else columns[0]
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that returns all second derivatives."""
    return jacrev(jacrev(func, argnums), argnums)


def functionalize(func, *, remove="mutations"):
    """A function without writes that others see, in PyTorch's graphs. Capture keeps writes apart by itself: it is the function."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError("functionalize(f, remove='mutations'): received invalid argument for remove= kwarg. Valid options are: "
                           "'mutations', 'mutations_and_views'")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapped


def replace_all_batch_norm_modules_(root):
    """Batch norms inside keep no running statistics any more, in place: vmap cannot write them."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
