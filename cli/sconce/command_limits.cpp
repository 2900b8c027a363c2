#include "command_limits.h"

#include <optional>

#include <fmt/format.h>

#include "commands/commands.h"

namespace sconce::cli {
namespace {

// One command line, one set.
struct LimitOptions {
  Limits limits;
  bool trust = false;
  std::optional<bool> mmap;
};
LimitOptions& given() {
  static LimitOptions options;
  return options;
}

template <class Parse>
void add_limit(App command, const char* name, const char* type, const char* help, Parse parse) {
  command
      .add_option_function(
          name,
          [name, parse](const std::string& text) {
            try {
              parse(text);
            } catch (const Error& e) {
              throw UsageError(fmt::format("{}: {}", name, e.message()));
            }
          },
          help)
      .type_name(type)
      .group("Limits");
}

}  // namespace

void add_limit_options(App command) {
  add_limit(command, "--max-memory", "BYTES", "Ends with an error when tensors, lists and strings need more: 2G, 500M",
            [](const std::string& text) { given().limits.memory = parse_amount(text, true); });
  add_limit(command, "--max-work", "ELEMENTS", "Ends when operators would read and compute more elements: 10G",
            [](const std::string& text) { given().limits.work = parse_amount(text, false); });
  add_limit(command, "--timeout", "TIME", "Ends after this time: 5s, 200ms, 2m",
            [](const std::string& text) { given().limits.timeout = parse_duration(text); });
  command
      .add_flag("--trust", given().trust,
                "Lets code that a file runs while it is loaded (__setstate__) call every operator")
      .group("Limits");
  command
      .add_flag_function(
          "--mmap,!--no-mmap", [](int64_t on) { given().mmap = on > 0; },
          "Maps the file, or reads it; without either, it is read only if others may write to it")
      .group("Limits");
}

std::shared_ptr<Budget> command_budget() {
  return given().limits.any() ? std::make_shared<Budget>(given().limits, "the command") : nullptr;
}

LoadOptions load_options() {
  LoadOptions options;
  options.trust = given().trust;
  options.limits = given().limits;
  return options;
}

FileBytesPtr open_file(const std::string& path) {
  const auto mapped = given().mmap;
  if (!mapped) return FileBytes::read_or_map(path);
  return *mapped ? FileBytes::map(path) : FileBytes::read(path);
}

}  // namespace sconce::cli
