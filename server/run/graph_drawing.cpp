#include "server/run/graph_drawing.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "server/protocol/failure.h"

extern char** environ;

namespace sconce::server {

std::string draw_graph(const std::string& program, const std::string& model_file) {
  if (program.empty()) refuse(Code::unavailable, "the program sconce, which draws graphs, is not beside sconce-server");
  char folder[] = "/tmp/sconce-graph-XXXXXX";
  if (!mkdtemp(folder)) refuse(Code::internal, "cannot make a folder for the graph");
  struct Remove {
    const char* folder;
    ~Remove() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } const remove{folder};
  const std::string page = std::string(folder) + "/graph.html";
  const char* argv[] = {program.c_str(), "ir", model_file.c_str(), "--html", page.c_str(), "--timeout", "25s", nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);  // the server has its own signals blocked
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, &attributes, const_cast<char**>(argv), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) refuse(Code::internal, "cannot start {}", program);
  int status = 0;
  for (int i = 0; waitpid(child, &status, WNOHANG) == 0; ++i) {
    if (i == 3000) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      refuse(Code::deadline_exceeded, "drawing the graph took more than 30 seconds");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream in(page, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !in)
    refuse(Code::unimplemented, "there is no graph of this kind of file");
  return out.str();
}

}  // namespace sconce::server
