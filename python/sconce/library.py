"""Operators of one's own, written in Python: schema, kernels, shapes and gradients, as torch.library has them.

    @sconce.library.custom_op("mylib::scale", mutates_args=())
    def scale(x: sconce.Tensor, by: float = 2.0) -> sconce.Tensor:
        return sconce.from_numpy(x.numpy() * by)

Such an operator is one like any other: sconce.ops.mylib.scale calls it, and so do scripts, traces and files that name it. It lives
as long as the process.
"""

import collections.abc
import contextlib
import functools
import inspect
import types
import typing

from . import _sconce
from ._sconce import Tensor, device, dtype
from .autograd import Function

__all__ = ["CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "impl", "infer_schema", "opcheck", "register_autograd",
           "register_fake", "register_kernel"]

Number = typing.Union[int, float, bool]

_KINDS = ("IMPL", "DEF", "FRAGMENT")
_RESERVED = ("prim",)
_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "default": "CompositeExplicitAutograd"}
# Which kernels of the dispatcher a key of PyTorch stands for. A composite without a rule for gradients of its own leaves them to
# the operators that it calls.
_BACKENDS = ("CPU", "CUDA", "Meta")
_KEYS = {"CPU": ("CPU",), "CUDA": ("CUDA",), "Meta": ("Meta",), "Autograd": ("Autograd",), "AutogradCPU": ("Autograd",),
         "CompositeExplicitAutograd": _BACKENDS, "CompositeImplicitAutograd": _BACKENDS}

_schemas: dict[str, str] = {}  # of operators that Python defined
_open_namespaces: set[str] = set()
_kernels: set[tuple[str, str]] = set()  # operator and key of PyTorch
_custom: dict[str, "CustomOpDef"] = {}


class Library:
    """Definitions and kernels of one namespace: kind "DEF" opens it, "FRAGMENT" adds to it, "IMPL" has kernels only."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _open_namespaces:
                raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                                   "definitions in a single TORCH_LIBRARY block.")
            _open_namespaces.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined, self._noted, self._replaced = [], [], []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator, as "scale(Tensor x, float by=2.) -> Tensor"; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if alias_analysis == "CONSERVATIVE":
            raise NotImplementedError("define: alias_analysis='CONSERVATIVE' is not supported: aliases are what the schema says")
        _refuse_tags("define", tags)
        if self.kind == "IMPL":
            raise RuntimeError("def(): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.")
        name = schema.partition("(")[0].strip()
        qualified = name if "::" in name else f"{self.ns}::{name}"
        full = f"{self.ns}::{schema.strip()}" if "::" not in name else schema.strip()
        if qualified in _schemas and not any(operator == qualified for operator, _ in _kernels):
            if _schemas[qualified] != full:  # a library that is gone had it
                raise RuntimeError(f"{qualified} was defined as {_schemas[qualified]} before; operators live as long as the process")
        elif _sconce._operator_schema(qualified) is not None:
            raise RuntimeError(f"Tried to register an operator ({full}) with the same name and overload name multiple times. Each "
                               "overload's schema should only be registered with a single call to def().")
        else:
            try:
                _sconce._define_operator(self.ns, schema.strip(), "")
            except ValueError as error:
                raise RuntimeError(str(error)) from None
            _schemas[qualified] = full
            _forget_packet(qualified)
        self._defined.append(qualified)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Makes a function the kernel of an operator for a key: CPU, CUDA, Meta, Autograd, CompositeImplicitAutograd (the default:
        for every device, differentiated through what it calls) or CompositeExplicitAutograd."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("impl: with_keyset=True is not supported: keys of dispatch are no objects of Python")
        if self.kind == "IMPL" and not dispatch_key:
            dispatch_key = self.dispatch_key
        dispatch_key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if dispatch_key not in _KEYS:
            raise NotImplementedError(f"impl: kernels for {dispatch_key} are not supported, only for {', '.join(_KEYS)}")
        qualified = self._qualified(op_name)
        if not allow_override and (qualified, dispatch_key) in _kernels:
            raise RuntimeError(f"This is not allowed since there's already a kernel registered from python overriding "
                               f"{qualified.partition('::')[2]}'s behavior for {dispatch_key} dispatch key and {self.ns} namespace.")
        composite = dispatch_key.startswith("Composite")
        for key in _KEYS[dispatch_key]:
            if not (composite and (qualified, key) in _kernels):  # a device's own kernel comes first
                self._set(qualified, key, fn)
        if dispatch_key == "CompositeImplicitAutograd" and (qualified, "Autograd") not in _kernels:
            self._set(qualified, "Autograd", None)
        _kernels.add((qualified, dispatch_key))
        self._noted.append((qualified, dispatch_key))

    def _qualified(self, op_name):
        if isinstance(op_name, str):
            return op_name if "::" in op_name else f"{self.ns}::{op_name}"
        if isinstance(op_name, _sconce.OperatorFunction):
            return op_name.__name__
        raise RuntimeError(f"impl should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}")

    def _set(self, qualified, key, fn):
        self._replaced.append(_sconce._set_kernel(qualified, key, fn))

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        self.impl(op_name, fn, "Meta", allow_override=allow_override)

    def _destroy(self):
        """Takes its kernels away again; operators stay, without them."""
        while self._replaced:
            _sconce._restore_kernel(self._replaced.pop())
        _kernels.difference_update(self._noted)
        if self.kind == "DEF":
            _open_namespaces.discard(self.ns)


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A Library whose kernels go with the with statement."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _refuse_tags(where, tags):
    if tags:
        raise NotImplementedError(f"{where}: tags are not supported")


def _forget_packet(qualified):
    """sconce.ops keeps what it found: a new overload is to be found, too."""
    from . import ops

    space, _, name = qualified.partition("::")
    vars(getattr(ops, space)).pop(name.partition(".")[0], None)


def _overload(qualified):
    """The callable of one overload."""
    name, _, overload = qualified.partition(".")
    return getattr(_sconce._packet(name), overload or "default")


def _name_of(where, op):
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, _sconce.OperatorFunction):
        return op.__name__
    if not isinstance(op, str):
        raise ValueError(f"{where}({op}): got unexpected type for op: {type(op)}")
    return op.removesuffix(".default")


# ---- schemas of functions ----

def _variants():
    """Annotation -> type of schemas."""
    found = {}
    for base, word, lists, lists_of_optional, optional_lists in (
            (Tensor, "Tensor", True, True, False), (int, "SymInt", True, False, True), (float, "float", True, False, True),
            (bool, "bool", True, False, True), (str, "str", False, False, False), (Number, "Scalar", True, False, False),
            (dtype, "ScalarType", False, False, False), (device, "Device", False, False, False)):

        def sequences(of):
            return typing.Sequence[of], typing.List[of], collections.abc.Sequence[of], list[of]

        found[base], found[typing.Optional[base]] = word, word + "?"
        for sequence in sequences(base):
            if lists:
                found[sequence] = word + "[]"
            if optional_lists:
                found[typing.Optional[sequence]] = word + "[]?"
        if lists_of_optional:
            found.update(dict.fromkeys(sequences(typing.Optional[base]), word + "?[]"))
    return found


_ARGUMENTS = _variants()
_RESULTS = {Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool",
            Number: "Scalar"}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of a function, from its annotations: "(Tensor x, float by=2.0) -> Tensor"."""
    _refuse_tags("infer_schema", tags)
    signature = inspect.signature(prototype_function)

    def fail(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    def resolved(annotation):
        if isinstance(annotation, str):
            try:
                return eval(annotation, prototype_function.__globals__)
            except Exception as error:  # whatever the text does
                fail(f"Unsupported type annotation {annotation}. It is not a type. ({error})")
        if isinstance(annotation, types.UnionType):  # int | None
            return typing.Union[annotation.__args__]
        return annotation

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                         "'unknown'. ")
    mutated = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    words, keywords = [], False
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind == parameter.KEYWORD_ONLY and not keywords:
            words.append("*")
            keywords = True
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        annotation = resolved(parameter.annotation)
        if annotation not in _ARGUMENTS:
            fail(f"Parameter {name} has unsupported type {parameter.annotation}. The valid types are: {_ARGUMENTS.keys()}.")
        word = _ARGUMENTS[annotation]
        if mutated == "unknown" and word.startswith("Tensor") or mutated != "unknown" and name in mutated:
            if not word.startswith("Tensor"):
                fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            word = f"Tensor(a{index}!){word[6:]}"
        words.append(f"{word} {name}{_default(name, parameter, fail)}")
    if mutated != "unknown" and (unseen := set(mutated) - set(signature.parameters)):
        fail(f"{unseen} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all "
             "args that the custom op mutates, or just the string 'unknown' if you don't know.")
    return f"{op_name or ''}({', '.join(words)}) -> {_result(resolved(signature.return_annotation), fail)}"


def _default(name, parameter, fail):
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, (str, device)):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).removeprefix('torch.')}"
    fail(f"Parameter {name} has an unsupported default value type {type(value)}.")


def _result(annotation, fail):
    if annotation is None:
        return "()"
    if annotation is inspect.Parameter.empty:
        fail("No return type annotation was provided. Please add one.")
    if typing.get_origin(annotation) is not tuple:
        if annotation not in _RESULTS:
            fail(f"Return has unsupported type {annotation}. The valid types are: {_RESULTS}.")
        return _RESULTS[annotation]
    parts = typing.get_args(annotation)
    if any(part not in _RESULTS for part in parts):
        fail(f"Return has unsupported type {annotation}. The valid types are: {_RESULTS}.")
    words = ", ".join(_RESULTS[part] for part in parts)
    return f"({words})" if len(parts) > 1 else words


# ---- gradients ----

def _flatten(values):
    """Tensors of lists among the values one by one, and how to put them back."""
    flat, sizes = [], []
    for value in values:
        is_list = isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value)
        flat.extend(value if is_list else (value,))
        sizes.append(len(value) if is_list else None)
    return flat, sizes


def _unflatten(flat, sizes):
    flat, values = iter(flat), []
    for size in sizes:
        values.append(next(flat) if size is None else [next(flat) for _ in range(size)])
    return values


def _autograd_kernel(qualified, backward, setup_context):
    """A kernel for the key Autograd: runs the operator below it, and records a node that calls `backward`."""
    _, arguments, _ = _sconce._operator_schema(qualified)
    has_keywords = any(keyword_only for _, _, keyword_only, _ in arguments)
    operator = _overload(qualified)

    def forward(ctx, kwargs, sizes, results, *flat):
        args = tuple(_unflatten(flat, sizes))
        output = operator(*args, **kwargs)  # forward runs with gradients off, so this goes below this kernel
        if setup_context is not None:
            given = {"keyword_only_inputs": kwargs} if has_keywords else {}
            setup_context(ctx=ctx, inputs=args, **given, output=output)
        ctx._argument_sizes = sizes
        several = isinstance(output, tuple)
        flat_output, result_sizes = _flatten(output if several else (output,))
        ctx._result_sizes = result_sizes
        results.append((several, result_sizes))
        return tuple(flat_output)

    def run_backward(ctx, *grads):
        if backward is None:
            raise RuntimeError(f"Trying to backward through {qualified.replace('::', '.')} but no autograd formula was registered. "
                               "Please use register_autograd to add one.")
        found = backward(ctx, *_unflatten(grads, ctx._result_sizes))
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(ctx._argument_sizes):
            raise RuntimeError(f"function {qualified} returned an incorrect number of gradients (expected "
                               f"{len(ctx._argument_sizes)}, got {len(found)})")
        flat = []
        for gradient, size in zip(found, ctx._argument_sizes):
            flat.extend((gradient,) if size is None else (None,) * size if gradient is None else gradient)
        return (None, None, None, *flat)

    name = f"GeneratedBackwardFor_{qualified.replace('::', '_').replace('.', '_')}"
    generated = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(run_backward)})

    def kernel(*args, **kwargs):
        flat, sizes = _flatten(args)
        results = []
        flat_output = generated.apply(kwargs, sizes, results, *flat)
        several, result_sizes = results[0]
        output = _unflatten(flat_output, result_sizes)
        return tuple(output) if several else output[0]

    return kernel


def _check_functional(qualified):
    schema, arguments, returns = _sconce._operator_schema(qualified)
    if any(written for *_, written in arguments + returns):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {qualified.replace('::', '.')} with schema "
                           f"{schema}. Please create a functional operator and register an autograd formula for that.")
    for name, kind, keyword_only, _ in arguments:
        if keyword_only and kind.startswith("Tensor"):
            raise NotImplementedError(f"register_autograd with kwarg-only Tensor args. In the original definition of the op, please "
                                      f"make your tensors not kwarg-only. Got: {schema}")


# ---- operators from functions ----

class CustomOpDef:
    """An operator that custom_op made of a function. Calling it calls the operator."""

    def __init__(self, name, function, schema):
        self._qualname, self._function, self._fake = name, function, None
        self._library = Library(name.partition("::")[0], "FRAGMENT")
        self._backward = self._setup_context = None
        self._disabled = set()
        self._library.define(name.partition("::")[2] + schema)
        self._operator = _overload(name)
        written = any(mutated for *_, mutated in _sconce._operator_schema(name)[1])
        self._library.impl(name, self._run_fake, "Meta")
        if not written:
            self._library.impl(name, _autograd_kernel(name, None, None), "Autograd")
        functools.update_wrapper(self, function)
        _custom[name] = self

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._operator(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Another function for a type of device; None stands for all."""
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        for kind in (device_types,) if device_types is None or isinstance(device_types, str) else device_types:
            key = _DEVICE_KEYS.get("default" if kind is None else kind)
            if key is None:
                raise NotImplementedError(f"register_kernel: devices of type '{kind}' are not supported")
            kernel = self._checked(fn, kind)
            for backend in ("CPU", "CUDA") if kind is None else (key,):
                self._library.impl(self._qualname, kernel, backend, allow_override=True)
        return fn

    def _checked(self, fn, kind):
        """The function, whose results must not be its arguments."""

        @functools.wraps(fn)
        def kernel(*args, **kwargs):
            result = (self._function if kind in self._disabled else fn)(*args, **kwargs)
            _check_aliases(self._qualname, fn, args + tuple(kwargs.values()), result)
            return result

        return kernel

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """For a with statement: whether the kernel of register_kernel is used for the type of device, or the first function."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def register_fake(self, fn, /):
        """A function for Meta tensors: it gives results of the right shape and dtype, without data."""
        self._fake = fn
        return fn

    def _run_fake(self, *args, **kwargs):
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        if not _sconce._operator_schema(self._qualname)[2]:
            return None  # what is only written keeps its shape
        raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
                           f"work. Please use `{self._function.__name__}.register_fake` to add an fake impl.")

    def register_autograd(self, backward, /, *, setup_context=None):
        """backward(ctx, *grads) gives the gradient of every argument; setup_context(ctx, inputs, output) keeps what it needs."""
        _check_functional(self._qualname)
        self._library.impl(self._qualname, _autograd_kernel(self._qualname, backward, setup_context), "Autograd", allow_override=True)


def _storages(values):
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, Tensor):
            yield value.untyped_storage().data_ptr()
        elif isinstance(value, (list, tuple)):
            yield from _storages(value)


def _check_aliases(qualified, fn, args, result):
    seen = {pointer for pointer in _storages(args) if pointer}
    for pointer in _storages(result):
        if pointer and pointer in seen:
            raise RuntimeError(f"{qualified} (with implementation in {inspect.getmodule(fn)}): The output of this custom operator (1) "
                               "must not also be an input to this custom operator and (2) may not alias any inputs to this custom "
                               "operator or other returns. The most common way to trigger this error is if we have y = custom_op(x) "
                               "and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) "
                               "(e.g. return x.clone()) or refactor the custom operator to not return y.")
        seen.add(pointer)


@typing.overload
def custom_op(name: str, fn: None = None, /, *, mutates_args: str | collections.abc.Iterable[str], device_types: typing.Any = None,
              schema: str | None = None, tags: typing.Any = None) -> collections.abc.Callable[[typing.Any], CustomOpDef]: ...
@typing.overload
def custom_op(name: str, fn: collections.abc.Callable[..., typing.Any], /, *, mutates_args: str | collections.abc.Iterable[str],
              device_types: typing.Any = None, schema: str | None = None, tags: typing.Any = None) -> CustomOpDef: ...
def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a function. Its schema comes from its annotations; `mutates_args` names the tensors that it writes.

    custom_op("mylib::f", mutates_args=()) decorates a function. A second definition of the same name and schema takes its place.
    """
    _refuse_tags("custom_op", tags)
    if fn is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, device_types=device_types, schema=schema)
    if "::" not in name:
        raise ValueError(f"Expected `{name}` to be of the form `namespace::name`, got no '::' in it")
    if schema is None:
        schema = infer_schema(fn, mutates_args=mutates_args)
    if name in _custom:
        _custom.pop(name)._library._destroy()
    made = CustomOpDef(name, fn, schema)
    made.register_kernel(device_types, fn)
    return made


# ---- functions ----

def define(qualname, schema, *, lib=None, tags=()):
    """define("mylib::f", "(Tensor x) -> Tensor") defines an operator; define(library, schema) decorates its kernel."""
    if isinstance(qualname, Library):
        library, name = qualname, qualname.define(schema)

        def implement(fn):
            library.impl(name, fn)
            return fn

        return implement
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    space, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(f"Expected `{qualname}` to be of the form `namespace::name`, got no '::' in it")
    if not schema.startswith("("):
        raise ValueError(f"define(qualname, schema, ...): expected schema to look like e.g. \"(Tensor x) -> Tensor\" but got "
                         f"\"{schema}\"")
    (lib or Library(space, "FRAGMENT")).define(name + schema, tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """impl("mylib::f", "cpu", function), or as a decorator: the kernel for types of devices, or for keys of dispatch."""
    if isinstance(qualname, Library):  # the older form: impl(library, name, key)
        library, name, key = qualname, types, func or ""

        def implement(fn):
            library.impl(name, fn, key)
            return fn

        return implement
    if func is None:
        return functools.partial(_decorate, impl, qualname, types, lib)
    for kind in (types,) if isinstance(types, str) else types:
        key = _DEVICE_KEYS.get(kind, kind)
        (lib or Library(qualname.partition("::")[0], "FRAGMENT")).impl(qualname, func, key)


def _decorate(register, op, types, lib, func):
    register(op, types, func, lib=lib)
    return func


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The kernel of an operator for types of devices; None stands for all."""
    name = _name_of("register_kernel", op)
    if func is None:
        return functools.partial(_decorate, register_kernel, op, device_types, lib)
    if name in _custom:
        return _custom[name].register_kernel(device_types, func)
    impl(name, "CompositeExplicitAutograd" if device_types is None else device_types, func, lib=lib)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """The function that gives results of an operator on Meta tensors: their shapes and dtypes."""
    name = _name_of("register_fake", op)
    if func is None:
        return functools.partial(register_fake, op, lib=lib, allow_override=allow_override)
    if name in _custom:
        return _custom[name].register_fake(func)
    (lib or Library(name.partition("::")[0], "FRAGMENT"))._register_fake(name, func, allow_override=allow_override)
    return func


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The gradient of an operator: backward(ctx, *grads), with what setup_context(ctx, inputs, output) kept."""
    name = _name_of("register_autograd", op)
    if name in _custom:
        return _custom[name].register_autograd(backward, setup_context=setup_context)
    _check_functional(name)
    library = lib or Library(name.partition("::")[0], "FRAGMENT")
    library.impl(name, _autograd_kernel(name, backward, setup_context), "Autograd", allow_override=True)


# ---- tests of operators ----

class OpCheckError(Exception):
    """An operator does not do what its registration says."""


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
            raise_exception=True, atol=None, rtol=None):
    """Does an operator do what its registration says, with these arguments? By name of test: "SUCCESS", or the exception.

    test_schema: it writes and returns no argument that its schema does not name. test_autograd_registration: it has a rule for
    gradients where an argument wants one. test_faketensor: on Meta tensors it gives the shapes, strides and dtypes that it gives on
    the CPU. `atol` and `rtol` are of PyTorch's test_aot_dispatch tests, which do not exist here."""
    if atol is not None or rtol is not None:
        raise NotImplementedError("opcheck: atol and rtol are not supported: no test here compares with a tolerance")
    name = _name_of("opcheck", op)
    tests = {"test_schema": _test_schema, "test_autograd_registration": _test_autograd, "test_faketensor": _test_fake}
    results = {}
    for test in (test_utils,) if isinstance(test_utils, str) else test_utils:
        if test not in tests:
            raise NotImplementedError(f"opcheck: there is no test '{test}', only {', '.join(tests)}")
        try:
            tests[test](name, tuple(args), kwargs or {})
            results[test] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {test} failed with {error}") from error
            results[test] = error
    return results


def _mapped(function, value):
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(function, item) for item in value)
    return {key: _mapped(function, item) for key, item in value.items()} if isinstance(value, dict) else value


def _tensors(value):
    found = []
    _mapped(found.append, value)
    return found


def _copied(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _test_schema(name, args, kwargs):
    _, arguments, returns = _sconce._operator_schema(name)
    given, named = _mapped(_copied, args), _mapped(_copied, kwargs)
    before = _mapped(_copied, list(given) + list(named.values()))
    result = _overload(name)(*given, **named)
    written = {argument: mutated for argument, _, _, mutated in arguments}
    names = [argument for argument, *_ in arguments][:len(given)] + list(named)
    for argument, old, new in zip(names, before, list(given) + list(named.values())):
        same = all(_same_bits(a, b) for a, b in zip(_tensors(old), _tensors(new)))
        if not same and not written[argument]:
            raise OpCheckError(f"Argument {argument} is not defined as mutable but was mutated")
    if not any(mutated for *_, mutated in returns):
        _check_aliases(name, _test_schema, given + tuple(named.values()), result)


def _same_bits(a, b):
    from . import equal, isnan

    if a.shape != b.shape:
        return False
    a, b = a.detach(), b.detach()
    if a.is_floating_point() or a.is_complex():
        return equal(isnan(a), isnan(b)) and equal(a.nan_to_num(), b.nan_to_num())
    return equal(a, b)


def _test_autograd(name, args, kwargs):
    if not any(t.requires_grad for t in _tensors([args, kwargs])) or name not in _schemas:
        return
    if not any((name, key) in _kernels for key in ("Autograd", "AutogradCPU", "CompositeImplicitAutograd")):
        raise OpCheckError(f"Operator {name} has no autograd kernel, and an argument requires grad: use register_autograd")


def _test_fake(name, args, kwargs):
    from . import empty_strided

    def fake(t):
        return empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta").requires_grad_(t.requires_grad)

    def described(result):
        return [(tuple(t.shape), t.stride(), t.dtype) for t in _tensors([result])]

    operator = _overload(name)
    real = described(operator(*_mapped(_copied, args), **_mapped(_copied, kwargs)))
    made = described(operator(*_mapped(fake, args), **_mapped(fake, kwargs)))
    if real != made:
        raise OpCheckError(f"{name} gives {real} on the CPU, but {made} on Meta tensors")
