#include <charconv>

#include "sconce/base/error.h"
#include "sconce/dispatch/body_lexer.h"
#include "sconce/dispatch/body_tree.h"

namespace sconce::body {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxLinks = 1000;  // of a chain like a + b + c: it is walked recursively
constexpr std::string_view kReserved[] = {"and",  "as",    "assert", "break", "class", "continue", "def",   "del",
                                          "elif", "else",  "except", "for",   "from",  "global",   "if",    "import",
                                          "in",   "is",    "lambda", "not",   "or",    "pass",     "raise", "return",
                                          "try",  "while", "with",   "yield", "None",  "True",     "False"};

struct Level {
  std::string_view symbol;
  Operator op;
  int level;  // binds tighter when higher
};
constexpr Level kBinary[] = {
    {"|", Operator::bit_or, 1},      {"^", Operator::bit_xor, 2},      {"&", Operator::bit_and, 3},
    {"<<", Operator::shift_left, 4}, {">>", Operator::shift_right, 4}, {"+", Operator::add, 5},
    {"-", Operator::sub, 5},         {"*", Operator::mul, 6},          {"/", Operator::div, 6},
    {"//", Operator::floordiv, 6},   {"%", Operator::mod, 6},          {"@", Operator::matmul, 6}};
constexpr int kTightest = 6;

struct Symbol {
  std::string_view symbol;
  Operator op;
};
constexpr Symbol kComparisons[] = {{"==", Operator::eq}, {"!=", Operator::ne}, {"<", Operator::lt},
                                   {"<=", Operator::le}, {">", Operator::gt},  {">=", Operator::ge}};

class Parser {
 public:
  Parser(std::vector<Token> tokens, Program& program) : tokens_(std::move(tokens)), program_(program) {}

  Node statements() {
    Node block = make(Kind::block);
    while (!at(TokenKind::end)) statement(block);
    return block;
  }
  Node whole_expression() {
    Node node = expression();
    if (at(TokenKind::newline)) ++next_;
    if (!at(TokenKind::end)) wrong("the end of the expression");
    return node;
  }

 private:
  const Token& token() const { return tokens_[next_]; }
  bool at(TokenKind kind) const { return token().kind == kind; }
  bool at_symbol(std::string_view text) const { return at(TokenKind::symbol) && token().text == text; }
  bool at_word(std::string_view text) const { return at(TokenKind::word) && token().text == text; }
  bool accept(std::string_view text) {
    if (!(at(TokenKind::symbol) || at(TokenKind::word)) || token().text != text) return false;
    ++next_;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) wrong("'" + std::string(text) + "'");
  }
  [[noreturn]] void wrong(std::string_view wanted) const {
    const Token& t = token();
    std::string got = "'" + t.text + "'";
    if (t.kind == TokenKind::newline) got = "the end of the line";
    if (t.kind == TokenKind::end || t.kind == TokenKind::dedent) got = "the end of the block";
    if (t.kind == TokenKind::indent) got = "an indented line";
    fail_at(t.line, t.column, "expected " + std::string(wanted) + ", got " + got);
  }
  Node make(Kind kind) const {
    Node node;
    node.kind = kind;
    node.line = token().line;
    node.column = token().column;
    return node;
  }
  Node none() const { return make(Kind::constant); }

  int slot(const std::string& name) {
    for (size_t i = 0; i < program_.names.size(); ++i) {
      if (program_.names[i] == name) return static_cast<int>(i);
    }
    program_.names.push_back(name);
    program_.assigned.push_back(false);
    return static_cast<int>(program_.names.size()) - 1;
  }

  // Statements

  void statement(Node& block) {
    if (at(TokenKind::indent)) wrong("a line that is not indented");
    if (at_word("if")) return block.children.push_back(branch());
    if (at_word("for")) return block.children.push_back(loop());
    if (at_word("while")) return block.children.push_back(while_loop());
    do {
      if (at(TokenKind::newline)) break;
      block.children.push_back(simple());
    } while (accept(";"));
    if (!at(TokenKind::newline)) wrong("the end of the line");
    ++next_;
  }

  Node suite() {
    expect(":");
    Node block = make(Kind::block);
    if (!at(TokenKind::newline)) {
      statement(block);
      return block;
    }
    ++next_;
    if (!at(TokenKind::indent)) wrong("an indented block");
    ++next_;
    if (++depth_ > kMaxDepth) wrong("fewer blocks inside each other");
    while (!at(TokenKind::dedent)) statement(block);
    --depth_;
    ++next_;
    return block;
  }

  Node branch() {
    Node node = make(Kind::branch);
    ++next_;
    node.children.push_back(expression());
    node.children.push_back(suite());
    if (at_word("elif")) {
      Node block = make(Kind::block);
      if (++branches_ > kMaxLinks) wrong("fewer branches");
      block.children.push_back(branch());
      --branches_;
      node.children.push_back(std::move(block));
    } else if (accept("else")) {
      node.children.push_back(suite());
    } else {
      node.children.push_back(make(Kind::block));
    }
    return node;
  }

  Node loop() {
    Node node = make(Kind::loop);
    ++next_;
    node.children.push_back(target(target_list()));
    expect("in");
    node.children.push_back(expressions());
    ++loops_;
    node.children.push_back(suite());
    --loops_;
    return node;
  }

  Node while_loop() {
    Node node = make(Kind::while_);
    ++next_;
    node.children.push_back(expression());
    ++loops_;
    node.children.push_back(suite());
    --loops_;
    return node;
  }

  Node simple() {
    Node node = make(Kind::pass);
    if (accept("pass")) return node;
    if (at_word("break") || at_word("continue")) {
      if (loops_ == 0) wrong("a loop around it");
      node.kind = accept("break") ? Kind::break_ : Kind::continue_;
      if (node.kind == Kind::continue_) ++next_;
      return node;
    }
    if (accept("return")) {
      node.kind = Kind::return_;
      if (!at(TokenKind::newline) && !at_symbol(";")) node.children.push_back(expressions());
      return node;
    }
    if (accept("assert")) {
      node.kind = Kind::assert_;
      node.children.push_back(expression());
      if (accept(",")) node.children.push_back(expression());
      return node;
    }
    if (accept("raise")) return raise(std::move(node));
    return assignment(std::move(node));
  }

  Node raise(Node node) {
    node.kind = Kind::raise;
    if (!at(TokenKind::word)) wrong("an exception");
    node.text = token().text;
    ++next_;
    expect("(");
    node.children.push_back(expression());
    expect(")");
    return node;
  }

  Node assignment(Node node) {
    Node left = expressions();
    if (accept("=")) {
      node.kind = Kind::assign;
      node.children.push_back(target(std::move(left)));
      node.children.push_back(expressions());
      if (at_symbol("=")) wrong("one target per assignment");
      return node;
    }
    if (at(TokenKind::symbol) && token().text.size() > 1 && token().text.back() == '=') {
      const std::string symbol = token().text.substr(0, token().text.size() - 1);
      std::optional<Operator> op;
      if (symbol == "**") op = Operator::pow;
      for (const Level& level : kBinary) {
        if (level.symbol == symbol) op = level.op;
      }
      if (op) {
        ++next_;
        node.kind = Kind::augment;
        node.op = *op;
        if (left.kind != Kind::name) fail_at(left.line, left.column, "only a name can be changed in place");
        node.children.push_back(target(std::move(left)));
        node.children.push_back(expressions());
        return node;
      }
    }
    node.kind = Kind::evaluate;
    node.children.push_back(std::move(left));
    return node;
  }

  // Checks that an expression can stand on the left of an assignment.
  Node target(Node node) {
    if (node.kind == Kind::tuple || node.kind == Kind::list) {
      for (Node& item : node.children) item = target(std::move(item));
    } else if (node.kind == Kind::name) {
      program_.assigned[static_cast<size_t>(node.slot)] = true;
    } else if (node.kind != Kind::index) {
      fail_at(node.line, node.column, "only names and items of lists can be assigned");
    }
    return node;
  }

  // `a` or `a, b` before `in`.
  Node target_list() {
    Node first = operand(1);
    if (!at_symbol(",")) return first;
    Node tuple = first;
    tuple.kind = Kind::tuple;
    tuple.children = {std::move(first)};
    while (accept(",")) tuple.children.push_back(operand(1));
    return tuple;
  }

  // Expressions

  // `a` or the tuple `a, b`.
  Node expressions() {
    Node tuple = make(Kind::tuple);
    Node first = expression();
    if (!at_symbol(",")) return first;
    tuple.children.push_back(std::move(first));
    while (accept(",")) {
      if (at(TokenKind::newline) || at_symbol("=") || at_symbol(")")) break;
      tuple.children.push_back(expression());
    }
    return tuple;
  }

  Node expression() {
    if (++depth_ > kMaxDepth) wrong("a simpler expression");
    Node value = disjunction();
    if (at_word("if")) {
      Node node = make(Kind::choose);
      ++next_;
      Node test = disjunction();
      expect("else");
      Node other = expression();
      node.children.push_back(std::move(test));
      node.children.push_back(std::move(value));
      node.children.push_back(std::move(other));
      value = std::move(node);
    }
    --depth_;
    return value;
  }

  Node disjunction() { return chain("or", Kind::or_, &Parser::conjunction); }
  Node conjunction() { return chain("and", Kind::and_, &Parser::negation); }
  Node chain(std::string_view word, Kind kind, Node (Parser::*inner)()) {
    Node node = make(kind);
    Node first = (this->*inner)();
    if (!at_word(word)) return first;
    node.children.push_back(std::move(first));
    while (accept(word)) node.children.push_back((this->*inner)());
    return node;
  }

  Node negation() {
    Node node = make(Kind::not_);
    if (!accept("not")) return comparison();
    if (++depth_ > kMaxDepth) wrong("a simpler expression");
    node.children.push_back(negation());
    --depth_;
    return node;
  }

  std::optional<Operator> comparison_operator() {
    for (const Symbol& s : kComparisons) {
      if (at_symbol(s.symbol)) {
        ++next_;
        return s.op;
      }
    }
    if (accept("in")) return Operator::in;
    if (accept("is")) return accept("not") ? Operator::is_not : Operator::is;
    if (at_word("not")) {
      ++next_;
      expect("in");
      return Operator::not_in;
    }
    return std::nullopt;
  }

  Node comparison() {
    Node node = make(Kind::compare);
    Node first = operand(1);
    std::optional<Operator> op = comparison_operator();
    if (!op) return first;
    node.children.push_back(std::move(first));
    while (op) {
      node.ops.push_back(*op);
      node.children.push_back(operand(1));
      op = comparison_operator();
    }
    return node;
  }

  Node operand(int level) {
    if (level > kTightest) return unary();
    Node left = operand(level + 1);
    for (int links = 0;; ++links) {
      const Level* found = nullptr;
      for (const Level& l : kBinary) {
        if (l.level == level && at_symbol(l.symbol)) found = &l;
      }
      if (!found) return left;
      if (links == kMaxLinks) wrong("a shorter expression");
      Node node = make(Kind::binary);
      ++next_;
      node.op = found->op;
      node.children.push_back(std::move(left));
      node.children.push_back(operand(level + 1));
      left = std::move(node);
    }
  }

  Node unary() {
    Node node = make(Kind::unary);
    if (at_symbol("-")) {
      node.op = Operator::neg;
    } else if (at_symbol("+")) {
      node.op = Operator::plus;
    } else if (at_symbol("~")) {
      node.op = Operator::invert;
    } else {
      return power();
    }
    ++next_;
    if (++depth_ > kMaxDepth) wrong("a simpler expression");
    node.children.push_back(unary());
    --depth_;
    return node;
  }

  // ** binds tighter than the sign on its left and takes a sign on its right: -2 ** -1.
  Node power() {
    Node base = postfix();
    Node node = make(Kind::binary);
    if (!accept("**")) return base;
    node.op = Operator::pow;
    node.children.push_back(std::move(base));
    if (++depth_ > kMaxDepth) wrong("a simpler expression");
    node.children.push_back(unary());
    --depth_;
    return node;
  }

  Node postfix() {
    Node value = atom();
    for (int links = 0;; ++links) {
      if (links == kMaxLinks) wrong("a shorter expression");
      Node node = make(Kind::attribute);
      if (accept(".")) {
        if (!at(TokenKind::word)) wrong("a name");
        node.text = token().text;
        ++next_;
        node.children.push_back(std::move(value));
      } else if (accept("[")) {
        node.kind = Kind::index;
        node.children.push_back(std::move(value));
        node.children.push_back(subscript());
        expect("]");
      } else if (accept("(")) {
        node.kind = Kind::call;
        node.children.push_back(std::move(value));
        arguments(node);
      } else {
        return value;
      }
      value = std::move(node);
    }
  }

  void arguments(Node& call) {
    while (!accept(")")) {
      if (at(TokenKind::word) && tokens_[next_ + 1].kind == TokenKind::symbol && tokens_[next_ + 1].text == "=") {
        call.keywords.push_back(token().text);
        next_ += 2;
      } else if (!call.keywords.empty()) {
        wrong("a keyword argument");
      }
      call.children.push_back(expression());
      if (!at_symbol(")")) expect(",");
    }
  }

  Node subscript() {
    Node tuple = make(Kind::tuple);
    Node first = subscript_item();
    if (!at_symbol(",")) return first;
    tuple.children.push_back(std::move(first));
    while (accept(",")) {
      if (at_symbol("]")) break;
      tuple.children.push_back(subscript_item());
    }
    return tuple;
  }

  Node subscript_item() {
    Node slice = make(Kind::slice);
    const auto part = [&] { return at_symbol(":") || at_symbol("]") || at_symbol(",") ? none() : expression(); };
    Node from = part();
    if (!at_symbol(":")) return from;
    slice.children.push_back(std::move(from));
    for (int i = 0; i < 2; ++i) slice.children.push_back(accept(":") ? part() : none());
    return slice;
  }

  Node atom() {
    Node node = make(Kind::constant);
    switch (token().kind) {
      case TokenKind::number:
        node.value = number();
        break;
      case TokenKind::string:
        node.value = Value(token().text);
        ++next_;
        while (at(TokenKind::string)) {
          node.value = Value(node.value.to_string_ref() + token().text);
          ++next_;
        }
        return node;
      case TokenKind::format:
        return format();
      case TokenKind::word:
        return word();
      case TokenKind::symbol:
        if (accept("(")) return parenthesis(std::move(node));
        if (accept("[")) {
          node.kind = Kind::list;
          while (!accept("]")) {
            node.children.push_back(expression());
            if (at_word("for")) wrong("']' (there are no comprehensions here)");
            if (!at_symbol("]")) expect(",");
          }
          return node;
        }
        [[fallthrough]];
      default:
        wrong("a value");
    }
    ++next_;
    return node;
  }

  Node parenthesis(Node node) {
    if (accept(")")) {
      node.kind = Kind::tuple;
      return node;
    }
    node = expressions();
    expect(")");
    return node;
  }

  Node word() {
    Node node = make(Kind::constant);
    const std::string& text = token().text;
    if (text == "None") {
    } else if (text == "True" || text == "False") {
      node.value = Value(text == "True");
    } else {
      for (const std::string_view reserved : kReserved) {
        if (text == reserved) wrong("a value");
      }
      node.kind = Kind::name;
      node.text = text;
      node.slot = slot(text);
    }
    ++next_;
    return node;
  }

  Value number() {
    std::string text = token().text;
    const bool imaginary = text.back() == 'j';
    if (imaginary) text.pop_back();
    if (!imaginary && text.find_first_of(".eE") == std::string::npos) {
      int64_t v = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc()) wrong("an int of 64 bits");
      return v;
    }
    double v = 0;
    // from_chars says "out of range" for what Python reads as inf or 0.
    if (std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc()) wrong("a float of 64 bits");
    if (imaginary) return std::complex<double>(0, v);
    return v;
  }

  // f"b must be > 0, got {b}"
  Node format() {
    Node node = make(Kind::format);
    const Token whole = token();
    const auto literal = [&](std::string text) {
      Node part = node;
      part.kind = Kind::constant;
      part.children.clear();
      part.value = Value(text);
      return part;
    };
    ++next_;
    std::string text;
    for (size_t i = 0; i < whole.text.size(); ++i) {
      const char c = whole.text[i];
      const bool doubled = i + 1 < whole.text.size() && whole.text[i + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        text += c;
        ++i;
      } else if (c == '{') {
        const size_t end = whole.text.find('}', i);
        if (end == std::string::npos) fail_at(whole.line, whole.column, "'{' without '}' in the string");
        node.children.push_back(literal(std::move(text)));
        text.clear();
        // Columns inside are right unless the string has escapes.
        const int column = whole.column + 2 + static_cast<int>(i) + 1;
        Parser inner(split(std::string_view(whole.text).substr(i + 1, end - i - 1), whole.line, column), program_);
        node.children.push_back(inner.whole_expression());
        i = end;
      } else if (c == '}') {
        fail_at(whole.line, whole.column, "'}' without '{' in the string");
      } else {
        text += c;
      }
    }
    node.children.push_back(literal(std::move(text)));
    return node;
  }

  std::vector<Token> tokens_;
  size_t next_ = 0;
  Program& program_;
  int depth_ = 0;
  int loops_ = 0;
  int branches_ = 0;
};

}  // namespace

Program parse(std::string_view text, int first_line, int first_column) {
  Program program;
  program.block = Parser(split(text, first_line, first_column), program).statements();
  return program;
}

}  // namespace sconce::body
