#include "sconce/ir/function.h"

#include "sconce/tensor/key_set.h"
#include "sconce/types/class_info.h"

namespace sconce::ir {

Function::Function(CompilationUnit* unit, std::string name, Define define)
    : unit_(unit),
      name_(std::move(name)),
      define_(std::move(define)),
      state_(define_ ? State::declared : State::defined) {}

Function::~Function() { delete executable_.load(); }

std::string_view Function::short_name() const {
  const std::string_view name = name_;
  return name.substr(name.rfind('.') + 1);
}

namespace {

// A function may be compiled in the middle of a run, when it is called for the first time. What passes compute then,
// as constants and on Meta tensors, is no part of what the run records, nor does autocast see it.
constexpr KeySet kRecordingKeys{Key::tracer, Key::functionalize, Key::autocast};

}  // namespace

void Function::ensure_defined() {
  if (state_ == State::defined) return;
  SCONCE_CHECK(state_ != State::compiling, "function '{}' is called recursively. Recursive calls are not supported",
               short_name());
  state_ = State::compiling;
  const ModeGuard apart({}, kRecordingKeys);
  try {
    define_(*this);
  } catch (...) {
    state_ = State::declared;
    throw;
  }
  state_ = State::defined;
  define_ = nullptr;
}

const Schema& Function::schema() {
  if (!has_schema_) ensure_defined();
  return schema_;
}

const std::shared_ptr<Graph>& Function::graph() {
  ensure_defined();
  SCONCE_CHECK(has_graph(), "function '{}' {} and has no graph", name_, no_graph_);
  return graph_;
}

Executable& Function::executable(const std::function<std::unique_ptr<Executable>(Function&)>& make) {
  if (Executable* ready = executable_.load(std::memory_order_acquire)) return *ready;
  const std::lock_guard lock(mutex_);
  Executable* made = executable_.load(std::memory_order_relaxed);
  if (!made) {
    const ModeGuard apart({}, kRecordingKeys);
    made = make(*this).release();
    executable_.store(made, std::memory_order_release);
  }
  return *made;
}

void Function::drop_executable() { delete executable_.exchange(nullptr); }

CompilationUnit::CompilationUnit() : scope_(Ref<TypeScope>::adopt(new TypeScope)) {}
CompilationUnit::~CompilationUnit() {
  functions_.clear();
  if (scope_) scope_->close();
}

Function& CompilationUnit::add_function(std::string name, Function::Define define) {
  SCONCE_CHECK(!by_name_.contains(name), "function '{}' is defined already", name);
  functions_.push_back(std::make_unique<Function>(this, std::move(name), std::move(define)));
  Function& f = *functions_.back();
  try {
    by_name_.emplace(f.name(), &f);
  } catch (...) {
    functions_.pop_back();
    throw;
  }
  return f;
}

Function* CompilationUnit::find_function(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<Function*> CompilationUnit::functions() const {
  std::vector<Function*> all;
  for (const auto& f : functions_) all.push_back(f.get());
  return all;
}

void CompilationUnit::remove_function(std::string_view name) {
  by_name_.erase(std::string(name));
  std::erase_if(functions_, [&](const auto& f) { return f->name() == name; });
}

void CompilationUnit::add_type(TypePtr type) {
  if (scope_) scope_->adopt(type);
  SCONCE_CHECK(!types_by_name_.contains(type->name()), "type '{}' is defined already", type->name());
  types_.push_back(type);
  try {
    types_by_name_.emplace(type->name(), type);
  } catch (...) {
    types_.pop_back();
    throw;
  }
}

TypePtr CompilationUnit::find_type(std::string_view name) const {
  const auto found = types_by_name_.find(std::string(name));
  return found == types_by_name_.end() ? nullptr : found->second;
}

std::string CompilationUnit::unique_name(std::string_view name) {
  std::string candidate(name);
  while (types_by_name_.contains(candidate) || by_name_.contains(candidate)) {
    const size_t dot = name.rfind('.');
    const std::string mangle = "___torch_mangle_" + std::to_string(mangle_++);
    candidate = dot == name.npos ? mangle + "." + std::string(name)
                                 : std::string(name.substr(0, dot + 1)) + mangle + std::string(name.substr(dot));
  }
  return candidate;
}

void CompilationUnit::define_all() {
  // Compiling one may add others at the end.
  for (size_t i = 0; i < functions_.size(); ++i) functions_[i]->ensure_defined();
}

Function* find_method(TypePtr type, std::string_view name) {
  return type->is(TypeKind::class_) ? type->class_info()->find_method(name) : nullptr;
}

}  // namespace sconce::ir
