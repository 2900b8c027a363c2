// Statements: assignments, if, for, while, with, functions that are forked.
#include <algorithm>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/serialization/code/function_printer.h"
#include "sconce/serialization/code/inlined_nodes.h"
#include "sconce/serialization/code/printable_graph.h"

namespace sconce {
namespace {

// From this length on, with two for each level, an expression is not part of another one.
constexpr size_t kLongExpression = 40;

bool is_true(const ir::Value* v) {
  const std::optional<Value> c = ir::constant_value(v);
  return c && c->is_bool() && c->to_bool();
}

}  // namespace

bool FunctionPrinter::is_long(std::string_view text) const { return text.size() + 2 * level_ >= kLongExpression; }

void FunctionPrinter::new_line(const Place& from) {
  waiting_.clear();  // a statement has all that is evaluated before it, see find_inlined_nodes
  out_.set_range(from ? source_place(from) : out_.last_range());
  out_.add(std::string(2 * level_, ' '));
}

std::string FunctionPrinter::add_name(const ir::Value* v) {
  std::string name = names_.unique(given_name(v));
  TaggedText text;
  text.add(name);
  texts_[v] = std::move(text);
  return name;
}

void FunctionPrinter::pass_if_empty(size_t body) {
  if (out_.text().size() != body) return;
  new_line({});
  out_.add("pass\n");
}

void FunctionPrinter::split_long(ListRef<ir::Value*> inputs) {
  const ir::Value* last = nullptr;
  for (const ir::Value* v : inputs) {
    if (inlined_.contains(v->node()) && is_long(use(v).text())) last = v;
  }
  if (!last) return;
  // Values that are evaluated before it go first, for all users.
  const auto end = std::find(waiting_.begin(), waiting_.end(), last) + 1;
  const std::vector<ir::Value*> first(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  for (ir::Value* const& v : first) {
    inlined_.erase(v->node());
    const TaggedText text = use(v);
    new_line(v->node()->range());
    assign(ListRef<ir::Value*>(&v, 1), text);
  }
}

// `targets` = text, or the text alone; the line has been begun.
void FunctionPrinter::assign(ListRef<ir::Value*> targets, const TaggedText& text) {
  std::string names;
  for (const ir::Value* v : targets) names += (names.empty() ? "" : ", ") + add_name(v);
  if (!names.empty()) out_.add(names + " = ");
  out_.add(text);
  end_line();
}

// Constants and the functions that are called are written where they are used; those that are long have a variable:
//   _0 = __torch__.m.f
// They come in the order of their uses, since passes put them in an order of their own.
void FunctionPrinter::write_constants(const ir::Block& block) {
  for (const ir::Node* n : block.nodes()) {
    if (n->is(ir::kind::CallFunction)) callee(*n);
    for (const ir::Value* v : written_inputs(*n)) constant(v);
    for (const ir::Block* b : n->blocks()) write_constants(*b);
  }
  for (const ir::Value* v : block.outputs()) constant(v);
}

void FunctionPrinter::callee(const ir::Node& n) {
  ir::Function* function = n.callee() ? n.callee() : n.input()->node()->callee();
  SCONCE_ASSERT(function);
  if (callees_.contains(function)) return;
  std::string name = tables_.function(*function);
  if (is_long(name)) {
    const std::string variable = names_.unique({});
    new_line({});
    out_.add(variable + " = " + name + "\n");
    name = variable;
  }
  callees_[function] = std::move(name);
}

void FunctionPrinter::constant(const ir::Value* v) {
  const ir::Node& n = *v->node();
  if (!n.is(ir::kind::Constant) || n.callee() || texts_.contains(v)) return;
  TaggedText text;
  text.add(tables_.value(ir::constant_value(v).value_or(Value())));
  if (is_long(text.text())) {
    new_line(n.range());
    assign(n.outputs(), text);
  } else {
    texts_[v] = std::move(text);
  }
}

void FunctionPrinter::graph(const ir::Graph& graph) {
  inlined_.merge(find_inlined_nodes(graph));
  write_constants(*graph.block());
  nodes(*graph.block());
  split_long(graph.outputs());
  new_line({});
  out_.add("return ");
  out_.add(use(graph.outputs().at(0)));
  end_line();
}

void FunctionPrinter::nodes(const ir::Block& block) {
  const size_t open = open_.size();
  for (const ir::Node* n : block.nodes()) statement(*n);
  SCONCE_CHECK(open_.size() == open, "an archive cannot say that a context is not left in the block that enters it");
}

void FunctionPrinter::statement(const ir::Node& n) {
  switch (n.kind().id()) {
    case ir::kind::Constant_id:
      return;
    case ir::kind::Exit_id:
      return exit(n);
    case ir::kind::Loop_id:
      return loop(n);
    case ir::kind::fork_id:
    case ir::kind::awaitable_id:
      return closure(n);
    default:
      break;
  }
  split_long(n.inputs());
  if (n.is(ir::kind::If)) return if_node(n);
  if (n.is(ir::kind::Enter)) return enter(n);
  if (inlined_.contains(&n)) {
    std::erase_if(waiting_, [&](const ir::Value* v) { return v->uses()[0].user == &n; });
    texts_[n.output()] = expression(n);
    waiting_.push_back(n.output());
    return;
  }
  const TaggedText text = expression(n);
  if (n.is(ir::kind::TupleUnpack) || n.is(ir::kind::ListUnpack)) {
    // For a reader it begins where its value begins.
    const Place first = text.ranges()[0].range;
    new_line(first ? first : Place(n.range()));
    for (const ir::Value* v : n.outputs()) out_.add(add_name(v) + ", ");
    if (!n.outputs().empty()) out_.add("= ");
    out_.add(text);
    return end_line();
  }
  new_line(n.range());
  if (n.is(ir::kind::ModuleContainerIndex)) {
    out_.add(add_name(n.output()) + " : " + tables_.type(n.output()->type()) + " = ");
    out_.add(text);
    return end_line();
  }
  assign(n.outputs(), text);
}

//   if c:
//     a, b = x, y
//   else:
//     a, b = z, w
void FunctionPrinter::if_node(const ir::Node& n) {
  new_line(n.range());
  out_.add("if ");
  out_.add(use(n.input()));
  out_.add(":\n");
  // Types that the branches do not tell together stand at the variables, and so each has a statement.
  bool apart = n.outputs().size() == 1;
  for (size_t i = 0; i < n.outputs().size(); ++i) {
    add_name(n.output(i));
    apart |=
        script::unify(n.block_at(0)->outputs()[i]->type(), n.block_at(1)->outputs()[i]->type()) != n.output(i)->type();
  }
  branch(n, *n.block_at(0), apart);
  new_line(n.range());
  out_.add("else:\n");
  branch(n, *n.block_at(1), apart);
}

void FunctionPrinter::branch(const ir::Node& n, const ir::Block& block, bool apart) {
  ++level_;
  const size_t body = out_.text().size();
  nodes(block);
  split_long(block.outputs());
  if (apart) {
    for (size_t i = 0; i < n.outputs().size(); ++i) {
      new_line(n.range());
      out_.add(name_of(n.output(i)));
      if (block.outputs()[i]->type() != n.output(i)->type()) out_.add(" : " + tables_.type(n.output(i)->type()));
      out_.add(" = ");
      out_.add(use(block.outputs()[i]));
      end_line();
    }
  } else if (!n.outputs().empty()) {
    new_line(n.range());
    out_.add(display(n.outputs(), {}, "", " = "));
    out_.add(display(block.outputs(), n.range(), "", "\n"));
  }
  pass_if_empty(body);
  --level_;
}

//   x = start                    x = start
//   for i in range(n):           go = condition
//     ...                        while go:
//     x = next                     ...
//                                  go, x = next_condition, next
void FunctionPrinter::loop(const ir::Node& n) {
  const ir::Block& block = *n.block_at(0);
  const bool counted = is_true(n.input(1)) && is_true(block.outputs()[0]);
  split_long(ListRef<ir::Value*>(n.inputs()).slice(0, 2));
  for (size_t i = 0; i < n.outputs().size(); ++i) {
    const ir::Value* start = n.input(i + 2);
    new_line(n.range());
    const std::string name = add_name(block.inputs()[i + 1]);
    texts_[n.output(i)] = use(block.inputs()[i + 1]);
    out_.add(name);
    if (start->type() != n.output(i)->type()) out_.add(": " + tables_.type(n.output(i)->type()));
    out_.add(" = ");
    out_.add(use(start));
    end_line();
  }
  TaggedText targets;
  if (counted) {
    new_line(n.range());
    out_.add("for " + add_name(block.inputs()[0]) + " in range(");
    out_.add(use(n.input(0)));
    out_.add("):\n");
    targets = display(n.outputs(), {}, "", " = ");
  } else {
    const std::string go = names_.unique({});
    new_line(n.range());
    out_.add(go + " = ");
    out_.add(use(n.input(1)));
    end_line();
    new_line(n.range());
    out_.add("while " + go + ":\n");
    targets = display(n.outputs(), {}, go + (n.outputs().empty() ? "" : ", "), " = ");
  }
  ++level_;
  const size_t body = out_.text().size();
  nodes(block);
  const ListRef<ir::Value*> next =
      ListRef<ir::Value*>(block.outputs()).slice(counted ? 1 : 0, block.outputs().size() - counted);
  split_long(next);
  if (!next.empty()) {
    new_line(n.range());
    out_.add(targets);
    out_.add(display(next, n.range(), "", "\n"));
  }
  pass_if_empty(body);
  --level_;
}

//   def __forked_function():
//     ...
//   f = fork(__forked_function)
void FunctionPrinter::closure(const ir::Node& n) {
  const bool is_fork = n.is(ir::kind::fork);
  graphs_.push_back(printable_graph(n.graph_attribute("Subgraph")));
  const ir::Graph& body = *graphs_.back();
  for (size_t i = 0; i < n.inputs().size(); ++i) texts_[body.inputs().at(i)] = use(n.input(i));
  const std::string name = names_.unique(is_fork ? "__forked_function" : "__awaitable_function");
  new_line(n.range());
  out_.add("def " + name + "():\n");
  ++level_;
  const auto saved = std::exchange(callees_, {});
  graph(body);
  callees_ = saved;
  --level_;
  new_line(n.range());
  TaggedText text;
  text.add((is_fork ? "fork(" : "awaitable(") + name + ")");
  assign(n.outputs(), text);
}

void FunctionPrinter::enter(const ir::Node& n) {
  new_line(n.range());
  out_.add("with ");
  out_.add(use(n.input()));
  if (n.output()->has_uses()) out_.add(" as " + add_name(n.output()));
  out_.add(":\n");
  ++level_;
  open_.push_back({n.input(), out_.text().size()});
}

void FunctionPrinter::exit(const ir::Node& n) {
  const bool is_last = !open_.empty() && open_.back().object == n.input();
  SCONCE_CHECK(is_last, "an archive cannot say that a context is left which was not entered last");
  pass_if_empty(open_.back().body);
  open_.pop_back();
  --level_;
}

}  // namespace sconce
