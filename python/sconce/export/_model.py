"""Model: a captured graph in the form of the file's schema (version 8.20): inputs with their roles, nodes, results, tensors."""

import keyword
import re

import sconce
from ._values import FILE_DTYPES, FILE_MEMORY_FORMATS, DTYPES, STRIDED, parameters

_ARITHMETIC = {"aten::add": "_operator.add", "aten::sub": "_operator.sub", "aten::mul": "_operator.mul",
               "aten::floordiv": "_operator.floordiv", "aten::remainder": "_operator.mod", "aten::neg": "_operator.neg",
               "prim::max": "torch.sym_max", "prim::min": "torch.sym_min"}
_PREFIX = {"parameter": "p_", "buffer": "b_", "passing buffer": "b_", "constant": "c_"}


class Model:
    """Built by export(), in this order: add_tensor, add_argument, convert, add_result, describe."""

    def __init__(self, nodes):
        rows, self.result = nodes
        self.inputs = [made[0] for kind, _, made, _, _ in rows if kind == "input"]
        self.rows = [row for row in rows if row[0] != "input"]
        self.names = {}          # value of the graph -> name in the file
        self.taken = set()
        self.tensors = {}        # name of a parameter, buffer or constant -> it
        self.roles = {}          # the same -> what it is
        self.constant_names = []
        self.seen = set()
        self.input_tensors = {}  # value of the graph -> the example
        self.file_inputs, self.input_specs = [], []
        self.file_names = {}     # of inputs that no node reads, for their sizes: name in the file -> the example
        self.leaf_names = []     # of arguments: the name in the file, or None
        self.nodes, self.outputs, self.output_specs = [], [], []
        self.described = {}      # name in the file -> value of the graph
        self.tensor_values, self.sym_int_values = {}, {}

    def unique(self, name):
        name = re.sub(r"\W", "_", name)
        if name[0].isdigit() or keyword.iskeyword(name):
            name = f"_{name}"
        made, i = name, 0
        while made in self.taken:
            i += 1
            made = f"{name}_{i}"
        self.taken.add(made)
        return made

    def add_input(self, name, tensor, known):
        value = known.get(id(tensor))
        if value is not None:
            self.names[value] = name
            self.input_tensors[value] = tensor
            self.described[name] = value
        else:
            self.file_names[name] = tensor
        self.file_inputs.append({"as_tensor": {"name": name}})

    def add_tensor(self, role, name, tensor, known):
        """A parameter, buffer or constant."""
        if id(tensor) in self.seen:  # tied: it has a name already
            return
        self.seen.add(id(tensor))
        self.tensors[name], self.roles[name] = tensor, role
        if role == "constant":
            self.constant_names.append(name)
        in_file = self.unique(_PREFIX[role] + name)
        self.add_input(in_file, tensor, known)
        arg = {"name": in_file}
        if role == "parameter":
            spec = {"parameter": {"arg": arg, "parameter_name": name}}
        elif role == "constant":
            spec = {"tensor_constant": {"arg": arg, "tensor_constant_name": name}}
        else:
            spec = {"buffer": {"arg": arg, "buffer_name": name, "persistent": role == "buffer"}}
        self.input_specs.append(spec)

    def add_argument(self, name, leaf, known):
        name = self.unique(name)
        if isinstance(leaf, sconce.Tensor):
            self.add_input(name, leaf, known)
            self.input_specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
            self.leaf_names.append(name)
            return
        value = _constant(leaf, f"argument {name}")
        self.file_inputs.append(value)
        self.input_specs.append({"constant_input": {"name": name, "value": value}})
        self.leaf_names.append(None)

    # ---- nodes ----

    def convert(self):
        """Nodes of the graph as nodes of the file. Constants and lists become arguments."""
        self.constants, self.lists = {}, {}
        unpacked = {used[0]: made for kind, _, made, used, _ in self.rows if kind == "prim::ListUnpack"}
        for kind, overload, made, used, extra in self.rows:
            if kind == "prim::Constant":
                if isinstance(extra, sconce.Tensor):
                    raise NotImplementedError("export: a tensor that is a constant of the graph is not supported")
                self.constants[made[0]] = extra
            elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
                self.lists[made[0]] = used
            elif kind == "prim::ListUnpack":
                continue
            elif kind == "aten::size" and overload == "int":
                self.add_number("torch.ops.aten.sym_size.int", ("self", "dim"), made[0], used)
            elif kind == "aten::Float" or not kind.startswith(("aten::", "prim::")):
                raise NotImplementedError(f"export: {kind} has no form in files of exported programs")
            elif kind in _ARITHMETIC and overload == "int":
                self.add_number(_ARITHMETIC[kind], ("a", "b"), made[0], used)
            elif kind.startswith("prim::"):
                raise NotImplementedError(f"export: {kind} has no form in files of exported programs")
            else:
                self.add_call(kind, overload, made, used, unpacked)

    def add_number(self, target, argument_names, made, used):
        name = self.unique(target.rpartition(".")[2] if "aten" not in target else "sym_size_int")
        self.names[made] = name
        self.described[name] = made
        inputs = [{"name": n, "arg": self.argument(one, "Tensor" if n == "self" else "SymInt"), "kind": 1}
                  for n, one in zip(argument_names, used)]
        self.add_node(target, inputs, [{"as_sym_int": {"as_name": name}}], name)

    def add_call(self, kind, overload, made, used, unpacked):
        inputs, skipped = [], []
        for (name, default, keyword_only, type_), one in zip(parameters(kind, overload), used):
            given = {"name": name, "arg": self.argument(one, type_), "kind": 2 if keyword_only else 1}
            is_default = default is not None and one in self.constants and _same(default[0], self.constants[one])
            if is_default and keyword_only:
                continue
            if is_default:
                skipped.append(given)
            else:
                if not keyword_only:
                    inputs += skipped
                    skipped = []
                inputs.append(given)
        base = kind.partition("::")[2]
        single = len(made) == 1 and made[0] not in unpacked
        node = None if single else self.unique(base)  # results that are parts of its result have names of their own
        outputs = []
        for one in made:
            if one in unpacked:
                outputs.append({"as_tensors": [{"name": self.define("getitem", part)} for part in unpacked[one]]})
            else:
                outputs.append({"as_tensor": {"name": self.define(base if single else "getitem", one)}})
        self.add_node(f"torch.ops.aten.{base}.{overload or 'default'}", inputs, outputs, node or self.names[made[0]])

    def define(self, base, value):
        name = self.unique(base)
        self.names[value] = name
        self.described[name] = value
        return name

    def add_node(self, target, inputs, outputs, name):
        self.nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "is_hop_single_tensor_return": None,
                           "name": name})

    def argument(self, value, type_):
        """A value of the graph as an argument of the file's schema."""
        if value in self.lists:
            return self.list_argument(self.lists[value], type_)
        if value in self.constants:
            return _literal(self.constants[value], type_)
        if type_.startswith("Tensor"):
            return {"as_tensor": {"name": self.names[value]}}
        return {"as_sym_int": {"as_name": self.names[value]}}

    def list_argument(self, values, type_):
        if type_.startswith("Tensor"):
            if any(value in self.constants for value in values):
                return {"as_optional_tensors": [{"as_none": True} if value in self.constants else
                                                {"as_tensor": {"name": self.names[value]}} for value in values]}
            return {"as_tensors": [{"name": self.names[value]} for value in values]}
        if any(value not in self.constants for value in values):
            return {"as_sym_ints": [{"as_int": self.constants[value]} if value in self.constants else {"as_name": self.names[value]}
                                    for value in values]}
        return _literal([self.constants[value] for value in values], type_)

    def add_result(self, part, places, arguments):
        """A leaf of the result: an output of the graph, an argument, or a constant."""
        outputs = self.lists[self.result]
        if id(part) in places:
            value = outputs[places[id(part)]]
            if value not in self.names:
                raise NotImplementedError("export: a constant of the graph is returned")
            arg = {"as_tensor": {"name": self.names[value]}}
        elif id(part) in arguments and isinstance(part, sconce.Tensor):
            arg = {"as_tensor": {"name": self.leaf_names[arguments[id(part)]]}}
        elif isinstance(part, sconce.Tensor):
            names = [name for name, tensor in self.tensors.items() if tensor is part]
            if not names:
                raise NotImplementedError("export: a tensor is returned that is neither an output of the graph nor an argument")
            arg = {"as_tensor": {"name": self.unique_of(names[0])}}
        else:
            arg = _constant(part, "a part of the result")
        self.outputs.append(arg)
        self.output_specs.append({"user_output": {"arg": arg}})

    def unique_of(self, name):
        """The name in the file of a parameter, buffer or constant."""
        place = list(self.tensors).index(name)
        return self.file_inputs[place]["as_tensor"]["name"]

    # ---- sizes ----

    def describe(self, sizes):
        """Metadata of tensors and numbers from runs at all points."""
        def number(number_of, what):
            made = sizes.expression(number_of, what)
            if isinstance(made, int):
                return {"as_int": made}
            return {"as_expr": {"expr_str": made, "hint": {"as_int": number_of(sizes.points[0])}}}

        for name, value in self.described.items():
            found = sizes.points[0].values[value]
            if not isinstance(found, sconce.Tensor):
                self.sym_int_values[name] = number(lambda point: point.values[value], name)
                continue
            self.tensor_values[name] = tensor_meta(
                found, [number(lambda point: point.values[value].shape[i], f"size {i} of {name}") for i in range(found.dim())],
                [number(lambda point: point.values[value].stride(i), f"stride {i} of {name}") for i in range(found.dim())],
                number(lambda point: point.values[value].storage_offset(), f"the offset of {name}"), self.input_tensors.get(value))
        for name, tensor in self.file_names.items():
            self.tensor_values[name] = plain_meta(tensor)


def tensor_meta(tensor, sizes, strides, offset, example=None):
    if tensor.dtype not in FILE_DTYPES:
        raise NotImplementedError(f"export: tensors of {tensor.dtype} are not supported")
    return {"dtype": FILE_DTYPES[tensor.dtype], "sizes": sizes, "requires_grad": bool(example is not None and example.requires_grad),
            "device": {"type": "cpu", "index": None}, "strides": strides, "storage_offset": offset, "layout": STRIDED}


def plain_meta(tensor):
    """Of a tensor whose sizes are fixed."""
    return tensor_meta(tensor, [{"as_int": n} for n in tensor.shape], [{"as_int": n} for n in tensor.stride()],
                       {"as_int": tensor.storage_offset()}, tensor)


def _constant(value, what):
    """A leaf that is no tensor."""
    if value is None:
        return {"as_none": True}
    for kind, key in ((bool, "as_bool"), (int, "as_int"), (float, "as_float"), (str, "as_string")):
        if type(value) is kind:
            return {key: value}
    raise NotImplementedError(f"export: {what} is a {type(value).__name__}; tensors, numbers, texts and None have a form in the file")


def _literal(value, type_):
    """A constant of the graph as an argument of this type."""
    if value is None:
        return {"as_none": True}
    if type_ == "ScalarType":
        return {"as_scalar_type": FILE_DTYPES[DTYPES[value]]}
    if type_ == "MemoryFormat":
        return {"as_memory_format": FILE_MEMORY_FORMATS[value]}
    if type_ == "Layout":
        return {"as_layout": STRIDED}
    if type_ == "Device":
        device = sconce.device(value)
        return {"as_device": {"type": device.type, "index": device.index}}
    if isinstance(value, (list, tuple)):
        key = {"bool": "as_bools", "float": "as_floats", "str": "as_strings"}.get(type_.removesuffix("[]"), "as_ints")
        return {key: [float(one) if key == "as_floats" else one for one in value]}
    if type_ == "float":
        return {"as_float": float(value)}
    if isinstance(value, complex):
        return {"as_complex": {"real": value.real, "imag": value.imag}}
    return _constant(value, "an argument")


def _same(a, b):
    return type(a) is type(b) and a == b
