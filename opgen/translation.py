"""Script text of a column as C++, with errors that name the line of the column."""

from . import script


def translated(entry, key, translate):
    """What `translate` gives; its errors name the line of the column `key`."""
    try:
        return translate()
    except script.ScriptError as e:
        entry.lines[key] = entry.lines.get(key, entry.line) + max(e.line, 0)
        entry.fail(f"{key}: {e.message}", key)


def expression(entry, key, text, schemas, arguments=None):
    """An expression over the entry's arguments (or those given) that may call the operators of `schemas`."""
    arguments = entry.schema.arguments if arguments is None else arguments
    return translated(entry, key, lambda: script.translate_expression(text, arguments, schemas)[0])


def checks(entry, schemas):
    """The entry's own refusals, which come first in every form."""
    out = []
    for condition, message in entry.get("check", {}).items():
        test = expression(entry, "check", condition, schemas)
        text = translated(entry, "check", lambda: script.translate_message(message, entry.schema.arguments, schemas))
        out.append(f"  SCONCE_CHECK({test}, {text});")
    return out
