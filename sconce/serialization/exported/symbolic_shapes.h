// Symbolic shapes: expressions over sizes, as exported programs have them for dynamic sizes, ranges, and the relations
// (guards) that the program relies on. Two spellings mean the same:
//   Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))        sizes
//   2*s77 + 1        L['y'].size()[0] == (1 + 2*L['x'].size()[0])                        ranges, guards
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::exported {

// Limit against hostile files, with a clear error and a test. The parser limits the depth.
inline constexpr size_t kMaxExpressionBytes = 1u << 16;

struct Term {
  enum class Kind : uint8_t {
    integer,
    real,
    boolean,  // integer is 0 or 1
    symbol,   // text: "s77"
    input,    // text: "d['a']": an input, itself a number
    size,     // text: an input; integer: the dimension
    stride,   // likewise
    offset,   // of an input's storage
    call,     // text: "add", "floordiv", "max", "eq", ...; args
  };
  Kind kind = Kind::integer;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Term> args;

  bool is_symbol() const { return kind == Kind::symbol; }
};

// Throws Error with the text and the part that is not understood.
Term parse_term(std::string_view text);

// The symbols in it, each once.
std::vector<std::string> symbols_of(const Term& term);

// As people write it: "2*x.size(0) + 1". `symbol` names symbols.
using SymbolText = std::function<std::string(const std::string& symbol)>;
std::string term_text(const Term& term, const SymbolText& symbol);

// `a` and `b` of a*s + b, when the term is that, with one symbol and numbers a != 0 and b.
struct Linear {
  std::string symbol;
  int64_t factor, offset;
};
std::optional<Linear> as_linear(const Term& term);

// Inserts nodes that compute the term: an int, float or bool. `find` gives the values of symbols and inputs (null:
// unknown, an Error).
using FindValue = std::function<ir::Value*(const Term& symbol_or_input)>;
ir::Value* insert_term(ir::Graph& graph, const Term& term, const FindValue& find);

}  // namespace sconce::exported
