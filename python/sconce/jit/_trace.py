"""jit.trace and jit.trace_module: programs from runs of Python functions and modules. The recorder is sconce/tracing."""

import contextlib
import re
import warnings

from .. import _sconce
from .._sconce import Tensor
from ._module import ScriptModule


class TracerWarning(Warning):
    """What a trace does not keep: values of Python that depend on tensors."""


class TracingCheckError(Exception):
    """A function whose traces differ, or whose trace cannot be run."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += "ERROR: Graphs differed across invocations!\n" + _indented(graph_diff_error) + "\n"
        if tensor_compare_error is not None:
            self.message += ("ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                             "the tracer has encountered untraceable code.\n" + _indented(tensor_compare_error) + "\n")
        super().__init__(self.message)


_sconce._set_tracer_warning(TracerWarning)
_trace_module_map = None  # while a module is traced: its submodules, and where they are


def is_tracing():
    """Is this code run by jit.trace?"""
    return _sconce._is_tracing()


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """A program of what `func`, a function or a module, does with the example inputs.

    It is run once, and every operator that it calls is recorded; decisions of Python are not. With check_trace, it is traced
    again and results are compared, also for check_inputs, a list of further inputs.
    """
    _refuse(_force_outplace, _module_class, _compilation_unit)
    _warn_of_optimize(optimize)
    if isinstance(func, ScriptModule):
        warnings.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
                      stacklevel=2)
        return func
    by_keyword = isinstance(example_kwarg_inputs, dict)
    module = _module_of(func)
    if module is not None:
        if example_inputs is None:
            if not by_keyword:
                raise RuntimeError("example_kwarg_inputs should be a dict")
            example_inputs = example_kwarg_inputs
        checks = None if check_inputs is None else [{"forward": inputs} for inputs in check_inputs]
        return trace_module(module, {"forward": example_inputs}, None, check_trace, checks, check_tolerance, strict,
                            example_inputs_is_kwarg=by_keyword, _store_inputs=_store_inputs)
    if hasattr(func, "__self__") and _is_module(func.__self__):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    inputs = example_kwarg_inputs if by_keyword else _made_tuple(example_inputs)

    def traced_with(inputs):
        function, values, names = _arranged(func, inputs, _argument_names(func), by_keyword)
        return _sconce._trace_function(_qualified_name(func), function, values, names, strict)

    traced = traced_with(inputs)
    if check_trace:
        for each in [inputs] if check_inputs is None else check_inputs:
            each = each if by_keyword else _made_tuple(each)
            again = traced_with(_clone_inputs(each))
            _check(traced, func, again, each, check_tolerance, by_keyword)
    return traced


def trace_module(mod, inputs, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
                 _force_outplace=False, _module_class=None, _compilation_unit=None, example_inputs_is_kwarg=False,
                 _store_inputs=True):
    """A module with the traced methods of `mod`: `inputs` has example inputs by the name of the method."""
    _refuse(_force_outplace, _module_class, _compilation_unit)
    _warn_of_optimize(optimize)
    if not _is_module(mod):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    traced = _traced_methods(mod, inputs, strict, example_inputs_is_kwarg)
    if check_trace:
        for each in [inputs] if check_inputs is None else check_inputs:
            again = _traced_methods(mod, {name: _clone_inputs(data) for name, data in each.items()}, strict, example_inputs_is_kwarg)
            for name, data in each.items():
                function = mod if name == "forward" else getattr(mod, name)
                data = data if example_inputs_is_kwarg else _made_tuple(data)
                _check(_method(traced, name), function, _method(again, name), data, check_tolerance, example_inputs_is_kwarg)
    return traced


def _traced_methods(mod, inputs, strict, by_keyword):
    with _recorded_modules(mod):
        traced = _made_module(mod, _sconce._traced_program())
        for name, data in inputs.items():
            method = getattr(mod, name)
            arguments = _argument_names(method)
            if by_keyword:
                for key in data:
                    if key not in arguments:
                        valid = "[" + ",".join(arguments) + "]"
                        raise NameError(f"'{key}' is not in forward() method's arguments,\n                         "
                                        f"valid arguments name are {valid}")
            function, values, names = _arranged(mod if name == "forward" else method, data, arguments, by_keyword)
            _sconce._trace_method(traced, name, function, values, names, strict)
    return traced


def _method(module, name):
    return getattr(module, name)


# ---- modules ----


def _is_module(obj):
    from ..nn import Module
    return isinstance(obj, Module)


def _module_of(func):
    """The module whose forward is traced, if it is one."""
    if _is_module(func):
        return func
    owner = getattr(func, "__self__", None)
    return owner if _is_module(owner) and func.__name__ == "forward" else None


@contextlib.contextmanager
def _recorded_modules(mod):
    """While it lasts, calls of submodules of `mod` are calls in the trace."""
    global _trace_module_map
    from ..nn import Module
    from ..nn.module import tune_classes
    paths = {}

    def register(module, prefix):
        for name, child in module.named_children():
            paths[child] = f"{prefix}.{name}"
            register(child, paths[child])

    register(mod, "__module")
    before, original = _trace_module_map, Module.__dict__.get("__call__")
    _trace_module_map = {"__module": mod, **paths}

    def call(self, *args, **kwargs):
        path = paths.get(self) if is_tracing() else None
        if path is None:
            return call_original(self, *args, **kwargs)
        _sconce._trace_enter_module(path)
        try:
            return call_original(self, *args, **kwargs)
        finally:
            _sconce._trace_leave_module()

    call_original = original or Module._call_with_hooks
    Module.__call__ = call
    try:
        yield
    finally:
        _trace_module_map = before
        if original is None:
            del Module.__call__
            tune_classes()
        else:
            Module.__call__ = original


def _made_module(mod, program):
    """A module of the program that holds what `mod` holds, and no methods yet."""
    if isinstance(mod, ScriptModule):
        return mod
    seen = set()

    def tensors(table):
        pairs = [(name, t) for name, t in table.items() if t is not None]
        for _, t in pairs:
            if id(t) in seen:
                raise ValueError("TracedModules don't support parameter sharing between modules")
            seen.add(id(t))
        return pairs

    if getattr(mod, "_backward_hooks", None):
        raise ValueError("Modules that have backward hooks assigned can't be compiled: " + str(mod))
    parameters, buffers = tensors(mod._parameters), tensors(mod._buffers)
    modules = [(name, _made_module(child, program)) for name, child in mod._modules.items() if child is not None]
    return _sconce._traced_module(_qualified_name(type(mod)), parameters, buffers, modules, mod.training, program)


# ---- arguments ----


def _refuse(force_outplace, module_class, compilation_unit):
    for name, value in (("_force_outplace", force_outplace), ("_module_class", module_class),
                        ("_compilation_unit", compilation_unit)):
        if value:
            raise NotImplementedError(f"jit.trace: {name} is not supported")


def _warn_of_optimize(optimize):
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
                      FutureWarning, stacklevel=3)


def _made_tuple(inputs):
    return (inputs,) if isinstance(inputs, (Tensor, dict)) else tuple(inputs)


def _argument_names(function):
    """The names of arguments that have one value each; none where Python does not know them."""
    import inspect  # takes long, and not every program traces
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]


def _arranged(function, inputs, names, by_keyword):
    """The function over positional inputs, those inputs, and their names."""
    if not by_keyword:
        return function, _made_tuple(inputs), names
    for key in inputs:
        if key not in names:
            raise NameError(f"'{key}' is not in forward() method's arguments")
    order = [name for name in names if name in inputs]
    return lambda *values: function(**dict(zip(order, values))), tuple(inputs[name] for name in order), order


def _qualified_name(obj):
    """__torch__ and the name with its module: where archives put it."""
    name = "_lambda" if obj.__name__ == "<lambda>" else obj.__name__
    module = obj.__module__
    if module == "__main__":
        module = "__torch__"
    elif module == "sconce" or module.startswith("sconce."):
        module = "__torch__.torch" + module[len("sconce"):]
    else:
        module = "__torch__." + module
    if "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    return f"{module}.{name}"


def _clone_inputs(inputs):
    if isinstance(inputs, Tensor):
        return inputs.detach().clone().requires_grad_(inputs.requires_grad)
    if isinstance(inputs, dict):
        return {key: _clone_inputs(value) for key, value in inputs.items()}
    if isinstance(inputs, (list, tuple)):
        items = [_clone_inputs(item) for item in inputs]
        return type(inputs)(*items) if hasattr(inputs, "_fields") else type(inputs)(items)
    return inputs


# ---- checks ----


def _indented(text):
    return "\n".join("\t" + line for line in text.splitlines())


def _check(traced, function, again, inputs, tolerance, by_keyword):
    """Compares the trace with the function and with another trace. `traced` and `again` are functions of programs."""
    from ..autograd import no_grad
    with no_grad():
        traced_results = _run(traced, inputs, "trace", by_keyword, traced, again)
        results = _run(function, inputs, "Python function", by_keyword, traced, again)
        if _same_results(traced_results, results, "Python function", tolerance, traced):
            repeated = _run(again, inputs, "repeated trace", by_keyword, traced, again)
            _same_results(traced_results, repeated, "repeated trace", tolerance, traced)
        differences = _differences(traced, again)
    if any(difference is not None for difference in differences):
        raise TracingCheckError(*differences)


def _run(function, inputs, what, by_keyword, traced, again):
    inputs = _clone_inputs(inputs)
    try:
        result = function(**inputs) if by_keyword else function(*inputs)
    except Exception as error:
        message = f"encountered an exception while running the {what} with test inputs.\nException:\n{_indented(str(error))}"
        raise TracingCheckError(*_differences(traced, again), extra_msg=message) from error
    return [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, Tensor)]


def _same_results(results, expected, what, tolerance, traced):
    same = True
    for i, (a, b) in enumerate(zip(results, expected)):
        if a.is_quantized:
            a = a.dequantize()
        if b.is_quantized:
            b = b.dequantize()
        wide = "cdouble" if a.is_complex() or b.is_complex() else "double"
        error = _difference(getattr(a, wide)(), getattr(b, wide)(), tolerance, max(_tolerance(a)[1], _tolerance(b)[1]))
        if error is not None:
            if same:
                _warn_of_random_nodes(traced)
            same = False
            warnings.warn(f"Output nr {i + 1}. of the traced function does not match the corresponding output of the {what}. "
                          f"Detailed error:\n{error}", category=TracerWarning, stacklevel=5)
    return same


def _warn_of_random_nodes(traced):
    nodes = [line for line, _, random in _sconce._traced_nodes(traced, False) if random]
    if nodes:
        warnings.warn("Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
                      + "\n".join(_indented(line) for line in nodes[:20])
                      + "\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
                        "torch.jit.trace()", category=TracerWarning, stacklevel=6)


def _differences(traced, again):
    """How two traces differ: in their nodes, and in tensors that are constants; None for no difference."""
    nodes = [[(re.sub(r"___torch_mangle_[0-9]+\.", "", line), t, _) for line, t, _ in _sconce._traced_nodes(each, True)]
             for each in (traced, again)]
    lines = [[line for line, _, _ in each] for each in nodes]
    graph_difference = None
    if lines[0] != lines[1]:
        import difflib
        whole = difflib.ndiff(*([line + "\n" for line in each] for each in lines))
        graph_difference = "Graph diff:\n" + _indented("".join(whole)) + "\n"
        for first, second in zip(*lines):
            if first != second:
                both = difflib.ndiff([first + "\n"], [second + "\n"])
                graph_difference += "First diverging operator:\nNode diff:\n" + _indented("".join(both)) + "\n"
                break
    for (line, a, _), (_, b, _) in zip(*nodes):
        error = None if a is None or b is None else _difference(a, b, *_tolerance(a))
        if error is not None:
            return graph_difference, f"Node:\n{_indented(line)}\nComparison exception: {_indented(error)}"
    return graph_difference, None


def _tolerance(t):
    """The relative and the absolute one of its dtype, as PyTorch's tests have them."""
    return {"torch.float16": (1e-3, 1e-5), "torch.bfloat16": (1.6e-2, 1e-5), "torch.float32": (1.3e-6, 1e-5),
            "torch.complex64": (1.3e-6, 1e-5), "torch.float64": (1e-7, 1e-7), "torch.complex128": (1e-7, 1e-7)
            }.get(str(t.dtype), (0.0, 0.0))


def _difference(a, b, rtol, atol):
    """How two tensors differ, in words; None when they are close."""
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if a.dtype != b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    wrong = a.isclose(b, rtol=rtol, atol=atol, equal_nan=True).logical_not()
    count = int(wrong.sum())
    if count == 0:
        return None
    difference = (a - b).abs()
    greatest, relative = float(difference.max()), float((difference / b.abs()).max())
    return (f"Tensor-likes are not close!\n\nMismatched elements: {count} / {a.numel()} ({100 * count / a.numel():.1f}%)\n"
            f"Greatest absolute difference: {greatest} (up to {atol} allowed)\n"
            f"Greatest relative difference: {relative} (up to {rtol} allowed)")
