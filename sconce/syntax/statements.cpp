// Statements and blocks.
#include "sconce/syntax/parser_state.h"

namespace sconce::syntax {
namespace {

using Kind = TokenKind;

// The operator of an augmented assignment.
bool augmented(Kind kind, Operator& op) {
  switch (kind) {
    case Kind::plus_eq:
      op = Operator::add;
      return true;
    case Kind::minus_eq:
      op = Operator::sub;
      return true;
    case Kind::star_eq:
      op = Operator::mul;
      return true;
    case Kind::slash_eq:
      op = Operator::div;
      return true;
    case Kind::slash2_eq:
      op = Operator::floordiv;
      return true;
    case Kind::percent_eq:
      op = Operator::mod;
      return true;
    case Kind::star2_eq:
      op = Operator::pow;
      return true;
    case Kind::at_eq:
      op = Operator::matmul;
      return true;
    case Kind::amp_eq:
      op = Operator::bit_and;
      return true;
    case Kind::pipe_eq:
      op = Operator::bit_or;
      return true;
    case Kind::caret_eq:
      op = Operator::bit_xor;
      return true;
    case Kind::shl_eq:
      op = Operator::shift_left;
      return true;
    case Kind::shr_eq:
      op = Operator::shift_right;
      return true;
    default:
      return false;
  }
}

}  // namespace

void Parser::parse_statement(Body& out, Place place) {
  Level level(*this);
  switch (cur().kind) {
    case Kind::if_:
      return out.push_back(parse_if());
    case Kind::while_:
      return out.push_back(parse_while());
    case Kind::for_:
      return out.push_back(parse_for());
    case Kind::with:
      return out.push_back(parse_with());
    case Kind::def:
      return out.push_back(parse_function({}, place));
    case Kind::class_:
      if (place == Place::function && ahead().kind != Kind::ident) fail_expected("ident");
      return out.push_back(parse_class({}));
    case Kind::at:
      return parse_decorated(out, place);
    default:
      return parse_simple_line(out, place);
  }
}

// a = 1; b = 2
void Parser::parse_simple_line(Body& out, Place place) {
  while (true) {
    out.push_back(parse_simple(place));
    check_literals();
    if (!is(Kind::semicolon)) break;
    next();
    if (is(Kind::newline)) break;
  }
  expect(Kind::newline);
}

StmtPtr Parser::parse_simple(Place place) {
  const Range at = range(cur());
  const auto bare = [&](auto* node) -> StmtPtr {
    node->range = at;
    next();
    return node;
  };
  switch (cur().kind) {
    case Kind::break_:
      return bare(tree_->make<Break>());
    case Kind::continue_:
      return bare(tree_->make<Continue>());
    case Kind::pass:
      return bare(tree_->make<Pass>());
    case Kind::return_: {
      next();
      auto* node = make<Return>(at);
      if (!is(Kind::newline) && !is(Kind::semicolon)) {
        node->value = parse_tuple();
        widen(node->range, node->value->range);
      }
      return node;
    }
    case Kind::raise: {
      next();
      auto* node = make<Raise>(at);
      if (!is(Kind::newline) && !is(Kind::semicolon)) {
        node->exception = parse_expr();
        widen(node->range, node->exception->range);
        if (is_word("from")) {  // the cause of an exception is never shown
          next();
          parse_expr();
        }
      }
      return node;
    }
    case Kind::assert_: {
      next();
      auto* node = make<Assert>(at);
      node->test = parse_expr();
      widen(node->range, node->test->range);
      if (next_if(Kind::comma)) {
        node->message = parse_expr();
        widen(node->range, node->message->range);
      }
      return node;
    }
    case Kind::del: {
      next();
      auto* node = make<Delete>(at);
      do {
        node->targets.push_back(parse_expr());
        widen(node->range, node->targets.back()->range);
      } while (next_if(Kind::comma) && starts_expression());
      return node;
    }
    case Kind::global: {
      next();
      auto* node = make<Global>(at);
      do {
        widen(node->range, range(cur()));
        node->names.push_back(parse_ident());
      } while (next_if(Kind::comma));
      return node;
    }
    case Kind::import:
      if (place == Place::file) return parse_import();
      if (python()) refuse(at, "import statements aren't supported");
      break;
    case Kind::reserved:
      if (place == Place::file && is_word("from")) return parse_from_import();
      break;
    default:
      break;
  }
  return parse_assign(parse_tuple(), place);
}

// Statements that start with an expression: an assignment, or the expression alone.
StmtPtr Parser::parse_assign(ExprPtr first, Place place) {
  Operator op;
  if (augmented(cur().kind, op)) {
    if (as<TupleExpr>(first)) refuse(first->range, "augmented assignment can only have one LHS expression");
    next();
    auto* node = make<AugAssign>(first->range);
    node->op = op;
    node->target = first;
    node->value = parse_tuple();
    widen(node->range, node->value->range);
    return node;
  }
  if (!is(Kind::colon) && !is(Kind::assign)) {
    if (is(Kind::walrus)) fail_expected("newline");
    auto* node = make<ExprStmt>(first->range);
    node->value = first;
    return node;
  }
  auto* node = make<Assign>(first->range);
  node->targets.push_back(first);
  if (next_if(Kind::colon)) {
    node->annotation = parse_annotation();
    widen(node->range, node->annotation->range);
  }
  while (next_if(Kind::assign)) {
    if (node->value) node->targets.push_back(node->value);
    if (is_word("yield")) refuse_reserved();
    node->value = parse_tuple();
    widen(node->range, node->value->range);
  }
  if (node->annotation && node->targets.size() > 1)
    refuse(node->annotation->range, "Annotated multiple assignment is not supported in python");
  if (!node->annotation && node->targets.size() == 1) node->annotation = take_variable_comment();
  if (!node->value && place != Place::class_body)
    refuse(node->range, "annotated assignments without assigned value aren't supported");
  return node;
}

StmtPtr Parser::parse_if() {
  auto* node = make<If>(range(next()));  // `if` or `elif`
  node->test = parse_expr();
  widen(node->range, node->test->range);
  widen(node->range, parse_block(node->body, Place::function));
  // Without an else, the place reaches to the token that follows, as PyTorch's does.
  widen(node->range, range(cur()));
  if (next_if(Kind::else_)) {
    widen(node->range, parse_block(node->orelse, Place::function));
  } else if (is(Kind::elif)) {
    Level level(*this);
    node->orelse.push_back(parse_if());
    widen(node->range, node->orelse.back()->range);
  }
  return node;
}

StmtPtr Parser::parse_while() {
  auto* node = make<While>(range(next()));
  node->test = parse_expr();
  widen(node->range, node->test->range);
  widen(node->range, parse_block(node->body, Place::function));
  refuse_else("while");
  return node;
}

StmtPtr Parser::parse_for() {
  auto* node = make<For>(range(next()));
  node->target = parse_tuple(/*precedence=*/5);  // tighter than comparisons: `in` ends it
  expect(Kind::in);
  node->iter = parse_tuple();
  widen(node->range, node->target->range);
  widen(node->range, node->iter->range);
  widen(node->range, parse_block(node->body, Place::function));
  refuse_else("for");
  return node;
}

void Parser::refuse_else(std::string_view loop) {
  if (python() && is(Kind::else_)) refuse(range(cur()), "else branches of {} loops aren't supported", loop);
}

StmtPtr Parser::parse_with() {
  auto* node = make<With>(range(next()));
  if (python() && parenthesised_with()) {
    next();
    parse_with_items(node, Kind::rparen);
    expect(Kind::rparen);
  } else {
    parse_with_items(node, Kind::colon);
  }
  widen(node->range, parse_block(node->body, Place::function));
  return node;
}

void Parser::parse_with_items(With* with, Kind end) {
  do {
    WithItem item;
    item.context = parse_expr();
    widen(with->range, item.context->range);
    if (next_if(Kind::as)) {
      item.target = parse_postfix();
      widen(with->range, item.target->range);
    }
    with->items.push_back(item);
  } while (next_if(Kind::comma) && !is(end));
}

// with (a as b, c as d):
bool Parser::parenthesised_with() const {
  if (!is(Kind::lparen)) return false;
  int open = 0;
  bool names = false;
  for (size_t n = 0; ahead(n).kind != Kind::eof && ahead(n).kind != Kind::invalid; ++n) {
    const Kind kind = ahead(n).kind;
    if (kind == Kind::lparen || kind == Kind::lbracket || kind == Kind::lbrace) ++open;
    if (kind == Kind::as && open == 1) names = true;
    if ((kind == Kind::rparen || kind == Kind::rbracket || kind == Kind::rbrace) && --open == 0)
      return names && ahead(n + 1).kind == Kind::colon;
  }
  return false;
}

Range Parser::parse_block(Body& out, Place place) {
  expect(Kind::colon);
  Range covered = range(cur());
  if (python() && !is(Kind::indent)) {
    if (is(Kind::newline)) refuse(range(cur()), "expected an indented block but found 'newline' here");
    parse_simple_line(out, place);
    for (StmtPtr s : out) widen(covered, s->range);
    return covered;
  }
  expect(Kind::indent);
  parse_indented(out, place, covered);
  return covered;
}

// Behind an indent: statements to the dedent that ends them.
void Parser::parse_indented(Body& out, Place place, Range& covered) {
  do {
    parse_statement(out, place);
  } while (!is(Kind::eof) && !next_if(Kind::dedent));
  for (StmtPtr s : out) widen(covered, s->range);
}

// A string that starts a body is its docstring; nothing is computed.
void Parser::drop_docstring(Body& body) {
  const ExprStmt* first = body.empty() ? nullptr : as<ExprStmt>(body.front());
  const Constant* text = first ? as<Constant>(first->value) : nullptr;
  if (!text || text->literal != Constant::Literal::string) return;
  body.erase(body.begin());
  if (body.empty()) body.push_back(make<Pass>(first->range));
}

}  // namespace sconce::syntax
