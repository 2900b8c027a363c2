// Symbols: sizes of inputs that are not fixed, numbers computed from them, and relations that guards have to check.
#pragma once

#include <unordered_map>
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
  bool any() const { return !symbols_.empty() && !all_fixed_; }
  // Does the witness still count? One whose run of an operator failed does not.
  bool is_alive(size_t witness) const { return any() && alive_[witness]; }
  void kill(size_t witness);
  // All symbols are what they are now.
  void fix_all();

  // The sizes of an input for each witness. `free_dims`: bits of dimensions.
  std::vector<Witnesses> add_input(const Tensor& t, SourceId source, uint64_t free_dims);

  // A number that the graph computes, an int if it does not depend on symbols. `make`: adds the nodes for it.
  template <class F>
  Owned number(int64_t hint, const Witnesses& others, Owned expression, F&& make) {
    if (!differs(hint, others)) return constant(hint);
    if (!expression) expression = fit(hint, others);
    return make_sym_int(self_, {make(), hint, others, std::move(expression)});
  }
  bool differs(int64_t hint, const Witnesses& others) const;
  // The size of an input as an expression.
  static Owned size_expression(SourceId source, int64_t dim);

  // In place of a SymInt on its way through Python's side of a call; the operator's arguments have it.
  int64_t stand_in(PyObject* sym_int);
  const SymNumber* of_stand_in(int64_t number) const;
  bool has_stand_ins() const { return !stand_ins_.empty(); }
  void clear_stand_ins() { stand_ins_.clear(); }

  const std::vector<Owned>& relations() const { return relations_; }

  Owned arithmetic(const char* op, PyObject* a, PyObject* b) override;
  bool compare(const char* op, PyObject* a, PyObject* b) override;
  void fix(PyObject* number) override;

 private:
  struct Symbol {
    int64_t hint;
    Witnesses others;
    Owned expression;
  };
  Owned constant(int64_t hint);
  Owned fit(int64_t hint, const Witnesses& others) const;
  void relate(Owned relation);
  SymNumber operand(PyObject* o);

  ir::Graph& graph_;
  CallLog& log_;
  SymOwnerPtr self_ = std::make_shared<SymOwner*>(this);
  std::vector<Symbol> symbols_;
  std::array<bool, kWitnesses> alive_{true, true, true};
  bool all_fixed_ = false, least_is_guarded_ = false;
  std::vector<Owned> relations_, stand_ins_;
};

}  // namespace sconce::python::capture
