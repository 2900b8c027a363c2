"""The archive of an exported program: a zip file of records that are stored as they are, each at a multiple of 64 bytes."""

import hashlib
import io
import json
import os
import tempfile
import zipfile

import sconce
from ._model import plain_meta

_ALIGNMENT = 64
_OPSET = {"aten": 10}
_SCHEMA = {"major": 8, "minor": 20}


def write_archive(program, f):
    folder = os.path.splitext(os.path.basename(f))[0] if isinstance(f, (str, os.PathLike)) else "archive"
    target = os.fspath(f) if isinstance(f, (str, os.PathLike)) else f
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in _records(program):
            _add(archive, made, f"{folder}/{name}", content)
    if isinstance(target, str):
        with open(target, "wb") as file:
            file.write(made.getbuffer())
    else:
        target.write(made.getvalue())


def _records(program):
    text = json.dumps(_program(program)).encode()
    records = [("archive_format", b"pt2"), ("archive_version", b"0"), ("byteorder", b"little"), (".data/version", b"6"),
               ("models/model.json", text)]
    roles = program._model.roles
    records += _tensors("weights", "weight", program.state_dict, roles)
    records += _tensors("constants", "tensor", program.constants, roles)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        sconce.save(program.example_inputs, path)
        with open(path, "rb") as file:
            records.append(("data/sample_inputs/model.pt", file.read()))
    number = int.from_bytes(hashlib.sha256(text).digest()[:16], "little")
    return [*records, (".data/serialization_id", f"{number:040d}"[:40].encode())]


def _tensors(folder, prefix, tensors, roles):
    """Bytes of tensors, and the table that says what they are."""
    config, records = {}, []
    for i, (name, tensor) in enumerate(tensors.items()):
        if tensor.device.type != "cpu":
            raise NotImplementedError(f"export: {name} is on {tensor.device}; only tensors on the CPU are written")
        plain = tensor.detach().contiguous()
        meta = plain_meta(plain)
        meta["requires_grad"], meta["storage_offset"] = tensor.requires_grad, {"as_int": 0}
        config[name] = {"path_name": f"{prefix}_{i}", "is_param": roles[name] == "parameter", "use_pickle": False, "tensor_meta": meta}
        records.append((f"data/{folder}/{prefix}_{i}", _bytes(plain)))
    return [(f"data/{folder}/model_{folder}_config.json", json.dumps({"config": config}).encode()), *records]


def _bytes(tensor):
    if tensor.numel() == 0:
        return b""
    return bytes(memoryview(tensor.reshape(-1).view(sconce.uint8)))


def _program(program):
    model = program._model
    graph = {"inputs": model.file_inputs, "outputs": model.outputs, "nodes": model.nodes, "tensor_values": model.tensor_values,
             "sym_int_values": model.sym_int_values, "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {},
             "sym_float_values": {}}
    root = {"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": _tree(model.in_spec), "out_spec": _tree(model.out_spec),
                                     "forward_arg_names": model.argument_names}}
    module = {"graph": graph, "signature": {"input_specs": model.input_specs, "output_specs": model.output_specs},
              "module_call_graph": [root], "metadata": {}, "treespec_namedtuple_fields": {}}
    ranges = {name: {"min_val": least, "max_val": most} for name, (least, most) in program.range_constraints.items()}
    return {"graph_module": module, "opset_version": _OPSET, "range_constraints": ranges, "schema_version": _SCHEMA,
            "verifiers": ["TRAINING"], "torch_version": "2.13.0", "guards_code": []}


def _tree(spec):
    return json.dumps([1, _node(spec)])


def _node(spec):
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in (tuple, list, dict):
        raise NotImplementedError(f"export: a {spec.type} among arguments or results is not supported, only tuples, lists and dicts are")
    return {"type": f"builtins.{spec.type.__name__}", "context": json.dumps(list(spec.context) if spec.type is dict else None),
            "children_spec": [_node(child) for child in spec.children_specs]}


def _add(archive, file, name, content):
    """Writes a record; a field of padding in its header lets its bytes begin at a multiple of 64."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    start = file.tell() + 30 + len(name.encode()) + 4
    padding = -start % _ALIGNMENT
    info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(info, content)
