"""Every generated file. All are below sconce/ in the output folder:

    generated/<family>.h            typed functions (public)
    generated/<family>_ops.cpp      operator records, glue between dispatch and kernels, typed functions
    generated/<family>_kernels.h    declares hand-written kernels, for the sources that define them
    generated/<family>_formulas.cpp derivatives
    generated/<family>_loops.cpp    vector loops, compiled once per instruction set level
    generated/<family>_loops_list.{h,cpp}
    generated/<family>_reductions.cpp, _reductions_list.{h,cpp}
    generated/<family>_cuda_kernels.h, _cuda.cpp, cuda_kernels.cpp: kernels of device cuda
    generated/<family>_device.cpp   CUDA texts of both, for libsconce_cuda alone; device_texts.cpp, loop_lists.cpp list them
    generated/step_functions.inc    functions that a step of an expression may be
    generated/tensor_methods.inc    methods of Tensor (public)
    generated/register.cpp          the list of families
    generated/op_terms.cpp          what budgets and loaders ask of operators
    generated/quantized_texts.inc   operators on quantised tensors, for the compiler
    generated/autocast.cpp          policies of autocast
    generated/op_samples.cpp        samples, for tests only
    ops.h                           includes every family (public)

For a small library there are small/ and selected/ beside them instead (faces/small.py).
"""

from . import autocast, formulas
from .faces import cuda, entries as entry_records, functions, integers, kernels, methods, operators as operator_sources
from .faces import records, registration, samples, small, terms
from .faces.text import banner
from .family import Catalog, Family
from .loops import device, pointwise, reductions
from .table import TableError


def generate(entries, operators, orders=(), policies={}):
    """{relative path: (kind, text)}"""
    catalog = Catalog(entries, operators)
    names = list(dict.fromkeys(e.family for e in entries))
    try:
        families = [Family(name, catalog) for name in names]
        files = [file for family in families for file in _family_files(family)]
    except ValueError as e:
        raise TableError(str(e)) from None
    files += cuda.files(families)
    loops, texts = device.lists(families)
    files += [("sconce/generated/loop_lists.cpp", "source", loops), ("sconce/generated/device_texts.cpp", "cuda", texts)]
    files += methods.files(families)
    files += entry_records.files()
    files.append(("sconce/ops.h", "header", _every_family(names)))
    files += registration.files(names, operators, orders)
    files += terms.files(families)
    files += integers.files(families)
    files += autocast.files(policies)
    gradients = {o.entry.key: records.gradient(o, catalog)[0] for o in operators if o.form == "function"}
    files.append(("sconce/generated/op_samples.cpp", "testing", samples.source(entries, gradients, banner())))
    return {path: (kind, text) for path, kind, text in files}


def generate_small(entries, operators, orders=(), selection=None):
    """The files that only small libraries have: those for every selection, or with one, that selection's."""
    small.prepare(entries)
    catalog = Catalog(entries, operators)
    families = [Family(name, catalog) for name in dict.fromkeys(e.family for e in entries)]
    files = small.files(families) if selection is None else small.selected_files(families, selection, orders)
    return {path: (kind, text) for path, kind, text in files}


def _family_files(family):
    name = family.name
    base = f"sconce/generated/{name}"
    yield base + ".h", "header", functions.header(family)
    yield base + "_ops.cpp", "source", operator_sources.source(family)
    declared = kernels.header(family)
    if declared is not None:
        yield base + "_kernels.h", "header", declared
    if family.formulas:
        yield base + "_formulas.cpp", "source", formulas.source(name, family.formulas, family.families_called, banner(name))
    if family.pointwise:
        yield base + "_loops.cpp", "simd", pointwise.pointwise_source(name, family.pointwise)
        yield base + "_loops_list.cpp", "source", pointwise.pointwise_registry_source(name, family.pointwise)
        yield base + "_loops_list.h", "header", pointwise.pointwise_header(name, family.pointwise)
    if family.reductions:
        yield base + "_reductions.cpp", "simd", reductions.source(name, family.reductions)
        yield base + "_reductions_list.cpp", "source", reductions.registry_source(name, family.reductions)
        yield base + "_reductions_list.h", "header", reductions.header(name, family.reductions)
    if family.pointwise or family.reductions:
        yield base + "_device.cpp", "cuda", device.source(name, family.pointwise, family.reductions)


def _every_family(names):
    includes = "".join(f'#include "sconce/generated/{n}.h"\n' for n in names)
    return "// Every operator as a typed function.\n#pragma once\n\n" + includes
