// Expressions: operators by precedence, then what stands behind an atom (calls, attributes, subscripts), then atoms.
#include "sconce/syntax/parser_state.h"

namespace sconce::syntax {
namespace {

using Kind = TokenKind;

// How tightly an operator binds. The archive dialect has `and` and `or` on one level, and `~` on that of `not`.
enum Precedence : int {
  kTernary = 1,
  kOr = 2,
  kAnd = 3,
  kNot = 4,
  kCompare = 5,
  kBitOr = 6,
  kBitXor = 7,
  kBitAnd = 8,
  kShift = 9,
  kSum = 10,
  kProduct = 11,
  kSign = 12,
  kPower = 13,
};

struct BinaryOperator {
  int precedence = 0;  // 0: not a binary operator
  Operator op = Operator::add;
};

BinaryOperator binary_operator(Kind kind) {
  switch (kind) {
    case Kind::lt:
      return {kCompare, Operator::lt};
    case Kind::le:
      return {kCompare, Operator::le};
    case Kind::gt:
      return {kCompare, Operator::gt};
    case Kind::ge:
      return {kCompare, Operator::ge};
    case Kind::eq:
      return {kCompare, Operator::eq};
    case Kind::ne:
      return {kCompare, Operator::ne};
    case Kind::in:
      return {kCompare, Operator::in};
    case Kind::is:
      return {kCompare, Operator::is};
    case Kind::pipe:
      return {kBitOr, Operator::bit_or};
    case Kind::caret:
      return {kBitXor, Operator::bit_xor};
    case Kind::amp:
      return {kBitAnd, Operator::bit_and};
    case Kind::shl:
      return {kShift, Operator::shift_left};
    case Kind::shr:
      return {kShift, Operator::shift_right};
    case Kind::plus:
      return {kSum, Operator::add};
    case Kind::minus:
      return {kSum, Operator::sub};
    case Kind::star:
      return {kProduct, Operator::mul};
    case Kind::slash:
      return {kProduct, Operator::div};
    case Kind::slash2:
      return {kProduct, Operator::floordiv};
    case Kind::percent:
      return {kProduct, Operator::mod};
    case Kind::at:
      return {kProduct, Operator::matmul};
    case Kind::star2:
      return {kPower, Operator::pow};
    default:
      return {};
  }
}

}  // namespace

ExprPtr Parser::parse_expr(int precedence) {
  Level level(*this);
  return parse_binary_tail(parse_unary(), precedence);
}

ExprPtr Parser::parse_unary() {
  const auto unary = [this](Operator op, int precedence) -> ExprPtr {
    const Token sign = next();
    ExprPtr operand = parse_expr(precedence);
    const Constant* number = as<Constant>(operand);
    if (op == Operator::neg && number && number->literal >= Constant::Literal::integer &&
        number->literal <= Constant::Literal::imaginary)
      return fold_minus(number);
    auto* node = make<Unary>(range(sign));
    node->op = op;
    node->operand = operand;
    adopt(node, operand);
    return node;
  };
  switch (cur().kind) {
    case Kind::minus:
      return unary(Operator::neg, kSign);
    case Kind::tilde:
      return unary(Operator::invert, python() ? kSign : kNot);
    case Kind::not_:
      return unary(Operator::not_, kNot);
    case Kind::plus:
      if (python()) return unary(Operator::plus, kSign);
      break;
    case Kind::star: {
      const Token star = next();
      auto* node = make<Starred>(range(star));
      node->value = parse_expr(kCompare);
      adopt(node, node->value);
      return node;
    }
    default:
      break;
  }
  return parse_postfix();
}

ExprPtr Parser::parse_binary_tail(ExprPtr left, int precedence) {
  ExprPtr middle = nullptr;  // the b of `a < b`, while `left` is that comparison
  while (true) {
    const Token sign = cur();
    if (sign.kind == Kind::if_) {
      if (kTernary <= precedence) return left;
      left = parse_ternary(left);
      middle = nullptr;
      continue;
    }
    if (sign.kind == Kind::and_ || sign.kind == Kind::or_) {
      const int binds = sign.kind == Kind::and_ && python() ? kAnd : kOr;
      if (binds <= precedence) return left;
      next();
      auto* node = make<BoolOp>(range(sign));
      node->is_and = sign.kind == Kind::and_;
      node->left = left;
      node->right = parse_expr(binds);
      adopt(node, {node->left, node->right});
      left = node;
      middle = nullptr;
      continue;
    }
    const bool not_in = sign.kind == Kind::not_ && ahead().kind == Kind::in;
    BinaryOperator found = not_in ? BinaryOperator{kCompare, Operator::not_in} : binary_operator(sign.kind);
    if (found.precedence <= precedence) return left;
    next();
    if (not_in) next();
    if (found.op == Operator::is && next_if(Kind::not_)) found.op = Operator::is_not;
    ExprPtr right = parse_expr(found.op == Operator::pow ? found.precedence - 1 : found.precedence);
    if (found.precedence != kCompare) {
      auto* node = make<Binary>(range(sign));
      node->op = found.op;
      node->left = left;
      node->right = right;
      adopt(node, {left, right});
      left = node;
      continue;
    }
    auto* node = make<Compare>(range(sign));
    node->op = found.op;
    node->left = middle ? middle : left;
    node->right = right;
    adopt(node, {node->left, right});
    if (middle) {
      // a < b < c  =>  a < b and b < c
      auto* both = make<BoolOp>(left->range);
      both->is_and = true;
      both->left = left;
      both->right = node;
      adopt(both, {left, node});
      // b is computed twice, and so are chains inside of it.
      both->doubled = std::max<uint8_t>(both->doubled, middle->doubled + 1);
      if (both->doubled > kMaxDoubled)
        refuse(both->range, "comparisons are chained inside of chained comparisons more than {} levels deep",
               kMaxDoubled);
      left = both;
    } else {
      left = node;
    }
    middle = python() ? right : nullptr;
  }
}

// body if test else orelse. In archives a second `if` takes all of the first as its body.
ExprPtr Parser::parse_ternary(ExprPtr body) {
  const Token keyword = next();
  auto* node = make<IfExp>(range(keyword));
  node->body = body;
  node->test = parse_expr(python() ? kTernary : 0);
  expect(Kind::else_);
  node->orelse = parse_expr(python() ? 0 : kTernary);
  adopt(node, {node->test, node->body, node->orelse});
  return node;
}

ExprPtr Parser::parse_postfix() {
  ExprPtr e = parse_atom();
  while (true) {
    switch (cur().kind) {
      case Kind::dot:
        e = parse_attribute(e);
        break;
      case Kind::lparen:
        e = parse_call(e);
        break;
      case Kind::lbracket:
        e = parse_subscript(e);
        break;
      default:
        return e;
    }
  }
}

ExprPtr Parser::parse_attribute(ExprPtr value) {
  next();
  auto* node = make<Attribute>(range(cur()));
  node->value = value;
  node->attr = parse_ident();
  adopt(node, value);
  return node;
}

ExprPtr Parser::parse_call(ExprPtr callee) {
  const Token open = next();
  auto* node = make<Call>(range(open));
  node->callee = callee;
  adopt(node, callee);
  while (!is(Kind::rparen)) {
    if (is(Kind::ident) && ahead().kind == Kind::assign) {
      Keyword keyword;
      keyword.range = range(cur());
      keyword.name = parse_ident();
      next();
      keyword.value = parse_expr();
      widen(keyword.range, keyword.value->range);
      adopt(node, keyword.value);
      widen(node->range, keyword.range);
      node->keywords.push_back(std::move(keyword));
    } else {
      if (python() && is(Kind::star2)) refuse(range(cur()), "keyword-arg expansion is not supported");
      if (python() && !node->keywords.empty() && !is(Kind::star))
        refuse(range(cur()), "positional argument follows keyword argument");
      ExprPtr argument = parse_expr();
      if (is(Kind::for_)) argument = parse_list_comp(open, argument);
      adopt(node, argument);
      node->args.push_back(argument);
    }
    if (!next_if(Kind::comma)) break;
  }
  expect(Kind::rparen);
  return node;
}

ExprPtr Parser::parse_subscript(ExprPtr value) {
  const Token open = next();
  auto* node = make<Subscript>(range(open));
  node->value = value;
  do {
    ExprPtr index = parse_slice();
    node->indices.push_back(index);
    adopt(node, index);
  } while (next_if(Kind::comma) && !is(Kind::rbracket));
  const Token close = expect(Kind::rbracket);
  adopt(node, value);
  widen(node->range, range(close));
  return node;
}

ExprPtr Parser::parse_slice() {
  const Token first = cur();
  ExprPtr start = nullptr;
  if (!is(Kind::colon)) {
    start = parse_expr();
    if (!is(Kind::colon)) return start;
  }
  next();
  const auto part = [this]() -> ExprPtr {
    return is(Kind::comma) || is(Kind::rbracket) || is(Kind::colon) ? nullptr : parse_expr();
  };
  auto* node = make<Slice>(range(first));
  node->start = start;
  node->stop = part();
  if (next_if(Kind::colon)) node->step = part();
  adopt(node, {node->start, node->stop, node->step});
  return node;
}

ExprPtr Parser::make_constant(const Range& at, Constant::Literal literal) {
  auto* node = make<Constant>(at);
  node->literal = literal;
  return node;
}

ExprPtr Parser::parse_atom() {
  using Literal = Constant::Literal;
  switch (cur().kind) {
    case Kind::number:
      return parse_number();
    case Kind::string:
      return parse_strings();
    case Kind::true_:
      return make_constant(range(next()), Literal::true_);
    case Kind::false_:
      return make_constant(range(next()), Literal::false_);
    case Kind::none:
      return make_constant(range(next()), Literal::none);
    case Kind::ellipsis:
      return make_constant(range(next()), Literal::ellipsis);
    case Kind::lparen:
      return parse_parenthesis();
    case Kind::lbracket:
      return parse_list();
    case Kind::lbrace:
      return parse_braces();
    case Kind::none_type: {
      auto* node = make<Name>(range(next()));
      node->id = "NoneType";
      return node;
    }
    default:
      break;
  }
  const Token word = cur();
  std::string id = parse_ident();
  // Module classes say with these which of their names are not compiled.
  const bool known = id == "__jit_unused_properties__" || id == "__jit_ignored_attributes__";
  if (python() && id.starts_with("__jit") && !known)
    refuse(range(word), "names of variables used in JIT-ed functions can't start with __jit");
  auto* node = make<Name>(range(word));
  node->id = std::move(id);
  return node;
}

std::string Parser::parse_ident() { return std::string(text(expect(Kind::ident))); }

ExprPtr Parser::parse_parenthesis() {
  const Token open = next();
  if (is(Kind::rparen)) return make<TupleExpr>(range(open.begin, next().end));
  if (is_word("yield")) refuse_reserved();
  ExprPtr inner = parse_tuple(0, &open);
  if (is(Kind::for_)) inner = parse_list_comp(open, inner);
  expect(Kind::rparen);
  return inner;
}

ExprPtr Parser::parse_list() {
  const Token open = next();
  auto* node = make<ListExpr>(range(open));
  while (!is(Kind::rbracket)) {
    ExprPtr item = parse_expr();
    if (is(Kind::for_)) {
      if (!node->items.empty()) refuse(node->range, "expected a single list comprehension within '[' , ']'");
      ExprPtr comp = parse_list_comp(open, item);
      expect(Kind::rbracket);
      return comp;
    }
    adopt(node, item);
    node->items.push_back(item);
    if (!next_if(Kind::comma)) break;
  }
  expect(Kind::rbracket);
  return node;
}

ExprPtr Parser::parse_braces() {
  const Token open = next();
  auto* node = make<DictExpr>(range(cur()));
  while (!is(Kind::rbrace)) {
    if (python() && is(Kind::star2)) refuse(range(cur()), "Dict expansion (e.g. `{**dict}`) is not supported");
    ExprPtr key = parse_expr();
    if (python() && (is(Kind::comma) || is(Kind::rbrace)))
      refuse(range(open.begin, key->range.end), "Set aren't supported");
    if (python() && is(Kind::for_)) refuse(range(open.begin, key->range.end), "SetComp aren't supported");
    expect(Kind::colon);
    ExprPtr value = parse_expr();
    if (is(Kind::for_) && node->keys.empty()) {
      const Generator generator = parse_generator();
      expect(Kind::rbrace);
      auto* comp = make<DictComp>(range(python() ? open : generator.keyword));
      comp->key = key;
      comp->value = value;
      comp->target = generator.target;
      comp->iter = generator.iter;
      comp->condition = generator.condition;
      comp->if_range = generator.if_range;
      adopt(comp, {key, value, comp->target, comp->iter});
      return comp;
    }
    adopt(node, {key, value});
    node->keys.push_back(key);
    node->values.push_back(value);
    if (!next_if(Kind::comma)) break;
  }
  expect(Kind::rbrace);
  return node;
}

Parser::Generator Parser::parse_generator() {
  Generator out;
  out.keyword = expect(Kind::for_);
  out.target = parse_tuple(kCompare);
  expect(Kind::in);
  out.iter = parse_expr(python() ? kTernary : 0);
  if (python() && is(Kind::if_)) {
    out.if_range = range(next());
    out.condition = parse_expr(kTernary);
    if (is(Kind::if_)) refuse(range(cur()), "Comprehension ifs are not supported yet");
  }
  if (is(Kind::for_)) refuse(range(cur()), "Only a single generator is currently supported");
  return out;
}

ExprPtr Parser::parse_list_comp(const Token& open, ExprPtr item) {
  const Generator generator = parse_generator();
  auto* node = make<ListComp>(range(python() ? open : generator.keyword));
  node->item = item;
  node->target = generator.target;
  node->iter = generator.iter;
  node->condition = generator.condition;
  node->if_range = generator.if_range;
  adopt(node, {node->item, node->target, node->iter});
  return node;
}

ExprPtr Parser::parse_tuple(int precedence, const Token* open) {
  ExprPtr first = parse_expr(precedence);
  if (!is(Kind::comma)) return first;
  auto* node = make<TupleExpr>(first->range);
  node->items.push_back(first);
  adopt(node, first);
  while (next_if(Kind::comma) && starts_expression()) {
    ExprPtr item = parse_expr(precedence);
    adopt(node, item);
    node->items.push_back(item);
  }
  if (open && python() && is(Kind::rparen)) node->range = range(open->begin, cur().end);
  return node;
}

// Does the current token go on with a tuple, or is the comma before it the last?
bool Parser::starts_expression() const {
  switch (cur().kind) {
    case Kind::eof:
    case Kind::newline:
    case Kind::semicolon:
    case Kind::rparen:
    case Kind::rbracket:
    case Kind::rbrace:
    case Kind::colon:
    case Kind::in:
      return false;
    default:
      return cur().kind < Kind::plus_eq && cur().kind != Kind::assign;
  }
}

// A type. In Python one may be written as a string, for it to be read later: "List[int]" is List[int].
ExprPtr Parser::parse_annotation() {
  const bool outside = std::exchange(in_annotation_, python());
  ExprPtr type = parse_expr();
  in_annotation_ = outside;
  return type;
}

void Parser::refuse_reserved() const {
  const std::string_view word = text(cur());
  const std::string_view feature = word == "lambda"     ? "Lambda"
                                   : word == "yield"    ? "Yield"
                                   : word == "await"    ? "Await"
                                   : word == "nonlocal" ? "nonlocal variables"
                                   : word == "from"     ? "import statements"
                                   : word == "async"    ? "async functions, loops and with statements"
                                                        : "try blocks";
  refuse(range(cur()), "{} aren't supported", feature);
}

// At the end of a statement: was 9223372036854775808 written without a minus?
void Parser::check_literals() {
  if (too_large_) refuse(too_large_->range, "Integral constant out of range (must fit in a signed 64 bit integer)");
}

}  // namespace sconce::syntax
