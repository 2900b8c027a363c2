// Reverse sweep: builds a df graph in one walk over the forward graph, from its end (see autodiff.h).
#pragma once

#include <set>

#include "sconce/lowering/autodiff.h"
#include "sconce/passes/analysis/op_graphs.h"

namespace sconce::passes {

class Backward {
 public:
  // `temporaries`: values of the forward graph that have a gradient of their own (Note [Second order]).
  Backward(Differentiation& of, const std::vector<bool>& wanted, const std::vector<const ir::Value*>& temporaries);
  std::shared_ptr<ir::Graph> run();
  // The forward value behind each input of the graph that is a capture; they follow `first_capture` other inputs.
  const std::vector<const ir::Value*>& captured() const { return captured_; }
  size_t first_capture() const { return first_capture_; }

 private:
  // A gradient. It has the shape and dtype of its tensor, unless `unfitted`.
  struct Grad {
    ir::Value* value = nullptr;  // null: absent
    bool maybe = false;          // Optional[Tensor]
    bool unfitted = false;
    explicit operator bool() const { return value; }
  };
  // A forward value `levels` blocks further out than its own; or the gradient that a temporary has of its own.
  struct Key {
    const ir::Value* value;
    size_t levels;
    bool own_gradient;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A block of the forward graph and the block of df that goes back through it.
  struct Level {
    Level(const ir::Block* block, ir::Block* back, Level* outer = nullptr)
        : block(block), back(back), outer(outer), last_capture(back->param_node()) {}
    const ir::Block* block;
    ir::Block* back;
    Level* outer;
    ir::Value* iteration = nullptr;  // of a loop's body: which one it goes through
    ir::Node* last_capture;          // captures stand at the start of `back`
    std::map<const ir::Value*, Grad> grads;
    std::map<Key, ir::Value*> known;
  };
  struct ById {
    bool operator()(const ir::Value* a, const ir::Value* b) const { return a->id() < b->id(); }
  };
  using ValueSet = std::set<const ir::Value*, ById>;

  // autodiff_backward.cpp: the walk
  void go_back(Level& level);
  void visit(Level& level, const ir::Node& node);
  void visit_if(Level& level, const ir::Node& node);
  void visit_loop(Level& level, const ir::Node& node);
  void visit_list_unpack(Level& level, const ir::Node& node);
  bool has_temporaries(const ir::Node& node) const;
  ValueSet outer_values(const Level& level) const;

  // gradients
  Grad take_grad(Level& level, const ir::Value* v);  // fitted, with its own gradient
  void add_grad(Level& level, const ir::Value* v, Grad g);
  Grad fitted(Level& level, const ir::Value* v, Grad g);
  Grad zeros(Level& level, const ir::Value* like);
  ir::Value* none();
  ir::Value* or_none(const Grad& g) { return g ? g.value : none(); }
  ir::Value* is_there(ir::Value* v);
  ir::Value* cast(ir::Value* v, TypePtr type);

  // captures
  ir::Value* need(Level& level, const ir::Value* v);
  ir::Value* rebuild(Level& level, const ir::Value* v);
  ir::Value* materialise(Level& level, const Key& key);
  ir::Value* place(Level& level, ir::Node* node);
  const ir::Value* trips_of(const ir::Node& loop);
  const ir::Value* ask(const ir::Node& question, const std::vector<ir::Value*>& inputs);
  const ir::Value* ask(std::string_view op, const ir::Value* of);

  // autodiff_formula.cpp: operators
  void visit_op(Level& level, const ir::Node& node);
  // Gradients of the inputs of a node; for a list, of its elements.
  using ValueGrads = std::vector<std::pair<const ir::Value*, Grad>>;
  ValueGrads apply_formulas(Level& level, const ir::Node& node, const std::vector<ir::Value*>& grads);
  std::vector<ir::Value*> inline_formula(Level& level, const ir::Node& node, const FormulaGraph& formula,
                                         const std::vector<ir::Value*>& grads);
  const ir::Value* argument(const ir::Node& node, size_t index);

  ir::Value* emit(const Op& op, const std::vector<ir::Value*>& inputs);
  ir::Value* emit(std::string_view op, const std::vector<ir::Value*>& inputs);

  Differentiation& of_;
  const std::vector<bool> wanted_;
  std::set<const ir::Value*> temporaries_;
  const Activity active_;
  std::shared_ptr<ir::Graph> df_;
  Range range_;  // of the node that is differentiated
  std::shared_ptr<const ir::InlinedCall> inlined_;
  std::vector<std::pair<const ir::Value*, ir::Value*>> own_gradients_;  // inputs of df
  std::vector<const ir::Value*> captured_;
  size_t first_capture_ = 0;
  ir::Value* none_ = nullptr;
};

}  // namespace sconce::passes
