// jit::Module: a walk over attributes by their types, which tell parameters, buffers and submodules apart.
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "sconce/api/deep_copy.h"
#include "sconce/api/jit.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/zero_grad.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/planner.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/class_info.h"

namespace sconce::jit {
namespace {

using Kind = ClassInfo::AttributeKind;

bool is_module(const Value& v) { return v.is_object() && v.to_object().type()->class_info()->is_module; }

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

constexpr int kMaxDepth = 1000;  // of modules in modules

// Every module below `root`, parents before children; with `seen`, each once.
void visit(const Value& root, const std::string& path, std::unordered_set<const void*>* seen,
           const std::function<void(const std::string& path, sconce::Object& module)>& f, int depth = 0) {
  SCONCE_CHECK(depth < kMaxDepth, "modules are nested deeper than {}", kMaxDepth);
  sconce::Object& module = root.to_object();
  if (seen && !seen->insert(&module).second) return;
  f(path, module);
  const auto& attributes = module.type()->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (is_module(module.slot(i))) visit(module.slot(i), joined(path, attributes[i].name), seen, f, depth + 1);
  }
}

void visit(const Value& root, const std::function<void(const std::string& path, sconce::Object& module)>& f,
           bool once = true) {
  std::unordered_set<const void*> seen;
  visit(root, "", once ? &seen : nullptr, f);
}

NamedTensors named_tensors(const Value& root, std::initializer_list<Kind> kinds, bool once, bool recurse = true) {
  NamedTensors found;
  std::unordered_set<const void*> seen;
  visit(
      root,
      [&](const std::string& path, sconce::Object& module) {
        if (!recurse && !path.empty()) return;
        const auto& attributes = module.type()->class_info()->attributes;
        for (const Kind kind : kinds) {
          for (size_t i = 0; i < attributes.size(); ++i) {
            if (attributes[i].kind != kind || !module.slot(i).is_tensor()) continue;
            const Tensor& t = module.slot(i).to_tensor();
            if (once && !seen.insert(t.impl()).second) continue;
            found.emplace_back(joined(path, attributes[i].name), t);
          }
        }
      },
      once);
  return found;
}

std::vector<Tensor> tensors_of(const NamedTensors& named) {
  std::vector<Tensor> tensors;
  for (const auto& [name, t] : named) tensors.push_back(t);
  return tensors;
}

// Replaces tensors by others wherever an attribute holds them, also inside lists, dicts and tuples.
Value replaced(const Value& v, const std::unordered_map<const void*, Tensor>& by) {
  switch (v.tag()) {
    case Tag::tensor: {
      const auto found = by.find(v.to_tensor().impl());
      return found == by.end() ? v : Value(found->second);
    }
    case Tag::list: {
      List& list = v.to_list();
      if (list.is_ints() || list.is_doubles() || list.is_bools()) return v;
      for (size_t i = 0; i < list.size(); ++i) list.set(i, replaced(list.get(i), by));
      return v;
    }
    case Tag::dict:
      for (const auto& [key, value] : v.to_dict().items()) v.to_dict().set(key, replaced(value, by));
      return v;
    case Tag::tuple: {
      std::vector<Value> items;
      for (const Value& item : v.to_tuple().items) items.push_back(replaced(item, by));
      return Value(make_ref<Tuple>(std::move(items), v.to_tuple().named_type));
    }
    default:
      return v;
  }
}

// Parameters stay the tensors that they are, with other data, so that an optimiser still has them;
// buffers are replaced.
void convert(const Value& root, const std::function<Tensor(const Tensor&)>& f) {
  const NoGrad quiet;
  std::unordered_map<const void*, Tensor> converted;
  for (const auto& [name, t] : named_tensors(root, {Kind::parameter}, true)) {
    const Tensor grad = autograd::grad(t), after = f(t);
    if (after.is_same(t)) continue;
    if (after.is_meta() != t.is_meta()) {
      if (t.requires_grad()) autograd::set_requires_grad(after, true);
      converted.emplace(t.impl(), after);
      continue;
    }
    if (grad.defined()) autograd::set_grad(t, {});
    call_op("aten::set_data", {t, after});
    if (grad.defined()) autograd::set_grad(t, f(grad));
  }
  for (const auto& [name, t] : named_tensors(root, {Kind::buffer}, true)) converted.emplace(t.impl(), f(t));
  visit(root, [&](const std::string&, sconce::Object& module) {
    for (size_t i = 0; i < module.type()->class_info()->attributes.size(); ++i) {
      if (!is_module(module.slot(i))) module.set_slot(i, replaced(module.slot(i), converted));
    }
  });
}

// The methods that a module's class tries for `forward`: itself, or its overloads.
std::vector<ir::Function*> forwards(TypePtr type) {
  const ClassInfo& info = *type->class_info();
  if (ir::Function* f = info.find_method("forward")) return {f};
  for (const auto& [name, overloads] : info.overloads) {
    if (name != "forward") continue;
    std::vector<ir::Function*> found;
    for (const std::string& overload : overloads) found.push_back(info.find_method(overload));
    return found;
  }
  fail("'{}' has no method 'forward'", type->annotation());
}

}  // namespace

Value Module::call_forward(std::vector<Value> args, NamedValues kwargs) const {
  args.insert(args.begin(), object_);
  const std::vector<ir::Function*> candidates = forwards(object_.to_object().type());
  for (size_t i = 0; i + 1 < candidates.size(); ++i) {
    std::vector<Value> bound;
    try {
      bound = runtime::bind_call(*candidates[i], args, kwargs);
    } catch (const Error&) {
      continue;
    }
    return runtime::run(*candidates[i], bound);
  }
  std::vector<Value> bound = runtime::bind_call(*candidates.back(), std::move(args), std::move(kwargs));
  return runtime::run(*candidates.back(), bound);
}

bool Module::call_again(const detail::BorrowedValue* args, size_t count, Value& result) const {
  const ClassInfo& info = *object_.to_object().type()->class_info();
  if (!info.forward_pre_hooks.empty() || !info.forward_hooks.empty()) return false;
  ir::Function* forward = info.find_method("forward");
  return forward && runtime::run_again(*forward, {reinterpret_cast<const Value*>(args), count}, result);
}

Value Module::call(std::vector<Value> args, NamedValues kwargs) const {
  const ClassInfo& info = *object_.to_object().type()->class_info();
  const bool has_hooks = !info.forward_pre_hooks.empty() || !info.forward_hooks.empty();
  if (!has_hooks) return call_forward(std::move(args), std::move(kwargs));
  SCONCE_CHECK(kwargs.empty(), "keyword arguments are not supported for modules with hooks");
  const auto run_hook = [&](ir::Function* hook, std::vector<Value> given) {
    std::vector<Value> bound = runtime::bind_call(*hook, std::move(given));
    return runtime::run(*hook, bound);
  };
  Value input(make_ref<Tuple>(args));
  for (ir::Function* hook : info.forward_pre_hooks) {
    Value result = run_hook(hook, {object_, input});
    if (result.is_none()) continue;
    input = result.is_tuple() ? result : Value(make_ref<Tuple>(std::vector<Value>{result}));
  }
  Value output = call_forward(input.to_tuple().items, {});
  for (ir::Function* hook : info.forward_hooks) {
    Value result = run_hook(hook, {object_, input, output});
    if (!result.is_none()) output = std::move(result);
  }
  return output;
}

NamedTensors Module::named_parameters(bool recurse) const {
  return named_tensors(object_, {Kind::parameter}, true, recurse);
}
NamedTensors Module::named_buffers(bool recurse) const { return named_tensors(object_, {Kind::buffer}, true, recurse); }
std::vector<Tensor> Module::parameters(bool recurse) const { return tensors_of(named_parameters(recurse)); }
std::vector<Tensor> Module::buffers(bool recurse) const { return tensors_of(named_buffers(recurse)); }
NamedTensors Module::state_dict() const { return named_tensors(object_, {Kind::parameter, Kind::buffer}, false); }

std::vector<std::pair<std::string, Module>> Module::named_children() const {
  std::vector<std::pair<std::string, Module>> children;
  sconce::Object& module = object_.to_object();
  const auto& attributes = module.type()->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (is_module(module.slot(i))) children.emplace_back(attributes[i].name, Module(unit_, module.slot(i)));
  }
  return children;
}

std::vector<std::pair<std::string, Module>> Module::named_modules() const {
  std::vector<std::pair<std::string, Module>> modules;
  visit(object_, [&](const std::string& path, sconce::Object& module) {
    modules.emplace_back(path, Module(unit_, Value(Ref<sconce::Object>::share(&module))));
  });
  return modules;
}

Module Module::submodule(std::string_view path) const {
  Value found = object_;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    found = found.to_object().attr(path.substr(0, dot));
    SCONCE_CHECK(is_module(found), "'{}' is not a submodule", path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return Module(unit_, found);
}

bool Module::is_training() const { return attr("training").to_bool(); }

const Module& Module::train(bool on) const {
  visit(object_, [&](const std::string&, sconce::Object& module) {
    const int slot = module.type()->class_info()->find("training");
    if (slot >= 0) module.set_slot(static_cast<size_t>(slot), Value(on));
  });
  return *this;
}

const Module& Module::requires_grad_(bool on) const {
  for (const Tensor& t : parameters()) autograd::set_requires_grad(t, on);
  return *this;
}

void Module::zero_grad(bool set_to_none) const {
  for (const Tensor& t : parameters()) autograd::zero_grad(t, set_to_none);
}

const Module& Module::to(DType dtype) const {
  convert(object_, [&](const Tensor& t) {
    if (!is_floating(t.dtype()) && !is_complex(t.dtype())) return t;
    return call_op("aten::to.dtype", {t, dtype})[0].to_tensor();
  });
  return *this;
}

const Module& Module::to(Device device) const {
  convert(object_, [&](const Tensor& t) { return call_op("aten::to.device", {t, device, t.dtype()})[0].to_tensor(); });
  return *this;
}

void Module::load_state_dict(const NamedTensors& state, bool strict) const {
  const NamedTensors own = state_dict();
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : state) given.emplace(name, &t);
  std::string missing, unexpected, mismatched;
  std::unordered_set<std::string_view> known;
  for (const auto& [name, t] : own) {
    known.insert(name);
    const auto found = given.find(name);
    if (found == given.end()) {
      missing += (missing.empty() ? "\"" : ", \"") + name + "\"";
    } else if (found->second->sizes() != t.sizes()) {
      mismatched += format_message("\n\tsize mismatch for {}: the state has {}, the module {}",
                                   {ErrorArg(name), ErrorArg(found->second->sizes()), ErrorArg(t.sizes())});
    }
  }
  for (const auto& [name, t] : state) {
    if (!known.contains(name)) unexpected += (unexpected.empty() ? "\"" : ", \"") + name + "\"";
  }
  std::string text;
  if (strict && !missing.empty()) text += "\n\tMissing key(s) in state_dict: " + missing + ".";
  if (strict && !unexpected.empty()) text += "\n\tUnexpected key(s) in state_dict: " + unexpected + ".";
  text += mismatched;
  SCONCE_CHECK(text.empty(), "Error(s) in loading state_dict for {}:{}", type_name(), text);
  const NoGrad off;
  for (const auto& [name, t] : own) {
    const auto found = given.find(name);
    if (found != given.end()) call_op("aten::copy_", {t, *found->second});
  }
}

Module Module::clone() const { return Module(unit_, deep_copy(object_)); }

}  // namespace sconce::jit
