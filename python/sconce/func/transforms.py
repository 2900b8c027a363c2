"""Derivatives of functions as functions."""

import functools

import sconce as torch

from .. import _sconce
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .vmap import _RANDOM


class _Recording:
    """The region of a transform: operations are recorded whatever the modes around it.

    Captured tensors that were made in inference mode are constants.
    """

    def __enter__(self):
        self.before = _sconce.is_grad_enabled()
        self.inference = _sconce.is_inference_mode_enabled()
        self.saves = _sconce._set_saves_inference_tensors(True)
        if self.inference:
            self.state = _sconce._inference_mode_state()
            _sconce._set_inference_mode(False)
        _sconce._set_grad_enabled(True)

    def __exit__(self, *error):
        if self.inference:
            _sconce._restore_inference_mode(self.state)
        _sconce._set_grad_enabled(self.before)
        _sconce._set_saves_inference_tensors(self.saves)


def _watched(value, level):
    """A tensor of this level: one that records, beside the one that was given; a graph outside goes on through it."""
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not (value.is_floating_point() or value.is_complex()):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if value.is_inference():
        value = _sconce._without_inference(value)
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
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return value
    if value.is_leaf:
        return value.detach() if any(value is own for own in level) else value
    return value if _reaches_others(value, level) else value.detach()


def _check_argnums(argnums, args, name):
    for i in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"{name}: Got argnum={i}, but only {len(args)} positional inputs")
    if isinstance(argnums, tuple) and len({i % len(args) for i in argnums}) < len(argnums):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")


def _check_results(leaves, name):
    """The results of a function are tensors that can have gradients, at least one."""
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(f"{name}: Expected f(*args) to return only tensors, got unsupported type {type(leaf)}")
    if not leaves:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = [])")


def _check_real(leaves, name, kind):
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and leaf.is_complex():
            inputs = f"inputs to be real but received complex tensor at flattened input idx: {index}"
            outputs = f"outputs to be real but received complex tensor at flattened output idx: {index}"
            raise RuntimeError(f"{name}: Expected all {inputs if kind == 'input' else outputs}")


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
        with _Recording():
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
            if output.is_complex():
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
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
    with _Recording():
        watched = tuple(tree_map(lambda leaf: _watched(leaf, level), primal) for primal in primals)
        output, aux = func(*watched), None
    if has_aux:
        if not (isinstance(output, tuple) and len(output) == 2):
            raise RuntimeError("vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True")
        output, aux = output
    leaves, spec = tree_flatten(output)
    _check_results(leaves, "vjp(f, *primals)")
    for leaf in leaves:
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {leaf.dtype}")

    def product(*cotangents, retain_graph=True, create_graph=None):
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        found, given = tree_flatten(tree)
        if given != spec and not (spec.kind is None and given.kind is None):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {given}, primal output: {spec}")
        with _Recording():
            result = _gradients(leaves, watched, found)
        result = tree_map(lambda leaf: _left(leaf, level), result)
        return tuple(result)

    shown = tree_map(lambda leaf: _left(leaf, level), output)
    return (shown, product, tree_map(lambda leaf: _left(leaf, level), aux)) if has_aux else (shown, product)


class _Linearized:
    """The value of a function at its arguments, and its Jacobian as a map of tangents.

    That map is the gradient of vjp with respect to the vector of vjp. The function is called once.
    """

    def __init__(self, func, primals, has_aux, name):
        self.level = []
        with _Recording():
            watched = tree_map(lambda leaf: _watched(leaf, self.level), primals)
            output, aux = func(*watched), None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
                output, aux = output
            self.leaves, self.spec = tree_flatten(output)
            _check_results(self.leaves, name)
            self.vectors = [torch.zeros_like(leaf).requires_grad_() if leaf.is_floating_point() or leaf.is_complex() else None
                            for leaf in self.leaves]
            self.level += [vector for vector in self.vectors if vector is not None]
            self.products = tree_flatten(_gradients(self.leaves, watched, self.vectors))[0]
        self.aux = tree_map(lambda leaf: _left(leaf, self.level), aux)

    def value(self):
        return tree_unflatten([_left(leaf, self.level) for leaf in self.leaves], self.spec)

    def push(self, tangents):
        """The tangents of the results, as a list, for those of the arguments."""
        pairs = [(p, t) for p, t in zip(self.products, tangents) if isinstance(p, torch.Tensor) and p.requires_grad]
        inputs = [vector for vector in self.vectors if vector is not None]
        with _Recording():
            found = [None] * len(inputs)
            if pairs and inputs:
                found = torch.autograd.grad([p for p, _ in pairs], inputs, [t.to(p.dtype) for p, t in pairs], create_graph=True,
                                            allow_unused=True)
            remaining = iter(found)
            made = [None if vector is None else next(remaining) for vector in self.vectors]
            made = [torch.zeros_like(leaf) if tangent is None else tangent for leaf, tangent in zip(self.leaves, made)]
        return [_left(tangent, self.level) for tangent in made]


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the Jacobian times the tangents): the gradient of vjp with respect to its vector."""
    if strict:
        raise NotImplementedError("jvp: strict=True is not supported")
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure.")
    linear = _Linearized(func, primals, has_aux, "jvp(f, primals, tangents)")
    result = tree_unflatten(linear.push(tree_flatten(tangents)[0]), linear.spec)
    return (linear.value(), result, linear.aux) if has_aux else (linear.value(), result)


def linearize(func, *primals):
    """(func(*primals), a function that multiplies the Jacobian with tangents)."""
    linear = _Linearized(func, primals, False, "linearize(f, *primals)")
    return linear.value(), lambda *tangents: tree_unflatten(linear.push(tree_flatten(tangents)[0]), linear.spec)


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

        chosen = tuple(args[i] for i in places)
        inputs, input_spec = tree_flatten(chosen)
        _check_real(inputs, "jacrev", "input")
        output, product, *aux = vjp(of_chosen, *chosen, has_aux=has_aux)
        leaves, spec = tree_flatten(output)
        _check_real(leaves, "jacrev", "output")

        def rows_of(index):
            """Products with all unit vectors of one output."""
            for unit in _units(leaves[index]):
                vectors = [unit if i == index else torch.zeros_like(leaf) for i, leaf in enumerate(leaves)]
                row = product(tree_unflatten(vectors, spec)) if len(vectors) > 1 or spec.kind is not None else product(unit)
                yield row

        results = []
        for index, leaf in enumerate(leaves):
            rows = [tree_flatten(row)[0] for row in rows_of(index)]
            parts = [torch.stack([row[i] for row in rows]).reshape((*leaf.shape, *given.shape)) if rows else
                     given.new_zeros((*leaf.shape, *given.shape)) for i, given in enumerate(inputs)]
            of_inputs = tree_unflatten(parts, input_spec)
            results.append(of_inputs if isinstance(argnums, tuple) else of_inputs[0])
        result = tree_unflatten(results, spec)
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian, column by column.

    The result has the structure of func's result. Each of its tensors is replaced by a tuple over argnums, if that is a
    tuple, of trees as the arguments are.
    """
    if randomness not in ("error", "same"):
        raise NotImplementedError(f"jacfwd: randomness={randomness!r} is not supported")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _check_argnums(argnums, args, "jacfwd")
        places = [i % len(args) for i in (argnums if isinstance(argnums, tuple) else (argnums,))]

        def of_chosen(*chosen):
            given = list(args)
            for i, value in zip(places, chosen):
                given[i] = value
            # Reading the generator's state would break a graph, so compiled functions are not checked.
            checks = randomness == "error" and not torch.compiler.is_compiling()
            begun = torch.get_rng_state() if checks else None
            result = func(*given, **kwargs)
            if begun is not None and not torch.equal(torch.get_rng_state(), begun):
                raise RuntimeError(_RANDOM)
            return result

        chosen = tuple(args[i] for i in places)
        inputs, input_spec = tree_flatten(chosen)
        _check_real(inputs, "jacfwd", "input")
        linear = _Linearized(of_chosen, chosen, has_aux, "jacfwd(f, argnums)(*args)")
        _check_real(linear.leaves, "jacfwd", "output")
        columns = []  # of each input: the tangents of all results
        for index, given in enumerate(inputs):
            columns.append([linear.push([unit if i == index else torch.zeros_like(leaf) for i, leaf in enumerate(inputs)])
                            for unit in _units(given)])
        results = []
        for number, leaf in enumerate(linear.leaves):
            parts = []
            for given, tangents in zip(inputs, columns):
                shape = (*leaf.shape, *given.shape)
                parts.append(torch.stack([row[number] for row in tangents], -1).reshape(shape) if tangents else leaf.new_zeros(shape))
            of_inputs = tree_unflatten(parts, input_spec)
            results.append(of_inputs if isinstance(argnums, tuple) else of_inputs[0])
        result = tree_unflatten(results, linear.spec)
        return (result, linear.aux) if has_aux else result

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
