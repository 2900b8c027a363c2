// Expression printer: one node each, with the texts of its inputs.
#include <algorithm>

#include "sconce/frontend/script/names/names.h"
#include "sconce/serialization/code/function_printer.h"
#include "sconce/serialization/code/inlined_nodes.h"
#include "sconce/serialization/code/print_literals.h"
#include "sconce/serialization/code/source_map.h"

namespace sconce {
namespace {

// x, self.a.b
bool is_dotted_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; }) &&
         !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]));
}

// Is the constant exactly this value? 1 is not 1.0.
bool is_constant(const ir::Value* v, const Value& value) {
  const std::optional<Value> c = ir::constant_value(v);
  if (!c || c->tag() != value.tag()) return false;
  if (c->is_tensor() || c->is_object()) return c->is_same(value);
  return c->equals(value);
}

// Null for what is no operator. The most frequent of those are told by their kind: a look into the registry costs more
// than the rest of the node.
const Op* operator_of(const ir::Node& n) {
  if (n.op()) return n.op();
  switch (n.kind().id()) {
    case ir::kind::Constant_id:
    case ir::kind::GetAttr_id:
    case ir::kind::SetAttr_id:
    case ir::kind::CallMethod_id:
    case ir::kind::CallFunction_id:
    case ir::kind::If_id:
    case ir::kind::Loop_id:
    case ir::kind::ListConstruct_id:
    case ir::kind::DictConstruct_id:
    case ir::kind::TupleConstruct_id:
      return nullptr;
    default:
      return ir::resolve_op(n);
  }
}

// Do these values together tell that the elements are of this type?
bool is_told_by(const std::vector<ir::Value*>& values, TypePtr element, size_t first, size_t step) {
  if (values.empty() || element->is(TypeKind::optional) || element->is(TypeKind::union_)) return false;
  for (size_t i = first; i < values.size(); i += step) {
    if (values[i]->type() != element) return false;
  }
  return true;
}

}  // namespace

// Those at the end that have their defaults need not be written.
ListRef<ir::Value*> FunctionPrinter::written_inputs(const ir::Node& n) {
  const ListRef<ir::Value*> inputs = n.inputs();
  size_t count = inputs.size();
  const Op* op = operator_of(n);
  if (!op || op->schema().is_vararg) return inputs;
  const std::vector<Argument>& arguments = op->schema().arguments;
  while (count > 0 && count <= arguments.size()) {
    const std::optional<Value>& otherwise = arguments[count - 1].default_value;
    if (!otherwise || !is_constant(inputs[count - 1], *otherwise)) break;
    --count;
  }
  return inputs.slice(0, count);
}

const TaggedText& FunctionPrinter::use(const ir::Value* v) const {
  const auto found = texts_.find(v);
  SCONCE_ASSERT(found != texts_.end());
  return found->second;
}

TaggedText FunctionPrinter::base(const ir::Value* v, const Place& from, bool always_in_parentheses) {
  const bool bare = !always_in_parentheses && is_dotted_name(use(v).text());
  TaggedText text;
  text.set_range(from);
  if (!bare) text.add("(");
  TaggedText inside = use(v);
  inside.retag_first(from);
  text.add(inside);
  if (!bare) text.add(")");
  return text;
}

TaggedText FunctionPrinter::display(ListRef<ir::Value*> values, const Place& from, std::string_view head,
                                    std::string_view tail) {
  TaggedText text;
  text.set_range(source_place(from));
  text.add(head);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text.add(", ");
    text.add(use(values[i]));
  }
  text.add(tail);
  return text;
}

TaggedText FunctionPrinter::list(const ir::Node& n, const Place& from) {
  const TypePtr type = n.output()->type();
  const bool told = is_told_by(n.inputs(), type->element(), 0, 1);
  return display(n.inputs(), from, told ? "[" : "annotate(" + tables_.type(type) + ", [", told ? "]" : "])");
}

TaggedText FunctionPrinter::dict(const ir::Node& n, const Place& from) {
  const TypePtr type = n.output()->type();
  const bool told =
      is_told_by(n.inputs(), type->contained()[0], 0, 2) && is_told_by(n.inputs(), type->contained()[1], 1, 2);
  TaggedText text;
  text.set_range(source_place(from));
  text.add(told ? "{" : "annotate(" + tables_.type(type) + ", {");
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    if (i != 0) text.add(i % 2 ? ": " : ", ");
    text.add(use(n.input(i)));
  }
  text.add(told ? "}" : "})");
  return text;
}

TaggedText FunctionPrinter::tuple(const ir::Node& n, const Place& from) {
  const TypePtr type = n.output()->type();
  if (!type->name().empty()) return display(n.inputs(), from, tables_.type(type) + "(", ")");
  if (n.inputs().empty()) return display({}, from, "()", "");
  // For a reader it begins with its first item.
  TaggedText first = use(n.input());
  first.retag_first(source_place(from));
  TaggedText text;
  text.set_range(source_place(from));
  text.add("(");
  text.add(first);
  text.add(n.inputs().size() == 1 ? "," : ", ");
  text.add(display(ListRef<ir::Value*>(n.inputs()).slice(1, n.inputs().size() - 1), from, "", ")"));
  return text;
}

// f(a, b, )
TaggedText FunctionPrinter::call(const ir::Node& n, const Place& from, TaggedText callee, size_t first) {
  callee.set_range(from);
  callee.add("(");
  for (size_t i = first; i < n.inputs().size(); ++i) {
    callee.add(use(n.input(i)));
    callee.add(", ");
  }
  callee.add(")");
  return callee;
}

// torch.add(x, y, alpha=2), ops.prim.dtype(x), int(x)
TaggedText FunctionPrinter::call_operator(const ir::Node& n, const Place& from) {
  const Op* op = operator_of(n);
  SCONCE_CHECK(op, "an archive cannot say {}", n.kind().text());
  const CodeTables::OperatorText& written = tables_.operator_text(*op);
  const Schema& schema = op->schema();
  if (tables_.for_file && written.head.starts_with('^')) {
    const Range original = original_place(n.range());
    refuse(
        original ? original : n.range(),
        "Could not export Python function call '{}'. Remove calls to Python functions before export. Did you forget to "
        "add @script or @script_method annotation? If this is a nn.ModuleList, add it to __constants__",
        std::string_view(written.head).substr(1));
  }
  const bool is_cast = !written.cast.empty() && n.inputs().size() == 1 && n.input()->type() != n.output()->type();
  TaggedText text;
  text.set_range(from);
  text.add(is_cast ? written.cast : written.head);
  text.add("(");
  const ListRef<ir::Value*> inputs = written_inputs(n);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 0) text.add(", ");
    if (i < schema.arguments.size() && schema.arguments[i].keyword_only) {
      text.add(schema.arguments[i].name);
      text.add("=");
    }
    text.add(use(inputs[i]));
  }
  text.add(")");
  return text;
}

TaggedText FunctionPrinter::expression(const ir::Node& n) {
  static const ir::Symbol item("aten::__getitem__"), enum_name("prim::EnumName"), enum_value("prim::EnumValue");
  const Place from = source_place(n.range());
  TaggedText text;
  text.set_range(from);
  // x with something behind it
  const auto behind = [&](std::string_view what, bool parentheses) {
    text = base(n.input(), from, parentheses);
    text.set_range(from);
    text.add(what);
    return std::move(text);
  };
  const auto indexed = [&](bool parentheses) {
    text = base(n.input(), from, parentheses);
    text.set_range(from);
    text.add("[");
    text.add(use(n.input(1)));
    text.add("]");
    return std::move(text);
  };
  // f(T, x)
  const auto of_type = [&](std::string_view form, TypePtr type) {
    text.add(std::string(form) + "(" + tables_.type(type));
    if (!n.inputs().empty()) {
      text.add(", ");
      text.add(use(n.input()));
    }
    text.add(")");
    return std::move(text);
  };
  if (n.is(item)) return indexed(false);
  if (n.is(enum_name)) return behind(".name", true);
  if (n.is(enum_value)) return behind(".value", true);
  switch (n.kind().id()) {
    case ir::kind::ListConstruct_id:
      return list(n, n.range());
    case ir::kind::DictConstruct_id:
      return dict(n, n.range());
    case ir::kind::TupleConstruct_id:
      return tuple(n, n.range());
    case ir::kind::TupleUnpack_id:
    case ir::kind::ListUnpack_id:
      return use(n.input());
    case ir::kind::TupleIndex_id:
      return indexed(true);
    case ir::kind::ModuleContainerIndex_id:
      return indexed(false);
    case ir::kind::TupleSlice_id:
      return behind("[" + std::to_string(n.value_attribute("beg").to_int()) + ":" +
                        std::to_string(n.value_attribute("end").to_int()) + "]",
                    true);
    case ir::kind::GetAttr_id: {
      const std::string& name = n.string_attribute("name");
      if (is_identifier(name)) return behind("." + name, false);
      text.add("getattr(");
      text.add(use(n.input()));
      text.add(", " + print_string(name) + ")");
      return text;
    }
    case ir::kind::SetAttr_id: {
      const std::string& name = n.string_attribute("name");
      SCONCE_CHECK(is_identifier(name), "an archive cannot say that attribute '{}' is set", name);
      text.add(std::string(name_of(n.input())) + "." + name + " = ");
      text.add(use(n.input(1)));
      return text;
    }
    case ir::kind::CreateObject_id: {
      const std::string name = tables_.type(n.output()->type());
      text.add(name + ".__new__(" + name + ")");
      return text;
    }
    case ir::kind::CallMethod_id:
      text = base(n.input(), from, true);
      text.set_range(from);
      text.add("." + n.string_attribute("name"));
      return call(n, from, std::move(text), 1);
    case ir::kind::CallFunction_id:
      text.add(callees_.at(n.callee() ? n.callee() : n.input()->node()->callee()));
      return call(n, from, std::move(text), 1);
    case ir::kind::unchecked_cast_id:
      return of_type("unchecked_cast", n.output()->type());
    case ir::kind::Uninitialized_id:
      return of_type("uninitialized", n.output()->type());
    case ir::kind::tolist_id: {
      text.add("annotate(" + tables_.type(n.output()->type()) + ", ");
      TaggedText object = base(n.input(), from, false);
      object.set_range(from);
      object.add(".tolist()");
      text.add(object);
      text.add(")");
      return text;
    }
    case ir::kind::isinstance_id: {
      const std::vector<TypePtr>& types = n.types_attribute("types");
      text.add("isinstance(");
      text.add(use(n.input()));
      std::string names;
      for (TypePtr t : types) names += (names.empty() ? "" : ", ") + tables_.type(t);
      text.add(types.size() == 1 ? ", " + names + ")" : ", (" + names + "))");
      return text;
    }
    case ir::kind::awaitable_wait_id:
    case ir::kind::awaitable_nowait_id:
      return display(n.inputs(), n.range(), "ops.prim." + std::string(n.kind().name()) + "(", ")");
    case ir::kind::Print_id:
      return display(n.inputs(), n.range(), "print(", ")");
    case ir::kind::PythonOp_id:
      fail("an archive cannot hold a call of a Python function");
    default:
      return call_operator(n, from);
  }
}

}  // namespace sconce
