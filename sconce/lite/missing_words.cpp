#include "sconce/lite/missing_words.h"

#include <algorithm>

#include "sconce/serialization/lite/missing_text.h"

namespace sconce::lite {

std::string missing_words_of(const StackProgram& program, std::string_view called) {
  std::vector<std::string> all;
  for (const StackMethod& m : program.methods) {
    for (const StackOperator& o : m.operators) {
      if (o.kind == StackOperator::Kind::missing && std::find(all.begin(), all.end(), o.name) == all.end())
        all.emplace_back(o.name);
    }
  }
  return missing_text("<model>", std::string(called), all);
}

}  // namespace sconce::lite
