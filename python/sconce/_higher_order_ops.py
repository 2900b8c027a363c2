"""Control-flow operators: cond, while_loop, map, scan. Called eagerly they run the functions that they are given; in compiled
functions each is one node of the graph, and its functions are graphs of their own (_polyfills/of_control_flow.py).

    cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))
    map(lambda row, y: row + y, rows, y)
    scan(lambda sum, x: (sum + x, sum * 1), init, xs)
"""

from . import _sconce
from ._functions import ops
from ._sconce import Tensor

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


class HigherOrderOperator:
    """An operator over functions, as graphs name it: torch.ops.higher_order.cond. Its functions take tensors, and return tuples of
    tensors; `graphs` are the names of those among its arguments that are graphs."""

    def __init__(self, function, graphs):
        self.function, self.graphs = function, graphs
        self.__name__, self.__module__ = function.__name__.strip("_"), "sconce.ops.higher_order"
        setattr(ops.higher_order, self.__name__, self)

    def __call__(self, *args):
        return self.function(*args)

    def __repr__(self):
        return f"torch.ops.higher_order.{self.__name__}"


def leaves(nest):
    """The objects in a nest of tuples, lists and dicts, in order."""
    if isinstance(nest, (tuple, list)):
        return [leaf for part in nest for leaf in leaves(part)]
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in leaves(part)]
    return [nest]


def rebuilt(nest, values):
    """The same nest with other leaves, taken from the iterator `values`."""
    if isinstance(nest, (tuple, list)):
        parts = [rebuilt(part, values) for part in nest]
        return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
    if isinstance(nest, dict):
        return {key: rebuilt(part, values) for key, part in nest.items()}
    return next(values)


def structure(nest):
    """What two nests have in common when they differ in their leaves alone."""
    if isinstance(nest, (tuple, list)):
        return (type(nest), [structure(part) for part in nest])
    if isinstance(nest, dict):
        return (dict, [(key, structure(part)) for key, part in nest.items()])
    return None


def check_cond(pred, true_fn, false_fn, operands):
    """Raises what PyTorch raises for such arguments."""
    if not isinstance(pred, (bool, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all([isinstance(leaf, Tensor) for leaf in leaves(operands)]):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
                           f"but got {operands}.")


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred, a bool or a tensor of one element, is true, else false_fn(*operands)."""
    check_cond(pred, true_fn, false_fn, operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def check_while(cond_fn, body_fn, carried_inputs):
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple, but got {type(carried_inputs)}.")


def while_loop(cond_fn, body_fn, carried_inputs):
    """While cond_fn(*values), values = body_fn(*values); returns the values."""
    check_while(cond_fn, body_fn, carried_inputs)
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise RuntimeError(f"body_fn must return as many values as there are carried inputs: {len(carried)}, not {len(made)}")
        carried = made
    # As an operator it returns tensors of its own, also where the body did not run.
    return tuple([v.clone() if isinstance(v, Tensor) and v is given else v for v, given in zip(carried, carried_inputs)])


def check_rows(who, xs):
    """The number of rows of the leaves of xs."""
    parts = leaves(xs)
    if not parts or not all([isinstance(x, Tensor) for x in parts]):
        raise RuntimeError(f"{who}: xs must be a tensor, or a nest of tuples, lists and dicts of tensors")
    if any([x.dim() == 0 or x.shape[0] == 0 for x in parts]):
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any([x.shape[0] != parts[0].shape[0] for x in parts]):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[tuple(x.shape) for x in parts]}")
    return parts[0].shape[0]


def _stacked(rows):
    return [_sconce._function("stack")(list(column)) for column in zip(*rows)]


def map(f, xs, *args):
    """f(row, *args) for each row of xs, the results stacked."""
    count = check_rows("map", xs)
    made = [f(rebuilt(xs, iter([x[i] for x in leaves(xs)])), *args) for i in range(count)]
    return rebuilt(made[0], iter(_stacked([leaves(m) for m in made])))


def check_scan(combine_fn, init, xs, dim, reverse):
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not leaves(init):
        raise RuntimeError("scan() operator requires init leaves.")
    for leaf in leaves(init):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"All init leaves must be a Tensor but got {leaf}")


def rows_of_scan(xs, dim, reverse):
    """The leaves of xs with the scanned dimension in front, in the order in which they are taken."""
    moved = [x.movedim(dim, 0) if dim != 0 else x for x in leaves(xs)]
    return [x.flip(0) for x in moved] if reverse else moved


def results_of_scan(outputs, dim, reverse):
    """The way back for stacked outputs."""
    turned = [y.flip(0) for y in outputs] if reverse else outputs
    return [y.movedim(0, dim) if dim != 0 else y for y in turned]


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """carry, y = combine_fn(carry, x) for each x along dim, from init on; returns the last carry, and all y stacked along dim."""
    check_scan(combine_fn, init, xs, dim, reverse)
    rows = rows_of_scan(xs, dim, reverse)
    count, carry, made = check_rows("scan", rows), init, []
    for i in range(count):
        carry, y = combine_fn(carry, rebuilt(xs, iter([x[i] for x in rows])))
        made.append(y)
    return carry, rebuilt(made[0], iter(results_of_scan(_stacked([leaves(m) for m in made]), dim, reverse)))


def associative_scan(combine_fn, xs, dim=0, reverse=False, combine_mode="pointwise"):
    """x0, combine_fn(x0, x1), combine_fn(combine_fn(x0, x1), x2) ... along dim, in about log2(n) steps: combine_fn is associative, and takes
    many elements at once."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    rows = rows_of_scan(xs, dim, reverse)
    count, step = check_rows("associative_scan", rows), 1
    cat = _sconce._function("cat")
    while step < count:
        joined = combine_fn(rebuilt(xs, iter([x[:-step] for x in rows])), rebuilt(xs, iter([x[step:] for x in rows])))
        rows = [cat([x[:step], y]) for x, y in zip(rows, leaves(joined))]
        step *= 2
    return rebuilt(xs, iter(results_of_scan(rows, dim, reverse)))


# ---- what stands in graphs: functions over tensors, operands in tuples


def _cond(pred, true_fn, false_fn, operands):
    return true_fn(*operands) if pred else false_fn(*operands)


def _while_loop(cond_fn, body_fn, carried, additional):
    first = True
    while cond_fn(*carried, *additional)[0]:
        carried, first = body_fn(*carried, *additional), False
    # As an operator it returns tensors of its own.
    return tuple([t.clone() for t in carried]) if first else tuple(carried)


def _map_impl(f, xs, args):
    return tuple(_stacked([f(*row, *args) for row in zip(*[x.unbind(0) for x in xs])]))


def _scan(combine_fn, init, xs, additional):
    carry, made = tuple(init), []
    for row in zip(*[x.unbind(0) for x in xs]):
        results = combine_fn(*carry, *row, *additional)
        carry = tuple(results[:len(carry)])
        made.append(results[len(carry):])
    return (*carry, *_stacked(made))


cond_op = HigherOrderOperator(_cond, ("cond_true", "cond_false"))
while_loop_op = HigherOrderOperator(_while_loop, ("cond_fn", "body_fn"))
map_op = HigherOrderOperator(_map_impl, ("map_body",))
scan_op = HigherOrderOperator(_scan, ("scan_combine_fn",))
