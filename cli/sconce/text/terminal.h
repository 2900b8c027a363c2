// Terminals: how wide one is, and what may be written to it in colour.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sconce::cli {

// A terminal that understands escape sequences (TERM is not "dumb").
bool is_terminal(std::FILE* stream);
// The width of the terminal behind the stream; `otherwise` when there is none. COLUMNS, where it is set, decides.
size_t terminal_columns(std::FILE* stream, size_t otherwise);

enum class Colour : unsigned char { red, green, yellow, bold };
// The text in that colour where the stream is a terminal; as it stands elsewhere, and where NO_COLOR is set
// (no-color.org).
std::string coloured(std::FILE* stream, Colour colour, std::string_view text);

}  // namespace sconce::cli
