"""Kernels: declarations of the hand-written ones, and the functions between dispatch and kernels.

The declarations are in <family>_kernels.h, which the sources that `kernel` names include: they are compiled with
-Werror=missing-declarations, so that a kernel whose signature is not that of its schema is an error with a line.
"""

from .. import formats
from . import cuda
from .entries import prepare_name
from ..kinds import BODIES, leaf
from ..signature import declare, out_names, typed, written
from .text import banner


def header(family):
    """<family>_kernels.h, or None where the family has no hand-written kernels."""
    declared = _declarations(family)
    if not declared:
        return None
    boxed = any(leaf.is_boxed(e) for e in family.entries)
    includes = ['#include "sconce/dispatch/glue.h"'] + ['#include "sconce/dispatch/op.h"'] * boxed
    includes += ['#include "sconce/dispatch/prepare.h"'] * any("prepare" in e.data for e in family.entries)
    return "\n".join([banner(family.name), "#pragma once\n", *includes, "\nnamespace sconce {\n", *declared,
                      "}  // namespace sconce\n"])


def _declarations(family):
    """The hand-written kernels and shape rules of a family, by namespace."""
    by_namespace = {}
    for entry in family.entries:
        own = _of_entry(entry) if entry.kind == "leaf" else ()
        prepare = [("cpu", f"PreparedCall* {prepare_name(entry)}(const CallFacts& call);")] * ("prepare" in entry.data)
        for namespace, text in (*own, *prepare, *formats.declarations(entry)):
            lines = by_namespace.setdefault(namespace, [])
            if namespace != "boxed" or text not in lines:  # operators may share a boxed kernel
                lines.append(text)
    out = []
    for namespace, lines in by_namespace.items():
        out += [f"namespace {namespace} {{"] + lines + [f"}}  // namespace {namespace}\n"]
    return out


def _of_entry(entry):
    """(namespace, declaration) of each."""
    for device in entry.data["kernel"]:
        if device == "cuda":
            continue  # see cuda.py
        if device == "boxed":
            yield "boxed", f"void {leaf.boxed_name(entry)}(const Op& op, KeySet keys, Value* args, Value* returns);"
            continue
        params, result = typed(entry, entry.schema)
        if leaf.makes_result(entry):
            result = "void" if written(entry.schema) else result
            yield leaf.namespace(device), f"{result} {entry.cpp_name}({declare(params)});"
        else:
            outs = ", ".join(f"const Tensor& {o}" for o in out_names(entry.schema))
            yield leaf.namespace(device), f"void {entry.cpp_name}({declare(params)}, {outs});"
    if entry.get("shape") == "cpp":
        params, _ = typed(entry, entry.schema)
        count = len(entry.schema.returns)
        kind = "OutSpec" if count == 1 else f"std::array<OutSpec, {count}>"
        yield "any_device", f"{kind} {entry.cpp_name}_spec({declare(params)});"


def function(op, family):
    """The function that dispatch calls; nothing where the kernel is boxed."""
    entry = op.entry
    if leaf.is_boxed(entry):
        return []
    params, result = typed(entry, op.schema)
    places = written(op.schema)
    body = cuda.device_check(op, params) + BODIES[entry.kind](op, params, places, family)
    unused = "[[maybe_unused]] " if entry.kind == "compound" else ""  # a body need not use every argument
    keys = "KeySet keys" if any("keys.has(" in line for line in body) else "KeySet"
    listed = ", ".join([keys] + [unused + declare([p]) for p in params])
    return [f"// {entry.origin}: {op.schema.key}", f"{'void' if places else result} {op.cpp_name}({listed}) {{",
            *body, "}\n", *formats.functions(op)]
