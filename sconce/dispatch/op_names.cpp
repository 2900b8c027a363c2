#include "sconce/dispatch/op_names.h"

#include <algorithm>

namespace sconce {

std::string_view canonical_name(std::string_view name) {
  const std::span<const OpAlias> all = op_aliases();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const OpAlias& a, std::string_view wanted) { return a.name < wanted; });
  return found != all.end() && found->name == name ? found->canonical : std::string_view();
}

}  // namespace sconce
