"""C++ spellings: types, default values, identifiers."""

import re

_KEYWORDS = set("""and asm auto bool break case catch char class const continue default delete do double else enum
explicit export extern false float for friend goto if inline int long mutable namespace new not operator or private
protected public register return short signed sizeof static struct switch template this throw true try typedef typename
union unsigned using virtual void volatile while xor""".split())

_BASE = {
    "int": "int64_t", "SymInt": "int64_t", "float": "double", "bool": "bool", "Scalar": "const Scalar&",
    "str": "std::string_view", "ScalarType": "DType", "Layout": "Layout", "MemoryFormat": "MemoryFormat",
    "Device": "Device", "complex": "std::complex<double>", "Tensor": "const Tensor&", "Generator": "const Generator&",
}
_VALUE = {"const Scalar&": "Scalar", "const Tensor&": "Tensor", "const Generator&": "Generator"}
_LIST = {"int": "IntList", "SymInt": "IntList", "float": "ListRef<double>", "bool": "ListRef<bool>",
         "Scalar": "ListRef<Scalar>", "Tensor": "TensorList", "Tensor?": "TensorList"}


def identifier(name):
    return name + "_" if name in _KEYWORDS else name


def function_name(name):
    """Of the typed function of an operator: namespaces of kernels have some of the names already (cpu)."""
    return name + "_" if name in _KEYWORDS or name in ("cpu", "cuda", "boxed", "script") else name


def argument_type(text):
    """The C++ parameter type for a schema type, or None where only a boxed call can pass it."""
    optional = text.endswith("?")
    base = text[:-1] if optional else text
    m = re.fullmatch(r"(\w+\??)\[\d*\]", base)
    if m:
        inner = _LIST.get(m.group(1))
        if inner is None:
            return None
        return f"std::optional<{inner}>" if optional else inner
    inner = _BASE.get(base)
    if inner is None:
        return None
    if not optional or base in ("Tensor", "Generator"):
        return inner  # an undefined Tensor or Generator stands for None
    return f"std::optional<{_VALUE.get(inner, inner)}>"


def value_type(text):
    t = argument_type(text)
    return _VALUE.get(t, t)


_RETURN = {"Tensor": "Tensor", "int": "int64_t", "SymInt": "int64_t", "float": "double", "bool": "bool",
           "Scalar": "Scalar", "Tensor[]": "std::vector<Tensor>", "int[]": "std::vector<int64_t>", "str": "std::string",
           "SymInt[]": "std::vector<int64_t>", "SymBool": "bool", "ScalarType": "DType", "Device": "Device",
           "complex": "std::complex<double>"}


def return_type(returns):
    """Of a typed function with these returns, or None where there is none."""
    types = [_RETURN.get(r.type) for r in returns]
    if any(t is None for t in types):
        return None
    if not types:
        return "void"
    return types[0] if len(types) == 1 else "std::tuple<" + ", ".join(types) + ">"


_ENUMS = {"contiguous_format": "MemoryFormat::contiguous", "preserve_format": "MemoryFormat::preserve", "Mean": "1",
          "Sum": "2", "long": "DType::int64", "strided": "Layout::strided"}


# Defaults that schemas write as PyTorch's numbers.
_NUMBERED = {"MemoryFormat": ["MemoryFormat::contiguous", "MemoryFormat::preserve", "MemoryFormat::channels_last"],
             "ScalarType": ["DType::uint8", "DType::int8", "DType::int16", "DType::int32", "DType::int64", "DType::float16",
                            "DType::float32", "DType::float64"]}


def default_value(argument):
    """C++ for the default, or None where it has none."""
    text = argument.default
    if text is None:
        return None
    if text == "None" or text == "[]":
        return "{}"
    if text in ("True", "False"):
        return text.lower()
    if text in _ENUMS:
        return _ENUMS[text]
    numbered = _NUMBERED.get(argument.type.rstrip("?"))
    if numbered and text.isdigit():
        return numbered[int(text)]
    if text.startswith("["):
        return "{" + text[1:-1] + "}"
    if text[0] in "\"'":
        return '"' + text[1:-1] + '"'
    m = re.fullmatch(r"\w+\[(\d+)\]\??", argument.type)
    if m:
        return "{" + ", ".join([text] * int(m.group(1))) + "}"
    if argument.type == "int[]" or argument.type == "SymInt[]":
        return "{" + text + "}"
    return text


def bytes_literal(data):
    """A C++ string literal of bytes, in lines."""
    shown = "".join(chr(b) if 32 <= b < 127 and chr(b) not in "\\\"?" else f"\\{b:03o}" for b in data)
    lines, at = [], 0
    while at < len(shown):
        end = at + 110
        while "\\" in shown[end - 3:end] and end < len(shown):  # not within an escape
            end -= 1
        lines.append(f'    "{shown[at:end]}"')
        at = end
    return "\n" + "\n".join(lines)


def string(text):
    """A C++ string literal."""
    if text is None:
        return "nullptr"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped + '"'
