#include "sconce/testing/conformance/module_state.h"

#include <cstring>

#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

using Kind = ClassInfo::AttributeKind;

bool is_module(const Value& v) { return v.is_object() && v.to_object().type()->class_info()->is_module; }

void collect(const Value& module, const std::string& path, std::map<std::string, Tensor>& out) {
  const ClassInfo& info = *module.to_object().type()->class_info();
  for (size_t i = 0; i < info.attributes.size(); ++i) {
    const ClassInfo::Attribute& attribute = info.attributes[i];
    const Value& v = module.to_object().slot(i);
    if (is_module(v)) collect(v, path + attribute.name + ".", out);
    if (attribute.kind != Kind::plain && v.is_tensor()) out[path + attribute.name] = v.to_tensor();
  }
}

}  // namespace

std::map<std::string, Tensor> module_state(const Value& module) {
  std::map<std::string, Tensor> state;
  collect(module, "", state);
  return state;
}

void write_state(const Value& module, const std::string& path, const Tensor& value) {
  Value owner = module;
  std::string_view rest = path;
  for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
    owner = owner.to_object().attr(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  const Value& current = owner.to_object().attr(rest);
  if (current.is_bool()) {
    owner.to_object().set_attr(rest, *value.data<bool>());
    return;
  }
  const Tensor& own = current.to_tensor();
  SCONCE_CHECK(own.dtype() == value.dtype() && own.sizes() == value.sizes() && own.is_contiguous(),
               "the module's {} differs from the recorded one in dtype or shape", path);
  std::memcpy(own.data(), value.data(), static_cast<size_t>(value.numel()) * value.item_size());
}

void set_training(const Value& module, bool training) {
  const ClassInfo& info = *module.to_object().type()->class_info();
  for (size_t i = 0; i < info.attributes.size(); ++i) {
    const Value& v = module.to_object().slot(i);
    if (is_module(v)) set_training(v, training);
    if (info.attributes[i].name == "training" && v.is_bool()) module.to_object().set_slot(i, training);
  }
}

}  // namespace sconce::testing
