// The page that `sconce ir --html` writes: one file, nothing loaded from elsewhere. html/ has its parts.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sconce::cli {

// The page for graphs as graph_json.h describes them. Nothing in them can end the script that holds them.
std::string graph_page(const nlohmann::ordered_json& data);

// What stands before and behind the data (generated).
extern const char* const kPageBeforeData;
extern const char* const kPageBehindData;

}  // namespace sconce::cli
