// Script classes of the library (torch.no_grad): one type for the process, compiled on first use.
#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/program/program_state.h"
#include "sconce/frontend/script/program/script_library.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

// "torch.autograd.grad_mode.no_grad"; null when the library has no such script class.
Definition* find_script_class(std::string_view path) {
  // Never destroyed: graphs refer to its functions.
  static ProgramState& shared = []() -> ProgramState& {
    auto* made = new ProgramState;
    made->unit.keep_types_forever();
    return *made;
  }();
  Definition* d = shared.library_definition(path);
  if (!d || d->kind != Definition::Kind::class_ || d->scope->kind_of(*d) != ClassKind::plain) return nullptr;
  const TypePtr type = d->scope->type_of(*d);
  for (const auto& [name, f] : type->class_info()->methods) f->ensure_defined();
  return d;
}

}  // namespace

SugaredPtr library_class_value(std::string_view path) {
  const auto lock = lock_library();
  Definition* d = find_script_class(path);
  return d ? class_value(*d) : nullptr;
}

TypePtr library_class(std::string_view path) {
  const auto lock = lock_library();
  Definition* d = find_script_class(path);
  return d ? d->type : nullptr;
}

}  // namespace sconce::script
