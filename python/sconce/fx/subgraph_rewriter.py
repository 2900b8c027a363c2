"""replace_pattern: puts one subgraph in the place of another."""

import copy
import dataclasses
import typing

import sconce
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _assign_attr
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(typing.NamedTuple):
    """A place where the pattern was found: the node at its end, and which node stood for which."""

    anchor: Node
    nodes_map: typing.Dict[Node, Node]


@dataclasses.dataclass
class ReplacedPatterns:
    """The same, with the nodes that took its place."""

    anchor: Node
    nodes_map: typing.Dict[Node, Node]
    replacements: typing.List[Node]


def replace_pattern(gm, pattern, replacement):
    """Replaces every place of the graph that does what the function `pattern` does by what `replacement` does; both are functions,
    modules or graph modules with the same arguments. Returns the places."""
    return [Match(made.anchor, made.nodes_map) for made in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False,
                                 replacement_callback=None, node_name_match=""):
    """The same for places that all filters accept: functions of (match, graph, pattern). replacement_callback, of the same
    arguments, gives a graph for each place."""
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(graph, node_name_match)
    matches = [m for m in matches if all(accept(m, graph, pattern_graph) for accept in match_filters or ())]
    assert replacement is not None or replacement_callback is not None, \
        "Must provide either a replacement GraphModule or a replacement callback"
    common = None if replacement_callback else _graph_of(replacement)
    replaced_by, made = {}, []
    for match in matches:
        new_graph = common or replacement_callback(match, graph, pattern_graph)
        made.append(_replace(graph, match, pattern_graph, new_graph, replaced_by))
    gm.recompile()
    if isinstance(replacement, sconce.nn.Module):
        _bring_attributes(gm, replacement)
    return made


def _graph_of(program):
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _replace(graph, match, pattern_graph, new_graph, replaced_by):
    placeholders = [node for node in new_graph.nodes if node.op == "placeholder"]
    assert len(placeholders) == len(match.placeholder_nodes), \
        f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(placeholders)}"
    for p, g in match.nodes_map.items():  # what earlier replacements took away
        if p.op == "placeholder" and isinstance(g, Node):
            match.nodes_map[p] = replaced_by.get(g, g)
    match.placeholder_nodes[:] = [replaced_by.get(g, g) if isinstance(g, Node) else g for g in match.placeholder_nodes]
    val_map = dict(zip(placeholders, match.placeholder_nodes))
    users = {user for node in match.returning_nodes for user in node.users}
    place = next((node for node in graph.nodes if node in users), None)
    if place is None:
        place = [node for node in graph.nodes if node in match.returning_nodes][-1].next
    with graph.inserting_before(place):
        results = graph.graph_copy(new_graph, val_map)
    results = (results,) if isinstance(results, Node) else results
    assert len(match.returning_nodes) == len(results), \
        f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}"
    new = [node for node in val_map.values() if not any(node is given for given in match.placeholder_nodes)]
    for old, result in zip(match.returning_nodes, results):
        old.replace_all_uses_with(result)
        replaced_by[old] = result
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, new)


def _bring_attributes(gm, replacement):
    """Copies what the new nodes name from the replacement, unless the module has it."""
    gm.delete_all_unused_submodules()

    def find(module, target):
        path, _, name = target.rpartition(".")
        try:
            return getattr(module.get_submodule(path), name, None)
        except AttributeError:
            return None

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or find(gm, node.target) is not None:
            continue
        value = find(replacement, node.target)
        if value is None:
            raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                               "referenced attribute does not exist in the replacement GraphModule")
        _assign_attr(copy.deepcopy(value), gm, node.target)
    gm.graph.lint()
