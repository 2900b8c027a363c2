#include "sconce/serialization/exported/exported_vmap.h"

#include <algorithm>

#include "sconce/dispatch/op.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {
namespace {

constexpr std::string_view kFunctions[] = {"lazy_load_decompositions", "_vmap_increment_nesting",
                                           "_vmap_decrement_nesting", "_add_batch_dim", "_remove_batch_dim"};

// One tensor in, one of the same sizes out, element by element.
constexpr std::string_view kCopies[] = {"aten::to",     "aten::_to_copy",   "aten::clone",
                                        "aten::detach", "aten::contiguous", "aten::lift_fresh_copy",
                                        "aten::conj",   "aten::_conj",      "aten::_neg_view"};

// One tensor and dimensions of it; other dimensions are left alone.
constexpr std::string_view kAlongDims[] = {
    "aten::unsqueeze", "aten::select", "aten::slice", "aten::transpose", "aten::sum",     "aten::mean",
    "aten::amax",      "aten::amin",   "aten::any",   "aten::all",       "aten::softmax", "aten::log_softmax",
    "aten::cumsum",    "aten::max",    "aten::min",   "aten::size",      "aten::sym_size"};

template <class List, class Item>
bool contains(const List& list, const Item& name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_tensor(const ir::Value* v) { return v->type()->is(TypeKind::tensor); }

const TensorMeta* meta_of(const Vmap::Metas& metas, const ir::Value* v) {
  const auto found = metas.find(v);
  return found == metas.end() ? nullptr : found->second;
}

bool is_list_of_tensors(const ir::Value* v) {
  if (!v->type()->is(TypeKind::list) || !v->node()->is(ir::kind::ListConstruct)) return false;
  const std::vector<ir::Value*>& items = v->node()->inputs();
  return std::any_of(items.begin(), items.end(), is_tensor);
}

bool is_assertion(const Op& op, ListRef<ir::Value*> inputs) {
  return op.info.name == std::string_view("aten::_assert_tensor_metadata") && ir::is_none(inputs[1]) &&
         ir::is_none(inputs[2]);
}

}  // namespace

bool is_vmap_target(std::string_view target) {
  constexpr std::string_view kModule = "torch._functorch.predispatch.";
  return target.starts_with(kModule) && contains(kFunctions, target.substr(kModule.size()));
}

void Vmap::enter(const std::string& randomness) { randomness_.push_back(randomness); }

void Vmap::leave() {
  SCONCE_CHECK(!randomness_.empty(), "leaves a vmap, and none is open");
  randomness_.pop_back();
}

const Vmap::Levels& Vmap::levels_of(const ir::Value* v) const {
  static const Levels none;
  const auto found = levels_.find(v);
  if (found == levels_.end()) return none;
  SCONCE_CHECK(found->second.back() <= depth(), "a value of one row is used outside of its vmap");
  return found->second;
}

bool Vmap::has_rows(const ir::Value* v) const {
  if (is_list_of_tensors(v)) {
    const std::vector<ir::Value*>& items = v->node()->inputs();
    return std::any_of(items.begin(), items.end(), [&](const ir::Value* item) { return has_rows(item); });
  }
  return !levels_of(v).empty();
}

Vmap::Levels Vmap::all_levels(ListRef<ir::Value*> inputs) const {
  Levels all;
  const auto add = [&](const ir::Value* v) {
    for (const int64_t level : levels_of(v)) {
      if (!contains(all, level)) all.push_back(level);
    }
  };
  for (const ir::Value* v : inputs) {
    add(v);
    if (!is_list_of_tensors(v)) continue;
    for (const ir::Value* item : v->node()->inputs()) add(item);
  }
  std::sort(all.begin(), all.end());
  return all;
}

ir::Value* Vmap::with_levels(ir::Value* v, Levels levels) {
  if (!levels.empty()) levels_[v] = std::move(levels);
  return v;
}

ir::Value* Vmap::constant(int64_t v, const sconce::Range& range) { return graph_.insert_constant(Value(v), range); }

ir::Value* Vmap::add_dim(ir::Value* v, int64_t dim, int64_t level, const sconce::Range& range) {
  SCONCE_CHECK(level == depth() && dim >= 0, "takes dimension {} for level {}, and {} vmaps are open", dim, level,
               depth());
  Levels levels = levels_of(v);
  const auto outer = static_cast<int64_t>(levels.size());
  SCONCE_CHECK(outer == 0 || levels.back() < level, "takes rows of level {} for the second time", level);
  levels.push_back(level);
  ir::Value* moved =
      insert_call(graph_, "aten::movedim", {v, constant(outer + dim, range), constant(outer, range)}, range);
  return with_levels(moved, std::move(levels));
}

ir::Value* Vmap::remove_dim(ir::Value* v, int64_t level, ir::Value* size, int64_t dim, size_t rank,
                            const sconce::Range& range) {
  SCONCE_CHECK(level == depth(), "gives level {} back, and {} vmaps are open", level, depth());
  const auto signed_rank = static_cast<int64_t>(rank);
  SCONCE_CHECK(dim >= -signed_rank && dim < signed_rank, "puts the rows into dimension {} of {}", dim, rank);
  if (dim < 0) dim += signed_rank;
  Levels levels = levels_of(v);
  const bool has_level = !levels.empty() && levels.back() == level;
  if (has_level) levels.pop_back();
  const auto outer = static_cast<int64_t>(levels.size());
  if (has_level) {
    v = insert_call(graph_, "aten::movedim", {v, constant(outer, range), constant(outer + dim, range)}, range);
    return with_levels(v, std::move(levels));
  }
  // All rows have the same result.
  v = insert_call(graph_, "aten::unsqueeze", {v, constant(outer + dim, range)}, range);
  std::vector<ir::Value*> sizes(levels.size() + rank);
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = static_cast<int64_t>(i) == outer + dim ? size : constant(-1, range);
  }
  ir::Node* list = graph_.create(ir::kind::ListConstruct, sizes, 1);
  list->output()->set_type(list_type(int_type()));
  graph_.insert(list->set_range(range));
  v = insert_call(graph_, "aten::expand", {v, list->output(), graph_.insert_constant(Value(false), range)}, range);
  return with_levels(v, std::move(levels));
}

// Levels in front, with size 1 for those that it does not have, then dimensions of size 1 up to the rank.
ir::Value* Vmap::aligned(ir::Value* v, const Levels& levels, size_t rank, size_t to_rank, const sconce::Range& range) {
  const Levels has = levels_of(v);
  const auto insert = [&](size_t at) {
    v = insert_call(graph_, "aten::unsqueeze", {v, constant(static_cast<int64_t>(at), range)}, range);
  };
  for (size_t i = rank; i < to_rank; ++i) insert(has.size());
  if (has.empty()) return v;  // broadcasting puts them in front
  for (size_t i = 0; i < levels.size(); ++i) {
    if (!contains(has, levels[i])) insert(i);
  }
  return v;
}

bool Vmap::fit_elementwise(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas,
                           const sconce::Range& range) {
  const std::string_view name = op.info.name;
  const bool is_product = name == "aten::matmul";
  if (name == "aten::linear" && !has_rows(inputs[1]) && !has_rows(inputs[2])) return true;
  if (!op.has(Trait::pointwise) && !contains(kCopies, name) && !is_product) return false;
  size_t rank = 0;
  std::vector<const TensorMeta*> tensors;
  for (const ir::Value* v : inputs) {
    if (is_list_of_tensors(v)) return false;
    if (!is_tensor(v)) continue;
    const TensorMeta* meta = meta_of(metas, v);
    if (!meta) return false;
    tensors.push_back(meta);
    rank = std::max(rank, meta->sizes.size());
  }
  for (const TensorMeta* meta : tensors) {
    // A vector is a row or a column of a product; a tensor without dimensions yields to others in type promotion.
    if (is_product && meta->sizes.size() < 2) return false;
    if (meta->dtype != tensors[0]->dtype && (meta->sizes.empty() != tensors[0]->sizes.empty())) return false;
  }
  const Levels levels = all_levels(inputs);
  for (ir::Value*& v : inputs) {
    if (is_tensor(v)) v = aligned(v, levels, metas.at(v)->sizes.size(), rank, range);
  }
  return true;
}

// table[i, j] with rows of indices, for all leading dimensions of a table that is the same for all rows.
bool Vmap::fit_lookup(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas, const sconce::Range& range) {
  if (op.qualified_name() != "aten::index.Tensor" || has_rows(inputs[0]) || !is_list_of_tensors(inputs[1]))
    return false;
  std::vector<ir::Value*> indices = inputs[1]->node()->inputs();
  size_t rank = 0;
  for (const ir::Value* v : indices) {
    const TensorMeta* meta = meta_of(metas, v);
    if (!is_tensor(v) || !meta || meta->dtype == DType::bool_ || meta->dtype == DType::uint8) return false;
    rank = std::max(rank, meta->sizes.size());
  }
  const Levels levels = all_levels(indices);
  for (ir::Value*& v : indices) v = aligned(v, levels, metas.at(v)->sizes.size(), rank, range);
  ir::Node* list = graph_.create(ir::kind::ListConstruct, indices, 1);
  list->output()->set_type(inputs[1]->type());
  inputs[1] = graph_.insert(list->set_range(range))->output();
  return true;
}

// Dimensions counted from the front begin behind the levels.
bool Vmap::fit_dims(const Op& op, std::vector<ir::Value*>& inputs, const Metas& metas, const sconce::Range& range) {
  if (!contains(kAlongDims, std::string_view(op.info.name))) return false;
  const std::vector<sconce::Argument>& arguments = op.schema().arguments;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (is_tensor(inputs[i])) return false;
  }
  const TensorMeta* meta = meta_of(metas, inputs[0]);
  if (!meta || (meta->sizes.empty() && op.info.name != std::string_view("aten::unsqueeze"))) return false;
  const auto outer = static_cast<int64_t>(levels_of(inputs[0]).size());
  std::vector<ir::Value*> shifted = inputs;
  bool found = false;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!std::string_view(arguments[i].name).starts_with("dim")) continue;
    const bool is_list = inputs[i]->type()->is(TypeKind::list);
    std::vector<ir::Value*> dims{inputs[i]};
    if (is_list) {
      if (!inputs[i]->node()->is(ir::kind::ListConstruct)) return false;
      dims = inputs[i]->node()->inputs();
    }
    if (dims.empty()) return false;  // all of them
    for (ir::Value*& dim : dims) {
      const std::optional<Value> number = ir::constant_value(dim);
      if (!number || !number->is_int()) return false;
      if (number->to_int() >= 0) dim = constant(number->to_int() + outer, range);
    }
    found = true;
    shifted[i] = dims[0];
    if (!is_list) continue;
    ir::Node* list = graph_.create(ir::kind::ListConstruct, dims, 1);
    list->output()->set_type(list_type(int_type()));
    shifted[i] = graph_.insert(list->set_range(range))->output();
  }
  if (found) inputs = std::move(shifted);
  return found;
}

std::vector<ir::Value*> Vmap::one_call(const Call& call, ListRef<ir::Value*> inputs) {
  ir::Node* made = graph_.create(ir::Symbol(call.op.info.name), inputs);
  made->set_op(&call.op);
  made->set_range(call.range);
  for (TypePtr type : call.returns) made->add_output(type);
  graph_.insert(made);
  std::vector<ir::Value*> results;
  for (size_t i = 0; i < call.returns.size(); ++i) {
    ir::Value* v = made->output(i);
    if (!v->type()->is(TypeKind::list)) {
      results.push_back(v);
      continue;
    }
    ir::Node* unpack = graph_.create(ir::kind::ListUnpack, {v}, call.counts[i]);
    for (ir::Value* item : unpack->outputs()) item->set_type(v->type()->element());
    graph_.insert(unpack->set_range(call.range));
    results.insert(results.end(), unpack->outputs().begin(), unpack->outputs().end());
  }
  return results;
}

// One row, if it has rows of this level: its first dimension, since outer levels are gone.
ir::Value* Vmap::row_of(ir::Value* v, int64_t level, ir::Value* turn, const sconce::Range& range) {
  if (is_list_of_tensors(v)) {
    std::vector<ir::Value*> items = v->node()->inputs();
    for (ir::Value*& item : items) item = row_of(item, level, turn, range);
    ir::Node* list = graph_.create(ir::kind::ListConstruct, items, 1);
    list->output()->set_type(v->type());
    return graph_.insert(list->set_range(range))->output();
  }
  Levels levels = levels_of(v);
  if (levels.empty() || levels[0] != level) return v;
  levels.erase(levels.begin());
  return with_levels(insert_call(graph_, "aten::select", {v, constant(0, range), turn}, range), std::move(levels));
}

//   for i in range(rows):
//       results.append(op(x[i], ...))
//   return torch.stack(results)
std::vector<ir::Value*> Vmap::loop(const Call& call, const std::vector<ir::Value*>& inputs) {
  const Levels levels = all_levels(inputs);
  if (levels.empty()) return one_call(call, inputs);
  const sconce::Range& range = call.range;
  ir::Value* count = nullptr;
  const auto look = [&](ir::Value* v) {
    const Levels& has = levels_of(v);
    if (count || has.empty() || has[0] != levels[0]) return;
    count = insert_call(graph_, "aten::size", {v, constant(0, range)}, range);
  };
  for (ir::Value* v : inputs) {
    look(v);
    if (!is_list_of_tensors(v)) continue;
    for (ir::Value* item : v->node()->inputs()) look(item);
  }
  size_t results = 0;
  for (size_t i = 0; i < call.returns.size(); ++i) {
    results += call.returns[i]->is(TypeKind::list) ? call.counts[i] : 1;
  }
  std::vector<ir::Value*> lists;
  for (size_t i = 0; i < results; ++i) {
    ir::Node* list = graph_.create(ir::kind::ListConstruct, {}, 1);
    list->output()->set_type(list_type(tensor_type()));
    lists.push_back(graph_.insert(list->set_range(range))->output());
  }
  ir::Value* yes = graph_.insert_constant(Value(true), range);
  ir::Node* node = graph_.create(ir::kind::Loop, {count, yes});
  graph_.insert(node->set_range(range));
  ir::Block* block = node->add_block();
  ir::Value* turn = block->add_input(int_type());
  {
    const ir::InsertPoint inside(graph_, block);
    std::vector<ir::Value*> row = inputs;
    for (ir::Value*& v : row) v = row_of(v, levels[0], turn, range);
    const std::vector<ir::Value*> made = loop(call, row);
    for (size_t i = 0; i < results; ++i) insert_call(graph_, "aten::append", {lists[i], made[i]}, range);
    block->add_output(yes);
  }
  std::vector<ir::Value*> stacked;
  for (ir::Value* list : lists) {
    stacked.push_back(with_levels(insert_call(graph_, "aten::stack", {list, constant(0, range)}, range), levels));
  }
  return stacked;
}

std::vector<ir::Value*> Vmap::call(const Op& op, ListRef<TypePtr> returns, std::vector<ir::Value*> inputs,
                                   const Metas& metas, ListRef<size_t> counts, const sconce::Range& range) {
  const Call call{op, returns, counts, range};
  SCONCE_CHECK(!op.has(Trait::random), "{} draws random numbers inside of a vmap (randomness '{}'): not supported",
               op.qualified_name(), randomness_.back());
  const Levels levels = all_levels(inputs);
  const bool writes = op.has(Trait::inplace);
  SCONCE_CHECK(!writes || levels_of(inputs[0]) == levels,
               "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
               "extra_args that has more elements than `self`");
  SCONCE_CHECK(!writes || !copied_views_.contains(inputs[0]), "{} writes to a view inside of a vmap: not supported",
               op.qualified_name());
  // What it asserts of dtype, device and layout holds for all rows.
  if (is_assertion(op, inputs)) return one_call(call, inputs);
  ir::Value* const self = inputs[0];
  if (returns.size() == 1 && returns[0]->is(TypeKind::int_) && fit_dims(op, inputs, metas, range)) {
    return one_call(call, inputs);
  }
  for (TypePtr type : returns) {
    const bool is_tensors =
        type->is(TypeKind::tensor) || (type->is(TypeKind::list) && type->element() == tensor_type());
    SCONCE_CHECK(is_tensors, "{} gives a {} inside of a vmap: not supported", op.qualified_name(), type->annotation());
  }
  const bool whole = fit_elementwise(op, inputs, metas, range) || fit_lookup(op, inputs, metas, range) ||
                     fit_dims(op, inputs, metas, range);
  std::vector<ir::Value*> results = whole ? one_call(call, inputs) : loop(call, inputs);
  if (writes) return {self};
  const bool is_view = op.has(Trait::view);
  for (ir::Value* v : results) {
    with_levels(v, levels);
    if (is_view && (!whole || copied_views_.contains(self))) copied_views_.insert(v);
  }
  return results;
}

}  // namespace sconce::exported
