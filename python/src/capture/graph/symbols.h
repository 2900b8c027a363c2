// Symbols: sizes and numbers of inputs that are not fixed, numbers computed from them, and relations that guards have to
// check.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/graph/call_log.h"
#include "capture/graph/sym_int.h"
#include "capture/guards/source.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python::capture {

class Symbols final : public SymOwner {
 public:
  Symbols(ir::Graph& graph, CallLog& log) : graph_(graph), log_(log) {}
  ~Symbols() override { *self_ = nullptr; }
  Symbols(const Symbols&) = delete;

  // Are there symbols that are not fixed?
  bool any() const { return (!symbols_.empty() && !all_fixed_) || has_unknown_; }
  // Does the witness still count? One whose run of an operator failed does not.
  bool is_alive(size_t witness) const { return any() && alive_[witness]; }
  void kill(size_t witness);
  // All symbols are what they are now.
  void fix_all();

  // The sizes of an input for each witness. `free_dims`: bits of dimensions.
  std::vector<Witnesses> add_input(const Tensor& t, SourceId source, uint64_t free_dims);

  // So many numbers of the program are symbols at most: each is asked for by guards.
  static constexpr size_t kMostNumbers = 64;
  // Can an int or float of the program be a symbol? Not those that a graph would compute otherwise than Python.
  static bool can_be_free(PyObject* number);
  // The SymInt or SymFloat for a number of the program, an input of the graph.
  Owned add_number(PyObject* number, SourceId source, ir::Value* value);

  // The number that is an element of a tensor of the graph.
  Owned add_unknown(Number sample, ir::Value* value);

  // A size that the graph computes; an int if no witness says that it depends on symbols. `make`: adds the nodes for it.
  // `guessed`: it, or its expression, is known from witnesses alone.
  template <class F>
  Owned size(int64_t hint, const Witnesses& others, Owned expression, bool& guessed, F&& make) {
    if (!differs(hint, others)) return Owned::take(PyLong_FromLongLong(hint));
    guessed = guessed && !expression;
    if (!expression) expression = fit(hint, others);
    SymNumber made{make(), Number(hint), {}, std::move(expression)};
    for (size_t w = 0; w < kWitnesses; ++w) made.others[w] = Number(others[w]);
    return make_sym_number(self_, std::move(made));
  }
  bool differs(int64_t hint, const Witnesses& others) const;
  // Is it what it is now, whatever comes? Constants are.
  bool is_fixed(const SymNumber& number) const;
  // The size of an input as an expression.
  static Owned size_expression(SourceId source, int64_t dim);

  // In place of such a number on its way through Python's side of a call; the operator's arguments have it.
  Owned stand_in(PyObject* number);
  const SymNumber* of_stand_in(int64_t number) const;
  // Of a SymFloat, or of a SymInt that became a float on its way.
  const SymNumber* of_stand_in(double number) const;
  bool has_stand_ins() const { return !stand_ins_.empty(); }
  void clear_stand_ins() { stand_ins_.clear(); }

  const std::vector<Owned>& relations() const { return relations_; }

  // Told of a comparison that holds, or not, of numbers without an expression; none: such fix all symbols.
  std::function<void(int comparison, const SymNumber& a, const SymNumber& b, bool holds)> claim;

  Owned arithmetic(const char* op, PyObject* a, PyObject* b) override;
  bool compare(const char* op, PyObject* a, PyObject* b) override;
  void fix(PyObject* number) override;

 private:
  struct Symbol {
    Number hint;
    std::array<Number, kWitnesses> others;
    Owned expression;
    bool is_number;  // of the program, no size
  };
  Owned unknown_arithmetic(const char* op, PyObject* a, PyObject* b, const SymNumber& x, const SymNumber& y);
  Owned fit(int64_t hint, const Witnesses& others) const;
  void relate(Owned relation);
  SymNumber operand(PyObject* o) const;
  bool may_divide(const SymNumber& by);
  bool may_raise(const SymNumber& base, const SymNumber& exponent);
  ir::Value* insert(const char* op, const SymNumber& x, const SymNumber* y);

  ir::Graph& graph_;
  CallLog& log_;
  SymOwnerPtr self_ = std::make_shared<SymOwner*>(this);
  std::vector<Symbol> symbols_;
  std::array<bool, kWitnesses> alive_{true, true, true};
  bool all_fixed_ = false;
  bool has_unknown_ = false;
  std::vector<Owned> relations_, stand_ins_, fixed_;   // fixed_: expressions
  std::unordered_set<const ir::Value*> fixed_values_;  // the same for numbers that have none
};

}  // namespace sconce::python::capture
