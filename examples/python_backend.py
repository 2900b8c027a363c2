"""A backend for sconce.compile, written in Python: it counts the calls of a graph, replaces one of them, and runs the rest as it is.

    python3 examples/python_backend.py

A backend is a callable over (fx.GraphModule, example inputs). What it returns is called with the graph's inputs and returns a sequence
of its outputs. A package makes its own known by an entry point of the group "sconce_backends".
"""

import collections
import operator

import sconce

counts = collections.Counter()


def counting(graph_module, example_inputs):
    """x / c becomes x * (1 / c) where c is a power of two, for which both have the same bits."""
    for node in graph_module.graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        counts[getattr(node.target, "__name__", node.target)] += 1
        if node.target is operator.truediv and isinstance(node.args[1], (int, float)) and _is_power_of_two(node.args[1]):
            node.target, node.args = operator.mul, (node.args[0], 1 / node.args[1])
    graph_module.recompile()
    return graph_module.forward


def _is_power_of_two(value):
    return value > 0 and float(value).hex().startswith("0x1.0000000000000p")


@sconce.compile(backend=counting)
def scaled(x):
    return sconce.relu(x / 4) + x / 3


if __name__ == "__main__":
    x = sconce.arange(-4.0, 4.0)
    print(scaled(x))
    print(dict(counts))
    assert sconce.equal(scaled(x), sconce.relu(x / 4) + x / 3)
