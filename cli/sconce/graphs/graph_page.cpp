#include "graphs/graph_page.h"

#include <nlohmann/json.hpp>

namespace sconce::cli {

std::string graph_page(const nlohmann::ordered_json& data) {
  std::string out = kPageBeforeData;
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    // Marks of HTML only stand inside of JSON's strings, which may spell them otherwise.
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out + kPageBehindData;
}

}  // namespace sconce::cli
