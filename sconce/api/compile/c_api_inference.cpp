// The C interface: modules prepared before they are called.
#include "sconce/api/c_api.h"
#include "sconce/api/compile/inference.h"
#include "sconce/tensor/grad_mode.h"

struct sconce_plan {
  sconce::jit::Compiled done;
};

using namespace sconce;
using namespace sconce::c_api;

namespace {

std::vector<std::string> names_of(const char* const* names, size_t count, const char* name) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    need(names, name);
    if (!names[i]) invalid("{}[{}] is null", name, i);
    all.emplace_back(names[i]);
  }
  return all;
}

}  // namespace

sconce_status sconce_freeze(const sconce_module* module, const char* const* preserved, size_t count,
                            sconce_module** out) {
  return guarded([&] {
    need(out, "out");
    const jit::Module& m = need(module, "module").module;
    *out = new_module(jit::freeze(m, {names_of(preserved, count, "preserved"), true}));
  });
}

sconce_status sconce_optimize_for_inference(const sconce_module* module, const char* const* other_methods, size_t count,
                                            sconce_module** out) {
  return guarded([&] {
    need(out, "out");
    const jit::Module& m = need(module, "module").module;
    *out = new_module(jit::optimize_for_inference(m, names_of(other_methods, count, "other_methods")));
  });
}

sconce_status sconce_compile(const sconce_module* module, const char* method, sconce_value* const* arguments,
                             size_t count, const char* backend, sconce_plan** out) {
  return guarded([&] {
    need(out, "out");
    const jit::Module& m = need(module, "module").module;
    jit::ModuleCompileOptions options;
    options.method = &need(method, "method");
    if (backend) options.backend = backend;
    if (backend && !*backend) invalid("backend is \"\"; null stands for the one that is chosen");
    const GradMode mode(sconce_grad_enabled() != 0 || module->asks_for_gradients);
    *out = new sconce_plan{jit::compile(m, values_of(arguments, count, "arguments"), options)};
  });
}

const char* sconce_plan_why_not(const sconce_plan* plan) {
  return plan && !plan->done.planned ? plan->done.why.c_str() : nullptr;
}
size_t sconce_plan_step_count(const sconce_plan* plan) { return plan ? plan->done.steps : 0; }
size_t sconce_plan_guard_count(const sconce_plan* plan) { return plan ? plan->done.guards : 0; }
size_t sconce_plan_memory_bytes(const sconce_plan* plan) { return plan ? plan->done.memory_bytes : 0; }
size_t sconce_plan_given_back_bytes(const sconce_plan* plan) { return plan ? plan->done.given_back_bytes : 0; }
const char* sconce_plan_text(const sconce_plan* plan) { return plan ? plan->done.plan.c_str() : nullptr; }
void sconce_plan_free(sconce_plan* plan) { delete plan; }
