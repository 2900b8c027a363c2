#include "sconce/syntax/parser.h"

#include "sconce/syntax/parser_state.h"

namespace sconce::syntax {

Parser::Parser(SourcePtr source, Dialect dialect)
    : source_(std::move(source)), dialect_(dialect), tree_(std::make_shared<Tree>()) {
  if (source_->text().size() > kMaxSourceBytes) {
    refuse(range(0, 0), "the text is too long: it has {} bytes, {} are allowed", source_->text().size(),
           kMaxSourceBytes);
  }
  tree_->source = source_;
}

Token Parser::next() {
  const Token taken = cur();
  if (at_.index + 1 < at_.tokens.tokens.size()) ++at_.index;
  if (is(Kind::invalid)) refuse(range(cur()), "{}", at_.tokens.error);
  return taken;
}

bool Parser::next_if(Kind kind) {
  if (!is(kind)) return false;
  next();
  return true;
}

Token Parser::expect(Kind kind) {
  if (!is(kind)) fail_expected(kind_text(kind));
  return next();
}

void Parser::fail_expected(std::string_view what) const {
  if (is(Kind::invalid)) refuse(range(cur()), "{}", at_.tokens.error);
  if (is(Kind::reserved)) refuse_reserved();
  if (is(Kind::walrus)) refuse(range(cur()), "NamedExpr aren't supported");
  refuse(range(cur()), "expected {} but found '{}' here", what, kind_text(cur().kind));
}

void Parser::adopt(Expr* node, ExprPtr child) const {
  if (!child) return;
  widen(node->range, child->range);
  node->doubled = std::max(node->doubled, child->doubled);
  node->depth = std::max<uint16_t>(node->depth, static_cast<uint16_t>(child->depth + 1));
  if (node->depth > kMaxDepth)
    refuse(node->range, "the expression is too deep: more than {} operations in a row", kMaxDepth);
}

Parser::Level::Level(Parser& parser) : parser_(parser) {
  if (parser_.nesting_ >= kMaxNesting)
    refuse(parser_.range(parser_.cur()), "the program is nested too deeply: more than {} levels", kMaxNesting);
  ++parser_.nesting_;
}

// if __name__ == "__main__": what stands there runs when Python runs the file, and may be any Python.
bool Parser::at_main_guard() const {
  return dialect_ == Dialect::python && is(Kind::if_) && ahead().kind == Kind::ident && text(ahead()) == "__name__";
}

void Parser::skip_main_guard() {
  do {
    while (!is(Kind::newline) && !is(Kind::indent) && !is(Kind::eof)) next();
    int depth = 0;  // of what stands on lines of its own
    do {
      depth += is(Kind::indent) ? 1 : is(Kind::dedent) ? -1 : 0;
      if (!is(Kind::eof)) next();
    } while (depth > 0 && !is(Kind::eof));
  } while (is(Kind::else_) || is(Kind::elif));
}

void Parser::parse_file(bool inside_function) {
  at_ = {lex(*source_, 0, static_cast<uint32_t>(source_->text().size()), dialect_, /*bracketed=*/false), 0};
  const Place place = inside_function ? Place::function : Place::file;
  if (is(Kind::invalid)) fail_expected("a statement");
  while (!is(Kind::eof)) {
    if (place == Place::file && at_main_guard()) {
      skip_main_guard();
    } else {
      parse_statement(tree_->body, place);
    }
  }
  if (!inside_function) drop_docstring(tree_->body);
}

ExprPtr Parser::parse_only_expression() {
  return parse_inside(0, static_cast<uint32_t>(source_->text().size()), [this] {
    ExprPtr e = parse_tuple();
    check_literals();
    return e;
  });
}

TreePtr parse(SourcePtr source, Dialect dialect) {
  Parser parser(std::move(source), dialect);
  parser.parse_file(/*inside_function=*/false);
  return parser.tree();
}

ParsedExpr parse_expression(SourcePtr source, Dialect dialect) {
  Parser parser(std::move(source), dialect);
  ExprPtr e = parser.parse_only_expression();
  return {parser.tree(), e};
}

TreePtr parse_statements(SourcePtr source, Dialect dialect) {
  Parser parser(std::move(source), dialect);
  parser.parse_file(/*inside_function=*/true);
  return parser.tree();
}

}  // namespace sconce::syntax
