// Pickle context of torch.save files, which may refer to storages. Objects of other classes, those of programs among
// them, are records that nothing is done with.
#pragma once

#include <string>

#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce {

class SavedContext : public PickleContext {
 public:
  explicit SavedContext(std::string file) : file_(std::move(file)) {}
  TypePtr find_class(const std::string& name) final { refuse("the class '" + name + "'"); }
  TypePtr find_type(std::string_view text) final { refuse("the type tag '" + std::string(text) + "'"); }
  Value fit(const Value&, TypePtr) final { refuse("a type tag"); }
  Value build(TypePtr, Value) final { refuse("an object"); }
  bool keeps_opaque() const override { return true; }
  const std::string& file() const { return file_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail("{}: {} has no place in a torch.save file", file_, what);
  }
  std::string file_;
};

}  // namespace sconce
