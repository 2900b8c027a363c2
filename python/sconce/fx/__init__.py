"""Graphs of Python programs: symbolic_trace, Graph and Node, GraphModule, Interpreter, replace_pattern.

    gm = fx.symbolic_trace(module)
    print(gm.code)
    gm.graph.print_tabular()

Graphs, names and generated code are those of torch.fx; `torch` in generated code is sconce.
"""

from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .immutable_collections import immutable_dict, immutable_list
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Attribute, Proxy
from .subgraph_rewriter import replace_pattern

__all__ = ["Attribute", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "PH", "Proxy", "ProxyableClassMeta",
           "Tracer", "Transformer", "has_side_effect", "immutable_dict", "immutable_list", "map_arg",
           "replace_pattern", "symbolic_trace", "wrap"]
