// Vectorising map (vmap) in exported programs: functions over one row become calls over all rows.
//
// A file holds a vmap as torch.export recorded it: the rows' size is announced, tensors lose a dimension, operators see
// single rows, results get the dimension back.
//
//   _vmap_increment_nesting(n, "error")        level 1 begins, with n rows
//   a = _add_batch_dim(x, 0, 1)                a: rows of x along dim 0
//   b = sin(a)                                 written for one row
//   y = _remove_batch_dim(b, 1, n, 0)          y: the results of all rows, stacked along dim 0
//   _vmap_decrement_nesting()
//
// Here a value keeps the dimensions of its levels in front, outermost first, and an operator is called once where its
// arithmetic allows it: elementwise, lookups in a table, and others that leave further dimensions alone. Every other
// operator runs in a loop over the rows, which is what vmap means.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sconce/ir/graph.h"
#include "sconce/serialization/exported/exported_json.h"

namespace sconce::exported {

// Is this the target of one of the five functions above (lazy_load_decompositions, which does nothing here, is one)?
bool is_vmap_target(std::string_view target);

class Vmap {
 public:
  using Metas = std::unordered_map<const ir::Value*, const TensorMeta*>;  // of one row

  explicit Vmap(ir::Graph& graph) : graph_(graph) {}

  void enter(const std::string& randomness);
  void leave();
  // How many maps are open.
  int64_t depth() const { return static_cast<int64_t>(randomness_.size()); }

  ir::Value* add_dim(ir::Value* v, int64_t dim, int64_t level, const sconce::Range& range);
  // `rank`: of the result. `size` is of type int.
  ir::Value* remove_dim(ir::Value* v, int64_t level, ir::Value* size, int64_t dim, size_t rank,
                        const sconce::Range& range);

  // Does a value, or an item of a list, have rows?
  bool has_rows(const ir::Value* v) const;

  // The results of an operator whose types match, for all rows; `counts` says for each result how many tensors its list
  // has (0: it is a tensor). Lists come apart. Throws Error for operators that cannot be mapped, naming the reason.
  std::vector<ir::Value*> call(const Op& op, ListRef<TypePtr> returns, std::vector<ir::Value*> inputs,
                               const Metas& metas, ListRef<size_t> counts, const sconce::Range& range);

 private:
  struct Call {
    const Op& op;
    ListRef<TypePtr> returns;
    ListRef<size_t> counts;
    const sconce::Range& range;
  };
  using Levels = std::vector<int64_t>;

  const Levels& levels_of(const ir::Value* v) const;
  Levels all_levels(ListRef<ir::Value*> inputs) const;
  ir::Value* with_levels(ir::Value* v, Levels levels);
  ir::Value* constant(int64_t v, const sconce::Range& range);

  std::vector<ir::Value*> one_call(const Call& call, ListRef<ir::Value*> inputs);
  std::vector<ir::Value*> loop(const Call& call, const std::vector<ir::Value*>& inputs);
  ir::Value* row_of(ir::Value* v, int64_t level, ir::Value* turn, const sconce::Range& range);
  ir::Value* aligned(ir::Value* v, const Levels& levels, size_t rank, size_t to_rank, const sconce::Range& range);

  // Each rewrites the inputs for one call over all rows, or returns false.
  bool fit_elementwise(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas, const sconce::Range& range);
  bool fit_lookup(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas, const sconce::Range& range);
  bool fit_dims(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas, const sconce::Range& range);

  ir::Graph& graph_;
  std::vector<std::string> randomness_;                  // of the open maps
  std::unordered_map<const ir::Value*, Levels> levels_;  // of values with rows, ascending
  // Results of views in loops. Writing to one would not reach what it should be a view of.
  std::unordered_set<const ir::Value*> copied_views_;
};

}  // namespace sconce::exported
