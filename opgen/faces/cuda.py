"""Kernels of device cuda. They are in a library of their own, which libsconce does not link: its functions between dispatch
and kernels call them through a struct of pointers for each family, which that library fills in when it is loaded.

    <family>_cuda_kernels.h    declares the kernels, for the sources that define them, and the struct
    <family>_cuda.cpp          fills in the struct: of libsconce_cuda
    cuda_kernels.cpp           does so for all families, and lists the operators: of libsconce_cuda
"""

from ..kinds import leaf
from ..signature import declare, name, out_names, typed, written
from .text import banner


def entries_of(family):
    return [e for e in family.entries if leaf.has_cuda(e)]


def kernels_variable(family_name):
    return f"{family_name}_cuda_kernels"


def _struct(family_name):
    return "".join(part.capitalize() for part in family_name.split("_")) + "CudaKernels"


def _signature(entry):
    """(result, parameters) of a kernel."""
    params, result = typed(entry, entry.schema)
    if leaf.makes_result(entry):
        return "void" if written(entry.schema) else result, declare(params)
    return "void", ", ".join([declare(params), *(f"const Tensor& {o}" for o in out_names(entry.schema))])


def files(families):
    with_kernels = [f for f in families if entries_of(f)]
    for family in with_kernels:
        base = f"sconce/generated/{family.name}_cuda"
        yield base + "_kernels.h", "header", _header(family)
        yield base + ".cpp", "cuda", _source(family)
    yield "sconce/generated/cuda_kernels.cpp", "cuda", _list(with_kernels)


def _header(family):
    declared, members = [], []
    for entry in entries_of(family):
        result, params = _signature(entry)
        declared.append(f"{result} {entry.cpp_name}({params});")
        members.append(f"  {result} (*{entry.cpp_name})({params});")
    struct = _struct(family.name)
    return "\n".join([banner(family.name), '#pragma once\n\n#include "sconce/dispatch/glue.h"\n\nnamespace sconce {\n',
                      "namespace cuda {", *declared, "}  // namespace cuda\n",
                      "// Null until libsconce_cuda is loaded.", f"struct {struct} {{", *members, "};",
                      f"extern SCONCE_API {struct} {kernels_variable(family.name)};\n", "}  // namespace sconce\n"])


def definition(family):
    """Lines that define the struct in libsconce."""
    return [f"{_struct(family.name)} {kernels_variable(family.name)};\n"] if entries_of(family) else []


def _source(family):
    members = "".join(f"      .{e.cpp_name} = {e.cpp_name},\n" for e in entries_of(family))
    return (banner(family.name) + f'#include "sconce/generated/{family.name}_cuda_kernels.h"\n\nnamespace sconce::cuda {{\n\n'
            f"void connect_{family.name}_kernels();\n"
            f"void connect_{family.name}_kernels() {{\n  {kernels_variable(family.name)} = {{\n{members}  }};\n}}\n\n"
            "}  // namespace sconce::cuda\n")


def _list(families):
    declared = "".join(f"void connect_{f.name}_kernels();\n" for f in families)
    calls = "".join(f"  connect_{f.name}_kernels();\n" for f in families)
    names = [f"{op.schema.namespace}::{op.schema.key}" for f in families for op in f.operators if leaf.has_cuda(op.entry)]
    listed = "".join(f'      "{n}",\n' for n in names)
    given = f"  static constexpr const char* names[] = {{\n{listed}  }};\n  return names;\n" if names else "  return {};\n"
    return (banner() + '#include "sconce/kernels/cuda/cuda_kernels.h"\n\nnamespace sconce::cuda {\n\n' + declared +
            "\nvoid connect_kernels() {\n" + calls + "}\n\nstd::span<const char* const> operators_with_kernels() {\n" + given +
            "}\n\n}  // namespace sconce::cuda\n")


def device_check(op, params):
    """C++ that refuses tensors of several devices, where one of them is a CUDA device."""
    if not leaf.has_cuda(op.entry):
        return []
    tensors = [f'{{"{a.name}", {name(a)}}}' for _, a in params
               if a.type in ("Tensor", "Tensor?", "Tensor[]") and a.name not in op.entry.get("on_host", [])]
    if len(tensors) + any(a.type == "Tensor[]" for _, a in params) < 2:
        return []
    return [f'  if (keys.has(Key::cuda)) check_one_device("{op.entry.schema.name}", {{{", ".join(tensors)}}});']
