"""GraphModule: a module whose forward is the code of a graph."""

import contextlib
import copy
import itertools
import linecache
import os
import pathlib
import sys
import traceback

import sconce
from .._sconce import Tensor
from ..nn.module import Module
from ..nn.parameter import Parameter
from ._codegen import BUILTINS, _PyTreeCodeGen
from ._names import is_from_library
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = itertools.count()
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


def _compile(source, names):
    """The function `forward` of a text; tracebacks show its lines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = dict(names)
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names["forward"]


def _import_lines(names):
    """The imports that give a text its globals."""
    lines = set()
    for name, value in names.items():
        if name in BUILTINS:
            lines.add(BUILTINS[name][0])
        elif is_from_library(value):
            lines.add("import sconce as torch")
        else:
            lines.add(f"from {value.__module__} import {value.__name__} as {name}")
    return "\n".join(sorted(lines))


def reduce_graph_module(body, import_block):
    """A GraphModule from its pickled state: the text is traced again, without going into modules."""
    from ._symbolic_trace import Tracer

    class KeepModules(body.get("_tracer_cls") or Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    body = dict(body)
    holder = _holder(body)
    type(holder).forward = _compile(import_block + body["_code"], {})
    graph = KeepModules().trace(holder)
    graph._tracer_cls = body.get("_tracer_cls")
    made = GraphModule(holder, graph)
    for key, value in body.items():
        if not hasattr(made, key):
            object.__setattr__(made, key, value)
    return made


def _holder(state):
    """A module with the state of another, of a class of its own."""
    class CodeOnlyModule(Module):
        pass

    made = CodeOnlyModule()
    made.__dict__.update(state)
    return made


def _get_attr(model, attr_name):
    """The attribute at the end of a dotted path."""
    for part in attr_name.split(".") if attr_name else ():
        model = getattr(model, part)
    return model


def _assign_attr(value, module, target):
    """Sets the attribute at the end of a dotted path; modules on the way are made."""
    *path, name = target.split(".")
    for part in path:
        if getattr(module, part, None) is None:
            setattr(module, part, Module())
        module = getattr(module, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _copy_attr(source, module, target):
    """The same attribute as the other module's, unless a module on the way is shared and so has it."""
    *path, name = target.split(".")
    at, into = source, module
    for part in path:
        at, existing = getattr(at, part), getattr(into, part, None)
        if at is existing:
            return
        into = existing
    _assign_attr(getattr(at, name), module, target)


def module_call():
    """What a call of a module does, as a function: with hooks, and whatever __call__ its class has."""
    return getattr(Module, "_call_with_hooks", Module.__call__)


class GraphModule(Module):
    """A module made from a graph: `code` is its forward, anew after recompile().

    root: a module, or a dict, that has the attributes and submodules that the graph names.
    """

    def __new__(cls, *args, **kwargs):
        base = next(c for c in cls.__mro__ if c.__qualname__.rpartition(".")[2] != "GraphModuleImpl")

        class GraphModuleImpl(base):  # each graph has a forward of its own
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            if type(root).__name__ == "CodeOnlyModule":
                for name, _ in [*root.named_children(), *root.named_buffers(), *root.named_parameters()]:
                    _copy_attr(root, self, name)
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self.meta = {}
        for name in _HOOKS:
            setattr(self, name, [])

    @property
    def graph(self):
        """The graph; after changing it, call recompile()."""
        return self._graph

    @graph.setter
    def graph(self, g):
        assert isinstance(g, Graph), f"Expected a Graph instance, but got {type(g)}"
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The text of forward."""
        return self._code

    def recompile(self):
        """Makes forward from the graph as it is now."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = self._graph._codegen.pytree_info[1:]
        made = self._graph.python_code("self")
        self._code, self._lineno_map, self._prologue_start = made.src, made._lineno_map, made._prologue_start
        type(self).forward = _compile(made.src, made.globals)
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return made

    def __call__(self, *args, **kwargs):
        try:
            return module_call()(self, *args, **kwargs)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            if "eval_with_key" in frame.filename:
                print(_where(frame), file=sys.stderr)
                raise error.with_traceback(None)
            raise

    # ---- submodules ----

    def add_submodule(self, target, m):
        """Puts a module at a dotted path; modules on the way are made. False when something else is there."""
        *path, name = target.split(".")
        module = self
        for part in path:
            if getattr(module, part, None) is None:
                setattr(module, part, Module())
            module = getattr(module, part)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Takes the module at a dotted path away. False when there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self):
        """Takes away the modules that the graph does not name."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            used.update(itertools.accumulate(node.target.split("."), lambda a, b: f"{a}.{b}"))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    inside = self.get_submodule(node.target).named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in inside if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- texts and files ----

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """The code as a class, with what is known of each value; graph modules inside follow."""
        text = _readable(self, self._get_name(), include_stride, include_device, colored)
        if print_output:
            print(text)
        return text

    def __str__(self):
        return "\n".join([super().__repr__(), self._code,
                          "# To see more debug info, please use `graph_module.print_readable()`"])

    def __repr__(self):
        return super().__repr__()

    def to_folder(self, folder, module_name="FxModule"):
        """Writes a package: a class with this code, and its parameters. Children that are no simple modules are refused."""
        folder = pathlib.Path(os.fspath(folder))
        simple = (sconce.nn.Linear, sconce.nn.Conv1d, sconce.nn.Conv2d, sconce.nn.Conv3d, sconce.nn.BatchNorm1d,
                  sconce.nn.BatchNorm2d, sconce.nn.BatchNorm3d)
        others = [name for name, child in self.named_children() if type(child) not in simple]
        if others:
            raise NotImplementedError(f"to_folder: the children {others} are no modules that their repr makes again")
        imports = "\n".join(line for line, _ in BUILTINS.values())
        lines = [f"import sconce as torch\n{imports}\n\nfrom sconce.nn import {', '.join(sorted(c.__name__ for c in simple))}",
                 f"\n\nclass {module_name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()"]
        lines += [f"        setattr(self, '{name}', {child!r})" for name, child in self.named_children()]
        for name, tensor in self._buffers.items():
            lines.append(f"        self.register_buffer('{name}', torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))")
        for name, tensor in self._parameters.items():
            lines.append(f"        setattr(self, '{name}', torch.nn.Parameter(torch.empty({list(tensor.shape)}, "
                         f"dtype={tensor.dtype})))")
        lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        lines.append(_indented(self.code))
        folder.mkdir(exist_ok=True)
        sconce.save(dict(self.state_dict()), folder / "state_dict.pt")
        (folder / "module.py").write_text("\n".join(lines) + "\n")
        (folder / "__init__.py").write_text("from .module import *")

    # ---- copies ----

    def __reduce__(self):
        state = {name: value for name, value in self.__dict__.items() if name != "_graph"}
        return reduce_graph_module, (state, _import_lines(self.recompile().globals))

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        state = copy.deepcopy(self.__dict__, memo)
        GraphModule.__init__(made, _holder(state), state["_graph"])
        for name in (*_HOOKS, "meta"):
            setattr(made, name, state[name])
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = self.meta
        return made

    # ---- hooks ----

    def _register_replace_node_hook(self, f):
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f):
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)


def _indented(text, by=4):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * by + line if line.strip() else "" for line in rest)])


def _readable(module, name, *options):
    source = module.graph.python_code("self", verbose=True, include_stride=options[0], include_device=options[1],
                                      colored=options[2]).src
    text = _indented(f"class {name}(torch.nn.Module):\n" + source.lstrip("\n"))
    inside = [_readable(child, child_name, *options) for child_name, child in module.named_children()
              if isinstance(child, GraphModule)]
    return text + _indented("\n".join(["", *inside]))


def _where(frame):
    """Tells of an error in generated code: the traceback, and the lines around."""
    lines = linecache.getlines(frame.filename)
    return "\n".join([traceback.format_exc(),
                      f"Call using an FX-traced Module, line {frame.lineno} of the traced Module's generated forward function:",
                      "".join(lines[frame.lineno - 2:frame.lineno]), "~" * len(frame.line) + "~~~ <--- HERE",
                      "\n".join(lines[frame.lineno:frame.lineno + 2])])
