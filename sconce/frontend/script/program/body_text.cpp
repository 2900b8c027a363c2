#include "sconce/frontend/script/program/body_text.h"

#include <algorithm>

#include "sconce/syntax/parser.h"

namespace sconce::script {

using namespace syntax;

namespace {

bool is_module(const Name& name) { return name.id == "torch" || name.id == "math"; }

bool is_constant(const std::string& name) { return name == "inf" || name == "nan" || name == "pi"; }

// Refuses what bodies have no use for, and finds names.
class Check {
 public:
  std::vector<std::string> free_names() const {
    std::vector<std::string> out;
    for (const Known& n : names_) {
      if (n.used && !n.assigned && !is_constant(n.name)) out.push_back(n.name);
    }
    return out;
  }

  void block(const Body& statements) {
    for (StmtPtr s : statements) statement(s);
  }

 private:
  void statement(StmtPtr s) {
    switch (s->kind) {
      case StmtKind::expr:
        return value(as<ExprStmt>(s)->value);
      case StmtKind::assign: {
        const auto* a = as<Assign>(s);
        value(a->value);
        for (ExprPtr t : a->targets) target(t);
        return;
      }
      case StmtKind::aug_assign: {
        const auto* a = as<AugAssign>(s);
        if (!as<Name>(a->target)) refuse(a->target->range, "only a name can be changed in place");
        target(a->target);
        return value(a->value);
      }
      case StmtKind::return_:
        if (ExprPtr v = as<Return>(s)->value) value(v);
        return;
      case StmtKind::if_: {
        const auto* i = as<If>(s);
        value(i->test);
        block(i->body);
        return block(i->orelse);
      }
      case StmtKind::while_: {
        const auto* w = as<While>(s);
        value(w->test);
        return loop(w->body);
      }
      case StmtKind::for_: {
        const auto* f = as<For>(s);
        target(f->target);
        value(f->iter);
        return loop(f->body);
      }
      case StmtKind::break_:
      case StmtKind::continue_:
        if (loops_ == 0) refuse(s->range, "'{}' outside of a loop", s->range.text());
        return;
      case StmtKind::pass:
        return;
      case StmtKind::assert_: {
        const auto* a = as<Assert>(s);
        value(a->test);
        if (a->message) value(a->message);
        return;
      }
      case StmtKind::raise: {
        const auto* call = as<Call>(as<Raise>(s)->exception);
        if (!call || !as<Name>(call->callee) || call->args.size() != 1 || !call->keywords.empty())
          refuse(s->range, "expected an exception with a message: raise ValueError('...')");
        return value(call->args[0]);
      }
      default:
        refuse(s->range, "only statements that compute can stand in the body of an operator");
    }
  }
  void loop(const Body& statements) {
    ++loops_;
    block(statements);
    --loops_;
  }

  // What can stand on the left of an assignment.
  void target(ExprPtr e) {
    if (as<Name>(e)) {
      name(e).assigned = true;
    } else if (const auto* t = as<TupleExpr>(e)) {
      for (ExprPtr item : t->items) target(item);
    } else if (const auto* l = as<ListExpr>(e)) {
      for (ExprPtr item : l->items) target(item);
    } else if (as<Subscript>(e)) {
      value(e);
    } else {
      refuse(e->range, "only names and items of lists can be assigned");
    }
  }

  void value(ExprPtr e) {
    switch (e->kind) {
      case ExprKind::name:
        name(e).used = true;
        return;
      case ExprKind::constant:
        if (as<Constant>(e)->literal == Constant::Literal::ellipsis) refuse(e->range, "'...' has no place in a body");
        return;
      case ExprKind::binary:
        value(as<Binary>(e)->left);
        return value(as<Binary>(e)->right);
      case ExprKind::unary:
        return value(as<Unary>(e)->operand);
      case ExprKind::bool_op:
        value(as<BoolOp>(e)->left);
        return value(as<BoolOp>(e)->right);
      case ExprKind::compare:
        value(as<Compare>(e)->left);
        return value(as<Compare>(e)->right);
      case ExprKind::if_exp: {
        const auto* i = as<IfExp>(e);
        value(i->test);
        value(i->body);
        return value(i->orelse);
      }
      case ExprKind::call: {
        const auto* c = as<Call>(e);
        if (!as<Name>(c->callee) && !as<Attribute>(c->callee)) refuse(e->range, "only operators can be called");
        if (!as<Name>(c->callee)) value(c->callee);
        values(c->args);
        for (const Keyword& k : c->keywords) value(k.value);
        return;
      }
      case ExprKind::attribute: {
        const auto* module = as<Name>(as<Attribute>(e)->value);
        if (!module || !is_module(*module)) value(as<Attribute>(e)->value);
        return;
      }
      case ExprKind::subscript: {
        const auto* s = as<Subscript>(e);
        value(s->value);
        for (ExprPtr i : s->indices) {
          if (const auto* slice = as<Slice>(i)) {
            for (ExprPtr part : {slice->start, slice->stop, slice->step}) {
              if (part) value(part);
            }
          } else {
            value(i);
          }
        }
        return;
      }
      case ExprKind::list:
        return values(as<ListExpr>(e)->items);
      case ExprKind::tuple:
        return values(as<TupleExpr>(e)->items);
      case ExprKind::format:
        return values(as<Format>(e)->values);
      case ExprKind::list_comp:
      case ExprKind::dict_comp:
        refuse(e->range, "there are no comprehensions in the body of an operator");
      case ExprKind::dict:
        refuse(e->range, "there are no dicts in the body of an operator");
      case ExprKind::starred:
        refuse(e->range, "there are no starred values in the body of an operator");
      case ExprKind::slice:
        refuse(e->range, "a slice can only stand in an index");
    }
  }
  void values(const std::vector<ExprPtr>& all) {
    for (ExprPtr e : all) value(e);
  }
  struct Known {
    std::string name;
    bool assigned = false;
    bool used = false;  // as a value, not as a function or module
  };
  Known& name(ExprPtr e) {
    const std::string& id = as<Name>(e)->id;
    const auto found = std::find_if(names_.begin(), names_.end(), [&](const Known& n) { return n.name == id; });
    return found == names_.end() ? names_.emplace_back(Known{id}) : *found;
  }

  std::vector<Known> names_;
  int loops_ = 0;
};

// Statements of their own, where `x += y` is `x = x + y`.
class Plain {
 public:
  explicit Plain(Tree& tree) : tree_(tree) {}

  Body block(const Body& statements) {
    Body out;
    for (StmtPtr s : statements) out.push_back(statement(s));
    return out;
  }

 private:
  StmtPtr statement(StmtPtr s) {
    if (const auto* a = as<AugAssign>(s)) return assignment(*a);
    if (const auto* i = as<If>(s)) {
      If* made = copy(*i);
      made->body = block(i->body);
      made->orelse = block(i->orelse);
      return made;
    }
    if (const auto* w = as<While>(s)) {
      While* made = copy(*w);
      made->body = block(w->body);
      return made;
    }
    if (const auto* f = as<For>(s)) {
      For* made = copy(*f);
      made->body = block(f->body);
      return made;
    }
    return s;
  }

  StmtPtr assignment(const AugAssign& a) {
    auto* sum = tree_.make<Binary>();
    sum->op = a.op;
    sum->left = a.target;
    sum->right = a.value;
    sum->range = a.range;
    sum->depth = static_cast<uint16_t>(std::max(a.target->depth, a.value->depth) + 1);
    auto* made = tree_.make<Assign>();
    made->range = a.range;
    made->targets = {a.target};
    made->value = sum;
    return made;
  }

  template <class T>
  T* copy(const T& statement) {
    T* made = tree_.make<T>();
    *made = statement;
    return made;
  }

  Tree& tree_;
};

// A tree of new nodes over those of another.
struct FunctionTree : Tree {
  TreePtr parsed;
};

}  // namespace

BodyText parse_body(std::string_view text, int line, int column) {
  BodyText made;
  made.place = {std::make_shared<const Source>("body", std::string(text), line), column};
  try {
    made.tree = parse_statements(made.place.source);
    Check check;
    check.block(made.tree->body);
    made.free_names = check.free_names();
  } catch (const CompileError& e) {
    throw Error(ErrorKind::value, made.place.message_at(e.at(), e.reason()));
  }
  return made;
}

TreePtr body_function(const BodyText& text, const std::vector<std::string>& parameters, bool typed_result) {
  const auto tree = std::make_shared<FunctionTree>();
  tree->parsed = text.tree;
  tree->source = text.place.source;
  const Range start{tree->source, 0, 0};
  auto* def = tree->make<FunctionDef>();
  def->name = "body";
  def->range = def->name_range = start;
  const auto type_of = [&](size_t i) {
    auto* annotation = tree->make<Name>();
    annotation->id = "T" + std::to_string(i);
    annotation->range = start;
    return annotation;
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter p;
    p.name = parameters[i];
    p.annotation = type_of(i);
    p.range = start;
    def->parameters.push_back(std::move(p));
  }
  if (typed_result) def->returns = type_of(parameters.size());
  def->body = Plain(*tree).block(text.tree->body);
  tree->body.push_back(def);
  return tree;
}

}  // namespace sconce::script
