"""Script text of a column as C++, with errors that name the line of the column."""

from . import cpp, script


def translated(entry, key, translate):
    """What `translate` gives; its errors name the line of the column `key`."""
    try:
        return translate()
    except script.ScriptError as e:
        entry.lines[key] = entry.lines.get(key, entry.line) + max(e.line, 0)
        entry.fail(f"{key}: {e.message}", key)


# Columns whose whole numbers are sizes that nobody has looked at: a program decides them.
_OF_SIZES = ("shape", "check")


def expression(entry, key, text, schemas, arguments=None):
    """An expression over the entry's arguments (or those given) that may call the operators of `schemas`."""
    arguments = entry.schema.arguments if arguments is None else arguments
    return translated(entry, key, lambda: script.translate_expression(text, arguments, schemas, key in _OF_SIZES)[0])


def _same(entry):
    """Tensors that must agree with the first one named, in sizes or in dtype. Of prims, those without dimensions fit any sizes,
    and PyTorch has other words."""
    if entry.schema.namespace == "prims":
        listed = lambda names: ", ".join("&" + cpp.identifier(n) for n in names)
        return [f"  check_prims_{what}({{{listed(names)}}});" for what, names in entry.get("same", {}).items()]
    places = {a.name: i for i, a in enumerate(entry.schema.arguments)}
    out = []
    for what, names in entry.get("same", {}).items():
        told = [f'{{{cpp.identifier(n)}, "{n}", {places[n] + 1}}}' for n in names]
        out += [f'  check_same_{what}({told[0]}, {other}, "{entry.schema.name}");' for other in told[1:]]
    return out


def checks(entry, schemas):
    """The entry's own refusals, which come first in every form. A message may begin with the class of its error."""
    out = _same(entry)
    for condition, message in entry.get("check", {}).items():
        test = expression(entry, "check", condition, schemas)
        text = message.removeprefix("NotImplementedError: ")
        kind = "(" if text == message else "_AS(not_implemented, "
        text = translated(entry, "check", lambda: script.translate_message(text, entry.schema.arguments, schemas))
        out.append(f"  SCONCE_CHECK{kind}{test}, {text});")
    return out
