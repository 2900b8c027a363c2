#include "sconce/serialization/archive/portable_checks.h"

#include <cmath>

#include "sconce/serialization/exported/number_calls.h"

namespace sconce {
namespace {

using exported::insert_call;

class CheckWriter {
 public:
  explicit CheckWriter(ir::Graph& graph) : graph_(graph) {}

  void rewrite(ir::Block& block) {
    for (ir::Node* node : block.nodes()) {
      for (ir::Block* inner : node->blocks()) rewrite(*inner);
      constexpr std::string_view kChecks = "sconce::check_";
      const std::string& kind = node->kind().text();
      if (!kind.starts_with(kChecks)) continue;
      const ir::InsertPoint here(graph_, node);
      range_ = node->range();
      write(std::string_view(kind).substr(kChecks.size()), *node);
      node->destroy();
    }
  }

 private:
  ir::Value* constant(Value v) { return graph_.insert_constant(std::move(v), range_); }
  ir::Value* call(const char* op, std::initializer_list<ir::Value*> inputs) {
    return insert_call(graph_, op, std::vector<ir::Value*>(inputs), range_);
  }
  static Value constant_of(const ir::Value* v) {
    const std::optional<Value> value = ir::constant_value(v);
    SCONCE_CHECK(value, "a check of an exported program has an argument '{}' that is no constant", v->name());
    return *value;
  }

  // if not ok: raise RuntimeError(text.format(values...))
  void require(ir::Value* ok, std::string_view text, std::initializer_list<ir::Value*> values) {
    ir::Node* branch = graph_.create(ir::kind::If, {ok});
    graph_.insert(branch->set_range(range_));
    branch->add_block();
    const ir::InsertPoint inside(graph_, branch->add_block());
    ir::Value* message = constant(text);
    if (values.size() > 0) {
      std::vector<ir::Value*> inputs{message};
      inputs.insert(inputs.end(), values);
      message = insert_call(graph_, "aten::format", inputs, range_);
    }
    ir::Node* raise = graph_.create(ir::kind::RaiseException, {message, constant("builtins.RuntimeError")});
    graph_.insert(raise->set_range(range_));
  }

  // The text of a message around a value, with the braces of names doubled for format().
  static std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) out += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
    return out;
  }
  static std::string input(std::string_view name) { return "input '" + escaped(name) + "': "; }
  static std::string exported_for(const std::string& what) { return ", the program was exported for " + what; }

  void write(std::string_view check, const ir::Node& node) {
    const std::string name = check == "guard" ? "" : constant_of(node.input(1)).to_string_ref();
    if (check == "tensor") return tensor(node, name);
    if (check == "range") return range(node, name);
    if (check == "size") {
      require(call("aten::eq", {node.input(0), node.input(2)}),
              escaped(name) + " is {}" + exported_for(escaped(constant_of(node.input(3)).to_string_ref()) + " = {}"),
              {node.input(0), node.input(2)});
    } else if (check == "guard") {
      require(node.input(0), "the program was exported for inputs with " + constant_of(node.input(1)).to_string_ref(),
              {});
    } else if (check == "constant") {
      same_constant(node, name);
    } else if (check == "length") {
      ir::Value* length = call("aten::len", {node.input(0)});
      require(call("aten::eq", {length, node.input(2)}), input(name) + "has {} items" + exported_for("{}"),
              {length, node.input(2)});
    } else if (check == "keys") {
      keys(node, name);
    } else if (check == "type") {
      const std::string type = constant_of(node.input(2)).to_string_ref();
      ir::Node* is = graph_.create(ir::kind::isinstance, {node.input(0)}, 1);
      is->set_attribute("types", std::vector<TypePtr>{parse_type(type)});
      is->output()->set_type(bool_type());
      require(graph_.insert(is->set_range(range_))->output(),
              "input '" + name + "': is of another type" + exported_for(type), {});
    } else {
      fail("the check '{}' cannot be written to an archive", node.kind().text());
    }
  }

  void tensor(const ir::Node& node, const std::string& name) {
    ir::Value* t = node.input(0);
    const DType dtype = dtype_from_number(constant_of(node.input(2)).to_int());
    require(call("aten::eq", {call("prim::dtype", {t}), constant(Value(dtype))}),
            "input '" + name + "': is of another dtype" + exported_for(std::string(dtype_name(dtype))), {});
    const Value list = constant_of(node.input(3));
    const IntList sizes = list.to_list().ints();
    ir::Value* rank = call("aten::dim", {t});
    ir::Value* wanted = constant(static_cast<int64_t>(sizes.size()));
    require(call("aten::eq", {rank, wanted}), input(name) + "has {} dimensions" + exported_for("{}"), {rank, wanted});
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) continue;
      ir::Value* size = call("aten::size", {t, constant(static_cast<int64_t>(i))});
      wanted = constant(sizes[i]);
      require(call("aten::eq", {size, wanted}),
              input(name) + "dimension " + std::to_string(i) + " is {}" + exported_for("{}"), {size, wanted});
    }
  }

  void range(const ir::Node& node, const std::string& name) {
    ir::Value* v = node.input(0);
    const Value min = constant_of(node.input(2)), max = constant_of(node.input(3));
    ir::Value* ok = nullptr;
    if (!min.is_none()) ok = call("aten::ge", {v, node.input(2)});
    if (!max.is_none()) {
      ir::Value* below = call("aten::le", {v, node.input(3)});
      ok = ok ? call("aten::__and__", {ok, below}) : below;
    }
    if (!ok) return;
    const std::string limits = min.is_none()   ? "at most " + max.repr()
                               : max.is_none() ? "at least " + min.repr()
                                               : min.repr() + " to " + max.repr();
    require(ok, escaped(name) + " is {}" + exported_for(limits), {v});
  }

  void same_constant(const ir::Node& node, const std::string& name) {
    ir::Value* v = node.input(0);
    const Value expected = constant_of(node.input(2));
    if (v->type()->is(TypeKind::none)) return;  // its type says all
    ir::Value* ok = nullptr;
    if (expected.is_none())
      ok = call("aten::__is__", {v, node.input(2)});
    else if (expected.is_double() && std::isnan(expected.to_double()))
      ok = call("aten::ne", {v, v});
    else
      ok = call("aten::eq", {v, node.input(2)});
    require(ok, "input '" + name + "': is another value" + exported_for(expected.repr()), {});
  }

  void keys(const ir::Node& node, const std::string& name) {
    ir::Value* dict = node.input(0);
    const Value keys = constant_of(node.input(2));
    for (const Value& key : keys.to_list().values()) {
      require(call("aten::__contains__", {dict, constant(key)}),
              "input '" + name + "': has no key " + key.repr() + exported_for(keys.repr()), {});
    }
    ir::Value* length = call("aten::len", {dict});
    require(call("aten::eq", {length, constant(static_cast<int64_t>(keys.to_list().size()))}),
            "input '" + name + "': has other keys" + exported_for(keys.repr()), {});
  }

  ir::Graph& graph_;
  Range range_;
};

}  // namespace

void make_checks_portable(ir::Graph& graph) { CheckWriter(graph).rewrite(*graph.block()); }

}  // namespace sconce
