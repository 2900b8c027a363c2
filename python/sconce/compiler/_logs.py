"""Logs of capture on standard error, in PyTorch's words: SCONCE_LOGS="+dynamo,graph_code,guards,bytecode,recompiles"."""

import dis
import io
import linecache
import sys

from .. import _sconce
from ._watch import listen

_MINE = ("dynamo", "graph", "graph_code", "graph_breaks", "guards", "bytecode", "output_code", "recompiles", "perf_hints")
_levels = {}
_LONG_GRAPH, _MANY_GUARDS = 2, 500  # what perf_hints speaks of


def install():
    """Listens when a log of capture is on."""
    _levels.update({name: level for name, level in _sconce._log_levels().items() if name in _MINE})
    if _levels:
        listen(_on_event)


def _on_event(event, facts):
    handler = globals().get(f"_on_{event}")
    if handler is not None:
        handler(facts)


def _print(tag, facts, text):
    frame = f"[{facts['frame']}/{facts['number']}] " if "frame" in facts else ""
    prefix = frame if tag == "dynamo" else f"{frame}[__{tag}] "
    sys.stderr.write("".join(f"{prefix}{line}".rstrip() + "\n" for line in text.split("\n")))


def _place(code):
    return f"{code.co_name} {code.co_filename} line {code.co_firstlineno}"


def disassembly(code):
    """The instructions of a code object, as dis prints them."""
    out = io.StringIO()
    dis.dis(code, file=out, depth=0)
    return out.getvalue().rstrip()


def source_of(code):
    """A code object as Python source, and that of the resume functions which it calls."""
    text, objects, _, is_structured = _sconce._capture_source(code)
    parts = [text.rstrip() if is_structured else disassembly(code)]
    for name, value in objects.items():
        if isinstance(value, _sconce._Compiled):
            text, _, _, is_structured = _sconce._capture_source(value.__wrapped__.__code__)
            parts.append(f"# {name}: {value!r}\n{text.rstrip() if is_structured else disassembly(value.__wrapped__.__code__)}")
        else:
            parts.append(f"# {name}: {value!r}")
    return "\n".join(parts)


def graph_name(facts):
    """What the emitted code calls the graph."""
    return getattr(facts["graph"], "__name__", None) or f"__compiled_fn_{facts['frame']}_{facts['number']}"


def _on_compiled(facts):
    code = facts["code"]
    if "dynamo" in _levels:
        _print("dynamo", facts, f"torchdynamo start tracing {code.co_name} {code.co_filename}:{code.co_firstlineno}")
    if facts["graph"] is not None:
        module = facts["graph"].graph_module
        if "graph_code" in _levels:
            _print("graph_code", facts, f"TRACED GRAPH\n ===== {graph_name(facts)} =====\n{module.print_readable(print_output=False)}")
        if "graph" in _levels:
            _print("graph", facts, f"TRACED GRAPH\n {graph_name(facts)}\n{_table(module.graph)}")
            if _levels["graph"] > 1:
                _print("graph", facts, f"OPERATORS\n{facts['graph'].graph}")
    if "bytecode" in _levels:
        _print("bytecode", facts, f"ORIGINAL BYTECODE {_place(code)}\n{disassembly(code)}\n")
        if facts["new_code"] is not None:
            _print("bytecode", facts, f"MODIFIED BYTECODE {_place(code)}\n{disassembly(facts['new_code'])}\n")
    if "output_code" in _levels and facts["new_code"] is not None:
        _print("output_code", facts, f"OUTPUT CODE {_place(code)}\n{source_of(facts['new_code'])}\n")
    if "guards" in _levels:
        _print("guards", facts, "GUARDS:\n" + "\n".join(f"| +- {guard}" for guard in facts["guards"]))
    if "graph_breaks" in _levels:
        for row in facts["breaks"]:
            _print("graph_breaks", facts, break_text(row, _levels["graph_breaks"] > 1))
        if facts["in_loop"]:
            text = break_text(facts["in_loop"], _levels["graph_breaks"] > 1) if not facts["breaks"] else "The break"
            _print("graph_breaks", facts, f"{text}\nis in a loop: Python runs the loop, and the rest of the function")
    if "perf_hints" in _levels:
        for hint in _hints(facts):
            _print("perf_hints", facts, hint)
    if "dynamo" in _levels:
        what = f"{facts['nodes']} nodes, {len(facts['guards'])} guards, {len(facts['breaks'])} breaks" if (
            facts["graph"] is not None or facts["new_code"] is not None) else "nothing captured"
        _print("dynamo", facts, f"torchdynamo done tracing {code.co_name}: {what}, {facts['seconds'] * 1e3:.2f} ms")


def break_text(row, with_line=True):
    """Why a graph ended, with the line of the program."""
    code, reason, hint, file, function, line = row
    text = f"Graph break in user code at {file}:{line}\nGraph Break Reason: {reason} [{code}]"
    if hint:
        text += f"\n  Hint: {hint}"
    if with_line:
        text += f"\nUser code traceback:\n  File \"{file}\", line {line}, in {function}\n    {linecache.getline(file, line).strip()}"
    return text


def _table(graph):
    rows = [("opcode", "name", "target", "args", "kwargs")]
    rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in graph.nodes]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _hints(facts):
    if facts["breaks"] and facts["nodes"] < _LONG_GRAPH:
        yield f"a graph of {facts['nodes']} operators before a break: what is gained is less than the call costs"
    if len(facts["guards"]) > _MANY_GUARDS:
        yield f"{len(facts['guards'])} guards: the more a function reads from outside, the longer each call checks"


def _on_recompile(facts):
    if "recompiles" in _levels:
        code = facts["code"]
        reasons = "".join(f"\n    - {reason}" for reason in facts["reasons"])
        _print("recompiles", facts, f"Recompiling function {code.co_name} in {code.co_filename}:{code.co_firstlineno}\n"
                                    f"    triggered by the following guard failure(s):{reasons}")


def _on_unstable(facts):
    if "recompiles" in _levels or "guards" in _levels:
        _print("guards", facts, f"{facts['code'].co_name}: a guard does not hold right after it was made: {facts['why']}")
