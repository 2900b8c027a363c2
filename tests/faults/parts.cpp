// sconce-fault-parts [OPTIONS]: small pieces of work with so few allocations that each one fails in a test
// (each_allocation.h has the options): tensors that checkpoints keep, instances of classes in C++.
#include <cstdio>
#include <exception>
#include <new>

#include "each_allocation.h"
#include "failing_malloc.h"
#include "sconce/api/autograd.h"
#include "sconce/autograd/checkpoint.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

using namespace sconce;

namespace {

// Does it, once more with memory if it fails.
template <class F>
work_result with_and_without_memory(char* text, size_t room, F f) {
  bool failed = false;
  for (int i = 0; i < 2; ++i) {
    try {
      const bool right = f();
      stop_failing();
      if (right) return failed ? work_failed : work_done;
      std::snprintf(text, room, "the result is wrong");
      return work_is_wrong;
    } catch (const std::exception& e) {
      stop_failing();
      failed = true;
      // What std::bad_alloc says of itself names no memory in words.
      const bool is_bad_alloc = dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
      std::snprintf(text, room, "%s", is_bad_alloc ? "not enough memory" : e.what());
    }
  }
  return work_is_wrong;
}

struct Counter {
  int64_t count;
  std::string name;
};

TypePtr counter_class() {
  static const TypePtr type = [] {
    ClassDefinition c("faults.Counter");
    c.def("__init__(int start) -> ()", [](Value* args) {
      return set_instance(args[0], std::make_shared<Counter>(args[1].to_int(), std::string(40, 'x')));
    });
    return register_class(std::move(c));
  }();
  return type;
}

work_result make_instances(void*, char* text, size_t room) {
  return with_and_without_memory(text, room, [] {
    const Value v = make_instance(counter_class(), std::make_shared<Counter>(7, std::string(40, 'x')));
    return instance<Counter>(v).count == 7;
  });
}

work_result keep_for_backward(void*, char* text, size_t room) {
  return with_and_without_memory(text, room, [] {
    const GradMode recorded(true);
    Tensor x = full({3}, 2.0);
    x.requires_grad_();
    const auto cube = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{mul(mul(in[0], in[0]), in[0])}; };
    autograd::backward({sum(autograd::checkpoint(cube, {x})[0])});
    return autograd::grad(x).data<float>()[2] == 12;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const fault_options options = read_fault_options(&argc, argv);
  const work pieces[] = {{"instances", make_instances, nullptr}, {"checkpoints", keep_for_backward, nullptr}};
  long bad = 0;
  for (const work& piece : pieces) bad += fail_each_allocation(&piece, &options);
  return bad == 0 ? 0 : 1;
}
