"""Typed signatures: the C++ parameters and results that follow from a schema."""

from . import cpp


def signature(schema):
    """([(C++ type, argument)], C++ result type), or None where the operator can only be called boxed."""
    params = [(cpp.argument_type(a.type), a) for a in schema.arguments]
    if any(t is None for t, _ in params):
        return None
    result = cpp.return_type(schema.returns)
    if result is None:
        return None
    return params, result


def typed(entry, schema):
    """The signature, of an entry that must have one."""
    found = signature(schema)
    if found is None:
        entry.fail("its schema has types that only a boxed kernel can take", "schema")
    return found


def written(schema):
    """Indices of the arguments that an in-place or out= operator returns, or None for other operators."""
    returned = [r.alias for r in schema.returns]
    if not returned or not all("!" in alias for alias in returned):
        return None
    return [next(i for i, a in enumerate(schema.arguments) if a.alias == alias) for alias in returned]


def optional_tensors(params):
    """Bit i is set where parameter i is `Tensor?`."""
    return sum(1 << i for i, (_, a) in enumerate(params) if a.type == "Tensor?")


def takes_out(schema):
    """Whether the schema is of an out= operator: every written argument is a tensor given by name."""
    arguments = [a for a in schema.arguments if a.written]
    return bool(arguments) and all(a.keyword_only and a.type == "Tensor" for a in arguments)


def declare(params, named=True, defaults=False, required=0):
    """Parameters as C++ writes them. `required`: how many of them have no default in C++."""
    parts = []
    for i, (t, a) in enumerate(params):
        text = t + (" " + name(a) if named else "")
        default = cpp.default_value(a) if defaults and i >= required else None
        parts.append(text + (f" = {default}" if default is not None else ""))
    return ", ".join(parts)


def first_default(params):
    return next((i for i, (_, a) in enumerate(params) if cpp.default_value(a) is not None), len(params))


def name(a):
    """The C++ name of an argument."""
    return cpp.identifier(a.name)


def out_names(schema):
    """Names of the tensors that a kernel writes its results to."""
    count = len(schema.returns)
    return ["out"] if count == 1 else [f"out{i}" for i in range(count)]
