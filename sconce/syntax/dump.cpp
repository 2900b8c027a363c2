#include "sconce/syntax/dump.h"

#include <fmt/format.h>

#include <utility>

namespace sconce::syntax {
namespace {

std::string list(std::string_view open, const std::vector<ExprPtr>& items, std::string_view close) {
  std::string out(open);
  for (size_t i = 0; i < items.size(); ++i) (out += i || open.size() > 1 ? " " : "") += to_string(items[i]);
  return out += close;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out += "'";
}

std::string constant(const Constant& c) {
  switch (c.literal) {
    case Constant::Literal::none:
      return "None";
    case Constant::Literal::true_:
      return "True";
    case Constant::Literal::false_:
      return "False";
    case Constant::Literal::ellipsis:
      return "...";
    case Constant::Literal::integer:
      return std::to_string(c.integer);
    case Constant::Literal::real:
      return fmt::format("{:#}", c.real);
    case Constant::Literal::imaginary:
      return fmt::format("{}j", c.real);
    case Constant::Literal::string:
      return quoted(c.string);
  }
  return "?";
}

class Dump {
 public:
  std::string out;

  void body(const Body& statements, int indent) {
    for (StmtPtr s : statements) statement(s, indent);
  }

 private:
  void line(int indent, std::string_view text) {
    ((out += std::string(static_cast<size_t>(indent) * 2, ' ')) += text) += '\n';
  }

  void statement(StmtPtr s, int indent) {
    if (auto* e = as<ExprStmt>(s)) return line(indent, to_string(e->value));
    if (auto* a = as<Assign>(s)) return assign(*a, indent);
    if (auto* a = as<AugAssign>(s))
      return line(indent, fmt::format("{} {}= {}", to_string(a->target), operator_text(a->op), to_string(a->value)));
    if (auto* r = as<Return>(s)) return line(indent, r->value ? "return " + to_string(r->value) : "return");
    if (auto* i = as<If>(s)) {
      line(indent, "if " + to_string(i->test));
      body(i->body, indent + 1);
      if (i->orelse.empty()) return;
      line(indent, "else");
      return body(i->orelse, indent + 1);
    }
    if (auto* w = as<While>(s)) {
      line(indent, "while " + to_string(w->test));
      return body(w->body, indent + 1);
    }
    if (auto* f = as<For>(s)) {
      line(indent, fmt::format("for {} in {}", to_string(f->target), to_string(f->iter)));
      return body(f->body, indent + 1);
    }
    if (as<Break>(s)) return line(indent, "break");
    if (as<Continue>(s)) return line(indent, "continue");
    if (as<Pass>(s)) return line(indent, "pass");
    if (auto* a = as<Assert>(s))
      return line(indent, "assert " + to_string(a->test) + (a->message ? ", " + to_string(a->message) : ""));
    if (auto* r = as<Raise>(s)) return line(indent, r->exception ? "raise " + to_string(r->exception) : "raise");
    if (auto* d = as<Delete>(s)) return line(indent, list("del ", d->targets, "").erase(4, 1));
    if (auto* w = as<With>(s)) {
      std::string text = "with";
      for (const WithItem& item : w->items) {
        text += " " + to_string(item.context);
        if (item.target) text += " as " + to_string(item.target);
      }
      line(indent, text);
      return body(w->body, indent + 1);
    }
    if (auto* g = as<Global>(s)) {
      std::string text = "global";
      for (const std::string& name : g->names) text += " " + name;
      return line(indent, text);
    }
    if (auto* f = as<FunctionDef>(s)) return function(*f, indent);
    if (auto* c = as<ClassDef>(s)) {
      decorators(c->decorators, indent);
      line(indent, "class " + c->name + (c->bases.empty() ? "" : list("(", c->bases, ")")));
      return body(c->body, indent + 1);
    }
    if (auto* i = as<Import>(s)) {
      std::string text = i->module.empty() ? "import" : "from " + i->module + " import";
      for (const auto& [name, alias] : i->names) text += " " + name + (alias.empty() ? "" : " as " + alias);
      return line(indent, text);
    }
  }
  void assign(const Assign& a, int indent) {
    std::string text;
    for (ExprPtr target : a.targets) (text += text.empty() ? "" : " = ") += to_string(target);
    if (a.annotation) text += ": " + to_string(a.annotation);
    if (a.value) text += " = " + to_string(a.value);
    line(indent, text);
  }
  void decorators(const std::vector<ExprPtr>& all, int indent) {
    for (ExprPtr d : all) line(indent, "@" + to_string(d));
  }
  void function(const FunctionDef& f, int indent) {
    decorators(f.decorators, indent);
    std::string text = "def " + f.name + "(";
    bool starred = false;
    for (const Parameter& p : f.parameters) {
      if (text.back() != '(') text += ", ";
      if (p.takes == Parameter::Takes::rest) starred = true;
      if (p.takes == Parameter::Takes::one && p.keyword_only && !std::exchange(starred, true)) text += "*, ";
      if (p.takes != Parameter::Takes::one) text += p.takes == Parameter::Takes::rest ? "*" : "**";
      text += p.name;
      if (p.annotation) text += ": " + to_string(p.annotation);
      if (p.default_value) text += " = " + to_string(p.default_value);
    }
    text += ")";
    if (f.returns) text += " -> " + to_string(f.returns);
    line(indent, text);
    body(f.body, indent + 1);
  }
};

}  // namespace

std::string to_string(ExprPtr e) {
  if (!e) return "_";
  if (auto* n = as<Name>(e)) return n->id;
  if (auto* c = as<Constant>(e)) return constant(*c);
  if (auto* b = as<Binary>(e)) return list(fmt::format("({}", operator_text(b->op)), {b->left, b->right}, ")");
  if (auto* u = as<Unary>(e)) return list(fmt::format("({}", operator_text(u->op)), {u->operand}, ")");
  if (auto* b = as<BoolOp>(e)) return list(b->is_and ? "(and" : "(or", {b->left, b->right}, ")");
  if (auto* c = as<Compare>(e)) return list(fmt::format("({}", operator_text(c->op)), {c->left, c->right}, ")");
  if (auto* i = as<IfExp>(e)) return list("(if", {i->test, i->body, i->orelse}, ")");
  if (auto* c = as<Call>(e)) {
    std::vector<ExprPtr> all = {c->callee};
    all.insert(all.end(), c->args.begin(), c->args.end());
    std::string out = list("(call", all, "");
    for (const Keyword& k : c->keywords) out += " " + k.name + "=" + to_string(k.value);
    return out + ")";
  }
  if (auto* a = as<Attribute>(e)) return "(. " + to_string(a->value) + " " + a->attr + ")";
  if (auto* s = as<Subscript>(e)) return list("([] " + to_string(s->value), s->indices, ")");
  if (auto* s = as<Slice>(e)) return list("(:", {s->start, s->stop, s->step}, ")");
  if (auto* s = as<Starred>(e)) return "*" + to_string(s->value);
  if (auto* l = as<ListExpr>(e)) return list("[", l->items, "]");
  if (auto* t = as<TupleExpr>(e)) return list("(tuple", t->items, ")");
  if (auto* d = as<DictExpr>(e)) {
    std::string out = "{";
    for (size_t i = 0; i < d->keys.size(); ++i)
      out += (i ? " " : "") + to_string(d->keys[i]) + ":" + to_string(d->values[i]);
    return out + "}";
  }
  const auto filter = [](ExprPtr condition) { return condition ? " if " + to_string(condition) + ")" : ")"; };
  if (auto* l = as<ListComp>(e)) return list("(for", {l->target, l->iter, l->item}, filter(l->condition));
  if (auto* d = as<DictComp>(e)) return list("(for", {d->target, d->iter, d->key, d->value}, filter(d->condition));
  if (auto* f = as<Format>(e)) return list("(format " + quoted(f->text), f->values, ")");
  return "?";
}

std::string to_string(const Body& body) {
  Dump dump;
  dump.body(body, 0);
  return std::move(dump.out);
}

}  // namespace sconce::syntax
