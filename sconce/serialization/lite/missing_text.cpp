#include "sconce/serialization/lite/missing_text.h"

namespace sconce {

std::string missing_text(const std::string& file, const std::string& called, const std::vector<std::string>& all) {
  std::string text = file + ": Unknown builtin op: " + called + ".";
  if (all.size() < 2) return text;
  constexpr size_t kShown = 100;  // a file has this text for every call
  text += " All that are missing (" + std::to_string(all.size()) + "): ";
  for (size_t i = 0; i < all.size() && i < kShown; ++i) text += (i ? ", " : "") + all[i];
  return all.size() > kShown ? text + ", ..." : text;
}

}  // namespace sconce
