// JSON parser: events of a text, by nlohmann's parser for texts alone. Its own sax_parse also reads CBOR and four other
// binary formats, 25 KB of code that the linker cannot tell to be unused.
//
// Includes nlohmann/json: for .cpp files only.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace sconce {

// Calls `sax` (nlohmann::json_sax) for what the whole text has. False where `sax` said so, or for a text that is not
// JSON.
template <class Sax>
bool parse_json_text(std::string_view text, Sax* sax) {
  using Input = decltype(nlohmann::detail::input_adapter(text.begin(), text.end()));
  return nlohmann::detail::parser<nlohmann::json, Input>(nlohmann::detail::input_adapter(text.begin(), text.end()),
                                                         nullptr, true)
      .sax_parse(sax, true);
}

}  // namespace sconce
