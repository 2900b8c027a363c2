// Functions, classes, imports, and types that are written as comments.
#include "sconce/syntax/parser_state.h"

namespace sconce::syntax {

void Parser::parse_decorated(Body& out, Place place) {
  std::vector<ExprPtr> decorators;
  while (next_if(Kind::at)) {
    decorators.push_back(parse_expr());
    expect(Kind::newline);
  }
  if (is_word("async")) refuse_reserved();
  if (is(Kind::class_)) {
    out.push_back(parse_class(std::move(decorators)));
  } else if (is(Kind::def)) {
    out.push_back(parse_function(std::move(decorators), place));
  } else {
    fail_expected("def");
  }
}

namespace {

// @torch.jit.ignore, @torch.jit.unused: whatever stands in the body.
bool never_compiled(const std::vector<ExprPtr>& decorators) {
  for (ExprPtr d : decorators) {
    if (const auto* call = as<Call>(d)) d = call->callee;
    const auto* attribute = as<Attribute>(d);
    const auto* name = as<Name>(d);
    const std::string_view last = attribute ? attribute->attr : name ? name->id : std::string_view();
    if (last == "ignore" || last == "unused") return true;
  }
  return false;
}

}  // namespace

void Parser::skip_body(FunctionDef* def) {
  def->body.push_back(make<Pass>(range(cur())));
  if (!next_if(Kind::indent)) {
    while (!is(Kind::newline) && !is(Kind::eof)) next();
    expect(Kind::newline);
    return;
  }
  for (int depth = 1; depth > 0 && !is(Kind::eof);) {
    if (is(Kind::indent)) ++depth;
    if (is(Kind::dedent)) --depth;
    next();
  }
}

StmtPtr Parser::parse_function(std::vector<ExprPtr> decorators, Place place) {
  next();
  auto* def = make<FunctionDef>(range(cur()));
  def->name_range = def->range;
  def->name = parse_ident();
  def->decorators = std::move(decorators);
  parse_parameters(def);
  if (next_if(Kind::arrow)) {
    def->returns = parse_annotation();
    widen(def->range, def->returns->range);
  }
  expect(Kind::colon);
  take_signature_comment(def, place == Place::class_body);
  if (python() && never_compiled(def->decorators)) {
    skip_body(def);
  } else if (next_if(Kind::indent)) {
    parse_indented(def->body, Place::function, def->range);
  } else {
    if (python() && is(Kind::newline)) refuse(range(cur()), "expected an indented block but found 'newline' here");
    parse_simple_line(def->body, Place::function);
    for (StmtPtr s : def->body) widen(def->range, s->range);
  }
  drop_docstring(def->body);
  return def;
}

void Parser::parse_parameters(FunctionDef* def) {
  const Token open = expect(Kind::lparen);
  bool keyword_only = false;
  while (!is(Kind::rparen)) {
    const bool rest = !keyword_only && is(Kind::star), keywords = python() && is(Kind::star2);
    const Range star = range(cur());
    if (rest || keywords) next();
    if (python() && is(Kind::slash)) refuse(range(cur()), "positional-only parameters aren't supported");
    if (rest && (!python() || is(Kind::comma))) {
      keyword_only = true;
    } else {
      Parameter p = parse_parameter(keyword_only);
      if (rest || keywords) {
        p.takes = rest ? Parameter::Takes::rest : Parameter::Takes::rest_of_keywords;
        p.range = join(star, p.range);
        keyword_only = true;
      }
      def->parameters.push_back(std::move(p));
      if (keywords) {
        next_if(Kind::comma);
        break;
      }
    }
    if (!next_if(Kind::comma)) break;
  }
  const Token close = expect(Kind::rparen);
  take_parameter_comments(def, open.begin, close.end);
  widen(def->range, range(close));
}

Parameter Parser::parse_parameter(bool keyword_only) {
  Parameter out;
  out.keyword_only = keyword_only;
  out.range = range(cur());
  out.name = parse_ident();
  if (next_if(Kind::colon)) {
    out.annotation = parse_annotation();
    widen(out.range, out.annotation->range);
  }
  if (next_if(Kind::assign)) {
    out.default_value = parse_expr();
    widen(out.range, out.default_value->range);
  }
  check_literals();
  return out;
}

StmtPtr Parser::parse_class(std::vector<ExprPtr> decorators) {
  next();
  auto* def = make<ClassDef>(range(cur()));
  def->name_range = def->range;
  def->name = parse_ident();
  def->decorators = std::move(decorators);
  if (next_if(Kind::lparen)) {
    while (!is(Kind::rparen)) {
      if (is(Kind::ident) && ahead().kind == Kind::assign)
        refuse(range(cur()), "keyword arguments of classes aren't supported");
      def->bases.push_back(parse_expr());
      if (!next_if(Kind::comma)) break;
    }
    widen(def->range, range(expect(Kind::rparen)));
  }
  widen(def->range, parse_block(def->body, Place::class_body));
  drop_docstring(def->body);
  return def;
}

std::string Parser::parse_dotted_name() {
  std::string name = parse_ident();
  while (next_if(Kind::dot)) (name += '.') += parse_ident();
  return name;
}

// import a.b, c as d
StmtPtr Parser::parse_import() {
  auto* node = make<Import>(range(next()));
  do {
    widen(node->range, range(cur()));
    Import::Alias alias;
    alias.name = parse_dotted_name();
    if (next_if(Kind::as)) alias.as = parse_ident();
    node->names.push_back(std::move(alias));
  } while (next_if(Kind::comma));
  return node;
}

// from .a.b import c, d as e / (c, d as e) / *
StmtPtr Parser::parse_from_import() {
  auto* node = make<Import>(range(next()));
  while (is(Kind::dot) || is(Kind::ellipsis)) node->module += text(next());
  if (node->module.empty() || !is(Kind::import)) node->module += parse_dotted_name();
  expect(Kind::import);
  widen(node->range, range(cur()));
  if (next_if(Kind::star)) {
    node->names.push_back({"*", ""});
    return node;
  }
  const bool bracketed = next_if(Kind::lparen);
  do {
    widen(node->range, range(cur()));
    Import::Alias alias;
    alias.name = parse_ident();
    if (next_if(Kind::as)) alias.as = parse_ident();
    node->names.push_back(std::move(alias));
  } while (next_if(Kind::comma) && !(bracketed && is(Kind::rparen)));
  if (bracketed) expect(Kind::rparen);
  return node;
}

// def f(a,  # type: int
//       b   # type: str
//       ):
void Parser::take_parameter_comments(FunctionDef* def, uint32_t begin, uint32_t end) {
  // A copy: parsing a comment's type replaces the tokens for a while.
  std::vector<TypeComment> found;
  const auto& all = at_.tokens.type_comments;
  auto c =
      std::lower_bound(all.begin(), all.end(), begin, [](const TypeComment& x, uint32_t b) { return x.begin < b; });
  for (; c != all.end() && c->begin < end; ++c) found.push_back(*c);
  for (const TypeComment& comment : found) {
    Parameter* of = nullptr;
    for (Parameter& p : def->parameters) {
      if (p.range.begin < comment.begin) of = &p;
    }
    if (of && !of->annotation)
      of->annotation = parse_inside(comment.begin, comment.end, [this] { return parse_expr(); });
  }
}

// def f(a, b):
//     # type: (int, str) -> Tensor
void Parser::take_signature_comment(FunctionDef* def, bool method) {
  const size_t first = at_.index, last = is(Kind::indent) ? first + 1 : first;
  for (size_t i = first_comment(first); i < at_.tokens.type_comments.size(); ++i) {
    const auto [begin, end, token] = at_.tokens.type_comments[i];
    if (token > last) return;
    if (source_->text()[begin] != '(') continue;
    std::vector<ExprPtr> types;
    bool any = false;
    parse_inside(begin, end, [&]() -> ExprPtr {
      expect(Kind::lparen);
      if (is(Kind::ellipsis) && ahead().kind == Kind::rparen) {
        any = true;
        next();
      }
      while (!is(Kind::rparen)) {
        next_if(Kind::star);  // the type of a *args, in Python's own spelling
        types.push_back(parse_expr());
        if (!next_if(Kind::comma)) break;
      }
      expect(Kind::rparen);
      if (next_if(Kind::arrow)) def->returns = parse_expr();
      return nullptr;
    });
    if (any) return;
    const size_t count = def->parameters.size();
    const size_t skip = method && count > 0 && types.size() + 1 == count ? 1 : 0;
    if (types.size() + skip != count)
      refuse(def->range, "Number of type annotations ({}) did not match the number of {} parameters ({})", types.size(),
             method ? "method" : "function", method && count > 0 ? count - 1 : count);
    for (size_t i = 0; i < types.size(); ++i) def->parameters[i + skip].annotation = types[i];
    return;
  }
}

// x = []  # type: List[int]
ExprPtr Parser::take_variable_comment() {
  const size_t i = first_comment(at_.index);
  if (i == at_.tokens.type_comments.size()) return nullptr;
  const auto [begin, end, token] = at_.tokens.type_comments[i];
  const std::string& source = source_->text();
  const size_t line_end = source.find('\n', at_.tokens.tokens[at_.index - 1].end);
  if (token > at_.index || begin > line_end || source[begin] == '(') return nullptr;
  return parse_inside(begin, end, [this] { return parse_expr(); });
}

// The first comment that stands at or behind a token.
size_t Parser::first_comment(size_t token) const {
  const auto& all = at_.tokens.type_comments;
  const auto found =
      std::lower_bound(all.begin(), all.end(), token, [](const TypeComment& x, size_t t) { return x.token < t; });
  return static_cast<size_t>(found - all.begin());
}

}  // namespace sconce::syntax
