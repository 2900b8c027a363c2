"""Numbers that files of exported programs give to dtypes and memory formats, and the parameters of operators with their types."""

import functools

import sconce
from .. import _sconce

# Of ATen, as graphs have them in constants: dtypes and memory formats by number.
DTYPES = dict(enumerate((sconce.uint8, sconce.int8, sconce.int16, sconce.int32, sconce.int64, sconce.float16, sconce.float32,
                         sconce.float64)))
DTYPES |= {9: sconce.complex64, 10: sconce.complex128, 11: sconce.bool, 15: sconce.bfloat16}
MEMORY_FORMATS = {0: sconce.contiguous_format, 1: sconce.preserve_format, 2: sconce.channels_last, 3: sconce.channels_last_3d}

# Of the file: enumerations of its schema.
FILE_DTYPES = {sconce.uint8: 1, sconce.int8: 2, sconce.int16: 3, sconce.int32: 4, sconce.int64: 5, sconce.float16: 6, sconce.float32: 7,
               sconce.float64: 8, sconce.complex64: 10, sconce.complex128: 11, sconce.bool: 12, sconce.bfloat16: 13}
FILE_MEMORY_FORMATS = {0: 1, 1: 4, 2: 2, 3: 3}
STRIDED = 7


@functools.cache
def parameters(kind, overload):
    """[(name, (default,) or None, keyword only, type)] of an operator; the type without ? and without sizes of lists: "SymInt[]"."""
    name = f"{kind}.{overload}" if overload else kind
    schema = _sconce._find_operator(kind, overload or "")[0]
    return [(argument, default, keyword_only, _type_of(schema, argument))
            for argument, default, keyword_only in _sconce._operator_parameters(name)]


def _type_of(schema, argument):
    inside = schema[schema.index("(") + 1:]
    for part in _split(inside):
        part = part.strip()
        words, _, _ = part.partition("=")
        type_, _, name = words.rpartition(" ")
        if name == argument:
            type_ = type_.partition("(")[0] + (type_.partition(")")[2] if "(" in type_ else "")
            plain = type_.replace("?", "")
            return plain.partition("[")[0] + ("[]" if "[" in plain else "")
    raise AssertionError(f"{schema} has no parameter {argument}")


def _split(text):
    """The parts of a parameter list, up to its end."""
    depth, start, parts = 0, 0, []
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]" and depth:
            depth -= 1
        elif c == ")":
            parts.append(text[start:i])
            return parts
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts
