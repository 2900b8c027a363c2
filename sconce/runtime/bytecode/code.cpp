#include "sconce/runtime/bytecode/code.h"

#include <algorithm>

#include "sconce/runtime/bytecode/slots.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/fork.h"

namespace sconce::runtime {
namespace {

std::unique_ptr<ir::Executable> compile(ir::Function& function) {
  SCONCE_CHECK_AS(not_implemented, graph_compiler,
                  "{}: has no bytecode, and this library has no compiler that could make it", function.name());
  return std::make_unique<CodeExecutable>(graph_compiler->compile(function));
}

}  // namespace

CodeExecutable::CodeExecutable(std::shared_ptr<Code> code) : code(std::move(code)) {}
CodeExecutable::~CodeExecutable() { finish_tasks(code->unit); }

const Code& code_of(ir::Function& function) {
  static const std::function<std::unique_ptr<ir::Executable>(ir::Function&)> make = compile;
  auto& executable = static_cast<CodeExecutable&>(function.executable(make));
  const Code& code = *executable.code;
  if (code.met_grad.load(std::memory_order_relaxed) && graph_compiler && graph_compiler->wants_regions()) [[unlikely]]
    return executable.differentiable(function);
  return code;
}

const Code& CodeExecutable::differentiable(ir::Function& function) {
  if (const Code* known = known_.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(mutex_);
  if (!differentiable_) {
    differentiable_ = graph_compiler->with_regions(function, code);
    known_.store(differentiable_.get(), std::memory_order_release);
  }
  return *differentiable_;
}

ir::Function& method_of(CallSite& site, const Slot& self) {
  const TypePtr type = value_of(self).to_object().type();
  if (const CallSite::Known* last = site.last.load(std::memory_order_acquire); last && last->type == type) {
    return *last->function;
  }
  const std::lock_guard lock(site.mutex);
  auto known = std::find_if(site.known.begin(), site.known.end(), [&](const auto& k) { return k.type == type; });
  if (known == site.known.end()) {
    ir::Function* method = ir::find_method(type, site.method);
    SCONCE_CHECK(method, "{} has no method '{}'", type->to_string(), site.method);
    const size_t wanted = method->schema().arguments.size();
    SCONCE_CHECK(wanted == site.args, "{}() takes {} arguments, got {}", site.method, wanted, site.args);
    site.known.push_back({type, method});
    known = std::prev(site.known.end());
  }
  site.last.store(&*known, std::memory_order_release);
  return *known->function;
}

}  // namespace sconce::runtime
