#include "text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace sconce::cli {
namespace {

bool has_colours(std::FILE* stream) {
  const char* forbidden = std::getenv("NO_COLOR");
  return !(forbidden && *forbidden) && is_terminal(stream);
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) && !(term && std::strcmp(term, "dumb") == 0);
}

size_t terminal_columns(std::FILE* stream, size_t otherwise) {
  constexpr size_t kNarrowest = 20, kWidest = 10'000;
  if (const char* given = std::getenv("COLUMNS")) {
    const size_t n = std::strtoul(given, nullptr, 10);
    if (n > 0) return std::clamp(n, kNarrowest, kWidest);
  }
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<size_t>(size.ws_col, kNarrowest);
  return otherwise;
}

std::string coloured(std::FILE* stream, Colour colour, std::string_view text) {
  if (!has_colours(stream)) return std::string(text);
  constexpr int kCodes[] = {31, 32, 33, 1};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(colour)], text);
}

}  // namespace sconce::cli
