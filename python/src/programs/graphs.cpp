#include "programs/graphs.h"

#include <nlohmann/json.hpp>

#include "graphs/graph_json.h"
#include "graphs/graph_page.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/op.h"
#include "sconce/ir/printer.h"
#include "values.h"

namespace sconce::python {
namespace {

// A part of a graph, which it keeps.
template <class T>
struct View {
  PyObject_HEAD std::shared_ptr<ir::Graph> graph;
  T* part;
};
template <class T>
PyTypeObject view_type;

template <class T>
Owned view(const std::shared_ptr<ir::Graph>& graph, T* part) {
  if (!part) return Owned::share(Py_None);
  auto* made = PyObject_New(View<T>, &view_type<T>);
  Owned object = Owned::take(reinterpret_cast<PyObject*>(made));
  new (&made->graph) std::shared_ptr<ir::Graph>(graph);
  made->part = part;
  return object;
}
template <class T>
T& part_of(PyObject* self) {
  return *reinterpret_cast<View<T>*>(self)->part;
}
template <class T>
const std::shared_ptr<ir::Graph>& graph_of(PyObject* self) {
  return reinterpret_cast<View<T>*>(self)->graph;
}
template <class T>
void view_dealloc(PyObject* self) {
  reinterpret_cast<View<T>*>(self)->graph.~shared_ptr();
  PyObject_Free(self);
}
template <class T>
PyObject* view_compare(PyObject* a, PyObject* b, int how) {
  if (!Py_IS_TYPE(a, &view_type<T>) || !Py_IS_TYPE(b, &view_type<T>) || (how != Py_EQ && how != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&part_of<T>(a) == &part_of<T>(b)) == (how == Py_EQ));
}
template <class T>
Py_hash_t view_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&part_of<T>(self)) >> 4);
}

template <class C>
PyObject* list_of(const std::shared_ptr<ir::Graph>& graph, const C& parts) {
  Owned list = Owned::take(PyList_New(0));
  for (auto* part : parts) check(PyList_Append(list.get(), view(graph, part).get()));
  return list.give();
}
PyObject* number(size_t n) { return PyLong_FromSize_t(n); }
Owned type_object(TypePtr type);

// Shorthand for methods without and with one argument.
#define SCONCE_VIEW(name, T, expression)                           \
  PyObject* name(PyObject* self, [[maybe_unused]] PyObject* arg) { \
    return guarded([&]() -> PyObject* {                            \
      [[maybe_unused]] T& it = part_of<T>(self);                   \
      [[maybe_unused]] const auto& graph = graph_of<T>(self);      \
      return expression;                                           \
    });                                                            \
  }

size_t index_in(PyObject* arg, size_t size) {
  const Py_ssize_t i = PyLong_AsSsize_t(arg);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  SCONCE_CHECK_AS(index, i >= 0 && static_cast<size_t>(i) < size, "index {} is out of range", i);
  return static_cast<size_t>(i);
}

// "%y : Tensor = aten::add(%x, %x, %1) # model.py:3:8", without what is in its blocks.
std::string node_text(const ir::Node& n) {
  std::string line;
  for (const ir::Value* v : n.outputs())
    line += (line.empty() ? "%" : ", %") + v->name() + " : " + v->type()->to_string();
  line += " = " + std::string(n.kind().text()) + ir::attributes_text(n) + "(";
  for (size_t i = 0; i < n.inputs().size(); ++i) line += (i ? ", %" : "%") + n.inputs()[i]->name();
  line += ")";
  if (n.range()) line += " # " + n.range().to_string();
  return line + "\n";
}

// ---- values ----

SCONCE_VIEW(value_name, ir::Value, text(it.name()).give())
SCONCE_VIEW(value_type_of, ir::Value, type_object(it.type()).give())
SCONCE_VIEW(value_node, ir::Value, view(graph, it.node()).give())
SCONCE_VIEW(value_unique, ir::Value, number(it.id()))
SCONCE_VIEW(value_offset, ir::Value, number(it.offset()))
PyObject* value_uses(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const ir::Use& use : part_of<ir::Value>(self).uses()) {
      const Owned node = view(graph_of<ir::Value>(self), use.user);
      check(PyList_Append(list.get(), Owned::take(Py_BuildValue("(On)", node.get(), use.offset)).get()));
    }
    return list.give();
  });
}
PyObject* value_repr(PyObject* self) {
  return guarded([&] {
    const ir::Value& v = part_of<ir::Value>(self);
    return text(v.name() + " defined in (" + std::string(v.node()->kind().text()) + ")").give();
  });
}
PyMethodDef value_methods[] = {{"debugName", value_name, METH_NOARGS, "Its name, without %."},
                               {"type", value_type_of, METH_NOARGS, "Its type."},
                               {"node", value_node, METH_NOARGS, "The node that makes it."},
                               {"unique", value_unique, METH_NOARGS, "Its number."},
                               {"offset", value_offset, METH_NOARGS, "Its place among the outputs of its node."},
                               {"uses", value_uses, METH_NOARGS, "[(node, place among its inputs)]"},
                               {}};

// ---- nodes ----

SCONCE_VIEW(node_kind, ir::Node, text(it.kind().text()).give())
SCONCE_VIEW(node_inputs, ir::Node, list_of(graph, it.inputs()))
SCONCE_VIEW(node_outputs, ir::Node, list_of(graph, it.outputs()))
SCONCE_VIEW(node_blocks, ir::Node, list_of(graph, it.blocks()))
SCONCE_VIEW(node_inputs_size, ir::Node, number(it.inputs().size()))
SCONCE_VIEW(node_outputs_size, ir::Node, number(it.outputs().size()))
SCONCE_VIEW(node_input_at, ir::Node, view(graph, it.inputs()[index_in(arg, it.inputs().size())]).give())
SCONCE_VIEW(node_output_at, ir::Node, view(graph, it.outputs()[index_in(arg, it.outputs().size())]).give())
SCONCE_VIEW(node_scope, ir::Node, text(it.scope()).give())
SCONCE_VIEW(node_source, ir::Node, text(it.range() ? it.range().highlight() : std::string()).give())
SCONCE_VIEW(node_block, ir::Node, view(graph, it.block()).give())
SCONCE_VIEW(node_schema, ir::Node, it.op() ? text(it.op()->schema().to_string()).give() : text("(no schema)").give())
SCONCE_VIEW(node_has_attribute, ir::Node, PyBool_FromLong(it.attribute(text_of(arg)) != nullptr))

PyObject* node_one(PyObject* self, bool output) {
  return guarded([&] {
    const ir::Node& n = part_of<ir::Node>(self);
    const auto& all = output ? n.outputs() : n.inputs();
    SCONCE_CHECK(all.size() == 1, "the node has {} {}, not one", all.size(), output ? "outputs" : "inputs");
    return view(graph_of<ir::Node>(self), all[0]).give();
  });
}
PyObject* node_input(PyObject* self, PyObject*) { return node_one(self, false); }
PyObject* node_output(PyObject* self, PyObject*) { return node_one(self, true); }
PyObject* node_attribute_names(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const auto& [name, value] : part_of<ir::Node>(self).attributes())
      check(PyList_Append(list.get(), text(name).get()));
    return list.give();
  });
}
PyObject* node_attribute(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const ir::AttributeValue* found = part_of<ir::Node>(self).attribute(text_of(name));
    SCONCE_CHECK(found, "required keyword attribute '{}' is undefined", text_of(name));
    if (const auto* v = std::get_if<Value>(found)) return object_of(*v).give();
    if (const auto* t = std::get_if<TypePtr>(found)) return type_object(*t).give();
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(found))
      return wrap_graph(*g, graph_of<ir::Node>(self)).give();
    Owned list = Owned::take(PyList_New(0));
    for (const TypePtr t : std::get<std::vector<TypePtr>>(*found))
      check(PyList_Append(list.get(), type_object(t).get()));
    return list.give();
  });
}
PyObject* node_find(const std::shared_ptr<ir::Graph>& graph, const ir::Block& top, PyObject* args, bool all) {
  return guarded([&]() -> PyObject* {
    const char* kind = nullptr;
    int recurse = 1;
    if (!PyArg_ParseTuple(args, "s|p", &kind, &recurse)) throw PythonError();
    Owned list = Owned::take(PyList_New(0));
    const auto walk = [&](const ir::Block& block, const auto& again) -> void {
      for (ir::Node* n : block.nodes()) {
        if (n->kind().text() == kind) check(PyList_Append(list.get(), view(graph, n).get()));
        for (const ir::Block* inner : n->blocks()) {
          if (recurse) again(*inner, again);
        }
      }
    };
    walk(top, walk);
    if (all) return list.give();
    return Py_NewRef(PyList_GET_SIZE(list.get()) ? PyList_GET_ITEM(list.get(), 0) : Py_None);
  });
}
PyObject* node_repr(PyObject* self) {
  return guarded([&] { return text(node_text(part_of<ir::Node>(self))).give(); });
}
PyMethodDef node_methods[] = {
    {"kind", node_kind, METH_NOARGS, "\"aten::add\""},
    {"inputs", node_inputs, METH_NOARGS, "Its inputs."},
    {"outputs", node_outputs, METH_NOARGS, "Its outputs."},
    {"input", node_input, METH_NOARGS, "Its one input."},
    {"output", node_output, METH_NOARGS, "Its one output."},
    {"inputsAt", node_input_at, METH_O, "inputsAt(i)"},
    {"outputsAt", node_output_at, METH_O, "outputsAt(i)"},
    {"inputsSize", node_inputs_size, METH_NOARGS, "How many inputs it has."},
    {"outputsSize", node_outputs_size, METH_NOARGS, "How many outputs it has."},
    {"blocks", node_blocks, METH_NOARGS, "The blocks of control flow."},
    {"owningBlock", node_block, METH_NOARGS, "The block that it stands in."},
    {"attributeNames", node_attribute_names, METH_NOARGS, "Names of attributes."},
    {"hasAttribute", node_has_attribute, METH_O, "hasAttribute(name)"},
    {"attribute", node_attribute, METH_O, "attribute(name): its value."},
    {"i", node_attribute, METH_O, "i(name): an int."},
    {"f", node_attribute, METH_O, "f(name): a float."},
    {"s", node_attribute, METH_O, "s(name): a string."},
    {"t", node_attribute, METH_O, "t(name): a tensor."},
    {"g", node_attribute, METH_O, "g(name): a graph."},
    {"ival", node_attribute, METH_O, "ival(name): any value."},
    {"schema", node_schema, METH_NOARGS, "The schema of its operator."},
    {"scopeName", node_scope, METH_NOARGS, "Of a traced graph: the module that it comes from."},
    {"sourceRange", node_source, METH_NOARGS, "Where it was written."},
    {}};

// ---- blocks and graphs ----

template <class T>
ir::Block& block_of(T& it) {
  if constexpr (std::is_same_v<T, ir::Graph>) {
    return *it.block();
  } else {
    return it;
  }
}
template <class T>
SCONCE_VIEW(block_inputs, T, list_of(graph, it.inputs()))
template <class T>
SCONCE_VIEW(block_outputs, T, list_of(graph, it.outputs()))
template <class T>
SCONCE_VIEW(block_nodes, T, list_of(graph, it.nodes()))
template <class T>
SCONCE_VIEW(block_param, T, view(graph, block_of(it).param_node()).give())
template <class T>
SCONCE_VIEW(block_return, T, view(graph, block_of(it).return_node()).give())
SCONCE_VIEW(block_owner, ir::Block, view(graph, it.owner()).give()) template <class T>
PyObject* find_node(PyObject* self, PyObject* args) {
  return node_find(graph_of<T>(self), block_of(part_of<T>(self)), args, false);
}
template <class T>
PyObject* find_all_nodes(PyObject* self, PyObject* args) {
  return node_find(graph_of<T>(self), block_of(part_of<T>(self)), args, true);
}
SCONCE_VIEW(graph_copy, ir::Graph, wrap_graph(it.copy(), graph).give())
PyObject* graph_text(PyObject* self, PyObject* args) {
  return guarded([&] {
    int ranges = 1;
    if (!PyArg_ParseTuple(args, "|p:str", &ranges)) throw PythonError();
    return text(part_of<ir::Graph>(self).to_string(ranges != 0)).give();
  });
}
PyObject* graph_repr(PyObject* self) {
  return guarded([&] { return text(part_of<ir::Graph>(self).to_string()).give(); });
}
PyObject* block_repr(PyObject* self) {
  return guarded([&] {
    std::string all;
    for (const ir::Node* n : part_of<ir::Block>(self).nodes()) all += node_text(*n);
    return text(all).give();
  });
}
// The page of `sconce ir --html`, in a frame: what a notebook shows.
PyObject* graph_html(PyObject* self, PyObject*) {
  return guarded([&] {
    std::string page;
    {
      cli::GraphDocument document("graph");
      document.add("graph", part_of<ir::Graph>(self), nullptr);
      page = cli::graph_page(document.finish());
    }
    std::string frame = "<iframe style=\"width: 100%; height: 640px; border: 0\" srcdoc=\"";
    for (const char c : page) {
      if (c == '&') {
        frame += "&amp;";
      } else if (c == '"') {
        frame += "&quot;";
      } else {
        frame += c;
      }
    }
    return text(frame + "\"></iframe>").give();
  });
}
template <class T>
std::vector<PyMethodDef> block_methods() {
  return {{"inputs", block_inputs<T>, METH_NOARGS, "Its inputs."},
          {"outputs", block_outputs<T>, METH_NOARGS, "Its outputs."},
          {"nodes", block_nodes<T>, METH_NOARGS, "Its nodes, in order."},
          {"param_node", block_param<T>, METH_NOARGS, "The node whose outputs are the inputs."},
          {"return_node", block_return<T>, METH_NOARGS, "The node whose inputs are the outputs."},
          {"findNode", find_node<T>, METH_VARARGS, "findNode(kind, recurse=True): the first, or None."},
          {"findAllNodes", find_all_nodes<T>, METH_VARARGS, "findAllNodes(kind, recurse=True)"}};
}

// ---- types ----

struct TypeObject {
  PyObject_HEAD TypeRef type;
};
PyTypeObject type_type;
TypePtr held_type(PyObject* self) { return reinterpret_cast<TypeObject*>(self)->type; }
Owned type_object(TypePtr type) {
  auto* made = PyObject_New(TypeObject, &type_type);
  Owned object = Owned::take(reinterpret_cast<PyObject*>(made));
  new (&made->type) TypeRef(type);
  return object;
}
void type_dealloc(PyObject* self) {
  reinterpret_cast<TypeObject*>(self)->type.~TypeRef();
  PyObject_Free(self);
}
PyObject* type_repr(PyObject* self) {
  return guarded([&] { return text(held_type(self)->to_string()).give(); });
}
PyObject* type_annotation(PyObject* self, void*) {
  return guarded([&] { return text(held_type(self)->annotation()).give(); });
}
PyObject* type_compare(PyObject* a, PyObject* b, int how) {
  if (!Py_IS_TYPE(a, &type_type) || !Py_IS_TYPE(b, &type_type) || (how != Py_EQ && how != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((held_type(a) == held_type(b)) == (how == Py_EQ));
}
Py_hash_t type_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(held_type(self)) >> 4);
}
PyObject* type_contained(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const TypePtr t : held_type(self)->contained()) check(PyList_Append(list.get(), type_object(t).get()));
    return list.give();
  });
}
PyGetSetDef type_properties[] = {{"annotation_str", type_annotation, nullptr, "As annotations write it.", nullptr}, {}};
PyMethodDef type_methods[] = {{"containedTypes", type_contained, METH_NOARGS, "Types inside of it."}, {}};

template <class T>
void make_view_type(PyObject* module, const char* name, const char* doc, reprfunc repr, PyMethodDef* methods) {
  PyTypeObject& type = view_type<T>;
  type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_doc = doc;
  type.tp_basicsize = sizeof(View<T>);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = view_dealloc<T>;
  type.tp_repr = repr;
  type.tp_richcompare = view_compare<T>;
  type.tp_hash = view_hash<T>;
  type.tp_methods = methods;
  check(PyModule_AddType(module, &type));
}

}  // namespace

Owned wrap_graph(const std::shared_ptr<ir::Graph>& graph, std::shared_ptr<const void> program) {
  using Kept = std::pair<std::shared_ptr<const void>, std::shared_ptr<ir::Graph>>;  // the graph goes first
  const auto kept = std::make_shared<Kept>(std::move(program), graph);
  return view(std::shared_ptr<ir::Graph>(kept, graph.get()), graph.get());
}

void add_graphs(PyObject* module) {
  static std::vector<PyMethodDef>& graph_methods = *new std::vector<PyMethodDef>(block_methods<ir::Graph>());
  graph_methods.push_back({"copy", graph_copy, METH_NOARGS, "A copy of the whole graph."});
  graph_methods.push_back({"_repr_html_", graph_html, METH_NOARGS, "The page of `sconce ir --html`, in a frame."});
  graph_methods.push_back({"str", graph_text, METH_VARARGS, "str(print_source_ranges=True)"});
  graph_methods.push_back({});
  static std::vector<PyMethodDef>& of_blocks = *new std::vector<PyMethodDef>(block_methods<ir::Block>());
  of_blocks.push_back({"owningNode", block_owner, METH_NOARGS, "The node of control flow."});
  of_blocks.push_back({});
  make_view_type<ir::Graph>(module, "sconce.Graph", "The graph of a function of a program.", graph_repr,
                            graph_methods.data());
  make_view_type<ir::Block>(module, "sconce.Block", "A block of a graph.", block_repr, of_blocks.data());
  make_view_type<ir::Node>(module, "sconce.Node", "A node of a graph.", node_repr, node_methods);
  make_view_type<ir::Value>(module, "sconce.Value", "A value of a graph.", value_repr, value_methods);
  type_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type_type.tp_name = "sconce.Type";
  type_type.tp_doc = "A type of the language.";
  type_type.tp_basicsize = sizeof(TypeObject);
  type_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type_type.tp_dealloc = type_dealloc;
  type_type.tp_repr = type_repr;
  type_type.tp_richcompare = type_compare;
  type_type.tp_hash = type_hash;
  type_type.tp_getset = type_properties;
  type_type.tp_methods = type_methods;
  check(PyModule_AddType(module, &type_type));
}

}  // namespace sconce::python
