"""Backends: what compiles a captured graph. A callable over (fx.GraphModule, example inputs) that returns a callable, or its name.

    sconce.compile(f, backend=lambda graph_module, inputs: graph_module.forward)

Names: "sconce" (plans: the default), "interpreter" (the same graph without plans), "eager" (the fx graph, run by Python), those that
register_backend added, and entry points of the group "sconce_backends".
"""

_registered = {}


def register_backend(compiler_fn=None, name=None, tags=()):
    """Makes a backend known by its name; also as a decorator."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise TypeError(f"register_backend: a backend must be callable, not {type(compiler_fn).__name__}")
    name = name or compiler_fn.__name__
    if name in ("sconce", "interpreter") or name in _registered:
        raise ValueError(f"register_backend: there is a backend {name!r} already")
    compiler_fn._tags = tuple(tags)
    _registered[name] = compiler_fn
    return compiler_fn


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of all backends, without those that have one of the tags."""
    exclude = set(exclude_tags or ())
    found = {"sconce", "interpreter", *_entry_points()}
    found.update(name for name, function in _registered.items() if not exclude & set(getattr(function, "_tags", ())))
    return sorted(found)


def lookup_backend(backend):
    """The callable of a backend; None for the two that are compiled in."""
    if callable(backend):
        return backend
    if not isinstance(backend, str):
        raise TypeError(f"backend: expected a name or a callable, got {type(backend).__name__}")
    if backend in ("sconce", "interpreter"):
        return None
    if backend not in _registered:
        points = _entry_points()
        if backend not in points:
            raise ValueError(f"backend: there is none with the name {backend!r}; known are "
                             f"{', '.join(list_backends(exclude_tags=None))}")
        _registered[backend] = points[backend].load()
    return _registered[backend]


def compile_graph(graph, backend, options):
    """Called by the recorder: what runs in place of the graph, a callable that returns a sequence of tensors; None: the graph."""
    if backend == "interpreter":
        graph._set_plans(False)
        return None
    function = lookup_backend(backend)
    if function is None:
        return None
    module = graph.graph_module
    inputs = [node.meta.pop("original") for node in module.graph.nodes if node.op == "placeholder"]
    compiled = function(module, inputs, **_keywords(options))
    if not callable(compiled):
        raise TypeError(f"the backend {_name(function)} returned a {type(compiled).__name__}, not a callable")
    return compiled


def _keywords(options):
    return {"options": options} if options else {}


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def _entry_points():
    from importlib.metadata import entry_points
    return {point.name: point for point in entry_points(group="sconce_backends")}


@register_backend(tags=("debug",))
def eager(graph_module, example_inputs):
    """The fx graph as it is, run by Python."""
    return graph_module.forward
