"""The trace page: one HTML file about all that was compiled: frames, breaks with source lines, graphs, guards, times.

    with sconce.compiler.trace("folder"):
        f(x)          # folder/index.html
"""

import html
import linecache
import os
import time

from ._logs import disassembly, graph_name, source_of
from ._watch import listen, unlisten

_AROUND = 3  # lines of source shown before and after the one where a graph breaks

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c0392b; --good: #2e7d32; --dim: #888; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75em; padding: 1em 2em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.15em; margin: 0; } small { color: var(--dim); font-weight: normal; }
pre { font: 13px/1.45 ui-monospace, monospace; overflow-x: auto; margin: .3em 0; padding: .6em; border: 1px solid var(--line);
      border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25em .8em .25em 0;
      border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; } a { color: inherit; }
article { border: 1px solid var(--line); border-radius: 8px; padding: .8em 1em; margin: 1em 0; }
details { margin: .4em 0; } summary { cursor: pointer; } .break { color: var(--bad); } .none { color: var(--good); }
mark { background: #f1c40f55; color: inherit; display: block; } .bar { height: .6em; background: #5b8def; border-radius: 3px; }
input { font: inherit; width: 100%; max-width: 30em; padding: .3em .6em; }
"""
_SCRIPT = """
const box = document.getElementById('filter');
box.addEventListener('input', () => {
  for (const frame of document.querySelectorAll('[data-name]'))
    frame.hidden = !frame.dataset.name.includes(box.value.toLowerCase());
});
"""


class trace:
    """Writes a page about all that is compiled inside of a with statement; or call begin() and end()."""

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        self.frames, self.recompiles, self.seconds = [], [], 0.0

    def begin(self):
        os.makedirs(self.folder, exist_ok=True)
        self.start = time.perf_counter()
        listen(self._hear)
        return self

    def end(self):
        unlisten(self._hear)
        self.seconds = time.perf_counter() - self.start
        path = os.path.join(self.folder, "index.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(self.frames, self.recompiles, self.seconds))
        return path

    __enter__ = begin

    def __exit__(self, *error):
        self.end()

    def _hear(self, event, facts):
        if event == "recompile":
            self.recompiles.append((facts["frame"], facts["number"], facts["reasons"]))
        elif event == "compiled":
            self.frames.append(_Frame(facts))


class _Frame:
    """The texts of one compilation; taken at once, so that nothing of the program is kept alive."""

    def __init__(self, facts):
        code = facts["code"]
        self.id = f"{facts['frame']}/{facts['number']}"
        self.name, self.file, self.line = code.co_qualname, code.co_filename, code.co_firstlineno
        self.nodes, self.seconds, self.guards, self.breaks = facts["nodes"], facts["seconds"], facts["guards"], facts["breaks"]
        self.graph = self.operators = self.graph_name = None
        if facts["graph"] is not None:
            self.graph_name = graph_name(facts)
            self.graph = facts["graph"].graph_module.print_readable(print_output=False)
            self.operators = facts["graph"].graph
        self.bytecode = disassembly(code)
        self.output = None if facts["new_code"] is None else source_of(facts["new_code"])
        self.captured = facts["graph"] is not None or facts["new_code"] is not None


def page(frames, recompiles, seconds):
    """The text of the page."""
    reasons = {f"{frame}/{number}": why for frame, number, why in recompiles}
    compile_time = sum(frame.seconds for frame in frames)
    longest = max((frame.seconds for frame in frames), default=1.0) or 1.0
    rows = "".join(_row(frame, longest) for frame in frames)
    articles = "".join(_article(frame, reasons.get(frame.id)) for frame in frames)
    breaks = sum(len(frame.breaks) for frame in frames)
    graphs = sum(frame.graph is not None for frame in frames)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Capture</title>
<style>{_STYLE}</style></head><body>
<h1>Capture <small>{len(frames)} compilations, {graphs} graphs, {breaks} breaks, {len(recompiles)} recompilations;
{compile_time * 1e3:.2f} ms of {seconds * 1e3:.1f} ms</small></h1>
<p><input id="filter" placeholder="function, file" aria-label="show functions whose name or file contains this"></p>
<table id="frames"><thead><tr><th>frame</th><th>function</th><th class="number">nodes</th><th class="number">guards</th>
<th class="number">breaks</th><th class="number">ms</th><th></th></tr></thead><tbody>{rows}</tbody></table>
{articles}<script>{_SCRIPT}</script></body></html>
"""


def _key(frame):
    return html.escape(f"{frame.name} {frame.file}".lower(), quote=True)


def _row(frame, longest):
    return (f'<tr data-name="{_key(frame)}"><td><a href="#{frame.id}">{frame.id}</a></td><td>{html.escape(frame.name)}</td>'
            f'<td class="number">{frame.nodes}</td><td class="number">{len(frame.guards)}</td>'
            f'<td class="number">{len(frame.breaks)}</td><td class="number">{frame.seconds * 1e3:.2f}</td>'
            f'<td style="width:20%"><div class="bar" style="width:{100 * frame.seconds / longest:.0f}%"></div></td></tr>')


def _article(frame, reasons):
    parts = [f'<article id="{frame.id}" data-name="{_key(frame)}"><h2>{frame.id} {html.escape(frame.name)} '
             f'<small>{html.escape(frame.file)}:{frame.line}, {frame.seconds * 1e3:.2f} ms</small></h2>']
    if reasons:
        parts.append(f"<p>Compiled again: {'; '.join(map(html.escape, reasons))}</p>")
    if not frame.captured:
        parts.append("<p>Nothing was captured: the function runs as it is.</p>")
    parts += [_break(row) for row in frame.breaks]
    if frame.captured and not frame.breaks:
        parts.append('<p class="none">One graph, no break.</p>')
    if frame.graph is not None:
        parts.append(_details(f"Graph {frame.graph_name}, {frame.nodes} nodes", frame.graph, is_open=True))
        parts.append(_details("Operators that run", frame.operators))
    parts.append(_details(f"{len(frame.guards)} guards", "\n".join(frame.guards)))
    if frame.output is not None:
        parts.append(_details("Code that runs in its place", frame.output))
    parts.append(_details("Bytecode", frame.bytecode))
    return "".join(parts) + "</article>\n"


def _break(row):
    code, reason, hint, file, function, line = row
    return (f'<div class="break"><strong>{code}</strong> {html.escape(reason)} <small>{html.escape(file)}:{line} in '
            f"{html.escape(function)}</small></div>{_source(file, line)}" + (f"<p>{html.escape(hint)}</p>" if hint else ""))


def _source(file, line):
    lines = []
    for number in range(max(1, line - _AROUND), line + _AROUND + 1):
        text = linecache.getline(file, number).rstrip("\n")
        if text or number == line:
            shown = html.escape(f"{number:5}  {text}")
            lines.append(f"<mark>{shown}</mark>" if number == line else shown + "\n")
    return f"<pre>{''.join(lines)}</pre>"


def _details(title, text, is_open=False):
    return f"<details{' open' if is_open else ''}><summary>{html.escape(title)}</summary><pre>{html.escape(text)}</pre></details>"
