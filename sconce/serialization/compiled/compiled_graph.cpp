#include "sconce/serialization/compiled/compiled_graph.h"

#include <unordered_map>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/verifier.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::compiled {
namespace {

using executor::kNone;
using executor::Output;
using executor::Tape;
using executor::TapeBlock;
using executor::TapeNode;
using executor::TensorUse;

class GraphMaker {
 public:
  GraphMaker(const CompiledFunction& function, TypePtr self)
      : function_(function), graph_(std::make_shared<ir::Graph>()) {
    graph_->add_input(self, "self");
    for (const Argument& a : function.arguments) args_.push_back(graph_->add_input(a.type, a.name));
  }

  std::shared_ptr<ir::Graph> make() {
    ir::Value* which = insert_choice();
    graph_->add_output(insert_program(0, which));
    ir::verify(*graph_);
    return graph_;
  }

 private:
  static Value text_list(const std::vector<std::string>& texts) {
    auto list = make_ref<List>(string_type());
    for (const std::string& text : texts) list->append(Value(text));
    return Value(std::move(list));
  }
  ir::Value* call(const char* name, ListRef<ir::Value*> inputs) {
    const Op* op = find_op(name);
    SCONCE_ASSERT(op);
    return graph_->insert(graph_->create(*op, inputs))->output();
  }
  ir::Value* make_container(ir::Symbol kind, ListRef<ir::Value*> items, TypePtr type) {
    ir::Node* node = graph_->create(kind, items, 1);
    node->output()->set_type(type);
    return graph_->insert(node)->output();
  }

  ir::Value* insert_choice() {
    std::vector<std::string> names, signatures;
    std::vector<TypePtr> types;
    for (const Argument& a : function_.arguments) {
      names.push_back(a.name);
      types.push_back(a.type);
    }
    for (const Program& p : function_.programs) signatures.push_back(signature_text(function_, p));
    ir::Value* args = make_container(ir::kind::TupleConstruct, args_, tuple_type(types));
    return call("sconce::compiled_for",
                {args, graph_->insert_constant(text_list(names)), graph_->insert_constant(text_list(signatures))});
  }

  // Program `k`, if it is the one, else those behind it.
  ir::Value* insert_program(size_t k, ir::Value* which) {
    if (k + 1 == function_.programs.size()) return insert_calls(function_.programs[k]);
    ir::Value* number = graph_->insert_constant(Value(static_cast<int64_t>(k)));
    ir::Node* branch = graph_->insert(graph_->create(ir::kind::If, {call("aten::eq.int", {which, number})}, 1));
    for (const bool is_this : {true, false}) {
      ir::Block* block = branch->add_block();
      const ir::InsertPoint inside(*graph_, block);
      block->add_output(is_this ? insert_calls(function_.programs[k]) : insert_program(k + 1, which));
    }
    branch->output()->set_type(function_.result);
    return branch->output();
  }

  ir::Value* insert_calls(const Program& program) {
    const Tape& tape = program.tape;
    values_.assign(tape.values.size(), nullptr);
    for (size_t i = 0; i < program.args.size(); ++i) take_apart(program, program.args[i], args_[i]);
    for (const TapeNode& node : tape.nodes) insert_node(tape, node);
    ir::Value* result = insert_tree(tape, tape.output);
    // A branch has one type, and so has the function.
    return result->type() == function_.result ? result : cast(result, function_.result);
  }

  ir::Value* cast(ir::Value* v, TypePtr type) {
    ir::Node* node = graph_->create(ir::kind::unchecked_cast, {v}, 1);
    node->output()->set_type(type);
    return graph_->insert(node)->output();
  }

  // The tensors of an argument, with the strides that they were recorded with. What they are is known by now.
  void take_apart(const Program& program, const Output& tree, ir::Value* v) {
    switch (tree.kind) {
      case Output::Kind::constant:
        return;
      case Output::Kind::tensor: {
        const executor::ValueId input = program.tape.inputs[tree.value];
        ir::Value* strides = graph_->insert_constant(Value(program.tape.twin(input).strides()));
        if (!v->type()->is(TypeKind::tensor)) v = cast(v, tensor_type());
        values_[input] = call("sconce::with_strides", {v, strides});
        return;
      }
      case Output::Kind::dict:
        if (v->type() != type_of(tree)) v = cast(v, type_of(tree));
        for (size_t i = 0; i < tree.items.size(); i += 2) {
          ir::Value* key = graph_->insert_constant(tree.items[i].constant);
          take_apart(program, tree.items[i + 1], exported::insert_call(*graph_, "aten::__getitem__", {v, key}));
        }
        return;
      case Output::Kind::list:
      case Output::Kind::tuple:
        break;
    }
    if (v->type() != type_of(tree)) v = cast(v, type_of(tree));
    const bool is_list = tree.kind == Output::Kind::list;
    ir::Node* unpack = graph_->create(is_list ? ir::kind::ListUnpack : ir::kind::TupleUnpack, {v}, tree.items.size());
    for (size_t i = 0; i < tree.items.size(); ++i)
      unpack->output(i)->set_type(is_list ? tree.type : v->type()->contained()[i]);
    graph_->insert(unpack);
    for (size_t i = 0; i < tree.items.size(); ++i) take_apart(program, tree.items[i], unpack->output(i));
  }

  ir::Value* value_of(const Tape& tape, executor::ValueId v) {
    if (!values_[v]) {
      const TapeBlock& block = tape.blocks[tape.block_of(v)];
      SCONCE_ASSERT(block.kind == TapeBlock::Kind::constant && block.first == v);
      values_[v] = graph_->insert_constant(Value(block.constant));
    }
    return values_[v];
  }

  void insert_node(const Tape& tape, const TapeNode& node) {
    const std::vector<Argument>& schema = node.op->schema().arguments;
    std::vector<ir::Value*> inputs(schema.size(), nullptr);
    std::unordered_map<uint32_t, std::vector<ir::Value*>> lists;
    for (const TensorUse& use : node.uses) {
      if (use.item < 0) {
        inputs[use.arg] = value_of(tape, use.value);
        continue;
      }
      std::vector<ir::Value*>& list = lists[use.arg];
      list.resize(node.args[use.arg].to_list().size(), nullptr);
      list[static_cast<size_t>(use.item)] = value_of(tape, use.value);
    }
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) continue;
      const Value& v = node.args[i];
      const TypePtr type = plain_type(schema[i].type);
      if (v.is_list() && v.to_list().is_tensors()) {
        const TypePtr list = type->is(TypeKind::optional) ? type->element() : type;
        std::vector<ir::Value*>& items = lists[i];
        items.resize(v.to_list().size(), nullptr);
        for (ir::Value*& item : items) {
          if (!item) item = graph_->insert_constant(Value(), {}, optional_type(tensor_type()));
        }
        inputs[i] = make_container(ir::kind::ListConstruct, items, list);
      } else {
        inputs[i] = v.is_none() ? graph_->insert_constant(Value(), {}, none_type()) : graph_->insert_constant(v);
      }
    }
    const ir::Node* made = graph_->insert(graph_->create(*node.op, inputs));
    size_t at = 0;
    const auto keep = [&](ir::Value* v) {
      const executor::ValueId r = node.results[at++];
      if (r != kNone && !values_[r]) values_[r] = v;
    };
    for (size_t i = 0; i < node.result_sizes.size(); ++i) {
      if (node.result_sizes[i] == kNone) {
        keep(made->output(i));
        continue;
      }
      ir::Node* unpack = graph_->create(ir::kind::ListUnpack, {made->output(i)}, node.result_sizes[i]);
      for (ir::Value* v : unpack->outputs()) v->set_type(tensor_type());
      graph_->insert(unpack);
      for (ir::Value* v : unpack->outputs()) keep(v);
    }
  }

  ir::Value* insert_tree(const Tape& tape, const Output& tree) {
    if (tree.kind == Output::Kind::tensor) return value_of(tape, tree.value);
    if (tree.kind == Output::Kind::constant) return graph_->insert_constant(tree.constant);
    std::vector<ir::Value*> items;
    for (const Output& item : tree.items) items.push_back(insert_tree(tape, item));
    return make_container(tree.kind == Output::Kind::list   ? ir::kind::ListConstruct
                          : tree.kind == Output::Kind::dict ? ir::kind::DictConstruct
                                                            : ir::kind::TupleConstruct,
                          items, type_of(tree));
  }

  const CompiledFunction& function_;
  std::shared_ptr<ir::Graph> graph_;
  std::vector<ir::Value*> args_;
  std::vector<ir::Value*> values_;  // of the program that is being inserted, by value
};

}  // namespace

std::shared_ptr<ir::Graph> make_graph(const CompiledFunction& function, TypePtr self) {
  return GraphMaker(function, self).make();
}

}  // namespace sconce::compiled
