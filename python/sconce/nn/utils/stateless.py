"""Calls of modules with other parameters in the place of their own."""

import contextlib


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """Inside of a with statement the module has these tensors at their paths."""
    if stack_weights:
        raise NotImplementedError("stack_weights=True is not supported")
    tables, groups = {}, {}
    for table in ("_parameters", "_buffers"):
        for prefix, owner in module.named_modules(remove_duplicate=False):
            for name, tensor in owner.__dict__[table].items():
                path = f"{prefix}.{name}" if prefix else name
                tables[path] = (owner.__dict__[table], name)
                if tensor is not None:
                    groups.setdefault(tensor, []).append(path)
    given = dict(parameters_and_buffers)
    if strict:
        problems = [f"Unexpected key(s): {', '.join(sorted(set(given) - set(tables)))}."] if set(given) - set(tables) else []
        if missing := set(tables) - set(given):
            problems.append(f"Missing key(s): {', '.join(sorted(missing))}.")
        if problems:
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(problems)))
    if tie_weights:
        for paths in groups.values():
            named = [path for path in paths if path in given]
            if any(given[path] is not given[named[0]] for path in named):
                raise ValueError("functional_call got multiple values for keys "
                                 f"{sorted(paths)}, which are tied. Consider using tie_weights=False")
            given.update({path: given[named[0]] for path in paths if named})
    for path in given:
        if path not in tables:
            raise KeyError(path)
    before = {path: tables[path][0][tables[path][1]] for path in given}
    try:
        for path, tensor in given.items():
            table, name = tables[path]
            table[name] = tensor
        yield
    finally:
        for path, tensor in before.items():
            table, name = tables[path]
            table[name] = tensor


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls the module with these parameters and buffers, by path, in the place of its own: a dict, or several of them."""
    if isinstance(parameters_and_buffers, (list, tuple)):
        merged = {}
        for part in parameters_and_buffers:
            if repeated := sorted(merged.keys() & part.keys()):
                raise ValueError(f"{repeated[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
            merged.update(part)
        parameters_and_buffers = merged
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))
