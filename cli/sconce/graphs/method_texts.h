// The code of a program as text, method by method: what `sconce diff` compares.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sconce::cli {

class ModelFile;

struct MethodText {
  std::string name;  // "layers.0.forward", "__torch__.helper"
  std::string text;  // code; numbers that only keep class names apart are left out
};

// The methods of the module and of every module in it, under their paths, then the functions that they call. A class
// that several modules share is there once, under the first path.
std::vector<MethodText> method_texts(const ModelFile& model);

}  // namespace sconce::cli
