#include "sconce/serialization/exported/exported_call.h"

#include <algorithm>
#include <set>

#include "sconce/serialization/exported/exported_shapes.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {
namespace {

// The type that items of these types have in a list or as values of a dict.
TypePtr common_type(const std::vector<TypePtr>& types) {
  TypePtr common = nullptr;
  bool has_none = false;
  for (TypePtr type : types) {
    if (type->is(TypeKind::none)) {
      has_none = true;
    } else if (!common) {
      common = type;
    } else if (common != type) {
      return any_type();
    }
  }
  if (!common) return has_none ? none_type() : tensor_type();
  return has_none ? optional_type(common) : common;
}

TypePtr key_type(const Tree& dict) {
  return dict.keys.empty() || dict.keys[0].is_string() ? string_type() : int_type();
}

// Named tuples of the unit, by the name that the file has for them.
TypePtr named_tuple(const Tree& tree, const std::vector<TypePtr>& types, ir::CompilationUnit& unit) {
  std::string name = "__torch__.";
  for (char c : tree.name) name += std::isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : '_';
  const TypePtr type = named_tuple_type(name, types, tree.fields);
  if (!unit.find_type(name)) unit.add_type(type);
  return type;
}

TypePtr container_type(const Tree& tree, const std::vector<TypePtr>& types, ir::CompilationUnit& unit) {
  switch (tree.kind) {
    case Tree::Kind::tuple:
      return tuple_type(types);
    case Tree::Kind::named_tuple:
      return named_tuple(tree, types, unit);
    case Tree::Kind::list:
      return list_type(common_type(types));
    case Tree::Kind::dict:
      return dict_type(key_type(tree), common_type(types));
    case Tree::Kind::leaf:
      break;
  }
  return tensor_type();
}

// A list of the keys of a dict.
Value key_list(const Tree& dict) {
  auto keys = make_ref<List>(key_type(dict));
  for (const Value& key : dict.keys) keys->append(key);
  return keys;
}

class Inputs {
 public:
  Inputs(ir::Graph& graph, const Program& program, NodeBuilder& builder, NodeBuilder::Names& names,
         ir::CompilationUnit& unit)
      : graph_(graph), program_(program), builder_(builder), names_(names), unit_(unit), checks_(graph, program) {
    for (const InputSpec& spec : program.inputs) {
      const bool given = spec.kind == InputSpec::Kind::user || spec.kind == InputSpec::Kind::constant;
      if (given) leaves_.push_back(&spec);
    }
    SCONCE_CHECK(program.arguments.leaves() == leaves_.size(), "in_spec has {} leaves, the signature has {} inputs",
                 program.arguments.leaves(), leaves_.size());
  }

  std::vector<sconce::Argument> insert() {
    const Tree &positional = program_.arguments.children[0], &keyword = program_.arguments.children[1];
    for (size_t i = 0; i < positional.children.size(); ++i) {
      const bool named = i < program_.argument_names.size();
      add(named ? program_.argument_names[i] : "arg_" + std::to_string(i), positional.children[i]);
    }
    for (size_t i = 0; i < keyword.children.size(); ++i) add(keyword.keys[i].to_string_ref(), keyword.children[i]);
    for (const auto& [name, v, tree] : given_) take_apart(name, v, *tree);
    checks_.insert();
    return std::move(arguments_);
  }

 private:
  void add(const std::string& name, const Tree& tree) {
    SCONCE_CHECK(name != "self" && taken_.insert(name).second, "two arguments of forward() are called '{}'", name);
    sconce::Argument argument;
    argument.name = name;
    argument.type = type_of(tree);
    given_.push_back({name, graph_.add_input(argument.type, name), &tree});
    arguments_.push_back(std::move(argument));
  }

  TypePtr leaf_type(const InputSpec& spec) const {
    switch (spec.argument.kind) {
      case Argument::Kind::sym_int:
        return int_type();
      case Argument::Kind::sym_float:
        return float_type();
      case Argument::Kind::sym_bool:
        return bool_type();
      case Argument::Kind::tensor:
        return tensor_type();
      case Argument::Kind::none:
        return none_type();
      case Argument::Kind::constant:
        return spec.argument.value.type();
      default:
        fail("the input '{}' is of a kind that is not supported", spec.name);
    }
  }
  TypePtr type_of(const Tree& tree) {
    if (tree.kind == Tree::Kind::leaf) return leaf_type(*leaves_.at(next_typed_++));
    std::vector<TypePtr> types;
    for (const Tree& child : tree.children) types.push_back(type_of(child));
    part_types_.emplace(&tree, types);
    return container_type(tree, types, unit_);
  }

  ir::Value* text(const std::string& s) { return graph_.insert_constant(Value(s)); }

  void take_apart(const std::string& name, ir::Value* v, const Tree& tree) {
    if (tree.kind == Tree::Kind::leaf) return add_leaf(name, v, *leaves_.at(next_leaf_++));
    const size_t count = tree.children.size();
    const std::vector<TypePtr>& types = part_types_.at(&tree);
    std::vector<ir::Value*> parts;
    if (tree.kind == Tree::Kind::dict) {
      insert_call(graph_, "sconce::check_keys", {v, text(name), graph_.insert_constant(key_list(tree))});
      for (const Value& key : tree.keys) {
        parts.push_back(insert_call(graph_, "aten::__getitem__", {v, graph_.insert_constant(key)}));
      }
    } else {
      const bool is_list = tree.kind == Tree::Kind::list;
      if (is_list) {
        insert_call(graph_, "sconce::check_length",
                    {v, text(name), graph_.insert_constant(Value(static_cast<int64_t>(count)))});
      }
      ir::Node* unpack = graph_.create(is_list ? ir::kind::ListUnpack : ir::kind::TupleUnpack, {v}, count);
      for (size_t i = 0; i < count; ++i) unpack->output(i)->set_type(is_list ? v->type()->element() : types[i]);
      graph_.insert(unpack);
      parts = unpack->outputs();
    }
    for (size_t i = 0; i < count; ++i) {
      const std::string part = part_name(name, tree, i);
      take_apart(part, refined(part, parts[i], types[i]), tree.children[i]);
    }
  }

  static std::string part_name(const std::string& name, const Tree& tree, size_t i) {
    if (tree.kind == Tree::Kind::dict) return name + "[" + tree.keys[i].repr() + "]";
    if (tree.kind == Tree::Kind::named_tuple) return name + "." + tree.fields[i];
    return name + "[" + std::to_string(i) + "]";
  }

  // Items of a list that differ are of type Any; each must be what it was.
  ir::Value* refined(const std::string& name, ir::Value* v, TypePtr type) {
    if (v->type() == type || type->is(TypeKind::none)) return v;
    insert_call(graph_, "sconce::check_type", {v, text(name), text(type->annotation())});
    ir::Node* cast = graph_.create(ir::kind::unchecked_cast, {v}, 1);
    cast->output()->set_type(type);
    return graph_.insert(cast)->output();
  }

  void add_leaf(const std::string& name, ir::Value* v, const InputSpec& spec) {
    const Argument& argument = spec.argument;
    if (argument.kind == Argument::Kind::tensor) {
      const auto meta = program_.graph.tensors.find(argument.text);
      SCONCE_CHECK(meta != program_.graph.tensors.end(), "tensor_values has no entry for the input '{}'",
                   argument.text);
      checks_.add_tensor(name, v, meta->second);
    } else if (argument.kind == Argument::Kind::sym_int) {
      const auto size = program_.graph.sym_ints.find(argument.text);
      SCONCE_CHECK(size != program_.graph.sym_ints.end(), "sym_int_values has no entry for the input '{}'",
                   argument.text);
      checks_.add_number(name, v, size->second);
    } else if (argument.is_name()) {
      checks_.add_name(name, v);
    } else {
      checks_.add_name(name, v);
      const bool is_none = argument.kind == Argument::Kind::none;
      ir::Value* expected =
          is_none ? graph_.insert_constant(Value(), {}, none_type()) : graph_.insert_constant(argument.value);
      insert_call(graph_, "sconce::check_constant", {v, text(name), expected});
    }
    if (!spec.name.empty()) builder_.define(names_, spec.name, v);
  }

  struct Given {
    std::string name;
    ir::Value* v;
    const Tree* tree;
  };
  ir::Graph& graph_;
  const Program& program_;
  NodeBuilder& builder_;
  NodeBuilder::Names& names_;
  ir::CompilationUnit& unit_;
  ShapeChecks checks_;
  std::vector<const InputSpec*> leaves_;
  size_t next_typed_ = 0, next_leaf_ = 0;
  std::map<const Tree*, std::vector<TypePtr>> part_types_;
  std::vector<Given> given_;
  std::vector<sconce::Argument> arguments_;
  std::set<std::string> taken_;
};

// Takes leaves from the front.
ir::Value* put_together(ir::Graph& graph, const Tree& tree, const std::vector<ir::Value*>& leaves, size_t& next,
                        ir::CompilationUnit& unit) {
  if (tree.kind == Tree::Kind::leaf) return leaves.at(next++);
  std::vector<ir::Value*> inputs;
  std::vector<TypePtr> types;
  for (size_t i = 0; i < tree.children.size(); ++i) {
    ir::Value* part = put_together(graph, tree.children[i], leaves, next, unit);
    if (tree.kind == Tree::Kind::dict) inputs.push_back(graph.insert_constant(tree.keys[i]));
    inputs.push_back(part);
    types.push_back(part->type());
  }
  const ir::Symbol kind = tree.kind == Tree::Kind::list   ? ir::kind::ListConstruct
                          : tree.kind == Tree::Kind::dict ? ir::kind::DictConstruct
                                                          : ir::kind::TupleConstruct;
  ir::Node* node = graph.create(kind, inputs, 1);
  node->output()->set_type(container_type(tree, types, unit));
  return graph.insert(node)->output();
}

}  // namespace

std::vector<sconce::Argument> insert_inputs(ir::Graph& graph, const Program& program, NodeBuilder& builder,
                                            NodeBuilder::Names& names, ir::CompilationUnit& unit) {
  return Inputs(graph, program, builder, names, unit).insert();
}

ir::Value* insert_result(ir::Graph& graph, const Program& program, NodeBuilder& builder,
                         const NodeBuilder::Names& names, ir::CompilationUnit& unit) {
  std::vector<ir::Value*> leaves;
  for (const OutputSpec& spec : program.outputs) {
    if (spec.kind == OutputSpec::Kind::user) leaves.push_back(builder.value_of(spec.argument, names));
  }
  SCONCE_CHECK(program.results.leaves() == leaves.size(), "out_spec has {} leaves, the signature has {} outputs",
               program.results.leaves(), leaves.size());
  size_t next = 0;
  return put_together(graph, program.results, leaves, next, unit);
}

}  // namespace sconce::exported
