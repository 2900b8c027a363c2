#include "sconce/autograd/graph/recompute.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "sconce/autograd/autocast_mode.h"
#include "sconce/autograd/graph/op_node.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/libraries/backend_library.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/view_base.h"

namespace sconce::autograd {
namespace {

SCONCE_VARIANT(pointwise_again, "autograd.recompute.pointwise",
               "a large result of a pointwise operator of one tensor, which is kept");
SCONCE_VARIANT(let_go_result, "autograd.recompute.let_go",
               "a large result that only nodes keep: let go, and computed again");

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr int kMostSweeps = 16;  // that a candidate waits for its other owners to go

int64_t first_least_bytes() {
  const char* given = std::getenv("SCONCE_RECOMPUTE");
  if (!given || std::string_view(given) == "on") return kLeastBytes;
  SCONCE_CHECK(std::string_view(given) == "off", "SCONCE_RECOMPUTE takes on or off, got '{}'", given);
  return -1;
}
std::atomic<int64_t>& least_bytes() {
  static std::atomic<int64_t> bytes{first_least_bytes()};
  return bytes;
}

const Op* again_of(const Op& op) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::unordered_map<const Op*, const Op*>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(&op, nullptr);
  const std::string_view name = op.info.name;
  if (is_new && name.starts_with("aten::") && op.info.overload[0] == 0)
    at->second = find_op("sconce::again_" + std::string(name.substr(6)));
  return at->second;
}

int64_t current_stream(Device device) {
  const DeviceQueries* queries = find_queries(device.type);
  return queries ? queries->streams.current(device) : 0;
}

// Parameters may be written before backward: a formula that does not read one (a norm's shift) has nothing against it.
Value copy_of(const Value& parameter) {
  const NoGrad off;
  return Value(clone(parameter.to_tensor()));
}

bool is_float_on_cpu(const Tensor& t) { return t.device().type == DeviceType::cpu && is_floating(t.dtype()); }

const Op* in_place_form(const Op& op) {
  const Op* twin = find_op(std::string(op.info.name) + "_", op.info.overload);
  return twin && twin->has(Trait::inplace) ? twin : nullptr;
}

// What nodes have in place of a result that was let go.
class Recomputed {
 public:
  Recomputed(const Again& again, const Op* then) : op_(again.op), then_(then), args_(again.args), saved_(again.saved) {}

  Tensor get(IntList sizes) {
    const std::lock_guard lock(mutex_);
    if (!made_.defined()) make();
    if (made_.sizes() == sizes) return made_;
    const NoGrad off;
    return view(made_, sizes);
  }

 private:
  void make() {
    for (const SavedTensor& t : saved_) t.unpack(nullptr);  // which throws for one that was written
    const ModeGuard below({}, kGradKeys | KeySet{Key::autocast});
    std::vector<Value> args = args_;
    Value made;
    op_->call_boxed(args.data(), &made);
    if (then_) {
      Value given = std::move(made);
      // Nobody else has it: written over, it takes no second memory.
      const Op* twin = is_float_on_cpu(given.to_tensor()) ? in_place_form(*then_) : nullptr;
      (twin ? twin : then_)->call_boxed(&given, &made);
    }
    made_ = made.to_tensor();
  }

  std::mutex mutex_;
  const Op* op_;
  const Op* then_;  // applied to it; null: none
  std::vector<Value> args_;
  std::vector<SavedTensor> saved_;
  Tensor made_;
};

// The tensor whose memory it is: itself, or its base, if that is contiguous and it has all elements of it in order.
TensorImpl* whole_of(const Tensor& t) {
  TensorImpl* base = base_of(*t.impl());
  if (!base) return t.impl();
  const Tensor whole(Ref<TensorImpl>::share(base));
  const bool all = whole.is_contiguous() && t.is_contiguous() && t.data() == whole.data() &&
                   t.numel() == whole.numel() && same_math_bits(t, whole);
  return all ? base : nullptr;
}

// Does nobody have the memory but `owners` that are known of the tensor, and through it its base?
bool has_only(const Tensor& t, uint32_t owners) {
  const TensorImpl* base = base_of(*t.impl());
  return t.impl()->count.owners() == owners && (!base || base->count.owners() == 1) &&
         t.storage()->count.owners() == (base ? 2u : 1u);
}

struct Candidate {
  OpNode* node;
  size_t kept;
  int sweeps = 0;
};

// Behind one lock: a candidate's node cannot go while it is looked at.
struct Candidates {
  std::mutex mutex;
  std::vector<Candidate> all;
  std::atomic<bool> any{false};
};
Candidates& candidates() {
  static auto& made = *new Candidates;
  return made;
}

}  // namespace

int64_t set_recompute_bytes(int64_t bytes) { return least_bytes().exchange(bytes); }

bool is_large_enough_to_recompute(const Tensor& t) {
  const int64_t least = least_bytes().load(std::memory_order_relaxed);
  return least >= 0 && t.defined() && t.layout() == Layout::strided && !t.is_meta() &&
         t.numel() * static_cast<int64_t>(t.item_size()) >= least;
}

bool is_worth_recomputing(const Tensor& t) {
  return is_large_enough_to_recompute(t) && !t.impl()->extra && whole_of(t);
}

std::unique_ptr<Again> make_again(const Op& op, const Value* args, const Value* results, bool keeps_first) {
  if (!results[0].is_tensor() || has_saved_tensor_hooks() || !is_worth_recomputing(results[0].to_tensor()))
    return nullptr;
  const Tensor& result = results[0].to_tensor();
  const size_t given = op.schema().arguments.size(), made = op.schema().returns.size();
  const bool is_on_cpu = result.device().type == DeviceType::cpu;
  const auto is_tensor = [](const Value& v) { return v.is_tensor() || v.is_list(); };
  const bool is_pointwise = is_on_cpu && keeps_first && op.has(Trait::pointwise) && !op.has(Trait::random) &&
                            made == 1 && args[0].is_tensor() && std::none_of(args + 1, args + given, is_tensor) &&
                            !autocast_enabled();
  pointwise_again(is_pointwise);
  const Op* by = is_pointwise ? &op : is_on_cpu && autocast_enabled() ? nullptr : again_of(op);
  if (!by) return nullptr;
  auto how = std::make_unique<Again>();
  how->op = by;
  how->is_pointwise = is_pointwise;
  how->is_on_cpu = is_on_cpu;
  how->args.assign(args, args + given);
  if (!is_pointwise) {
    SCONCE_ASSERT(how->op->schema().arguments.size() == given + made - 1 && args[0].is_tensor());
    for (size_t i = 1; i < given; ++i) {
      Value& v = how->args[i];
      if (v.is_tensor() && v.to_tensor().defined() && v.to_tensor().requires_grad()) v = copy_of(v);
    }
    for (size_t i = 1; i < made; ++i) {
      // Statistics that were not made: those of the module stand outside, and may change.
      if (!results[i].is_tensor() || results[i].to_tensor().numel() == 0) return nullptr;
      how->args.push_back(results[i]);
    }
  }
  for (const Value& v : how->args) {
    if (v.is_tensor()) how->saved.emplace_back(v.to_tensor());
  }
  how->stream = current_stream(result.device());
  return how;
}

// ---- candidates ----

// Before the node goes, or frees what it keeps.
void OpNode::forget_candidates() noexcept {
  const std::unique_ptr<Again> gone = [&] {
    Candidates& known = candidates();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.all, [&](const Candidate& c) { return c.node == this; });
    return std::move(again_);
  }();
}

// The node that gives the tensor's elements again, and the operator between it and the tensor.
OpNode::Recipe OpNode::recipe_of(Node* maker, uint32_t slot) {
  auto* node = dynamic_cast<OpNode*>(maker);
  if (!node || slot != 0) return {};
  if (node->again_) return {node, nullptr};
  if (node->op_.schema().arguments.size() != 1 || node->edges.size() != 1 || node->edges[0].slot != 0) return {};
  const bool is_pointwise = node->op_.info.entry && !node->op_.info.entry->pointwise().empty();
  auto* before = dynamic_cast<OpNode*>(node->edges[0].node.get());
  return is_pointwise && before && before->again_ ? Recipe{before, &node->op_} : Recipe{};
}

OpNode::Recipe OpNode::recipe_of(const Kept& kept) {
  if (kept.index & kResult) return recipe_of(this, kept.index & ~kResult);
  const Tensor& t = kept.tensor.tensor();
  TensorImpl* whole = t.defined() ? whole_of(t) : nullptr;
  if (!whole) return {};
  const Tensor made(Ref<TensorImpl>::share(whole));
  const Recipe recipe = recipe_of(grad_fn(made).get(), output_number(made));
  // Kernels of devices may give a result in another order than that of a contiguous argument.
  if (recipe.node && whole != t.impl() && !recipe.node->again_->is_pointwise) return {};
  return recipe;
}

// Behind the last thing that the node keeps: from then on other threads may look at it.
void OpNode::add_candidates() {
  let_go_candidates();
  Candidates& known = candidates();
  const std::lock_guard lock(known.mutex);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Tensor& t = kept_[i].tensor.tensor();
    if (!is_worth_recomputing(t)) continue;
    const Recipe recipe = recipe_of(kept_[i]);
    if (!recipe.node || recipe.node->again_->stream != current_stream(t.device())) continue;
    is_candidate_ = true;
    known.all.push_back({this, i});
    known.any.store(true, std::memory_order_relaxed);
  }
}

void OpNode::let_go_candidates() {
  std::vector<Tensor> gone;  // goes behind the lock: the last owner of a tensor may have to wait for Python
  Candidates& known = candidates();
  const std::lock_guard lock(known.mutex);
  std::vector<Candidate>& all = known.all;
  const auto kept = [](const Candidate& c) -> Kept& { return c.node->kept_[c.kept]; };
  const auto memory = [&](const Candidate& c) { return kept(c).tensor.tensor().impl()->storage; };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Candidate& a, const Candidate& b) { return std::less<>()(memory(a), memory(b)); });
  const auto let_go = [&](std::span<Candidate> same) {
    // Owners of the tensors, and of the memory, that are not these.
    std::unordered_map<const TensorImpl*, uint32_t> owners;
    const Recipe recipe = same[0].node->recipe_of(kept(same[0]));
    for (const Candidate& c : same) {
      const SavedTensor& saved = kept(c).tensor;
      if (++owners[saved.tensor().impl()] == 1) {
        if (const TensorImpl* base = base_of(*saved.tensor().impl())) ++owners[base];
      }
      const Recipe other = c.node->recipe_of(kept(c));
      if (!saved.is_unchanged() || other.node != recipe.node || other.then != recipe.then) return false;
    }
    if (!recipe.node || same[0].node == recipe.node) return false;
    // The node's own, two of `again_`.
    if (recipe.node->again_->is_on_cpu && !has_only(recipe.node->again_->args[0].to_tensor(), 3)) return false;
    for (const auto& [impl, count] : owners) {
      if (impl->count.owners() != count) return false;
    }
    if (memory(same[0])->count.owners() != owners.size()) return false;
    // Those who read what they keep at this moment have owners of their own a moment later: then the next time.
    std::vector<OpNode*> locked;
    bool is_free = true;
    for (const Candidate& c : same) {
      if (std::find(locked.begin(), locked.end(), c.node) != locked.end()) continue;
      if (c.node->busy_.test_and_set(std::memory_order_acquire)) {
        is_free = false;
        break;
      }
      locked.push_back(c.node);
    }
    for (const auto& [impl, count] : owners) is_free = is_free && impl->count.owners() == count;
    if (is_free) {
      const auto recomputed = std::make_shared<Recomputed>(*recipe.node->again_, recipe.then);
      for (const Candidate& c : same) {
        const Dims sizes(kept(c).tensor.tensor().sizes());
        gone.push_back(kept(c).tensor.replace_by(std::make_shared<const SavedTensorHooks>(
            SavedTensorHooks{nullptr, [recomputed, sizes](const Value&) { return recomputed->get(sizes); }})));
      }
    }
    for (OpNode* node : locked) {
      node->busy_.clear(std::memory_order_release);
      node->busy_.notify_one();
    }
    return is_free;
  };
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    while (end < all.size() && memory(all[end]) == memory(all[begin])) ++end;
    if (!let_go_result(let_go({all.data() + begin, end - begin}))) continue;
    for (size_t i = begin; i < end; ++i) all[i].node = nullptr;
  }
  std::erase_if(all, [](Candidate& c) { return !c.node || ++c.sweeps > kMostSweeps; });
  known.any.store(!all.empty(), std::memory_order_relaxed);
}

void let_go_results() {
  if (candidates().any.load(std::memory_order_relaxed)) OpNode::let_go_candidates();
}

}  // namespace sconce::autograd
