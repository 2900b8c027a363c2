#include "sconce/autograd/custom_function.h"

#include <cxxabi.h>

#include <algorithm>
#include <mutex>

#include "sconce/autograd/differentiable_dtype.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/view_base.h"

namespace sconce::autograd {
namespace {

bool contains(const std::vector<Tensor>& list, const Tensor& t) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& item) { return item.is_same(t); });
}

// The tensor again, as a view that can have a history of its own.
Tensor same_view(const Tensor& t) {
  const NoGrad off;
  return view(t, t.sizes());
}

}  // namespace

struct Context::State {
  std::mutex mutex;                // of saved and released: threads may run one graph at once
  std::vector<Tensor> to_save;     // while forward runs
  std::vector<SavedTensor> saved;  // from then on
  bool finished = false;           // forward has ended
  bool released = false;
  std::vector<Tensor> dirty, non_differentiable;  // while forward runs
  bool materialize = true;
  std::vector<uint8_t> needs;  // per tensor argument
  Node* owner = nullptr;       // null where nothing is recorded
};

std::shared_ptr<Context::State> Context::make_state() { return std::make_shared<State>(); }

void Context::save_for_backward(std::vector<Tensor> tensors) { state_->to_save = std::move(tensors); }
void Context::mark_dirty(std::vector<Tensor> tensors) { state_->dirty = std::move(tensors); }
void Context::mark_non_differentiable(std::vector<Tensor> results) { state_->non_differentiable = std::move(results); }
void Context::set_materialize_grads(bool on) { state_->materialize = on; }

bool Context::needs_input_grad(size_t tensor_argument) const {
  SCONCE_CHECK_AS(index, tensor_argument < state_->needs.size(),
                  "needs_input_grad: there are {} tensor arguments, no number {}", state_->needs.size(),
                  tensor_argument);
  return state_->needs[tensor_argument];
}

Node* Context::node() const { return state_->owner; }

std::vector<Tensor> Context::saved() const {
  State& state = *state_;
  if (!state.finished) return state.to_save;
  const std::lock_guard lock(state.mutex);
  SCONCE_CHECK(!state.released, "{}", kSecondBackward);
  std::vector<Tensor> out;
  out.reserve(state.saved.size());
  for (const SavedTensor& t : state.saved) out.push_back(t.unpack(state.owner));
  return out;
}

// The node of a call.
class CustomNode final : public Node {
 public:
  CustomNode(std::string_view name, CustomBackward backward, Context context)
      : name_(std::string(name) + "Backward"), backward_(std::move(backward)), context_(std::move(context)) {}
  // Other languages keep copies of the context, which may live longer.
  ~CustomNode() override {
    release_saved();
    context_.state_->owner = nullptr;
  }
  std::string name() const override { return name_; }

  uint32_t add_result(const Tensor& t) {
    absent_.push_back(false);
    return static_cast<uint32_t>(add_output(t));
  }
  // A result that forward left undefined: no gradient comes for it.
  void skip_output() {
    absent_.push_back(true);
    outputs.push_back({{}, DType::float32, Device()});
  }

  void apply(const BackwardCall& call) override {
    Context::State& state = *context_.state_;
    std::vector<Tensor> grads(std::make_move_iterator(call.grads.begin()), std::make_move_iterator(call.grads.end()));
    for (size_t i = 0; state.materialize && i < grads.size(); ++i) {
      if (!grads[i].defined() && !absent_[i]) grads[i] = zeros_for(outputs[i]);
    }
    // A copy, as another thread may be in here; it shares the saved tensors.
    Context context = context_;
    context.state_ = std::make_shared<Context::State>();
    context.state_->finished = true;
    context.state_->owner = this;
    {
      const std::lock_guard lock(state.mutex);
      context.state_->saved = state.saved;
      context.state_->released = state.released;
    }
    context.state_->needs.assign(call.wanted.begin(), call.wanted.end());
    std::vector<Tensor> inputs = backward_(context, grads);
    // More than asked for are allowed where they are nothing.
    size_t count = inputs.size();
    while (count > edges.size() && !inputs[count - 1].defined()) --count;
    SCONCE_CHECK(count == edges.size(), "function {} returned an incorrect number of gradients (expected {}, got {})",
                 name_, edges.size(), count);
    for (size_t i = 0; i < count; ++i) call.inputs[i] = std::move(inputs[i]);
  }

  void release_saved() override {
    Context::State& state = *context_.state_;
    std::vector<SavedTensor> dying;  // the last owner of a tensor may run code of another language
    const std::lock_guard lock(state.mutex);
    state.released = state.released || !state.saved.empty();
    dying.swap(state.saved);
  }

 private:
  friend struct CustomCall;
  const std::string name_;
  const CustomBackward backward_;
  Context context_;
  std::vector<uint8_t> absent_;  // per result
};

// One call: its arguments and the results of forward.
struct CustomCall {
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> results;
  Context& context;
  const Ref<CustomNode>& node;  // null where nothing is recorded

  Context::State& state() const { return *context.state_; }

  // Gives results their history.
  void finish() {
    for (const Tensor& t : state().dirty) {
      SCONCE_CHECK(
          contains(results, t),
          "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
          "are modified inplace must all be outputs of the Function.");
    }
    // The results of forward, before inputs among them become views: saved results are found by them.
    const std::vector<Tensor> returned = results;
    std::vector<uint32_t> slots(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined()) {
        if (node) node->skip_output();
        continue;
      }
      if (node) slots[i] = node->add_result(results[i]);
      finish_one(results[i], slots[i]);
    }
    if (node) save(returned, slots);
    state().dirty.clear();
    state().non_differentiable.clear();
    state().to_save.clear();
    state().finished = true;
  }

 private:
  void finish_one(Tensor& t, uint32_t slot) {
    const bool is_input = contains(inputs, t), is_dirty = contains(state().dirty, t);
    const bool differentiable = node && is_differentiable(t.dtype()) && !contains(state().non_differentiable, t);
    if (is_input && !is_dirty) t = same_view(t);
    if (!differentiable) {
      // Forward may have computed it with gradients.
      if (!is_dirty && !is_input && t.requires_grad()) t = shallow_copy(t);
      return;
    }
    if (is_dirty) {
      finish_dirty(t, slot);
      return;
    }
    set_history(t, node, slot);
    if (base_of(*t.impl()))
      set_view_origin(*t.impl(), has_several_gradients() ? ViewOrigin::multiple : ViewOrigin::custom);
  }

  bool has_several_gradients() const {
    return std::count_if(results.begin(), results.end(), [&](const Tensor& t) {
             return t.defined() && is_differentiable(t.dtype()) && !contains(state().non_differentiable, t);
           }) > 1;
  }

  void finish_dirty(const Tensor& t, uint32_t slot) {
    SCONCE_CHECK(!(t.requires_grad() && is_leaf(t) && !base_of(*t.impl())),
                 "a leaf Variable that requires grad has been used in an in-place operation.");
    const auto self = std::find_if(inputs.begin(), inputs.end(), [&](const Tensor& i) { return i.is_same(t); });
    const auto edge = static_cast<uint32_t>(self - inputs.begin());
    if (!base_of(*t.impl())) return rebase_history(t, node, slot, edge);
    check_inplace(t, true);
    SCONCE_CHECK(
        results.size() == 1,
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
        "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
        "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
        "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
        "second one that does the other operations).");
    rebase_history(t, node, slot, edge);
  }

  void save(const std::vector<Tensor>& returned, const std::vector<uint32_t>& slots) {
    for (const Tensor& t : state().to_save) {
      const auto found =
          std::find_if(returned.begin(), returned.end(), [&](const Tensor& r) { return t.defined() && r.is_same(t); });
      const bool is_result = found != returned.end() && (!contains(inputs, t) || contains(state().dirty, t));
      if (is_result)
        state().saved.emplace_back(t, slots[static_cast<size_t>(found - returned.begin())]);
      else
        state().saved.emplace_back(t);
    }
  }
};

std::vector<Tensor> apply_custom(std::string_view name, const std::vector<Tensor>& inputs,
                                 const std::function<std::vector<Tensor>(Context&)>& forward, CustomBackward backward) {
  Context context;
  const auto needs = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  const bool recorded = grad_enabled() && std::any_of(inputs.begin(), inputs.end(), needs);
  for (const Tensor& t : inputs) context.state_->needs.push_back(needs(t));
  std::vector<Edge> edges;
  if (recorded) {
    for (const Tensor& t : inputs) edges.push_back(t.defined() ? gradient_edge(t) : Edge());
  }
  std::vector<Tensor> results;
  {
    const NoGrad off;
    results = forward(context);
  }
  Ref<CustomNode> node;
  if (recorded) {
    node = make_ref<CustomNode>(name, std::move(backward), context);
    node->edges = std::move(edges);
    context.state_->owner = node.get();
  }
  CustomCall call{inputs, std::move(results), context, node};
  call.finish();
  return std::move(call.results);
}

std::string type_name(const char* mangled) {
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? plain : mangled;
  std::free(plain);
  // Without namespaces, of the type itself and not of its template arguments.
  const size_t end = std::min(name.find('<'), name.size());
  const size_t colons = name.rfind("::", end);
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

}  // namespace sconce::autograd
