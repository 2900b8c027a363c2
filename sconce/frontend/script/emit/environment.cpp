#include "sconce/frontend/script/emit/environment.h"

namespace sconce::script {

Environment::Environment(ir::Block* block, std::shared_ptr<Environment> parent, Kind kind)
    : block_(block), parent_(std::move(parent)), kind_(kind) {
  next_scope_ = parent_ ? parent_->next_scope_ : std::make_shared<int>(0);
  if (!parent_) return;
  scope_ = kind == Kind::scope ? ++*next_scope_ : parent_->scope_;
}

const Environment::Variable* Environment::find(const std::string& name) const {
  for (const Environment* e = this; e; e = e->parent_.get()) {
    const auto it = e->variables_.find(name);
    if (it != e->variables_.end()) return it->second.type || it->second.sugared ? &it->second : nullptr;
  }
  return nullptr;
}

const Environment::Variable* Environment::find_outer(const std::string& name) const {
  for (const Environment* e = this; e->kind_ == Kind::block && e->parent_;) {
    e = e->parent_.get();
    const auto it = e->variables_.find(name);
    if (it != e->variables_.end()) return it->second.type || it->second.sugared ? &it->second : nullptr;
  }
  return nullptr;
}

Environment::Variable& Environment::define(const std::string& name, TypePtr type, SugaredPtr sugared) {
  Variable& v = variables_[name];
  if (v.storage.empty()) {
    const Variable* outer = find_outer(name);
    v.storage = outer && !outer->storage.empty() ? outer->storage
                : scope_ == 0                    ? name
                                                 : name + "@" + std::to_string(scope_);
  }
  v.type = type;
  v.sugared = std::move(sugared);
  problems_.erase(name);
  return v;
}

bool Environment::remove(const std::string& name) {
  if (!find(name)) return false;
  Variable& v = variables_[name];
  v.type = nullptr;
  v.sugared = nullptr;
  return true;
}

std::vector<std::string> Environment::defined() const {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_) {
    if (variable.type || variable.sugared) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Environment::visible() const {
  std::vector<std::string> names;
  for (const Environment* e = this; e; e = e->parent_.get()) {
    for (const std::string& name : e->defined()) names.push_back(name);
  }
  return names;
}

const Environment::Problem* Environment::find_problem(const std::string& name) const {
  for (const Environment* e = this; e; e = e->parent_.get()) {
    const auto it = e->problems_.find(name);
    if (it != e->problems_.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace sconce::script
