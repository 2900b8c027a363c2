"""SubgraphMatcher: the places of a graph that look like another one."""

import dataclasses
import typing

import sconce
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclasses.dataclass
class InternalMatch:
    """One place: which node stands for which of the pattern."""

    anchors: typing.List[Node]
    nodes_map: typing.Dict[Node, typing.Any] = dataclasses.field(default_factory=dict)
    placeholder_nodes: list = dataclasses.field(default_factory=list)
    returning_nodes: list = dataclasses.field(default_factory=list)


class SubgraphMatcher:
    """Looks for a pattern. Its placeholders stand for anything, other nodes for those with the same target and arguments; what
    the pattern computes and does not return must not be used elsewhere."""

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                 ignore_literals=False):
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            assert node.op == "output" or node.users or node.is_impure(), \
                "SubgraphMatcher cannot be initialized with an pattern with dead code"
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """All matches, in the order of their first anchors."""
        found = [{}]
        if not self.pattern_anchors:
            return []
        for anchor in self.pattern_anchors:
            candidates = [node for node in graph.nodes if self._alike(anchor, node, node_name_match)]
            found = [mapped for sofar in found for node in candidates
                     if (mapped := self._extend(anchor, node, sofar, node_name_match)) is not None]
        matches, taken = [], set()
        for nodes_map in found:
            nodes = [g for p, g in nodes_map.items() if p.op not in ("placeholder", "output")]
            if not self._is_contained(nodes_map) or not _can_be_one(nodes):
                continue
            if self.remove_overlapping_matches and taken.intersection(nodes):
                continue
            taken.update(nodes)
            matches.append(InternalMatch(self.pattern_anchors, nodes_map,
                                         [nodes_map.get(p) for p in self.pattern_placeholder_nodes],
                                         [nodes_map[p] for p in self.pattern_returning_nodes]))
        return matches

    def _alike(self, p, g, name=""):
        """May a node of the graph stand for one of the pattern, by itself?"""
        if p.op == "placeholder" and not self.match_placeholder:
            return True
        if name and name in g.name:
            return True
        if p.op != g.op:
            return False
        if p.op == "get_attr":
            kinds = [type(_get_attr(node.graph.owning_module, node.target)) for node in (p, g)]
            if not issubclass(kinds[0], sconce.Tensor):
                raise RuntimeError(f"Unsupported type {kinds[0]} when matching attributes")
            return kinds[0] is kinds[1]
        return p.op in ("placeholder", "output") or p.target == g.target

    def _extend(self, p, g, nodes_map, name=""):
        """The map with p for g and all that they use; None when they differ."""
        if p in nodes_map:
            return nodes_map if nodes_map[p] is g else None
        if any(g is taken for taken in nodes_map.values()) or not self._alike(p, g, name):
            return None
        nodes_map = {**nodes_map, p: g}
        if p.op == "placeholder":
            return nodes_map
        if len(p.args) != len(g.args) or list(p.kwargs) != list(g.kwargs):
            return None
        return self._extend_all([*p.args, *p.kwargs.values()], [*g.args, *g.kwargs.values()], nodes_map)

    def _extend_all(self, wanted, given, nodes_map):
        if len(wanted) != len(given):
            return None
        for a, b in zip(wanted, given):
            if isinstance(a, Node) and isinstance(b, Node):
                nodes_map = self._extend(a, b, nodes_map)
            elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                nodes_map = self._extend_all(a, b, nodes_map)
            elif isinstance(a, Node) and a.op == "placeholder":
                if a in nodes_map and nodes_map[a] != b:
                    nodes_map = None
                else:
                    nodes_map = {**nodes_map, a: b}
            elif isinstance(a, Node) or isinstance(b, Node) or not (type(a) is type(b) and a == b):
                nodes_map = nodes_map if self.ignore_literals and not isinstance(a, Node) else None
            if nodes_map is None:
                return None
        return nodes_map

    def _is_contained(self, nodes_map):
        """Is nothing used elsewhere but what the pattern returns?"""
        inside = {g for p, g in nodes_map.items() if p.op != "placeholder"}
        return all(user in inside for p, g in nodes_map.items()
                   if p.op != "placeholder" and p not in self.pattern_returning_nodes for user in g.users)


def _can_be_one(nodes):
    """False when a value goes out of these nodes and comes back in, so that they cannot be one call."""
    inside, seen = set(nodes), set()
    waiting = [user for node in nodes for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True
