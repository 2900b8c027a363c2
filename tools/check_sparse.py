"""Records what PyTorch does with sparse tensors, as cases of operators. Usage: check_sparse.py OUT [--small]

Takes the samples that PyTorch's own tests have for sparse tensors (OpInfo.sample_inputs_sparse), and where an operator has
none, its dense samples with each tensor in turn made sparse. Calls that PyTorch refuses are left out. Then:

    build/release/bin/sconce-conformance OUT

says how many of them Sconce agrees with. --small: a few of each, which is what tests/conformance/sparse holds. Needs
PyTorch 2.13 (the environment that `make bench` makes).
"""

import argparse
import inspect
import pathlib
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

from case_writer import Writer, tensors

LAYOUTS = {"coo": torch.sparse_coo, "csr": torch.sparse_csr, "csc": torch.sparse_csc}
DTYPES = [torch.float64, torch.float32, torch.int64, torch.complex128]
# Operators by the name of their OpInfo, and that of the operator.
ELEMENTWISE = """abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_to_num
neg positive rad2deg round sgn sign signbit sin sinh sqrt tan tanh trunc conj_physical""".split()
NAMED = {"add": "add", "sub": "sub", "mul": "mul", "mm": "mm", "addmm": "addmm", "mv": "mv", "matmul": "matmul", "bmm": "bmm",
         "sum": "sum", "transpose": "transpose", "t": "t", "index_select": "index_select", "select": "select",
         "permute": "permute", "unsqueeze": "unsqueeze", "cat": "cat", "clone": "clone", "to_sparse": "to_sparse",
         "zeros_like": "zeros_like", "nn.functional.relu": "relu", "sparse.sampled_addmm": "sparse_sampled_addmm",
         "sparse.mm": "_sparse_mm", "true_divide": "div", "softmax": "_sparse_softmax",
         "log_softmax": "_sparse_log_softmax"} | {name: name for name in ELEMENTWISE}
# Not functions of an OpInfo: every sparse tensor that was met goes through them.
OF_EVERY_TENSOR = {"coo": ["coalesce", "to_dense", "_indices", "_values", "is_coalesced", "sparse_dim", "dense_dim", "_nnz",
                           "to_sparse_csr", "to_sparse_csc", "to_sparse", "clone", "_sparse_sum"],
                   "csr": ["crow_indices", "col_indices", "values", "to_dense", "to_sparse", "to_sparse_csc", "sparse_dim", "_nnz",
                           "clone"],
                   "csc": ["ccol_indices", "row_indices", "values", "to_dense", "to_sparse", "to_sparse_csr", "_nnz", "clone"]}
MOST_ELEMENTS = 400
SMALL = 3  # cases of an operator and layout


class SparseWriter(Writer):
    def value(self, v):
        if isinstance(v, torch.layout):
            return {"layout": str(v).removeprefix("torch.")}
        if not isinstance(v, torch.Tensor) or v.layout == torch.strided:
            return super().value(v)
        if v.layout == torch.sparse_coo:
            parts, more = [v._indices(), v._values()], {"coalesced": v.is_coalesced()}
        elif v.layout in (torch.sparse_csr, torch.sparse_bsr):
            parts, more = [v.crow_indices(), v.col_indices(), v.values()], {}
        else:
            parts, more = [v.ccol_indices(), v.row_indices(), v.values()], {}
        return {"sparse": str(v.layout).removeprefix("torch."), "size": list(v.shape),
                "parts": [super(SparseWriter, self).value(p.contiguous()) for p in parts], **more}


def is_sparse(t):
    return t.layout != torch.strided


def as_layout(t, layout):
    """With some zeros, so that there is something to leave out."""
    if t.dim() < (1 if layout == torch.sparse_coo else 2) or t.layout != torch.strided:
        raise ValueError
    holes = torch.arange(t.numel()).reshape(t.shape) % 3 == 1
    return t.detach().masked_fill(holes, 0).to_sparse(layout=layout)


def variants(sample, layout):
    """(args, kwargs) with the first tensor, the second one, all of them in the layout."""
    args = [sample.input, *sample.args]
    if isinstance(sample.input, (list, tuple)):
        try:
            yield [[as_layout(t, layout) for t in sample.input], *sample.args], sample.kwargs
        except (ValueError, RuntimeError):
            pass
        return
    places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
    for chosen in dict.fromkeys([tuple(places[:1]), tuple(places[1:2]), tuple(places), tuple(places[2:3])]):
        if not chosen:
            continue
        try:
            yield [as_layout(a, layout) if i in chosen else a for i, a in enumerate(args)], sample.kwargs
        except (ValueError, RuntimeError):
            continue


def samples(info, layout, dtype):
    found = []
    try:
        for s in info.sample_inputs_sparse(layout, "cpu", dtype):
            found.append(([s.input, *s.args], s.kwargs))
    except BaseException:  # "no sample function specified", a skipped test
        pass
    if found:
        yield from found
        return
    for s in info.sample_inputs("cpu", dtype):
        try:
            given = list(tensors([s.input, s.args, s.kwargs]))
        except Exception:
            continue
        if any(is_sparse(t) for t in given):
            if any(t.layout == layout for t in given):
                yield [s.input, *s.args], s.kwargs
        else:
            yield from variants(s, layout)


def overload_for(name, args, kwargs):
    """The first overload in PyTorch's order that takes the arguments, and its result."""
    packet = getattr(torch.ops.aten, name)
    for overload in sorted(packet.overloads(), key=lambda o: (o.endswith("out"), "Dimname" in o, o not in ("default", "Tensor", "int"))):
        if overload.endswith("out") or "Dimname" in overload or overload == "t":  # of lists
            continue
        try:
            return getattr(packet, overload), getattr(packet, overload)(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError, IndexError, ValueError):
            continue
    return None, None


class Recorder:
    """A file for each operator and layout; for each layout where few cases are wanted."""

    def __init__(self, out, small):
        self.out, self.small, self.count, self.files = out, small, 0, {}

    def record(self, name, layout, calls):
        file = layout.partition(".")[0] if self.small else f"{name}.{layout}"
        writer, all_cases = self.files.setdefault(file, (SparseWriter(), []))
        cases = []
        for args, kwargs in calls:
            args, kwargs = detached(args), detached(kwargs)
            if sum(t.numel() for t in tensors([args, kwargs])) > (60 if self.small else MOST_ELEMENTS):
                continue
            before = detached([args, kwargs])
            function, result = overload_for(name, args, kwargs)
            if function is None or not any(is_sparse(t) for t in tensors([before, result])):
                continue
            key = f"aten::{name}" + ("" if function._overloadname == "default" else "." + function._overloadname)
            cases.append({"op": key, "args": [writer.value(a) for a in before[0]],
                          "kwargs": {k: writer.value(v) for k, v in before[1].items()}, "out": writer.value(result)})
            if self.small and len(cases) == SMALL:
                break
        all_cases += cases
        self.count += len(cases)

    def save(self):
        for file, (writer, cases) in self.files.items():
            if cases:
                writer.save(self.out / f"{file}.safetensors", cases)


def detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(detached(v) for v in value)
    if isinstance(value, dict):
        return {k: detached(v) for k, v in value.items()}
    return value


def main():
    parser = argparse.ArgumentParser(description=inspect.getdoc(inspect.getmodule(main)),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    recorder = Recorder(options.out, options.small)
    infos = {}
    for info in op_db:
        if info.name in NAMED:
            infos.setdefault(info.name, []).append(info)
    for short, layout in LAYOUTS.items():
        met = []
        for name, group in sorted(infos.items()):
            calls = []
            for info in group:
                for dtype in DTYPES:
                    if dtype in info.dtypes:
                        calls += list(samples(info, layout, dtype))
            met += [t for t in tensors([c for c in calls]) if t.layout == layout and t.numel() <= MOST_ELEMENTS]
            recorder.record(NAMED[name], short, calls)
        for name in OF_EVERY_TENSOR[short]:
            recorder.record(name, f"{short}.each", [([t], {}) for t in met[:: max(1, len(met) // 40)]])
    recorder.save()
    print(f"{recorder.count} calls")


main()
