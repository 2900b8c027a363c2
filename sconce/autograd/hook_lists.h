// Hook storage: a list is shared with the handles that can remove from it; running one copies it first, so that a hook
// may remove itself.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/hooks.h"

namespace sconce::autograd {

template <class F>
class HookList {
 public:
  HookHandle add(F hook) {
    const std::lock_guard lock(items_->mutex);
    const uint64_t id = items_->next++;
    items_->hooks.emplace_back(id, std::move(hook));
    std::weak_ptr<Items> weak = items_;
    return HookHandle([weak, id] {
      const std::shared_ptr<Items> items = weak.lock();
      if (!items) return;
      const std::lock_guard guard(items->mutex);
      std::erase_if(items->hooks, [&](const auto& item) { return item.first == id; });
    });
  }
  std::vector<F> current() const {
    const std::lock_guard lock(items_->mutex);
    std::vector<F> out;
    out.reserve(items_->hooks.size());
    for (const auto& item : items_->hooks) out.push_back(item.second);
    return out;
  }

 private:
  struct Items {
    std::mutex mutex;
    uint64_t next = 0;
    std::vector<std::pair<uint64_t, F>> hooks;
  };
  std::shared_ptr<Items> items_ = std::make_shared<Items>();
};

// Runs hook `number` of a tensor, which may replace the gradient by one that looks the same.
void run_tensor_hook(const TensorHook& hook, Tensor& grad, size_t number);

struct TensorHooks {
  HookList<TensorHook> pre;  // of a leaf: run by its AccumulateGrad; of other tensors they live at the node
  HookList<PostAccumulateHook> post_accumulate;
};

struct NodeHooks {
  // Of one output of the forward operation: hooks of the tensor, then what keeps its gradient (see retain_grad).
  struct Output {
    uint32_t slot;
    TensorHook hook;
  };
  HookList<Output> outputs;
  HookList<Output> retained;
  HookList<NodePreHook> pre;
  HookList<NodePostHook> post;
};

// How the node that made a tensor finds it, to leave its gradient there: a tensor owns its node, not the other way.
struct RetainedGrad {
  std::mutex mutex;
  AutogradState* state;  // null once the tensor is gone
  HookHandle hook;
};
void forget_tensor(RetainedGrad& retained);
// After an in-place operation: a tensor with retain_grad keeps the gradient of its new value.
void follow_history(const Tensor& t);

}  // namespace sconce::autograd
