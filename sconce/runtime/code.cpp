#include "sconce/runtime/code.h"

#include "sconce/passes/passes.h"
#include "sconce/runtime/codegen.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/fork.h"
#include "sconce/runtime/slots.h"

namespace sconce::runtime {
namespace {

struct CodeExecutable final : ir::Executable {
  explicit CodeExecutable(std::shared_ptr<Code> code) : code(std::move(code)) {}
  ~CodeExecutable() override { finish_tasks(code->unit); }
  std::shared_ptr<Code> code;
};

// Passes work on a copy: the function's graph stays as the frontend made it.
std::unique_ptr<ir::Executable> compile(ir::Function& function) {
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  passes::optimise(*graph);
  return std::make_unique<CodeExecutable>(
      generate(*graph, std::string(function.short_name()), &function.unit(), function.self_type() != nullptr));
}

}  // namespace

const Code& code_of(ir::Function& function) { return *static_cast<CodeExecutable&>(function.executable(compile)).code; }

const Code& resolve_call(CallSite& site, const Slot& self) {
  if (site.function) {
    const Code& code = code_of(*site.function);
    site.code.store(&code, std::memory_order_release);
    return code;
  }
  const TypePtr type = value_of(self).to_object().type();
  if (const CallSite::Known* last = site.last.load(std::memory_order_acquire); last && last->type == type)
    return *last->code;
  ir::Function* method = ir::find_method(type, site.method);
  SCONCE_CHECK(method, "{} has no method '{}'", type->to_string(), site.method);
  const Code& code = code_of(*method);
  SCONCE_CHECK(code.args == site.args, "{}() takes {} arguments, got {}", site.method, code.args, site.args);
  const std::lock_guard lock(site.mutex);
  for (const CallSite::Known& k : site.known) {
    if (k.type == type) {
      site.last.store(&k, std::memory_order_release);
      return code;
    }
  }
  site.known.push_back({type, &code});
  site.last.store(&site.known.back(), std::memory_order_release);
  return code;
}

}  // namespace sconce::runtime
