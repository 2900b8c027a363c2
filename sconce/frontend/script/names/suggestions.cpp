// Spelling suggestions.
#include <algorithm>

#include "sconce/base/text/spelling.h"
#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/names/names.h"

namespace sconce::script {

std::vector<std::string> suggestions(std::string_view wrong, ListRef<std::string> known) {
  return similar_names(wrong, known);
}

std::string did_you_mean(std::string_view wrong, ListRef<std::string> known) {
  const std::string near = similar_names_text(wrong, known);
  return near.empty() ? near : "\nDid you mean " + near + "?";
}

std::vector<std::string> similar_operators(std::string_view name) {
  std::vector<std::string> known;
  const size_t colons = name.find("::");
  const std::string space(colons == name.npos ? "::" : name.substr(0, colons + 2));
  for (const Op* op : all_ops()) {
    const std::string_view full = op->info.name;
    if (full.starts_with(space)) known.emplace_back(full.substr(space.size()));
  }
  std::vector<std::string> near = suggestions(colons == name.npos ? name : name.substr(colons + 2), known);
  for (std::string& n : near) n.insert(0, space);
  return near;
}

}  // namespace sconce::script
