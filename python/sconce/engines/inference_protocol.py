"""Open Inference Protocol: tensors as JSON, from and to arrays of numpy."""

import numpy

_DTYPES = {"BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16",
           "FP32": "float32", "FP64": "float64"}
_NAMES = {numpy.dtype(dtype): name for name, dtype in _DTYPES.items()}


def decode_request(body):
    """{"inputs": [{"name", "shape", "datatype", "data"}, ...]} as arrays by name."""
    if not isinstance(body, dict) or not isinstance(body.get("inputs"), list):
        raise ValueError('a request is an object with a list "inputs"')
    arrays = {}
    for tensor in body["inputs"]:
        absent = [key for key in ("name", "shape", "datatype", "data") if key not in tensor]
        if absent:
            raise ValueError(f"an input lacks {', '.join(absent)}")
        if tensor["datatype"] not in _DTYPES:
            raise ValueError(f"input '{tensor['name']}': datatype '{tensor['datatype']}'; known: {', '.join(_DTYPES)}")
        data = numpy.asarray(tensor["data"], _DTYPES[tensor["datatype"]])
        if data.size != numpy.prod(tensor["shape"], dtype=numpy.int64):
            raise ValueError(f"input '{tensor['name']}': {data.size} elements for the shape {tensor['shape']}")
        arrays[tensor["name"]] = data.reshape(tensor["shape"])
    return arrays


def encode_response(model, arrays):
    """Arrays by name as {"model_name", "outputs": [...]}."""
    return {"model_name": model, "outputs": [{"name": name, "shape": list(a.shape), "datatype": _NAMES[a.dtype],
                                              "data": a.ravel().tolist()} for name, a in arrays.items()]}
