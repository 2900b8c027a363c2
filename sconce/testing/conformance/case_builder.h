// CaseBuilder: makes the bytes of a small case file, for tests of the reader.
#pragma once

#include <string>

#include "sconce/tensor/tensor.h"

namespace sconce::testing {

class CaseBuilder {
 public:
  // Adds a tensor of float32; a case refers to it by {"t": name}.
  CaseBuilder& tensor(const std::string& name, IntList sizes, ListRef<float> values);
  // The whole file. `cases` is the JSON text of the list of cases.
  std::string bytes(const std::string& cases) const;
  // The same, written to a file of that name in a fresh folder, which is removed when the process ends;
  // returns the path.
  std::string write(const std::string& cases, const std::string& file_name) const;

 private:
  std::string header_, data_;
};

}  // namespace sconce::testing
