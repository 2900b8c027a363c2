"""export(): a module or function captured as one graph, with its parameters, buffers and constants as inputs of the graph."""

import inspect
import re

import sconce
from ..compiler._compile import _Settings
from ..compiler._errors import UserError
from ..compiler._watch import listening
from ..fx import _pytree
from ..nn import Module
from ._archive import write_archive
from ._dim import free_dims
from ._model import Model
from ._sizes import Point, Sizes


class ExportedProgram:
    """One graph of operators. `state_dict`: parameters and buffers by name; `constants`: other tensors; `range_constraints`: the
    least and the largest value of each free size."""

    def __init__(self, model, state_dict, constants, example_inputs):
        self._model = model
        self.state_dict, self.constants, self.example_inputs = state_dict, constants, example_inputs
        self.range_constraints = {name: (dim.min, dim.max) for name, dim in model.symbols.items()}

    def module(self):
        """The program as a module that can be called, as jit.load makes it of the file."""
        import io

        from ..jit import load

        buffer = io.BytesIO()
        save(self, buffer)
        buffer.seek(0)
        return load(buffer)

    def __repr__(self):
        return f"<ExportedProgram of {len(self._model.nodes)} nodes, free sizes: {self.range_constraints}>"


def save(program, f):
    """Writes the program to a path or file object, as torch.export.save does (.pt2)."""
    if not isinstance(program, ExportedProgram):
        raise TypeError(f"save: expected an ExportedProgram, got a {type(program).__name__}")
    write_archive(program, f)


def export(mod, args, kwargs=None, *, dynamic_shapes=None):
    """Captures mod(*args, **kwargs), a module or function, as one graph. dynamic_shapes: {argument: {dimension: Dim}}, or the same for
    each argument in order; other sizes are those of the example. What would break the graph is refused."""
    if not callable(mod):
        raise TypeError(f"export: expected a module or function, got a {type(mod).__name__}")
    if not isinstance(args, tuple):
        raise TypeError(f"export: args must be a tuple, got a {type(args).__name__}")
    kwargs = kwargs or {}
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    # Objects of their own, so that marks do not stay on the caller's, and a tensor that is given twice is two inputs.
    leaves = [leaf.detach().requires_grad_(leaf.requires_grad) if isinstance(leaf, sconce.Tensor) else leaf for leaf in leaves]
    own_args, own_kwargs = _pytree.tree_unflatten(leaves, spec)
    function = mod.forward if isinstance(mod, Module) else mod
    bound = inspect.signature(function).bind(*own_args, **own_kwargs)
    free = _free(bound, dynamic_shapes)
    for tensor, i, _ in free:
        sconce.compiler.mark_dynamic(tensor, i)
    facts, result = _capture(mod, own_args, own_kwargs, inputs := [], outputs := [])
    dims = _check_relations(facts["guards"], bound.arguments, free)
    model = _model(mod, facts["graph"], leaves, spec, bound, result, inputs, outputs, dims)
    _sizes(model, free, dims)
    state_dict = {name: tensor for name, tensor in model.tensors.items() if model.roles[name] in ("parameter", "buffer")}
    constants = {name: tensor for name, tensor in model.tensors.items() if name not in state_dict}
    return ExportedProgram(model, state_dict, constants, (args, kwargs))


def _free(bound, shapes):
    """[(tensor, dimension, Dim)]"""
    if shapes is None:
        return []
    names = list(bound.arguments)
    if isinstance(shapes, (tuple, list)):
        if len(shapes) != len(names):
            raise ValueError(f"dynamic_shapes: the function was given the arguments {names}, got {len(shapes)} entries")
        shapes = dict(zip(names, shapes))
    if not isinstance(shapes, dict):
        raise TypeError(f"dynamic_shapes: expected a dict or a tuple, got a {type(shapes).__name__}")
    found, sizes = free_dims(dict(bound.arguments), shapes), {}
    for tensor, i, dim in found:
        size = sizes.setdefault(dim.name, tensor.shape[i])
        if size != tensor.shape[i]:
            raise ValueError(f"dynamic_shapes: the example has sizes {size} and {tensor.shape[i]} for the one Dim {dim.name!r}")
        if size < dim.min or (dim.max is not None and size > dim.max):
            raise ValueError(f"dynamic_shapes: the example has size {size} for {dim!r}")
    for a in sizes:
        for b in sizes:
            if a < b and sizes[a] == sizes[b]:
                raise ValueError(f"dynamic_shapes: the example has size {sizes[a]} for both Dims {a!r} and {b!r}: capture would take "
                                 f"them for one; give an example with different sizes")
    return found


def _capture(mod, args, kwargs, inputs, outputs):
    """What capture found, and the result. `inputs` and `outputs` become the graph's."""
    heard = []

    def backend(graph_module, tensors):
        inputs[:] = tensors

        def run(*tensors):
            # On copies: a program that writes to buffers is captured, not run.
            made = graph_module.forward(*[t.detach().clone().requires_grad_(t.requires_grad) for t in tensors])
            outputs[:] = made
            return made
        return run

    state = sconce.get_rng_state()
    try:
        with listening(lambda event, facts: heard.append(facts) if event == "compiled" else None):
            result = _Settings(backend, None, True, -1).compile(getattr(mod, "_orig_mod", mod))(*args, **kwargs)
    finally:
        sconce.set_rng_state(state)
    graphs = [facts for facts in heard if facts["graph"] is not None]
    if len(graphs) != 1:
        raise UserError(f"export: {getattr(mod, '__qualname__', type(mod).__name__)} has {len(graphs)} graphs, not one")
    return graphs[0], result


_SIZE = re.compile(r"(L\[.*\])\.size\(\)\[(\d+)\]$")
_RELATION = re.compile(r"(.*?) (==|!=|<=|>=|<|>) (.*)")
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def _always(least, most, op, number):
    """Does a relation to a number hold for all sizes from least to most (None: without end)?"""
    if op in ("<", "<="):
        return most is not None and (most < number or op == "<=" and most == number)
    if op in (">", ">="):
        return least > number or op == ">=" and least == number
    inside = least <= number and (most is None or number <= most)
    return not inside if op == "!=" else least == most == number


def _check_relations(guards, arguments, free):
    """{(id of a tensor, dimension): Dim} of the free sizes; what the program asks of them must be what the Dims say."""
    dims = {(id(tensor), i): dim for tensor, i, dim in free}

    def dim_of(text):
        found = _SIZE.match(text.strip())
        if found is None:
            return None
        return dims.get((id(eval(found[1], {"L": arguments})), int(found[2])))

    for guard in guards:
        kind, _, text = guard.partition(": ")
        if kind != "SYMBOLIC_SHAPE_GUARD" or text.startswith("sizes of results follow"):  # which runs at other sizes show here
            continue
        left, op, right = found.groups() if (found := _RELATION.fullmatch(text)) else (text, "", "")
        a, b = dim_of(left), dim_of(right)
        if a is not None and a is b and op in ("==", "<=", ">="):
            continue
        if a is not None and right.isdecimal() and _always(a.min, a.max, op, int(right)):
            continue
        if b is not None and left.isdecimal() and _always(b.min, b.max, _SWAPPED[op], int(left)):
            continue
        raise UserError(f"export: the program needs {text}, which not all sizes of its Dim fulfil: bound the Dim by min and max, leave "
                        f"the size out of dynamic_shapes, or give sizes that must be the same one Dim")
    return dims


def _model(mod, graph, leaves, spec, bound, result, placeholders, outputs, dims):
    model = Model(graph._nodes())
    module = mod if isinstance(mod, Module) else None
    held = [getattr(graph.graph_module, f"_tensor_constant{i}") for i in range(len(model.inputs) - len(placeholders))]
    known = {id(tensor): name for name, tensor in zip(model.inputs, placeholders + held)}
    for name, parameter in module.named_parameters() if module else ():
        model.add_tensor("parameter", name, parameter, known)
    buffers = dict(module.named_buffers()) if module else {}
    lasting = module.state_dict() if module else {}
    for name in sorted(buffers, key=lambda one: one not in lasting):
        model.add_tensor("buffer" if name in lasting else "passing buffer", name, buffers[name], known)
    given = {id(leaf) for leaf in leaves if isinstance(leaf, sconce.Tensor)}
    for tensor in placeholders + held:
        if id(tensor) in known and id(tensor) not in given and id(tensor) not in model.seen:
            model.add_tensor("constant", f"lifted_tensor_{len(model.constant_names)}", tensor, known)
    for name, leaf in zip(_names(bound, leaves, spec), leaves):
        model.add_argument(name, leaf, known)
    model.symbols = {}
    for dim in dims.values():
        if dim not in model.symbols.values():
            model.symbols[f"s{len(model.symbols)}"] = dim
    model.convert()
    parts, model.out_spec = _pytree.tree_flatten(result)
    model.in_spec, model.argument_names = spec, list(bound.arguments)
    places = {id(tensor): i for i, tensor in reversed(list(enumerate(outputs)))}
    for part in parts:
        model.add_result(part, places, {id(leaf): i for i, leaf in enumerate(leaves)})
    return model


def _names(bound, leaves, spec):
    """What the inputs are called: by argument, and by keys and places inside of it."""
    def inside(name, value):
        if isinstance(value, dict):
            return [one for key, part in value.items() for one in inside(f"{name}_{key}", part)]
        if isinstance(value, (tuple, list)):
            return [one for i, part in enumerate(value) for one in inside(f"{name}_{i}", part)]
        return [name]

    names = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            names += [one for key, part in value.items() for one in inside(key, part)]
        else:
            names += inside(name, value)
    return names if len(names) == len(leaves) else [f"arg{i}" for i in range(len(leaves))]


def _sizes(model, free, dims):
    """Sizes and strides of all tensors, and numbers, as expressions."""
    symbols = {dim.name: symbol for symbol, dim in model.symbols.items()}
    hints = {symbols[dim.name]: tensor.shape[i] for tensor, i, dim in free}

    def run(at):
        inputs = {}
        for name, tensor in model.input_tensors.items():
            shape = [at[symbols[dims[id(tensor), i].name]] if (id(tensor), i) in dims else n for i, n in enumerate(tensor.shape)]
            if tuple(shape) == tuple(tensor.shape):
                inputs[name] = sconce.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
            else:
                inputs[name] = _like(tensor, shape)
        try:
            with sconce.no_grad():
                return Point(model.rows, inputs)
        except (RuntimeError, IndexError, ValueError) as error:
            example = ", ".join(f"{model.symbols[s].name}={n}" for s, n in at.items())
            raise UserError(f"export: the program does not run with {example}: {error}") from None

    model.describe(Sizes(list(hints), list(hints.values()), run))


def _like(tensor, shape):
    """A tensor without memory of another size, dimensions in the same order in memory."""
    order = sorted(range(tensor.dim()), key=lambda i: (tensor.stride(i), -i))
    strides, step = [0] * len(shape), 1
    for i in order:
        strides[i] = step
        step *= shape[i]
    return sconce.empty_strided(shape, strides, dtype=tensor.dtype, device="meta")
