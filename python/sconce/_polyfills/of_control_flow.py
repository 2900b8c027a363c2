"""Substitutes for cond, while_loop, map and scan: their functions become graphs, and each operator is one node.

What cannot be one (functions that change objects, results that differ in shape, tensors that are handed through) is a break: the
operator runs eagerly.
"""

import sys

import sconce
from sconce import _higher_order_ops as eager
from sconce.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

from . import substitute

sconce.func.grad  # loads the package: its function vmap has the name of a module, and must stay
vmap = sys.modules["sconce.func.vmap"]
leaves, rebuilt, structure, Tensor = eager.leaves, eager.rebuilt, eager.structure, sconce.Tensor


def record_parts(parts, operands):
    """The graphs of functions, each called with its arguments; what they take beside `operands`; their results. Known to the
    evaluator, as those below are."""
    raise NotImplementedError


def emit(operator, args, results):
    """The node of an operator with these results, fakes of which record_parts or pending made."""
    raise NotImplementedError


def placeholder(function, *tensors):
    """A fake that looks as function(*tensors), for an argument of a function."""
    raise NotImplementedError


def pending(function, *tensors):
    """The same for a result."""
    raise NotImplementedError


def draws(graph):
    """Does a graph that record_parts made draw random numbers?"""
    raise NotImplementedError


def _alike(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.device == b.device


def _break_unless(fits):
    if not fits:
        sconce._dynamo.graph_break()


@substitute(eager.cond)
def cond(pred, true_fn, false_fn, operands=()):
    eager.check_cond(pred, true_fn, false_fn, operands)
    if isinstance(pred, bool):
        return true_fn(*operands) if pred else false_fn(*operands)
    flat, given = leaves(operands), tuple(operands)
    graphs, lifted, results = record_parts([(true_fn, given), (false_fn, given)], flat)
    taken, other = leaves(results[0]), leaves(results[1])
    _break_unless(structure(results[0]) == structure(results[1])
                  and all([_alike(a, b) and a.requires_grad == b.requires_grad for a, b in zip(taken, other)]))
    emit(eager.cond_op, (pred, graphs[0], graphs[1], tuple(flat + lifted)), tuple(taken))
    return results[0]


@substitute(eager.while_loop)
def while_loop(cond_fn, body_fn, carried_inputs):
    eager.check_while(cond_fn, body_fn, carried_inputs)
    flat = leaves(carried_inputs)
    _break_unless(flat and all([isinstance(t, Tensor) for t in flat]))
    inputs = [placeholder(sconce.clone, t) for t in flat]
    given = tuple(rebuilt(carried_inputs, iter(inputs)))
    graphs, lifted, results = record_parts([(cond_fn, given), (body_fn, given)], inputs)
    made = results[1] if isinstance(results[1], (tuple, list)) else (results[1],)
    taken = leaves(made)
    _break_unless(isinstance(results[0], Tensor) and len(taken) == len(flat)
                  and structure(tuple(made)) == structure(tuple(carried_inputs))
                  and all([_alike(a, b) and a.requires_grad == b.requires_grad for a, b in zip(taken, flat)]))
    emit(eager.while_loop_op, (graphs[0], graphs[1], tuple(flat), tuple(lifted)), tuple(taken))
    return tuple(made)


def _first(tensor):
    return tensor[0]


def _rows(count):
    return lambda tensor: sconce.stack([tensor] * count)


@substitute(eager.map)
def map_rows(f, xs, *args):
    count = eager.check_rows("map", xs)
    flat = leaves(xs)
    _break_unless(all([isinstance(a, Tensor) for a in args]))
    rows = [placeholder(_first, x) for x in flat]
    graphs, lifted, results = record_parts([(f, (rebuilt(xs, iter(rows)), *args))], rows + list(args))
    taken = leaves(results[0])
    _break_unless(taken)
    made = [pending(_rows(count), y) for y in taken]
    emit(eager.map_op, (graphs[0], flat, list(args) + lifted), tuple(made))
    return rebuilt(results[0], iter(made))


@substitute(eager.scan)
def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    eager.check_scan(combine_fn, init, xs, dim, reverse)
    flat, starts = eager.rows_of_scan(xs, dim, reverse), leaves(init)
    count = eager.check_rows("scan", flat)
    carries, rows = [placeholder(sconce.clone, t) for t in starts], [placeholder(_first, x) for x in flat]
    graphs, lifted, results = record_parts(
        [(combine_fn, (rebuilt(init, iter(carries)), rebuilt(xs, iter(rows))))], carries + rows)
    _break_unless(isinstance(results[0], tuple) and len(results[0]) == 2)
    carry, y = results[0]
    last = leaves(carry)
    _break_unless(len(last) == len(starts) and all([_alike(a, b) for a, b in zip(last, starts)]))
    outputs = [pending(_rows(count), part) for part in leaves(y)]
    emit(eager.scan_op, (graphs[0], starts, flat, lifted), (*last, *outputs))
    return carry, rebuilt(y, iter(eager.results_of_scan(outputs, dim, reverse)))


def _select(dim):
    return lambda tensor: tensor.select(dim, 0)


@substitute(vmap._mapped)
def mapped_by_vmap(func, in_dims, out_dims, randomness, args, kwargs):
    if randomness != "error" or kwargs:
        return vmap._mapped(func, in_dims, out_dims, randomness, args, kwargs)
    flat, spec = tree_flatten(args)
    dims, size = vmap._checked(in_dims, args, flat, spec, func)
    rows = [leaf if dim is None else placeholder(_select(dim), leaf) for leaf, dim in zip(flat, dims)]
    mapped = [row for row, dim in zip(rows, dims) if dim is not None]
    graphs, lifted, results = record_parts([(func, tuple(tree_unflatten(rows, spec)))], mapped)
    taken, shape = tree_flatten(results[0])
    outs = _broadcast_to_and_flatten(tuple(out_dims) if isinstance(out_dims, list) else out_dims, shape)
    _break_unless(taken and outs is not None and None not in outs and not draws(graphs[0]))
    made = [pending(_rows(size), y) for y in taken]
    given = [leaf.movedim(dim, 0) if dim != 0 else leaf for leaf, dim in zip(flat, dims) if dim is not None]
    emit(eager.map_op, (graphs[0], given, lifted), tuple(made))
    return tree_unflatten([y if dim == 0 else y.movedim(0, dim).contiguous() for y, dim in zip(made, outs)], shape)
