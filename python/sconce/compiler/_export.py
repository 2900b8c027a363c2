"""export(): the one graph of a function, for files and other programs."""

import collections

from ..nn import Module, Parameter
from ._errors import UserError
from ._watch import listening

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


def save(f, args, path):
    """Captures f(*args), tensors all, as one graph and writes it as a TorchScript file (.pt) or an exported program (.pt2), which
    PyTorch, C++ and the command line load. Tensors that the function reads from elsewhere, such as parameters, become part of the file.
    Returns the traced module, or the ExportedProgram; sconce.export has free sizes and other arguments."""
    from ..jit import trace

    path = str(path)
    if path.endswith(".pt2"):
        from .. import export as exporting

        program = exporting.export(f, tuple(args))
        exporting.save(program, path)
        return program
    if not path.endswith(".pt"):
        raise ValueError(f"save: {path} must end with .pt (TorchScript) or .pt2 (exported program)")
    traced = trace(_Exported(captured(f, tuple(args), {})["graph"].graph_module, args), tuple(args))
    traced.save(path)
    return traced


class _Exported(Module):
    """A graph as a module of its tensor arguments; it has all other inputs."""

    def __init__(self, graph, args):
        super().__init__()
        self.graph = graph
        self.places = []  # of each input: a number of an argument, or the name of a tensor here
        for node in (node for node in graph.graph.nodes if node.op == "placeholder"):
            tensor = node.meta["original"]
            place = next((i for i, arg in enumerate(args) if arg is tensor), None)
            if place is None:
                place = node.name
                if isinstance(tensor, Parameter):
                    self.register_parameter(place, tensor)
                else:
                    self.register_buffer(place, tensor)
            self.places.append(place)

    def forward(self, *args):
        result = self.graph(*(args[place] if isinstance(place, int) else getattr(self, place) for place in self.places))
        return result[0] if len(result) == 1 else result


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
