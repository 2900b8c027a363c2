"""explain(): what compiling a function comes to: its graphs, its breaks and why, its guards."""

import dataclasses
import traceback

from ._compile import _Settings
from ._watch import listening


@dataclasses.dataclass
class GraphCompileReason:
    """Why a graph ended."""

    reason: str
    user_stack: list
    graph_break: bool = True
    code: str = ""
    hint: str = ""


@dataclasses.dataclass
class ExplainOutput:
    """What explain() found."""

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list = dataclasses.field(default_factory=list)
    out_guards: list = dataclasses.field(default_factory=list)
    compile_times: str = ""

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}",
                 "Break Reasons:"]
        for i, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {i}:", f"    Reason: {reason.reason}"]
            if reason.hint:
                lines.append(f"    Hint: {reason.hint}")
            lines += ["    User Stack:", *(f"      {frame}" for frame in reason.user_stack)]
        lines.append("Ops per Graph:")
        for i, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {i}:", *(f"    {op}" for op in ops)]
        lines.append("Out Guards:")
        for i, guard in enumerate(self.out_guards, 1):
            lines += [f"  Guard {i}:", f"    {guard}"]
        lines.append(f"Compile Times: {self.compile_times}")
        return "\n".join(lines) + "\n"


def explain(f, *extra_args, **extra_kwargs):
    """explain(f)(*args): calls f compiled, and says what was captured."""

    def inner(*args, **kwargs):
        heard = []
        compiled = _Settings("sconce", None, False, -1).compile(getattr(f, "_orig_mod", f))
        with listening(lambda event, facts: heard.append(facts) if event == "compiled" else None):
            compiled(*args, **kwargs)
        return _output(heard)

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


def _output(heard):
    graphs, ops, guards, reasons, seconds = [], [], [], [], 0.0
    for facts in heard:
        seconds += facts["seconds"]
        if facts["graph"] is not None and facts["nodes"]:
            module = facts["graph"].graph_module
            graphs.append(module)
            ops.append([node.target for node in module.graph.nodes if node.op.startswith("call")])
            guards += facts["guards"]
        for code, reason, hint, file, function, line in facts["breaks"]:
            frame = traceback.FrameSummary(file, line, function, lookup_line=False)
            reasons.append(GraphCompileReason(f"{reason} [{code}]", [frame], True, code, hint))
    return ExplainOutput(graphs, len(graphs), max(len(graphs) - 1, 0), reasons, sum(map(len, ops)), ops, guards,
                         f"{seconds * 1e3:.3f} ms in {len(heard)} compilations")
