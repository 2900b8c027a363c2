// Custom functions: an operation with a backward of its own, written in C++.
//
//   struct Square : autograd::Function<Square> {
//     static Tensor forward(autograd::Context& ctx, const Tensor& x) {
//       ctx.save_for_backward({x});
//       return x * x;
//     }
//     static std::vector<Tensor> backward(autograd::Context& ctx, const std::vector<Tensor>& grads) {
//       return {2 * ctx.saved()[0] * grads[0]};   // one per tensor argument of forward
//     }
//   };
//   Tensor y = Square::apply(x);
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "sconce/autograd/graph/saved_tensor.h"

namespace sconce::autograd {

class CustomNode;

// Context: the values that forward leaves for backward.
class SCONCE_API Context {
 public:
  // Arguments and results of forward; other tensors may be kept in members of one's own, unchecked.
  void save_for_backward(std::vector<Tensor> tensors);
  std::vector<Tensor> saved() const;  // checked for writes since; throws after backward without retain_graph
  // Arguments that forward changed in place.
  void mark_dirty(std::vector<Tensor> tensors);
  void mark_non_differentiable(std::vector<Tensor> results);
  // Off: backward gets undefined tensors instead of zeros.
  void set_materialize_grads(bool on);
  bool needs_input_grad(size_t tensor_argument) const;
  // The node of the call; null before forward has ended, where nothing is recorded, and when the graph is gone.
  Node* node() const;
  // Anything else that backward needs.
  std::vector<Value> values;

 private:
  friend class CustomNode;
  friend struct CustomCall;
  friend SCONCE_API std::vector<Tensor> apply_custom(
      std::string_view name, const std::vector<Tensor>& inputs,
      const std::function<std::vector<Tensor>(Context&)>& forward,
      std::function<std::vector<Tensor>(Context&, const std::vector<Tensor>&)> backward);
  struct State;
  std::shared_ptr<State> state_ = make_state();
  static std::shared_ptr<State> make_state();
};

using CustomBackward = std::function<std::vector<Tensor>(Context&, const std::vector<Tensor>&)>;

// The untyped call that Function and other languages use. `inputs` are the tensor arguments in order (undefined ones
// too), `forward` returns the results; it runs without recording.
SCONCE_API std::vector<Tensor> apply_custom(std::string_view name, const std::vector<Tensor>& inputs,
                                            const std::function<std::vector<Tensor>(Context&)>& forward,
                                            CustomBackward backward);

SCONCE_API std::string type_name(const char* mangled);

template <class T>
struct Function {
  template <class... A>
  static auto apply(A&&... args) {
    using Result = decltype(T::forward(std::declval<Context&>(), std::forward<A>(args)...));
    std::vector<Tensor> inputs;
    (add_input(inputs, args), ...);
    const auto forward = [&](Context& ctx) -> std::vector<Tensor> {
      if constexpr (std::is_same_v<Result, Tensor>)
        return {T::forward(ctx, args...)};
      else
        return T::forward(ctx, args...);
    };
    std::vector<Tensor> results = apply_custom(type_name(typeid(T).name()), inputs, forward, &T::backward);
    if constexpr (std::is_same_v<Result, Tensor>)
      return results[0];
    else
      return results;
  }

 private:
  template <class A>
  static void add_input(std::vector<Tensor>& inputs, const A& argument) {
    if constexpr (std::is_same_v<A, Tensor>) {
      inputs.push_back(argument);
    } else if constexpr (std::is_same_v<A, std::vector<Tensor>>) {
      inputs.insert(inputs.end(), argument.begin(), argument.end());
    }
  }
};

}  // namespace sconce::autograd
