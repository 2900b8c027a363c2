#include "sconce/autograd/graph/recompute.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "sconce/autograd/graph/op_node.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/copy.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce::autograd {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr int kMostSweeps = 16;  // that a candidate waits for its other owners to go

int64_t first_least_bytes() {
  const char* given = std::getenv("SCONCE_CUDA_RECOMPUTE");
  if (!given || std::string_view(given) == "on") return kLeastBytes;
  SCONCE_CHECK(std::string_view(given) == "off", "SCONCE_CUDA_RECOMPUTE takes on or off, got '{}'", given);
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

// What nodes have in place of a result that was let go.
class Recomputed {
 public:
  Recomputed(const Again& again, const Op* then)
      : op_(again.op), then_(then), args_(again.args), versions_(again.versions) {}

  Tensor get() {
    const std::lock_guard lock(mutex_);
    if (made_.defined()) return made_;
    size_t next = 0;
    for (const Value& v : args_) {
      if (!v.is_tensor()) continue;
      const Tensor& t = v.to_tensor();
      const uint32_t expected = versions_[next++];
      SCONCE_CHECK(t.version() == expected,
                   "one of the variables needed for gradient computation has been modified by an inplace operation: "
                   "[torch.{}Tensor {}] is at version {}; expected version {} instead.",
                   dtype_legacy_name(t.dtype()), t.sizes(), t.version(), expected);
    }
    const NoGrad off;
    std::vector<Value> args = args_;
    Value made;
    op_->call_boxed(args.data(), &made);
    if (then_) {
      Value given = std::move(made);
      then_->call_boxed(&given, &made);
    }
    made_ = made.to_tensor();
    return made_;
  }

 private:
  std::mutex mutex_;
  const Op* op_;
  const Op* then_;  // applied to it; null: none
  std::vector<Value> args_;
  std::vector<uint32_t> versions_;
  Tensor made_;
};

struct Candidate {
  OpNode* node;
  size_t kept;
  int sweeps = 0;
};

// Behind one lock: a candidate's node cannot go while it is looked at.
struct Candidates {
  std::mutex mutex;
  std::vector<Candidate> all;
};
Candidates& candidates() {
  static auto& made = *new Candidates;
  return made;
}

}  // namespace

int64_t set_recompute_bytes(int64_t bytes) { return least_bytes().exchange(bytes); }

bool is_worth_recomputing(const Tensor& t) {
  if (!t.defined() || t.device().type == DeviceType::cpu || t.is_meta()) return false;
  const int64_t least = least_bytes().load(std::memory_order_relaxed);
  return least >= 0 && t.numel() * static_cast<int64_t>(t.item_size()) >= least && t.layout() == Layout::strided &&
         !t.is_view() && !t.impl()->extra;
}

std::unique_ptr<Again> make_again(const Op& op, const Value* args, const Value* results) {
  if (!results[0].is_tensor() || !is_worth_recomputing(results[0].to_tensor())) return nullptr;
  const Op* again = again_of(op);
  if (!again) return nullptr;
  const size_t given = op.schema().arguments.size(), made = op.schema().returns.size();
  SCONCE_ASSERT(again->schema().arguments.size() == given + made - 1 && args[0].is_tensor());
  auto how = std::make_unique<Again>();
  how->op = again;
  how->args.assign(args, args + given);
  for (size_t i = 1; i < given; ++i) {
    Value& v = how->args[i];
    if (v.is_tensor() && v.to_tensor().defined() && v.to_tensor().requires_grad()) v = copy_of(v);
  }
  for (size_t i = 1; i < made; ++i) {
    // Statistics that were not made: those of the module stand outside, and may change.
    if (!results[i].is_tensor() || results[i].to_tensor().numel() == 0) return nullptr;
    how->args.push_back(results[i]);
  }
  for (const Value& v : how->args) {
    if (v.is_tensor()) how->versions.push_back(v.to_tensor().version());
  }
  how->stream = current_stream(results[0].to_tensor().device());
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
  return recipe_of(grad_fn(t).get(), output_number(t));
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
      ++owners[saved.tensor().impl()];
      const Recipe other = c.node->recipe_of(kept(c));
      if (!saved.is_unchanged() || other.node != recipe.node || other.then != recipe.then) return false;
    }
    if (!recipe.node || same[0].node == recipe.node) return false;
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
      const auto hooks = std::make_shared<const SavedTensorHooks>(
          SavedTensorHooks{nullptr, [recomputed](const Value&) { return recomputed->get(); }});
      for (const Candidate& c : same) gone.push_back(kept(c).tensor.replace_by(hooks));
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
    if (!let_go({all.data() + begin, end - begin})) continue;
    for (size_t i = begin; i < end; ++i) all[i].node = nullptr;
  }
  std::erase_if(all, [](Candidate& c) { return !c.node || ++c.sweeps > kMostSweeps; });
}

}  // namespace sconce::autograd
