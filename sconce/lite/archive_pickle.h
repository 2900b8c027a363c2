// Pickles of lite archives: what the C++ pickler of PyTorch writes, and `sconce convert`, read as data.
//
// The whole library's reader (serialization/pickle) knows what Python may write, too: objects of unknown classes,
// NumPy's arrays, containers that are filled after others refer to them. Here a container is complete before anything
// can refer to it, so a value's parts are older than itself, and there are no cycles; the limits of pickle_reader.h
// hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sconce/types/value.h"

namespace sconce::lite {

// What a pickle refers to. All throw Error.
class PickleSource {
 public:
  virtual Tensor storage(const std::string& key, DType dtype, int64_t count) = 0;  // a flat tensor over it
  virtual TypePtr find_class(std::string_view name) = 0;
  virtual TypePtr find_type(std::string_view text) = 0;
  virtual Value build(TypePtr class_type, Value state) = 0;  // an object of the class

 protected:
  ~PickleSource() = default;
};

// The value that the pickle in `bytes` is; `name` is its name in errors. Throws Error.
Value read_archive_pickle(std::string_view bytes, const std::string& name, PickleSource& source);

}  // namespace sconce::lite
