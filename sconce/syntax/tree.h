// Abstract syntax tree: the parser makes it from a text, the compiler reads it. Nodes are plain structs, owned by the
// Tree that they belong to, and never change after parsing. Kinds and names follow Python's own `ast`.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/source.h"
#include "sconce/syntax/operators.h"

namespace sconce::syntax {

// ---- expressions ----

enum class ExprKind : uint8_t {
  name,
  constant,
  binary,
  unary,
  bool_op,
  compare,
  if_exp,
  call,
  attribute,
  subscript,
  slice,
  starred,
  list,
  tuple,
  dict,
  list_comp,
  dict_comp,
  format,
};

// Ranges are those that PyTorch's messages underline: a node's operator or first token together with its operands, so
// `f(x` for f(x), `x + y` for (x + y), `["a"` for ["a"], the `}` for {}.
struct Expr {
  ExprKind kind;
  uint8_t doubled = 0;  // how often it stands in the middle of a chain that stands in the middle of a chain ...
  uint16_t depth = 1;   // of the tree from here, 1 for a leaf; at most kMaxDepth, so readers may recurse
  Range range;
};
using ExprPtr = const Expr*;

struct Name : Expr {
  static constexpr ExprKind kKind = ExprKind::name;
  std::string id;
};
// A literal. `...` is Ellipsis. A number keeps its own kind: 1 is an int, 1. a float, 2j a complex.
struct Constant : Expr {
  static constexpr ExprKind kKind = ExprKind::constant;
  enum class Literal : uint8_t { none, true_, false_, ellipsis, integer, real, imaginary, string } literal;
  int64_t integer = 0;
  double real = 0;     // also the imaginary part
  std::string string;  // escapes undone
};
struct Binary : Expr {
  static constexpr ExprKind kKind = ExprKind::binary;
  Operator op;
  ExprPtr left, right;
};
struct Unary : Expr {  // neg, plus, invert, not_
  static constexpr ExprKind kKind = ExprKind::unary;
  Operator op;
  ExprPtr operand;
};
// `a and b`, `a or b`. In Python `a and b and c` is one node of three values; here it is ((a and b) and c).
struct BoolOp : Expr {
  static constexpr ExprKind kKind = ExprKind::bool_op;
  bool is_and;
  ExprPtr left, right;
};
// One comparison. A chain `a < b < c` is BoolOp(and, a < b, b < c) in the Python dialect, (a < b) < c in archives.
struct Compare : Expr {
  static constexpr ExprKind kKind = ExprKind::compare;
  Operator op;
  ExprPtr left, right;
};
struct IfExp : Expr {
  static constexpr ExprKind kKind = ExprKind::if_exp;
  ExprPtr test, body, orelse;
};
struct Keyword {
  std::string name;
  ExprPtr value;
  Range range;
};
struct Call : Expr {
  static constexpr ExprKind kKind = ExprKind::call;
  ExprPtr callee;
  std::vector<ExprPtr> args;  // may hold Starred
  std::vector<Keyword> keywords;
};
struct Attribute : Expr {
  static constexpr ExprKind kKind = ExprKind::attribute;
  ExprPtr value;
  std::string attr;
};
// x[i], x[a:b, ..., None]. `indices` has one entry unless a tuple without parentheses was written.
struct Subscript : Expr {
  static constexpr ExprKind kKind = ExprKind::subscript;
  ExprPtr value;
  std::vector<ExprPtr> indices;  // may hold Slice, Constant (ellipsis, none)
};
struct Slice : Expr {  // inside a Subscript only; null where nothing was written
  static constexpr ExprKind kKind = ExprKind::slice;
  ExprPtr start = nullptr, stop = nullptr, step = nullptr;
};
struct Starred : Expr {
  static constexpr ExprKind kKind = ExprKind::starred;
  ExprPtr value;
};
struct ListExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::list;
  std::vector<ExprPtr> items;
};
struct TupleExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::tuple;
  std::vector<ExprPtr> items;
};
struct DictExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::dict;
  std::vector<ExprPtr> keys, values;
};
// [item for target in iter]; a generator expression is a list comprehension too.
struct ListComp : Expr {
  static constexpr ExprKind kKind = ExprKind::list_comp;
  ExprPtr item, target, iter;
  // [item for target in iter if condition], which construction of modules has and the compiler refuses (at `if`).
  ExprPtr condition = nullptr;
  Range if_range;
};
struct DictComp : Expr {
  static constexpr ExprKind kKind = ExprKind::dict_comp;
  ExprPtr key, value, target, iter;
  ExprPtr condition = nullptr;  // as for lists
  Range if_range;
};
// An f-string: `text` with "{}" for each of `values`; other braces stand for themselves.
struct Format : Expr {
  static constexpr ExprKind kKind = ExprKind::format;
  std::string text;
  std::vector<ExprPtr> values;
};

// ---- statements ----

enum class StmtKind : uint8_t {
  expr,
  assign,
  aug_assign,
  return_,
  if_,
  while_,
  for_,
  break_,
  continue_,
  pass,
  assert_,
  raise,
  delete_,
  with,
  global,
  function_def,
  class_def,
  import_,
};

struct Stmt {
  StmtKind kind;
  Range range;  // a compound statement's covers its body; that of a function or class starts at its name
};
using StmtPtr = const Stmt*;
using Body = std::vector<StmtPtr>;

struct ExprStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::expr;
  ExprPtr value;
};
// a = b = value has two targets. `annotation` is null unless x: T = value (one target). `value` is null for the
// declaration x: T, which stands in class bodies only.
struct Assign : Stmt {
  static constexpr StmtKind kKind = StmtKind::assign;
  std::vector<ExprPtr> targets;
  ExprPtr annotation = nullptr;
  ExprPtr value = nullptr;
};
struct AugAssign : Stmt {
  static constexpr StmtKind kKind = StmtKind::aug_assign;
  Operator op;
  ExprPtr target, value;
};
struct Return : Stmt {
  static constexpr StmtKind kKind = StmtKind::return_;
  ExprPtr value = nullptr;  // null for a bare return
};
struct If : Stmt {
  static constexpr StmtKind kKind = StmtKind::if_;
  ExprPtr test;
  Body body, orelse;  // elif is an If in orelse
};
struct While : Stmt {
  static constexpr StmtKind kKind = StmtKind::while_;
  ExprPtr test;
  Body body;
};
struct For : Stmt {
  static constexpr StmtKind kKind = StmtKind::for_;
  ExprPtr target, iter;
  Body body;
};
struct Break : Stmt {
  static constexpr StmtKind kKind = StmtKind::break_;
};
struct Continue : Stmt {
  static constexpr StmtKind kKind = StmtKind::continue_;
};
struct Pass : Stmt {
  static constexpr StmtKind kKind = StmtKind::pass;
};
struct Assert : Stmt {
  static constexpr StmtKind kKind = StmtKind::assert_;
  ExprPtr test, message = nullptr;
};
struct Raise : Stmt {
  static constexpr StmtKind kKind = StmtKind::raise;
  ExprPtr exception = nullptr;
};
struct Delete : Stmt {
  static constexpr StmtKind kKind = StmtKind::delete_;
  std::vector<ExprPtr> targets;
};
struct WithItem {
  ExprPtr context, target = nullptr;
};
struct With : Stmt {
  static constexpr StmtKind kKind = StmtKind::with;
  std::vector<WithItem> items;
  Body body;
};
struct Global : Stmt {
  static constexpr StmtKind kKind = StmtKind::global;
  std::vector<std::string> names;
};
// import and from-import at the top of a file. Ignored by the compiler inside archives, names are known anyway; a name
// bound by `as` is an alias. `module` is empty for plain imports.
struct Import : Stmt {
  static constexpr StmtKind kKind = StmtKind::import_;
  std::string module;
  struct Alias {
    std::string name, as;
  };
  std::vector<Alias> names;
};

struct Parameter {
  enum class Takes : uint8_t { one, rest, rest_of_keywords };  // x, *x, **x
  std::string name;
  ExprPtr annotation = nullptr;
  ExprPtr default_value = nullptr;
  bool keyword_only = false;
  Takes takes = Takes::one;  // others cannot be compiled, but a module's __init__ may have them
  Range range;
};
struct FunctionDef : Stmt {
  static constexpr StmtKind kKind = StmtKind::function_def;
  std::string name;
  std::vector<Parameter> parameters;  // a type comment's types are their annotations
  ExprPtr returns = nullptr;
  Body body;
  std::vector<ExprPtr> decorators;
  Range name_range;
};
struct ClassDef : Stmt {
  static constexpr StmtKind kKind = StmtKind::class_def;
  std::string name;
  std::vector<ExprPtr> bases;
  Body body;  // FunctionDef, Assign, Pass, ExprStmt
  std::vector<ExprPtr> decorators;
  Range name_range;
};

// Null when the node is of another kind.
template <class T>
const T* as(ExprPtr e) {
  return e && e->kind == T::kKind ? static_cast<const T*>(e) : nullptr;
}
template <class T>
const T* as(StmtPtr s) {
  return s && s->kind == T::kKind ? static_cast<const T*>(s) : nullptr;
}

// "a.b.c" of a name with attributes; empty for every other expression.
SCONCE_API std::string dotted_name(ExprPtr e);

// A parsed text and the owner of all of its nodes. Shared by the functions that are compiled from it.
class SCONCE_API Tree {
 public:
  Tree();
  ~Tree();
  Tree(const Tree&) = delete;
  SourcePtr source;
  Body body;  // top-level statements: function_def, class_def, import_, assign
  // A new node, owned by the tree.
  template <class T>
  T* make() {
    auto node = std::make_shared<T>();
    node->kind = T::kKind;
    T* p = node.get();
    nodes_.push_back(std::move(node));
    return p;
  }

 private:
  std::deque<std::shared_ptr<void>> nodes_;
};
using TreePtr = std::shared_ptr<const Tree>;

}  // namespace sconce::syntax
