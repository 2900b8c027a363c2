// Method: a function of a module as an endpoint. Binding turns named tensors of a request into the arguments that its
// schema declares, flattening turns what it returns into named tensors.
//
// Note [Names of tensors]
// An argument `x: Tensor` is the input "x". Numbers, bools and strings are inputs of one element, or parameters of the
// request. List[int], List[float], List[bool], List[str] are inputs of one dimension. The elements of other lists and
// of tuples are "x.0", "x.1", those of Dict[str, T] "x.key". "INPUT__1" is the second argument, whatever its name. A
// result that is one tensor is "output"; elements of a tuple or list "output_0", ...; of a named tuple or a dict by
// their names; what is inside of those, behind a dot. "OUTPUT__1" is the second one.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sconce/api/jit.h"
#include "server/model/model_config.h"
#include "server/protocol/infer.h"

namespace sconce::server {

class Method {
 public:
  // Compiles the method.
  Method(const jit::Module& module, const std::string& name);

  const std::string& name() const { return name_; }
  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;  // as far as the declared type says
  bool asks_for_gradients() const { return asks_for_gradients_; }

  // One value for each argument. Inputs are moved out of the request. Throws Failure, which names the input.
  std::vector<Value> bind(InferRequest& request) const;
  // Runs it; in inference mode, unless it asks for gradients itself. Throws Error.
  Value run(const std::vector<Value>& args) const;
  const std::vector<std::string>& argument_names() const { return argument_names_; }

  // Note [Short calls]
  // To hand a call to another thread and back costs tens of microseconds, more than a small model takes. So a call that is
  // known to be short is made by the thread that read the request, if an instance is free. Known: the program has neither
  // loops nor writes, and a call with arguments of the same kind took less than kShort just before. Should it last all the
  // same, its time ends after kSlice, and it begins again as any other: without writes, nothing remembers that it began.
  static constexpr std::chrono::nanoseconds kShort = std::chrono::microseconds(200),
                                            kSlice = std::chrono::milliseconds(2);
  bool is_short(const std::vector<Value>& args) const;
  void remember(const std::vector<Value>& args, std::chrono::nanoseconds time) const;

 private:
  std::string name_;
  jit::Module module_;
  jit::Function function_;
  bool is_forward_, asks_for_gradients_;
  bool is_straight_;                        // neither loops nor writes
  mutable std::atomic<uint64_t> short_{0};  // the kind of arguments of the last call, if it was short
  std::vector<std::string> argument_names_;
};

// What a call gave, as named tensors. Throws Failure for what the protocol has no words for.
std::vector<WireTensor> flatten_result(const Value& result);
// Keeps those that the request asks for, in its order. Throws Failure when there is no such output.
std::vector<WireTensor> choose_outputs(std::vector<WireTensor> outputs, const std::vector<RequestedOutput>& wanted);

}  // namespace sconce::server
