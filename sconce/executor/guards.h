// Guards: what a plan found outside of the arguments and relies on: attributes of objects.
//
// Objects are not kept: a plan belongs to the code of a program, which the objects own. They are compared by address,
// in the order in which they were found, so that each one is looked at only after the attribute that leads to it was
// found to hold it still. One that has taken the address of another is as good as that one, if its attributes are the
// same.
#pragma once

#include <string>
#include <vector>

#include "sconce/executor/signature.h"

namespace sconce::executor {

class Guards {
 public:
  // From now on the attribute must hold what it holds now. False if that cannot be compared.
  bool add(Object& object, size_t slot);

  // Whether everything is as it was.
  bool hold() const {
    for (const Guard& g : guards_) {
      const Value& now = g.object->slots()[g.slot];
      if (now.bits() != g.bits || now.tag() != g.tag) {
        if (g.container < 0 || now.tag() != g.tag) return false;
      }
      if (g.container >= 0 && !contains_the_same(now, g)) return false;
    }
    return true;
  }
  size_t size() const { return guards_.size(); }
  // The first that does not hold: "attribute 'scale' of Net: was 2.0, is 3.0"; empty when all do.
  std::string failed() const;
  // One line each.
  std::string text() const;

 private:
  struct Guard {
    Object* object;
    uint64_t bits;
    uint32_t slot;
    Tag tag;
    int32_t container;  // number of the words of a list, dict or tuple, which may change; -1: none
  };
  bool contains_the_same(const Value& now, const Guard& guard) const;
  static std::string name_of(const Guard& guard);

  std::vector<Guard> guards_;
  std::vector<std::vector<uint64_t>> containers_;
  std::vector<Value> kept_;  // tensors and texts, so that no others get their addresses
};

}  // namespace sconce::executor
