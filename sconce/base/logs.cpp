#include "sconce/base/logs.h"

#include <algorithm>
#include <cstdlib>

#include "sconce/base/error.h"

namespace sconce {
namespace {

struct TagText {
  std::string_view name, shows, more;
};
constexpr TagText kTags[] = {
#define SCONCE_LOG_TAG(name, shows, more) {#name, shows, more},
    SCONCE_LOG_TAGS(SCONCE_LOG_TAG)
#undef SCONCE_LOG_TAG
};

std::string help() {
  size_t width = 0;
  for (const TagText& tag : kTags) width = std::max(width, tag.name.size());
  const auto line = [&](std::string_view name, std::string_view shows) {
    return "  " + std::string(name) + std::string(width - std::min(width, name.size()) + 2, ' ') + std::string(shows) +
           "\n";
  };
  std::string text =
      "SCONCE_LOGS Info\n\n"
      "Examples:\n"
      "  SCONCE_LOGS=\"passes,autodiff\" prints the messages of two tags to standard error\n"
      "  SCONCE_LOGS=\"+passes\" prints more of them, SCONCE_LOGS=\"all,-passes\" those of all tags but one\n\n"
      "Registered names\n" +
      line("all", "every name below");
  for (const TagText& tag : kTags) {
    text += line(tag.name, std::string(tag.shows) + "; with +, " + std::string(tag.more));
  }
  return text;
}

[[noreturn]] void fail_invalid(std::string_view settings) {
  std::string known = "all";
  for (const TagText& tag : kTags) known += ", " + std::string(tag.name);
  fail_as(ErrorKind::value,
          "Invalid log settings: {}, must be a comma separated list of registered log names.\n"
          "For more info on various settings, try SCONCE_LOGS=\"help\"\n"
          "Valid settings:\n{}",
          settings, known);
}

LogLevels from_environment() {
  const char* settings = std::getenv("SCONCE_LOGS");
  return parse_log_levels(settings ? settings : "");
}

}  // namespace

LogLevels parse_log_levels(std::string_view settings) {
  LogLevels levels{};
  if (settings.empty()) return levels;
  if (settings == "help" || settings == "+help") throw Error(ErrorKind::value, help());
  for (size_t at = 0; at <= settings.size();) {
    const size_t comma = std::min(settings.find(',', at), settings.size());
    std::string_view name = settings.substr(at, comma - at);
    at = comma + 1;
    LogLevel level = LogLevel::info;
    if (name.starts_with('+') || name.starts_with('-')) {
      level = name.front() == '+' ? LogLevel::debug : LogLevel::off;
      name.remove_prefix(1);
    }
    if (name == "all") {
      levels.fill(level);
      continue;
    }
    const auto tag = std::find_if(std::begin(kTags), std::end(kTags), [&](const TagText& t) { return t.name == name; });
    if (tag == std::end(kTags)) fail_invalid(settings);
    levels[static_cast<size_t>(tag - kTags)] = level;
  }
  return levels;
}

const LogLevels& log_levels() {
  static const LogLevels levels = from_environment();  // a throw leaves it to the next who asks
  return levels;
}

}  // namespace sconce
