// Recursive-descent parser: program text to Tree, operators by precedence climbing.
//
// Two dialects share one grammar. `python` is what people write: Python's precedence, chained comparisons, f-strings,
// implicit line joining, docstrings, decorators. `archive` is what PyTorch writes into .pt files and what its
// CompilationUnit reads: `and` and `or` of one precedence, comparisons that do not chain, `~` and `not` alike (see
// shared facts in docs/language.md).
#pragma once

#include "sconce/syntax/tree.h"

namespace sconce::syntax {

enum class Dialect : uint8_t { python, archive };

// Limits against hostile text; each has a clear error and a test.
inline constexpr int kMaxNesting = 200;               // of brackets, operands and blocks
inline constexpr int kMaxDepth = 500;                 // of an expression's tree: a + b + c + ... is one level per term
inline constexpr int kMaxDoubled = 5;                 // of chains a < b < c inside of each other's b
inline constexpr size_t kMaxSourceBytes = 64u << 20;  // of one text

// A whole file: functions, classes, imports, constants. Text that is indented as a whole (cut out of a class) is taken
// as it is. Throws CompileError.
SCONCE_API TreePtr parse(SourcePtr source, Dialect dialect = Dialect::python);
// One expression; `source` holds nothing else. The tree is kept alive by the caller.
struct ParsedExpr {
  TreePtr tree;
  ExprPtr expr;
};
SCONCE_API ParsedExpr parse_expression(SourcePtr source, Dialect dialect = Dialect::python);
// Statements without a `def` around them: the bodies of compound operators.
SCONCE_API TreePtr parse_statements(SourcePtr source, Dialect dialect = Dialect::python);

}  // namespace sconce::syntax
