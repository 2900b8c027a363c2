#include "programs/graph_builder.h"

#include <map>
#include <memory>

#include "programs/programs.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph.h"
#include "sconce/ir/resolve.h"
#include "sconce/ir/verifier.h"
#include "sconce/sconce.hpp"
#include "values.h"

namespace sconce::python {
namespace {

struct BuilderObject {
  PyObject_HEAD std::shared_ptr<ir::Graph> graph;  // also of the function, in the end: values point into it
  bool finished;
};
struct ValueObject {
  PyObject_HEAD PyObject* builder;  // whose graph has the value
  ir::Value* value;
};
extern PyTypeObject builder_type, value_type;

bool is_value(PyObject* object) { return Py_IS_TYPE(object, &value_type); }

// ---- one call ----

// Inserts the arguments of a call, then the call.
class Call {
 public:
  Call(PyObject* builder, ir::Graph& graph) : builder_(builder), graph_(graph) {}

  // The value of an object: one of the graph, a list with such in it, or a constant. `formal`: what it is for.
  ir::Value* argument(PyObject* object, const Argument& formal) {
    return argument(object, formal.type, formal.fixed_size);
  }
  // The same by what the object is.
  ir::Value* any(PyObject* object) {
    if (is_value(object)) return own(object);
    if (has_values(object)) return list(object, nullptr);
    return constant(value_of(object));
  }
  // The results of a call: nothing, a value or a tuple of values.
  Owned insert(std::string_view name, const Op* op, std::vector<ir::Value*> inputs) {
    std::optional<std::vector<TypePtr>> returns;
    if (op) returns = ir::match_types(op->schema(), types(inputs));
    if (!returns) {
      // Python takes a number for a tensor: add.Tensor(x, 2) is add.Scalar, sub.Tensor(2, x) makes a tensor of it.
      ir::ResolvedOp other = ir::resolve_types(ir::Symbol(name), types(inputs));
      if (other.op) {
        op = other.op;
        returns = std::move(other.returns);
      } else if (op) {
        numbers_to_tensors(op->schema(), inputs);
        returns = ir::match_types(op->schema(), types(inputs));
      }
    }
    SCONCE_CHECK_AS(type, returns, "{} is called with {}{}", name, type_texts(inputs),
                    op ? ", the operator is " + op->schema().to_string() : ", which no overload takes");
    ir::Node* node = graph_.create(ir::Symbol(name), inputs);
    node->set_op(op);
    for (TypePtr type : *returns) node->add_output(type);
    graph_.insert(node);
    if (node->outputs().empty()) return Owned::share(Py_None);
    if (node->outputs().size() == 1) return object(node->output());
    Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(node->outputs().size())));
    for (size_t i = 0; i < node->outputs().size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object(node->output(i)).give());
    return tuple;
  }
  Owned object(ir::Value* v) {
    auto* made = PyObject_New(ValueObject, &value_type);
    if (made == nullptr) throw PythonError();
    made->builder = Py_NewRef(builder_);
    made->value = v;
    return Owned::take(reinterpret_cast<PyObject*>(made));
  }
  ir::Value* constant(Value v) {
    const bool none = v.is_none();
    if (v.is_list()) {
      std::vector<ir::Value*> items;
      const TypePtr element = v.to_list().element_type();
      for (const Value& item : v.to_list().values()) items.push_back(constant(item));
      return list_of(items, element);
    }
    return graph_.insert_constant(std::move(v), {}, none ? none_type() : nullptr);
  }

 private:
  ir::Value* own(PyObject* object) {
    auto* v = reinterpret_cast<ValueObject*>(object);
    SCONCE_CHECK_AS(value, v->builder == builder_, "a value of another graph");
    return v->value;
  }
  static bool has_values(PyObject* object) {
    if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, i);
      if (is_value(item) || has_values(item)) return true;
    }
    return false;
  }
  static std::vector<TypePtr> types(const std::vector<ir::Value*>& values) {
    std::vector<TypePtr> all;
    for (const ir::Value* v : values) all.push_back(v->type());
    return all;
  }
  static std::string type_texts(const std::vector<ir::Value*>& values) {
    std::string out;
    for (const ir::Value* v : values) out += (out.empty() ? "" : ", ") + v->type()->to_string();
    return "(" + out + ")";
  }
  static bool takes_tensor(TypePtr formal) {
    return formal->is(TypeKind::tensor) || (formal->is(TypeKind::optional) && formal->element()->is(TypeKind::tensor));
  }

  ir::Value* call(std::string_view name, std::vector<ir::Value*> inputs) {
    return reinterpret_cast<ValueObject*>(insert(name, nullptr, std::move(inputs)).get())->value;
  }
  void numbers_to_tensors(const Schema& schema, std::vector<ir::Value*>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TypePtr type = inputs[i]->type();
      const bool is_number = is_subtype(type, number_type()) || type->is(TypeKind::bool_);
      if (is_number && takes_tensor(schema.arguments[i].type)) inputs[i] = call("sconce::number_tensor", {inputs[i]});
    }
  }

  ir::Value* argument(PyObject* object, TypePtr type, std::optional<int32_t> fixed_size) {
    const TypePtr plain = plain_type(type);
    const TypePtr wanted = plain->is(TypeKind::optional) ? plain->element() : plain;
    if (is_value(object)) {
      ir::Value* v = own(object);
      if (wanted->is(TypeKind::float_) && v->type()->is(TypeKind::int_)) return call("aten::Float", {v});
      if (wanted->is(TypeKind::tensor) && !plain->is(TypeKind::optional) && v->type()->is(TypeKind::optional))
        return call("aten::_unwrap_optional", {v});
      if (fixed_size && !v->type()->is(TypeKind::list))  // one number for int[2]
        return list_of(std::vector<ir::Value*>(static_cast<size_t>(*fixed_size), v), v->type());
      return v;
    }
    if (has_values(object)) return list(object, wanted->is(TypeKind::list) ? wanted->element() : nullptr);
    Value v;
    if (convert(object, type, fixed_size, v)) {
      if (v.is_list() && wanted->is(TypeKind::list)) {
        std::vector<ir::Value*> items;
        for (const Value& item : v.to_list().values()) items.push_back(constant(item));
        return list_of(items, wanted->element());
      }
      return constant(std::move(v));
    }
    return constant(value_of(object));  // a number for a tensor
  }
  ir::Value* list(PyObject* sequence, TypePtr element) {
    std::vector<ir::Value*> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
      items.push_back(element ? argument(item, element, std::nullopt) : any(item));
    }
    return list_of(items, element);
  }
  ir::Value* list_of(const std::vector<ir::Value*>& items, TypePtr element) {
    if (!element || element->is(TypeKind::number)) element = items.empty() ? sconce::tensor_type() : items[0]->type();
    for (const ir::Value* v : items) {
      SCONCE_CHECK_AS(type, is_subtype(v->type(), element), "a list of {} has an item of type {}",
                      element->annotation(), v->type()->annotation());
    }
    ir::Node* node = graph_.create(ir::kind::ListConstruct, items, 1);
    node->output()->set_type(list_type(element));
    return graph_.insert(node)->output();
  }

  PyObject* builder_;
  ir::Graph& graph_;
};

ir::Graph& graph_of(PyObject* builder) {
  const auto* object = reinterpret_cast<BuilderObject*>(builder);
  SCONCE_CHECK(!object->finished, "the graph is finished");
  return *object->graph;
}

// ---- methods ----

PyObject* add_input(PyObject* self, PyObject* args) {
  return guarded([&] {
    const char *name = nullptr, *type = nullptr;
    if (!PyArg_ParseTuple(args, "ss:input", &name, &type)) throw PythonError();
    ir::Graph& graph = graph_of(self);
    return Call(self, graph).object(graph.add_input(parse_type(type), name)).give();
  });
}
PyObject* add_constant(PyObject* self, PyObject* value) {
  return guarded([&] {
    Call call(self, graph_of(self));
    return call.object(call.any(value)).give();
  });
}
// call(name, overload, args, kwargs): of an overload, or, with None for it, of the one that takes these types.
PyObject* add_call(PyObject* self, PyObject* args) {
  return guarded([&] {
    const char *name = nullptr, *overload = nullptr;
    PyObject *positional = nullptr, *named = nullptr;
    if (!PyArg_ParseTuple(args, "szO!O!:call", &name, &overload, &PyTuple_Type, &positional, &PyDict_Type, &named))
      throw PythonError();
    Call call(self, graph_of(self));
    std::vector<ir::Value*> inputs;
    if (overload == nullptr) {
      SCONCE_CHECK_AS(type, PyDict_GET_SIZE(named) == 0, "{}: keywords need an overload", name);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional); ++i)
        inputs.push_back(call.any(PyTuple_GET_ITEM(positional, i)));
      return call.insert(name, nullptr, std::move(inputs)).give();
    }
    const Op* op = find_op(name, overload);
    SCONCE_CHECK_AS(value, op, "there is no operator {}{}{}", name, *overload ? "." : "", overload);
    const Schema& schema = op->schema();
    const auto given = static_cast<size_t>(PyTuple_GET_SIZE(positional));
    SCONCE_CHECK_AS(type, given <= schema.arguments.size(), "{} is called with {} arguments, the operator is {}", name,
                    given, schema.to_string());
    Py_ssize_t used = 0;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument& formal = schema.arguments[i];
      PyObject* object = i < given ? PyTuple_GET_ITEM(positional, static_cast<Py_ssize_t>(i))
                                   : PyDict_GetItemString(named, formal.name.c_str());
      if (object) {
        used += i >= given;
        inputs.push_back(call.argument(object, formal));
      } else {
        SCONCE_CHECK_AS(type, formal.default_value, "{} has no argument '{}', the operator is {}", name, formal.name,
                        schema.to_string());
        inputs.push_back(call.constant(*formal.default_value));
      }
    }
    SCONCE_CHECK_AS(type, used == PyDict_GET_SIZE(named), "{} has keywords that the operator does not: {}", name,
                    schema.to_string());
    return call.insert(name, op, std::move(inputs)).give();
  });
}
// finish(name, result): a function of the graph that returns a value, or a tuple of values and constants.
PyObject* finish(PyObject* self, PyObject* args) {
  return guarded([&] {
    const char* name = nullptr;
    PyObject* result = nullptr;
    if (!PyArg_ParseTuple(args, "sO:finish", &name, &result)) throw PythonError();
    ir::Graph& graph = graph_of(self);
    Call call(self, graph);
    ir::Value* returned = nullptr;
    if (PyTuple_CheckExact(result)) {
      std::vector<ir::Value*> items;
      std::vector<TypePtr> types;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
        items.push_back(call.any(PyTuple_GET_ITEM(result, i)));
        types.push_back(items.back()->type());
      }
      ir::Node* node = graph.create(ir::kind::TupleConstruct, items, 1);
      node->output()->set_type(tuple_type(types));
      returned = graph.insert(node)->output();
    } else {
      returned = call.any(result);
    }
    graph.add_output(returned);
    ir::verify(graph);
    auto unit = std::make_shared<ir::CompilationUnit>();
    ir::Function& function = unit->add_function(name);
    Schema schema;
    schema.name = name;
    for (const ir::Value* input : graph.inputs()) {
      Argument argument;
      argument.name = std::string(input->base_name());
      argument.type = input->type();
      schema.arguments.push_back(std::move(argument));
    }
    Argument made;
    made.type = returned->type();
    schema.returns.push_back(std::move(made));
    function.set_schema(std::move(schema));
    function.set_graph(reinterpret_cast<BuilderObject*>(self)->graph);
    reinterpret_cast<BuilderObject*>(self)->finished = true;
    function.ensure_defined();
    return wrap_function(jit::Function(std::move(unit), &function)).give();
  });
}

// ---- operators that Python runs ----

std::map<const Op*, PyObject*>& python_kernels() {
  static auto& kernels = *new std::map<const Op*, PyObject*>;  // under the lock of Python
  return kernels;
}
void run_python(const Op& op, KeySet, Value* args, Value* returns) {
  call_python([&] {
    const Schema& schema = op.schema();
    Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(schema.arguments.size())));
    for (size_t i = 0; i < schema.arguments.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(args[i], schema.arguments[i].type).give());
    const Owned result = Owned::take(PyObject_CallObject(python_kernels().at(&op), tuple.get()));
    const size_t n = schema.returns.size();
    for (size_t i = 0; i < n; ++i) {
      const Owned item = n == 1 ? Owned::share(result.get())
                                : Owned::take(PySequence_GetItem(result.get(), static_cast<Py_ssize_t>(i)));
      SCONCE_CHECK_AS(type, convert(item.get(), schema.returns[i].type, std::nullopt, returns[i]),
                      "{} returned a {}, the operator is {}", op.qualified_name(), class_name(item.get()),
                      schema.to_string());
    }
    return 0;
  });
}
// define_python_op(schema, function): an operator that calls the function with all arguments, by position.
PyObject* define_python_op(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* schema = nullptr;
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(args, "sO:define_python_op", &schema, &function)) throw PythonError();
    Op& op = define_op(schema);
    python_kernels()[&op] = Py_NewRef(function);
    op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(&run_python));
    Py_RETURN_NONE;
  });
}
// find_operator(name, overload): the schema and the names of its traits; None when there is none.
PyObject* find_operator(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *overload = nullptr;
    if (!PyArg_ParseTuple(args, "ss:find_operator", &name, &overload)) throw PythonError();
    const Op* op = find_op(name, overload);
    if (!op) Py_RETURN_NONE;
    return Py_BuildValue("sOO", op->schema().to_string().c_str(), op->has(Trait::core) ? Py_True : Py_False,
                         op->has(Trait::random) ? Py_True : Py_False);
  });
}

// graph_nodes(function): its nodes in order as (kind, overload or None, names of outputs, names of inputs, extra), inputs
// of the function first (kind "input", extra the name), constants with their value; and the name of the result.
PyObject* graph_nodes(PyObject*, PyObject* object) {
  return guarded([&] { return graph_rows(*function_of(object).function().graph()).give(); });
}

// ---- types ----

PyObject* make_builder(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    Owned made = Owned::take(type->tp_alloc(type, 0));
    new (&reinterpret_cast<BuilderObject*>(made.get())->graph) std::shared_ptr(std::make_shared<ir::Graph>());
    return made.give();
  });
}
void free_builder(PyObject* self) {
  reinterpret_cast<BuilderObject*>(self)->graph.~shared_ptr();
  Py_TYPE(self)->tp_free(self);
}
void free_value(PyObject* self) {
  Py_DECREF(reinterpret_cast<ValueObject*>(self)->builder);
  PyObject_Free(self);
}
PyObject* value_kind(PyObject* self, void*) {
  return guarded([&] { return text(reinterpret_cast<ValueObject*>(self)->value->type()->annotation()).give(); });
}
PyObject* value_repr(PyObject* self) {
  return guarded([&] { return text("%" + reinterpret_cast<ValueObject*>(self)->value->name()).give(); });
}

PyMethodDef builder_methods[] = {
    {"input", add_input, METH_VARARGS, "input(name, type): one more input of the function."},
    {"constant", add_constant, METH_O, "constant(value): a value of the graph."},
    {"call", add_call, METH_VARARGS, "call(name, overload, args, kwargs): the results of an operator."},
    {"finish", finish, METH_VARARGS, "finish(name, result): the function."},
    {}};
PyGetSetDef value_properties[] = {{"type", value_kind, nullptr, "Its type, as an annotation.", nullptr}, {}};
PyMethodDef functions[] = {{"_define_python_op", define_python_op, METH_VARARGS, nullptr},
                           {"_find_operator", find_operator, METH_VARARGS, nullptr},
                           {"_graph_nodes", graph_nodes, METH_O, nullptr},
                           {}};

PyTypeObject builder_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._GraphBuilder";
  type.tp_doc = "Makes a graph, call by call.";
  type.tp_basicsize = sizeof(BuilderObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = make_builder;
  type.tp_dealloc = free_builder;
  type.tp_methods = builder_methods;
  return type;
}();
PyTypeObject value_type = [] {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce._GraphValue";
  type.tp_doc = "A value of a graph that is being made.";
  type.tp_basicsize = sizeof(ValueObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = free_value;
  type.tp_getset = value_properties;
  type.tp_repr = value_repr;
  return type;
}();

}  // namespace

Owned graph_rows(ir::Graph& graph) {
  const auto names = [](const std::vector<ir::Value*>& values) {
    Owned list = Owned::take(PyList_New(0));
    for (const ir::Value* v : values) check(PyList_Append(list.get(), text(v->name()).get()));
    return list;
  };
  Owned nodes = Owned::take(PyList_New(0));
  const auto add = [&](std::string_view kind, Owned overload, Owned made, Owned used, Owned extra) {
    const Owned row =
        Owned::take(PyTuple_Pack(5, text(kind).get(), overload.get(), made.get(), used.get(), extra.get()));
    check(PyList_Append(nodes.get(), row.get()));
  };
  for (ir::Value* v : graph.inputs())
    add("input", Owned::share(Py_None), names({v}), names({}), text(v->has_name() ? v->base_name() : v->name()));
  for (const ir::Node* node : graph.nodes()) {
    SCONCE_CHECK_AS(not_implemented, node->blocks().empty(), "control flow ({}) is no graph of operators",
                    node->kind().text());
    const bool is_constant = node->is(ir::kind::Constant) && node->attribute("value");
    add(node->kind().text(), node->op() ? text(node->op()->info.overload) : Owned::share(Py_None),
        names(node->outputs()), names(node->inputs()),
        is_constant ? object_of(node->value_attribute("value")) : Owned::share(Py_None));
  }
  SCONCE_CHECK_AS(not_implemented, graph.outputs().size() == 1, "a graph with {} results", graph.outputs().size());
  const Owned result = text(graph.outputs()[0]->name());
  return Owned::take(PyTuple_Pack(2, nodes.get(), result.get()));
}

void add_graph_builder(PyObject* module) {
  check(PyModule_AddType(module, &builder_type));
  check(PyModule_AddType(module, &value_type));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace sconce::python
