// Help: what --help prints, wrapped to the terminal.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class FormatterBase;
}

namespace sconce::cli {

// Breaks lines that are longer than `width` at blanks. What follows is indented as the last column of the line: the text
// behind two blanks or more. Lines of examples ("  sconce run ...") are left alone, since they are copied.
std::string wrapped(std::string_view text, size_t width);

// For all commands.
std::shared_ptr<CLI::FormatterBase> make_help_formatter();

}  // namespace sconce::cli
