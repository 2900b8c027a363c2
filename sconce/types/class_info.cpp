#include "sconce/types/class_info.h"

#include <algorithm>

namespace sconce {
namespace {

template <class Pairs>
auto find_named(Pairs& pairs, std::string_view name) {
  return std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == name; });
}

}  // namespace

int ClassLayout::find(std::string_view name) const {
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const Value* ClassInfo::find_constant(std::string_view name) const {
  const auto found = find_named(constants, name);
  return found == constants.end() ? nullptr : &found->second;
}

ir::Function* ClassInfo::find_method(std::string_view name) const {
  const auto found = find_named(methods, name);
  return found == methods.end() ? nullptr : found->second;
}

const ClassInfo::Property* ClassInfo::find_property(std::string_view name) const {
  for (const Property& p : properties) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

const Schema* InterfaceInfo::find(std::string_view name) const {
  const auto found = find_named(methods, name);
  return found == methods.end() ? nullptr : found->second.get();
}

const Value* EnumInfo::find(std::string_view name) const {
  const auto found = find_named(members, name);
  return found == members.end() ? nullptr : &found->second;
}

}  // namespace sconce
