// Capsule over a C++ object: a Value that owns any T, opaque to programs. Whoever made it finds the T again:
//
//   Value v = make_capsule(std::string("kept"));
//   const auto& text = *static_cast<const std::string*>(v.to_capsule().object);
#pragma once
#include <memory>
#include <utility>

#include "sconce/types/value.h"

namespace sconce {

// Where there is memory for the object and not for the capsule, the object is destroyed: std::bad_alloc.
template <class T>
Ref<Capsule> make_capsule(T object) {
  auto held = std::make_unique<T>(std::move(object));
  Ref<Capsule> capsule = make_ref<Capsule>(held.get(), [](void* p) { delete static_cast<T*>(p); });
  static_cast<void>(held.release());
  return capsule;
}

}  // namespace sconce
