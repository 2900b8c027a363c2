#include "sconce/autograd/checkpoint.h"

#include <mutex>

#include "sconce/autograd/graph/saved_tensor.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/capsule.h"

namespace sconce::autograd {
namespace {

struct Frame;

// Stands for a tensor that f saved: the first that is used runs f again, which fills all of them.
struct Recomputed {
  std::shared_ptr<Frame> frame;
  size_t number;  // of the tensors that f saved
  Tensor value;   // from the second run until it is used
};

// Ends the second run when all that f saved is there.
struct AllIsThere {};

class RandomState {
 public:
  explicit RandomState(bool keep) {
    if (!keep) return;
    GeneratorImpl& generator = *default_generator().impl();
    const std::lock_guard lock(generator.mutex);
    state_ = generator.state();
  }
  void restore() const {
    if (state_.empty()) return;
    GeneratorImpl& generator = *default_generator().impl();
    const std::lock_guard lock(generator.mutex);
    generator.set_state(state_);
  }

 private:
  std::vector<uint8_t> state_;
};

// Puts the state back at the end of a scope.
struct RandomScope {
  RandomState before;
  ~RandomScope() { before.restore(); }
};

struct ModeScope {
  const ThreadModes before = thread_modes;
  ~ModeScope() { thread_modes = before; }
};

std::string facts(const OutputInfo& info) {
  return "torch." + std::string(dtype_name(info.dtype)) + format_message("{} on ", {IntList(info.sizes)}) +
         to_string(info.device);
}

// One call of checkpoint.
struct Frame : std::enable_shared_from_this<Frame> {
  Checkpointed f;
  std::vector<SavedTensor> inputs;  // through the hooks outside of this call: an outer checkpoint does not keep them
  std::vector<uint8_t> requires_grad;
  ThreadModes modes = thread_modes;
  RandomState random;
  std::vector<OutputInfo> saved;
  std::vector<std::weak_ptr<Recomputed>> places;
  std::mutex mutex;  // of the second run

  Frame(Checkpointed function, const std::vector<Tensor>& arguments, const CheckpointOptions& options)
      : f(std::move(function)), random(options.preserve_rng_state) {
    for (const Tensor& t : arguments) {
      inputs.emplace_back(t);
      requires_grad.push_back(t.defined() && t.requires_grad());
    }
  }

  Value pack(const Tensor& t) {
    auto place = std::make_shared<Recomputed>(Recomputed{shared_from_this(), saved.size(), Tensor()});
    saved.push_back(output_info(t));
    places.push_back(place);
    return make_capsule(std::move(place));
  }

  Tensor unpack(Recomputed& place) {
    const std::lock_guard lock(mutex);
    if (!place.value.defined()) run_again();
    return std::exchange(place.value, Tensor());
  }

  void run_again() {
    size_t next = 0;
    std::string differences;
    const auto fill = [&](const Tensor& t) -> Value {
      const OutputInfo now = output_info(t);
      const OutputInfo& then = saved[next];
      if (now.dtype != then.dtype || !(now.device == then.device) || !(IntList(now.sizes) == IntList(then.sizes))) {
        differences +=
            "\ntensor at position " + std::to_string(next) + ": saved " + facts(then) + ", recomputed " + facts(now);
      }
      if (const auto place = places[next].lock()) place->value = t;
      if (++next == saved.size()) throw AllIsThere();
      return {};
    };
    const RandomScope random_after{RandomState(true)};
    const ModeScope modes_after;
    std::vector<Tensor> arguments;
    {
      const NoGrad off;
      for (size_t i = 0; i < inputs.size(); ++i) {
        Tensor t = inputs[i].unpack(nullptr);
        if (t.defined()) t = shallow_copy(t);
        if (requires_grad[i]) set_requires_grad(t, true);
        arguments.push_back(std::move(t));
      }
    }
    thread_modes = modes;
    random.restore();
    try {
      const SavedTensorHooksGuard hooks({fill, [](const Value&) -> Tensor { return {}; }});
      f(arguments);
    } catch (const AllIsThere&) {
    }
    SCONCE_CHECK(next == saved.size(),
                 "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                 "recomputation.\nNumber of tensors saved during forward: {}\nNumber of tensors saved during "
                 "recomputation: {}.",
                 saved.size(), next);
    SCONCE_CHECK(
        differences.empty(),
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
        "the forward pass.{}",
        differences);
  }
};

}  // namespace

std::vector<Tensor> checkpoint(const Checkpointed& f, const std::vector<Tensor>& inputs, CheckpointOptions options) {
  if (!grad_enabled()) return f(inputs);
  const auto frame = std::make_shared<Frame>(f, inputs, options);
  const SavedTensorHooksGuard hooks({[frame](const Tensor& t) { return frame->pack(t); },
                                     [](const Value& v) -> Tensor {
                                       Recomputed& place =
                                           **static_cast<std::shared_ptr<Recomputed>*>(v.to_capsule().object);
                                       return place.frame->unpack(place);
                                     }});
  return f(inputs);
}

}  // namespace sconce::autograd
