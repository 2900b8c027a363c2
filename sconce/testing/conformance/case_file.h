// CaseFile: a file of conformance cases, recorded from PyTorch.
//
// It is a safetensors file whose metadata "cases" is the JSON text of a list of objects. Values in them are plain JSON,
// except for the special forms that case_value.h reads ({"t": "t3"} is a tensor of the file, ...). The members of an
// object depend on the kind of file: see case_kind.h.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sconce/serialization/tensors/safetensors.h"

namespace sconce::testing {

using Json = nlohmann::json;

class CaseFile {
 public:
  // Throws Error with the path and the reason when the file is corrupt or holds no list of cases.
  static CaseFile open(const std::string& path);
  static CaseFile parse(const std::string& bytes, const std::string& path);

  const std::string& path() const { return path_; }
  size_t size() const;
  const Json& at(size_t i) const;  // always an object
  const SafetensorsFile& tensors() const { return tensors_; }
  // A program stands beside the cases: x.pt beside x.safetensors, or x.ptl beside x.ptl.safetensors.
  bool has_program() const;

 private:
  CaseFile() = default;
  std::string path_;
  SafetensorsFile tensors_;
  std::shared_ptr<const Json> cases_;
};

// The member `key` of a case; null when there is none.
const Json* find_member(const Json& object, const char* key);

}  // namespace sconce::testing
