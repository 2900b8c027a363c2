"""Writes calls as case files for sconce-conformance: operator, arguments, results and gradients.

That program needs no Python: it runs the calls on aarch64 under qemu, on devices, on small systems. Results were compared
with the reference before. A call is written if its trace is one operator of arguments and constants; the others are
counted. Layouts keep their strides.
"""

import collections
import json
import math
import struct

import numpy as np

from real_sizes.calls import ITEM_SIZE, Draws, Given, numpy_bits
from real_sizes.engines import Pulls
from real_sizes.runner import Runner, Setting

LARGEST = 1 << 19  # bytes of a call's arguments

NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
         "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128"}


class File:
    """Cases of a family, and their tensors."""

    def __init__(self):
        self.cases, self.header, self.data = [], {}, bytearray()

    def tensor(self, given):
        name = f"t{len(self.header)}"
        raw = np.ascontiguousarray(numpy_bits(given.values, given.dtype)).tobytes()
        self.header[name] = {"dtype": NAMES[given.dtype], "shape": list(given.values.shape),
                             "data_offsets": [len(self.data), len(self.data) + len(raw)]}
        self.data += raw
        if given.strides is not None:
            return {"t": name, "strides": given.strides}
        return {"t": name} if given.layout in ("contiguous", "offset") else {"t": name, "strides": given.place()[0]}

    def save(self, path):
        text = json.dumps({"__metadata__": {"cases": json.dumps(self.cases)}, **self.header}).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + self.data)


def constant(v):
    if isinstance(v, float) and not math.isfinite(v):
        return {"f": "nan" if v != v else "inf" if v > 0 else "-inf"}
    if isinstance(v, complex):
        return {"c": [v.real, v.imag]}
    if isinstance(v, (list, tuple)):
        return [constant(e) for e in v]
    return v


def value_of(node):
    """("constant", value); None if case files do not hold it."""
    kind = str(node.output().type())
    if not node.hasAttribute("value"):
        return ("constant", None) if kind == "NoneType" else None
    if kind == "int":
        return "constant", node.i("value")
    if kind == "bool":
        return "constant", bool(node.i("value"))
    if kind == "float":
        return "constant", node.f("value")
    return ("constant", node.s("value")) if kind == "str" else None


def one_operator(T, call, tensors):
    """The operator's name, its arguments (("input", index), ("constant", value) or a list of these), its keyword arguments
    and the number of its results; None if there are more operators."""
    graph = T.jit.trace(lambda *given: call.run(T, *given), tuple(tensors), check_trace=False).graph
    known = {v.debugName(): ("input", i) for i, v in enumerate(graph.inputs())}
    found = None
    for node in graph.nodes():
        if node.kind() == "prim::Constant":
            known[node.output().debugName()] = value_of(node)
        elif node.kind() == "prim::ListConstruct":
            known[node.output().debugName()] = [known.get(v.debugName()) for v in node.inputs()]
        elif node.kind() in ("prim::TupleConstruct", "prim::TupleUnpack", "prim::ListUnpack"):
            continue
        elif node.kind().startswith("aten::") and found is None:
            schema = node.schema()
            named = schema.split("*, ")[1].split(")")[0].split(", ") if "*, " in schema else []
            arguments = [known.get(v.debugName()) for v in node.inputs()]
            keywords = {text.split("=")[0].split()[-1]: a for text, a in zip(named, arguments[len(arguments) - len(named):])}
            found = schema.split("(")[0], arguments[:len(arguments) - len(named)], keywords, node.outputsSize()
        else:
            return None
    return found


def case_of(runner, key, file):
    """A case, or why there is none."""
    call, _ = runner.make(key)
    if not call.inputs or "planned" not in call.modes:
        return "not an operator"
    if sum(g.values.size * ITEM_SIZE[g.dtype] for g in call.inputs) > LARGEST:
        return "large"
    tensors = [runner.subject.tensor(g) for g in call.inputs]
    try:
        found = one_operator(runner.subject.T, call, tensors)
    except NotImplementedError:
        return "refused"
    if not found or any(a is None for a in (*found[1], *found[2].values())):
        return "more than one operator"
    name, arguments, keywords, count = found
    gradients = call.grads and any(g.grad for g in call.inputs)
    pulls = Pulls(call, Draws(key + ":pulls")) if gradients else None
    try:
        got = runner.subject.run(call, pulls)
    except NotImplementedError:
        return "refused"
    found = runner.differ(key, call, Setting("eager", 1, "once" if gradients else "none"))
    if found:
        print(f"{key} differs: {found[0]}")
        return "differs"
    dtype = next((g.dtype for g in call.inputs if g.floats), "float32")
    parts = dict(got.parts)
    outputs = [file.tensor(Given(value, dtype_of(value, dtype), strides=strides))
               for (name_, value), strides in zip(got.parts, got.strides) if name_.startswith("output")]
    if len(outputs) != count:
        return "results that are not used"
    indices = {}

    def read(a):
        if isinstance(a, list):
            return [read(e) for e in a]
        if a[0] == "constant":
            return constant(a[1])
        indices.setdefault(a[1], len(indices))
        return file.tensor(call.inputs[a[1]])
    record = {"op": name, "dtype": dtype, "args": [read(a) for a in arguments], "kwargs": {},
              "out": outputs[0] if len(outputs) == 1 else {"tuple": outputs}}
    record["kwargs"] = {n: read(a) for n, a in keywords.items() if not (a[0] == "constant" and a[1] is None)}
    order = list(indices)  # gradients are named by the tensors of the arguments, in order
    leaves = [i for i in order if call.inputs[i].grad and parts.get(f"gradient {i}") is not None]
    if pulls and pulls.made and leaves:
        record["grad"] = {
            "outputs": sorted(pulls.made), "cotangents": [file.tensor(pulls.made[i]) for i in sorted(pulls.made)],
            "inputs": [order.index(i) for i in leaves],
            "grads": [file.tensor(Given(parts[f"gradient {i}"], call.inputs[i].dtype)) for i in leaves]}
    file.cases.append(record)
    return None


def dtype_of(array, dtype):
    """bfloat16 arrives as float32."""
    return dtype if dtype == "bfloat16" and array.dtype == np.float32 else str(array.dtype)


def write(folder, options, calls, start):
    runner = Runner(["eager"], [1], options["against"])
    files, left = {}, collections.Counter()
    runner.subject.T.set_num_threads(1)
    for index in range(start, start + calls):
        family = options["families"][index % len(options["families"])]
        file = files.setdefault(family, File())
        why = case_of(runner, f"{family}:{options['seed']}:{index}", file)
        if why:
            left[why] += 1
    folder.mkdir(parents=True, exist_ok=True)
    for family, file in files.items():
        if file.cases:
            file.save(folder / f"{family}.safetensors")
    print(f"{sum(len(f.cases) for f in files.values())} cases in {folder}; left out: "
          + (", ".join(f"{n} ({why})" for why, n in left.items()) or "none"))
    return 0
