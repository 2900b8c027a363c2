"""export(): the one graph of a function, for files and other programs."""

import collections

from ._errors import UserError
from ._explain import listening

ExportResult = collections.namedtuple("ExportResult", ["graph_module", "guards"])


def export(f, *extra_args, aten_graph=False, dynamic_shapes=None, same_signature=True, **extra_kwargs):
    """export(f)(*args): (the graph as an fx.GraphModule, its guards). A function whose graph breaks is refused. The graph takes the
    tensors that the function read, in the order of its placeholders."""
    for name, given, default in (("aten_graph", aten_graph, False), ("dynamic_shapes", dynamic_shapes, None),
                                 ("same_signature", same_signature, True)):
        if given != default:
            raise NotImplementedError(f"export: {name}={given!r} is not supported")

    def inner(*args, **kwargs):
        facts = captured(f, args, kwargs)
        return ExportResult(facts["graph"].graph_module, facts["guards"])

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


def captured(f, args, kwargs):
    """What capture found in one call of f, which must be one graph."""
    from ._compile import _Settings

    heard = []
    compiled = _Settings("sconce", None, True, -1).compile(getattr(f, "_orig_mod", f))
    with listening(lambda event, facts: heard.append(facts) if event == "compiled" else None):
        compiled(*args, **kwargs)
    graphs = [facts for facts in heard if facts["graph"] is not None]
    if len(graphs) != 1:
        raise UserError(f"export: {getattr(f, '__qualname__', type(f).__name__)} has {len(graphs)} graphs, not one")
    return graphs[0]
