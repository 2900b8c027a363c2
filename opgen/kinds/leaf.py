"""Leaf operators: a hand-written kernel. For one device, it fills tensors that shape and dtype rules describe, or, with
result = "own", makes its results itself; so does one for any device, but where it stands beside one for a device: there it
fills tensors for all others. A boxed one works on Values and needs no function between."""

from .. import cpp, script
from ..signature import name, out_names
from ..translation import checks, translated, expression
from .compound import through_copy

_DTYPES = {"int64": "DType::int64", "bool": "DType::bool_", "float32": "DType::float32", "float64": "DType::float64",
           "int32": "DType::int32", "uint8": "DType::uint8"}


def is_boxed(entry):
    return entry.kind == "leaf" and "boxed" in entry.data["kernel"]


def boxed_name(entry):
    """'boxed/dict.cpp:dict_get' names a function that several operators share; otherwise it is called as the operator."""
    _, _, function = entry.data["kernel"]["boxed"].partition(":")
    return function or entry.cpp_name


def reads_memory(entry):
    """Whether the kernel works on the CPU's memory and does not ask whether there is any: those of quantised tensors."""
    return any(file.startswith("quantized/") for file in entry.get("kernel", {}).values())


def has_cuda(entry):
    return entry.kind == "leaf" and "cuda" in entry.data["kernel"]


def namespace(device):
    """The C++ namespace of kernels for a device."""
    return "any_device" if device == "any" else device


def makes_result(entry):
    """Whether the kernel makes its own results. Such a one also serves meta tensors, and stops before it computes."""
    return [d for d in entry.data["kernel"] if d != "cuda"] == ["any"] or entry.get("result") == "own"


def body(op, params, written, family):
    entry = op.entry
    plain = [name(a) for _, a in params if not (op.form == "out" and a.written)]
    out = checks(entry, family.schemas)
    if not makes_result(entry):
        return out + _specs(entry, family.schemas) + _filled(op, params, written, plain)
    device, = (d for d in entry.data["kernel"] if d != "cuda")
    if device == "cpu":
        out += mixed_devices(entry)
    function = f"{namespace(device)}::{entry.cpp_name}"
    if has_cuda(entry):
        function = f"({_on_cuda(entry)} ? {_cuda_function(entry)} : {function})"
    call = f"{function}({', '.join(plain)})"
    if op.form == "function":
        return out + [f"  {'' if written else 'return '}{call};"]
    return out + through_copy(op, params, written, call)


def _cuda_function(entry):
    """The pointer to a kernel of libsconce_cuda (faces/cuda.py)."""
    return f"{entry.family}_cuda_kernels.{entry.cpp_name}"


def _on_cuda(entry):
    """C++ for whether the result of a kernel that makes it is to be on a CUDA device."""
    tensors = any(a.type.startswith("Tensor") for a in entry.schema.arguments)
    return "keys.has(Key::cuda)" if tensors else "device && device->type == DeviceType::cuda"


def _filled(op, params, written, plain):
    """Makes or prepares the tensors of the results and has the device's kernel fill them."""
    arguments = op.entry.schema.arguments
    outs = out_names(op.schema)
    tensors = [name(a) for a in arguments if a.type == "Tensor"]
    read = [name(a) for a in arguments if a.type in ("Tensor", "Tensor?")]
    lists = [name(a) for a in arguments if a.type in ("Tensor[]", "Tensor?[]")]
    fill = _fill(op.entry, f"{outs[0]}_", f"{op.entry.cpp_name}({', '.join(plain + [o + '_' for o in outs])})")
    if op.form == "function":
        device = _device(tensors, lists)
        make = [f"  const Tensor {o}_ = make_output(spec{i}, {device});" for i, o in enumerate(outs)]
        result = f"{outs[0]}_" if len(outs) == 1 else "{" + ", ".join(o + "_" for o in outs) + "}"
        return make + fill + [f"  return {result};"]
    given = [name(params[i][1]) for i in written]
    if len(lists) > 1:
        op.entry.fail("out= forms look at one list of tensors: make the results in the kernel", "kernel")
    prepare = []
    for i, (o, g) in enumerate(zip(outs, given)):
        others = ["&" + t for t in read + [x for x in given if x != g]]
        inputs = ", ".join([f"{{{', '.join(others)}}}", "true" if op.form == "inplace" else "false", *lists])
        prepare.append(f"  const Tensor {o}_ = prepare_output(spec{i}, {g}, {inputs});")
    return prepare + fill + [f"  finish_output({o}_, {g});" for o, g in zip(outs, given)]


def mixed_devices(entry):
    """C++ that refuses tensors on Meta, which have no memory, beside others: the kernel would read it."""
    return [f'  if (keys.has(Key::meta) && keys.has(Key::cpu)) fail_on_meta("{entry.schema.name}");']


def _fill(entry, out, call):
    """C++ that calls the kernel of the result's device; Meta has none."""
    on_cpu = [f'    if (keys.has(Key::meta)) fail_on_meta("{entry.schema.name}");', f"    cpu::{call};"]
    if "any" not in entry.data["kernel"] and not has_cuda(entry):
        return [f"  if (!{out}.is_meta()) {{", *on_cpu, "  }"]
    lines = [f"  if ({out}.device().type == DeviceType::cpu) {{", *on_cpu, "  }"]
    if has_cuda(entry):
        lines[-1] += f" else if ({out}.device().type == DeviceType::cuda) {{"
        lines += [f"    {entry.family}_cuda_kernels.{call};", "  }"]
    if "any" in entry.data["kernel"]:
        lines[-1] += f" else if (!{out}.is_meta()) any_device::{call};"
    return lines


def _device(tensors, lists):
    """C++ for the device of the results: that of the first tensor, or the one that the `device` argument names."""
    if tensors:
        return f"{tensors[0]}.device()"
    return f"device_of({lists[0]})" if lists else "device.value_or(Device())"


def _specs(entry, schemas):
    """C++ that declares spec0, spec1, ... from the shape, dtype and format rules."""
    count = len(entry.schema.returns)
    shape = entry.get("shape")
    if shape == "cpp":
        call = f"any_device::{entry.cpp_name}_spec({', '.join(name(a) for a in entry.schema.arguments)})"
        if count == 1:
            return [f"  const OutSpec spec0 = {call};"]
        return [f"  const auto specs = {call};"] + [f"  const OutSpec& spec{i} = specs[{i}];" for i in range(count)]
    shapes = shape if isinstance(shape, list) else [shape] * count
    dtypes = entry.get("dtype", "self")
    dtypes = dtypes if isinstance(dtypes, list) else [dtypes] * count
    if len(shapes) != count or len(dtypes) != count:
        entry.fail(f"{count} results need {count} shapes and dtypes", "shape")
    return [f"  const OutSpec spec{i}{{Dims({_sizes(entry, s, schemas)}), {_dtype(entry, d, schemas)}, {_format(entry)}}};"
            for i, (s, d) in enumerate(zip(shapes, dtypes))]


def _sizes(entry, rule, schemas):
    if "\n" not in rule.strip() and not rule.strip().startswith("return "):
        return expression(entry, "shape", rule, schemas)
    lines = translated(entry, "shape", lambda: script.translate_body(rule, entry.schema.arguments, schemas, [], checked=True))
    return "[&]() -> Dims {\n" + "\n".join("  " + x for x in lines) + "\n  }()"


def _dtype(entry, rule, schemas):
    argument = entry.schema.argument(rule)
    if argument is not None and argument.type.startswith("Tensor"):
        return f"{cpp.identifier(rule)}.dtype()"
    if rule in _DTYPES:
        return _DTYPES[rule]
    try:
        return script.translate_expression(rule, entry.schema.arguments, schemas)[0]
    except script.ScriptError as e:
        entry.fail(f"dtype: {e.message}", "dtype")


def _format(entry):
    text = entry.get("format")
    if text is None:
        return "MemoryFormat::contiguous"
    if entry.schema.argument(text) is None:
        entry.fail(f"format names '{text}', which is no argument", "format")
    return f"suggested_format({cpp.identifier(text)})"
