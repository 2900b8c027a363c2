// Parser: the state of one parse, shared by the files that hold the grammar. expressions.cpp, literals.cpp,
// statements.cpp and definitions.cpp each define the members grouped under their name.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "sconce/syntax/lexer.h"
#include "sconce/syntax/parser.h"

namespace sconce::syntax {

class Parser {
 public:
  // Throws CompileError if the text is too long.
  Parser(SourcePtr source, Dialect dialect);

  // Statements up to the end of the text.
  void parse_file(bool inside_function);
  ExprPtr parse_only_expression();
  std::shared_ptr<Tree> tree() { return tree_; }

 private:
  using Kind = TokenKind;

  // ---- tokens (parser.cpp) ----
  const Token& cur() const { return at_.tokens.tokens[at_.index]; }
  const Token& ahead(size_t n = 1) const {
    return at_.tokens.tokens[std::min(at_.index + n, at_.tokens.tokens.size() - 1)];
  }
  bool is(Kind kind) const { return cur().kind == kind; }
  bool is_word(std::string_view reserved) const { return is(Kind::reserved) && text(cur()) == reserved; }
  // Takes the current token.
  Token next();
  bool next_if(Kind kind);
  Token expect(Kind kind);
  [[noreturn]] void fail_expected(std::string_view what) const;
  std::string_view text(const Token& t) const {
    return std::string_view(source_->text()).substr(t.begin, t.end - t.begin);
  }
  Range range(uint32_t begin, uint32_t end) const { return {source_, begin, end}; }
  Range range(const Token& t) const { return range(t.begin, t.end); }
  // Parses bytes [begin, end) of the text, which stand apart from what is around them, with `parse`.
  template <class F>
  ExprPtr parse_inside(uint32_t begin, uint32_t end, F parse);

  // A node whose range starts as that of a token; adopt() widens the range to a child's and bounds the depth.
  template <class T>
  T* make(const Range& at) {
    T* node = tree_->make<T>();
    node->range = at;
    return node;
  }
  void adopt(Expr* node, ExprPtr child) const;
  void adopt(Expr* node, std::initializer_list<ExprPtr> children) const {
    for (ExprPtr c : children) adopt(node, c);
  }
  static void widen(Range& range, const Range& by) {
    range.begin = std::min(range.begin, by.begin);
    range.end = std::max(range.end, by.end);
  }

  // Counts one level of nesting while it lives.
  class Level {
   public:
    explicit Level(Parser& parser);
    ~Level() { --parser_.nesting_; }

   private:
    Parser& parser_;
  };

  // ---- expressions.cpp ----
  // The longest expression of operators that bind tighter than `precedence`; 0 is any expression.
  ExprPtr parse_expr(int precedence = 0);
  ExprPtr parse_unary();
  ExprPtr parse_binary_tail(ExprPtr left, int precedence);
  ExprPtr parse_ternary(ExprPtr body);
  ExprPtr parse_postfix();
  ExprPtr parse_atom();
  ExprPtr parse_parenthesis();
  ExprPtr parse_list();
  ExprPtr parse_braces();
  ExprPtr parse_call(ExprPtr callee);
  ExprPtr parse_subscript(ExprPtr value);
  ExprPtr parse_slice();
  ExprPtr parse_attribute(ExprPtr value);
  // `item for target in iter`, at `for`.
  struct Generator {
    Token keyword;
    ExprPtr target, iter, condition = nullptr;
    Range if_range;
  };
  Generator parse_generator();
  ExprPtr parse_list_comp(const Token& open, ExprPtr item);
  // expr | expr, expr, ... `open`: the parenthesis before it, which is a part of a tuple in Python.
  ExprPtr parse_tuple(int precedence = 0, const Token* open = nullptr);
  bool starts_expression() const;
  ExprPtr parse_annotation();
  std::string parse_ident();
  ExprPtr make_constant(const Range& at, Constant::Literal literal);
  // Refuses a word that Python has and the language has not.
  [[noreturn]] void refuse_reserved() const;
  void check_literals();

  // ---- literals.cpp ----
  ExprPtr parse_number();
  ExprPtr fold_minus(const Constant* number);
  ExprPtr parse_strings();
  // Adjacent string literals: the strings, with a value between each two.
  struct StringParts {
    std::vector<std::string> texts{""};
    std::vector<ExprPtr> values;
    bool formats = false;  // is one of them an f-string?
  };
  void add_string(const Token& token, StringParts& out);
  void add_format(uint32_t begin, uint32_t end, bool raw, StringParts& out);
  ExprPtr parse_format_value(uint32_t begin, uint32_t end);
  void unescape(uint32_t begin, uint32_t end, std::string& out) const;

  // ---- statements.cpp ----
  enum class Place : uint8_t { file, class_body, function };
  bool at_main_guard() const;
  void skip_main_guard();
  // Appends one statement, or several on one line.
  void parse_statement(Body& out, Place place);
  void parse_simple_line(Body& out, Place place);
  StmtPtr parse_simple(Place place);
  StmtPtr parse_assign(ExprPtr first, Place place);
  StmtPtr parse_if();
  StmtPtr parse_while();
  StmtPtr parse_for();
  StmtPtr parse_with();
  void parse_with_items(With* with, Kind end);
  bool parenthesised_with() const;
  // The block behind a colon; returns its range.
  Range parse_block(Body& out, Place place);
  void parse_indented(Body& out, Place place, Range& covered);
  void refuse_else(std::string_view loop);
  void drop_docstring(Body& body);

  // ---- definitions.cpp ----
  void parse_decorated(Body& out, Place place);
  StmtPtr parse_function(std::vector<ExprPtr> decorators, Place place);
  StmtPtr parse_class(std::vector<ExprPtr> decorators);
  StmtPtr parse_import();
  StmtPtr parse_from_import();
  std::string parse_dotted_name();
  void parse_parameters(FunctionDef* def);
  // The body of a function that is never compiled: any Python.
  void skip_body(FunctionDef* def);
  Parameter parse_parameter(bool keyword_only);
  // Types in comments: of single parameters, of a whole signature, of an assignment.
  void take_parameter_comments(FunctionDef* def, uint32_t begin, uint32_t end);
  void take_signature_comment(FunctionDef* def, bool method);
  ExprPtr take_variable_comment();
  size_t first_comment(size_t token) const;

  bool python() const { return dialect_ == Dialect::python; }

  struct Cursor {
    Tokens tokens;
    size_t index = 0;
  };
  SourcePtr source_;
  Dialect dialect_;
  std::shared_ptr<Tree> tree_;
  Cursor at_;
  int nesting_ = 0;
  bool in_annotation_ = false;
  // The literal 9223372036854775808, which is in order behind a minus only.
  const Constant* too_large_ = nullptr;
};

template <class F>
ExprPtr Parser::parse_inside(uint32_t begin, uint32_t end, F parse) {
  Level level(*this);
  Cursor outside = std::move(at_);
  at_ = {lex(*source_, begin, end, dialect_, /*bracketed=*/true), 0};
  if (is(Kind::invalid)) fail_expected("an expression");
  ExprPtr result = parse();
  expect(Kind::eof);
  at_ = std::move(outside);
  return result;
}

}  // namespace sconce::syntax
