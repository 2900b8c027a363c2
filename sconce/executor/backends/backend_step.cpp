#include "sconce/executor/backends/backend_step.h"

#include "sconce/executor/signature.h"
#include "sconce/tensor/copy.h"

namespace sconce::executor {

BackendStep::BackendStep(const TapeNode& node, const Tape& tape) : call_(node.taken), outputs_(node.results) {
  for (const TensorUse& use : node.uses) inputs_.push_back(use.value);
  for (const ValueId v : outputs_) twins_.push_back(tape.twin(v));
}

void BackendStep::run(Frame& frame) const {
  std::vector<Tensor> in, out;
  in.reserve(inputs_.size());
  out.reserve(outputs_.size());
  for (const ValueId v : inputs_) in.push_back(frame.tensors[v]);
  for (const ValueId v : outputs_) out.push_back(frame.tensors[v]);
  const auto failed = [&](const char* why) {
    return BackendError(ErrorKind::runtime, format_message("backend '{}' failed at the part that gives {}: {}",
                                                           {call_->backend, call_->results[0], why}));
  };
  try {
    call_->callable->run(in, out);
  } catch (const std::exception& e) {
    throw failed(e.what());
  } catch (...) {
    throw failed("an exception of an unknown type");
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    check(i, out[i]);
    const Tensor& given = frame.tensors[outputs_[i]];
    if (out[i].impl() != given.impl()) copy_tensor(given, out[i]);
  }
}

void BackendStep::check(size_t i, const Tensor& result) const {
  const Tensor& twin = twins_[i];
  std::string wrong;
  if (!result.defined()) {
    wrong = "there is none";
  } else if (!is_plain(result)) {
    wrong = "it is no ordinary tensor of the CPU";
  } else if (result.dtype() != twin.dtype() || !(result.sizes() == twin.sizes())) {
    wrong = "it is " + geometry_text(result);
  } else {
    return;
  }
  throw BackendError(ErrorKind::runtime,
                     format_message("backend '{}' gives a wrong result {} of {} for {}: {}",
                                    {call_->backend, i + 1, outputs_.size(), call_->results[i], wrong}));
}

}  // namespace sconce::executor
