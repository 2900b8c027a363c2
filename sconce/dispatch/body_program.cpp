#include "sconce/dispatch/body_program.h"

#include <algorithm>

#include "sconce/dispatch/body_builtins.h"
#include "sconce/syntax/parser.h"

namespace sconce::body {
namespace {

using namespace syntax;

bool is_module(const Name& name) { return name.id == "torch" || name.id == "math"; }

// Refuses what bodies have no use for, and gives names their slots.
class Check {
 public:
  explicit Check(Program& program) : program_(program) {}

  void block(const syntax::Body& statements) {
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
  void loop(const syntax::Body& statements) {
    ++loops_;
    block(statements);
    --loops_;
  }

  // What can stand on the left of an assignment.
  void target(ExprPtr e) {
    if (as<Name>(e)) {
      program_.assigned[name(e)] = true;
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
        program_.used[name(e)] = true;
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
        if (as<Name>(c->callee)) {
          name(c->callee);
        } else {
          value(c->callee);
        }
        values(c->args);
        for (const Keyword& k : c->keywords) value(k.value);
        return;
      }
      case ExprKind::attribute: {
        const auto* module = as<Name>(as<Attribute>(e)->value);
        if (!module || !is_module(*module)) return value(as<Attribute>(e)->value);
        name(module);
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
  size_t name(ExprPtr e) {
    const std::string& id = as<Name>(e)->id;
    const auto found = std::find(program_.names.begin(), program_.names.end(), id);
    const auto slot = static_cast<size_t>(found - program_.names.begin());
    if (found == program_.names.end()) {
      program_.names.push_back(id);
      program_.assigned.push_back(false);
      program_.used.push_back(false);
    }
    program_.slots.emplace(e, slot);
    return slot;
  }

  Program& program_;
  int loops_ = 0;
};

}  // namespace

Program parse(std::string_view text, std::string_view space, int first_line, int first_column) {
  Program program;
  program.space = space;
  program.first_column = first_column;
  const auto source = std::make_shared<const Source>("body", std::string(text), first_line);
  try {
    program.tree = parse_statements(source);
    Check(program).block(program.tree->body);
  } catch (const CompileError& e) {
    throw Error(ErrorKind::value, message_at(program, e.at(), e.reason()));
  }
  return program;
}

bool module_path(ExprPtr e, const Program& program, std::vector<std::string_view>& parts) {
  if (const auto* a = as<Attribute>(e)) {
    if (!module_path(a->value, program, parts)) return false;
    parts.push_back(a->attr);
    return true;
  }
  const auto* n = as<Name>(e);
  if (!n || !is_module(*n) || program.assigned[program.slot(e)]) return false;
  parts.push_back(n->id);
  return true;
}

std::vector<std::string> free_names(const Program& program) {
  std::vector<std::string> out;
  for (size_t i = 0; i < program.names.size(); ++i) {
    if (program.used[i] && !program.assigned[i] && !constant_of(program.names[i], false))
      out.push_back(program.names[i]);
  }
  return out;
}

std::string message_at(const Program& program, const Range& at, std::string_view message) {
  const bool first = at.line() == (at.source ? at.source->first_line() : 0);
  return format_message("line {}, column {}: {}",
                        {at.line(), at.column() + (first ? program.first_column : 1), message});
}

}  // namespace sconce::body
