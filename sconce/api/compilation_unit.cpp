// jit::CompilationUnit: a handle on a Program.
#include "sconce/api/jit.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/types/class_info.h"

namespace sconce::jit {
namespace {

script::ProgramOptions program_options(const CompileOptions& options) {
  script::ProgramOptions made;
  made.name = options.name;
  made.first_line = options.first_line;
  return made;
}

}  // namespace

struct CompilationUnit::Impl {
  script::Program program;
};

CompilationUnit::CompilationUnit(std::string_view source, const CompileOptions& options)
    : impl_(new Impl{script::Program(source, program_options(options))}) {}
CompilationUnit::CompilationUnit(CompilationUnit&&) noexcept = default;
CompilationUnit::~CompilationUnit() = default;

void CompilationUnit::define(std::string_view source, const CompileOptions& options) {
  impl_->program.define(source, program_options(options));
}

bool CompilationUnit::has_function(std::string_view name) const { return impl_->program.find_function(name); }

Function CompilationUnit::function(std::string_view name) const {
  ir::Function* f = impl_->program.find_function(name);
  SCONCE_CHECK(f, "the program has no function '{}'", name);
  f->ensure_defined();
  return Function(impl_->program.shared_unit(), f);
}

std::vector<std::string> CompilationUnit::function_names() const { return impl_->program.function_names(); }

Module CompilationUnit::build(std::string_view class_name, const std::vector<Value>& args, const NamedValues& kwargs) {
  Value object = impl_->program.build_module(class_name, args, kwargs);
  return Module(impl_->program.shared_unit(), std::move(object));
}

Object CompilationUnit::create(std::string_view class_name, std::vector<Value> args, NamedValues kwargs) const {
  const TypePtr type = impl_->program.find_class(class_name);
  SCONCE_CHECK(type && type->is(TypeKind::class_), "the program has no class '{}'", class_name);
  const Object made(impl_->program.shared_unit(), Value(make_ref<sconce::Object>(type)));
  made.method("__init__").call(std::move(args), std::move(kwargs));
  return made;
}

Value CompilationUnit::enum_member(std::string_view class_name, std::string_view member) const {
  const TypePtr type = impl_->program.find_class(class_name);
  SCONCE_CHECK(type && type->is(TypeKind::enum_), "the program has no enum '{}'", class_name);
  const Value* found = type->enum_info()->find(member);
  SCONCE_CHECK(found, "enum '{}' has no member '{}'", class_name, member);
  return *found;
}

CompilationUnit compile(std::string_view source, const CompileOptions& options) {
  return CompilationUnit(source, options);
}

}  // namespace sconce::jit
