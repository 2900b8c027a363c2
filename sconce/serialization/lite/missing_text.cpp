#include "sconce/serialization/lite/missing_text.h"

#include "sconce/base/error.h"

namespace sconce {

std::string missing_text(const std::string& file, const std::string& called, const std::vector<std::string>& all) {
  std::string text = format_message("{}: Unknown builtin op: {}.", {file, called});
  if (all.size() < 2) return text;
  constexpr size_t kShown = 100;  // a file has this text for every call
  text += format_message(" All that are missing ({}): ", {all.size()});
  for (size_t i = 0; i < all.size() && i < kShown; ++i) {
    if (i != 0) text += ", ";
    text += all[i];
  }
  if (all.size() > kShown) text += ", ...";
  return text;
}

}  // namespace sconce
