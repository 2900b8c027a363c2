// sconce serve MODEL...: starts sconce-server, which stands beside this program. It is one of its own, so that sconce
// needs no library for HTTP or gRPC.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "commands/commands.h"

namespace sconce::cli {
namespace {

constexpr const char* kDescription =
    "Serves models over HTTP and gRPC, for clients of Triton and KServe. 'sconce serve --help' lists its options.";

int run_serve(const std::vector<std::string>& words) {
  std::error_code wrong;
  const auto server = std::filesystem::read_symlink("/proc/self/exe", wrong).parent_path() / "sconce-server";
  std::string path = server.string();
  std::vector<std::string> all{"sconce serve"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  const std::string why =
      fmt::format("{}: {}: the server is built where libmicrohttpd-dev is installed", path, std::strerror(errno));
  for (const std::string& word : words) {
    if (word != "--help" && word != "-h") continue;
    fmt::print("{}\n{}\n", kDescription, why);
    return 0;
  }
  throw UsageError(why);
}

}  // namespace

Command add_serve_command(App app) {
  const App command = app.add_subcommand("serve", kDescription);
  command.set_help_flag();
  command.allow_extras();
  return [command] { return run_serve(command.remaining()); };
}

}  // namespace sconce::cli
