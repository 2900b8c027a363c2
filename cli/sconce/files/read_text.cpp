#include <cstdio>

#include <fmt/format.h>

#include "commands/commands.h"

namespace sconce::cli {

std::string read_text(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) throw UsageError(fmt::format("cannot read '{}'", path));
  std::string text;
  char buffer[1 << 16];
  size_t n;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, n);
  const bool failed = std::ferror(file);
  if (file != stdin) std::fclose(file);
  if (failed) throw UsageError(fmt::format("cannot read '{}'", path));
  return text;
}

std::string source_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

}  // namespace sconce::cli
