// sconce-kill-saves [N]: a child saves a module over the same file again and again and is killed at a random moment, N
// times. After each kill the file must be whole: it loads, every checksum is right, and all of it is from one save.
// Besides it, only temporary files that say what they are may remain.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/file/zip_reader.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

constexpr const char* kProgram = R"(
class Filled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(300, 1000))
        self.b = nn.Parameter(torch.zeros(7))

    def forward(self, x):
        return self.a.sum() * x + self.b.sum()
)";

// A save is told from others by its number, which is in every tensor and in an extra file.
void save_numbered(const jit::Module& module, const std::string& path, int number) {
  for (const Tensor& t : module.parameters()) std::fill_n(t.data<float>(), t.numel(), static_cast<float>(number));
  module.save(path, {{"number", std::to_string(number)}});
}

// The number of the save that the file is from. Throws Error when it is not whole.
int number_of(const std::string& path) {
  const ZipReader zip(FileBytes::map(path));
  for (const ZipReader::Record& record : zip.records()) zip.read(record);  // checks the sum
  jit::ExtraFiles extra;
  const jit::Module module = jit::load(path, &extra);
  SCONCE_CHECK(extra.size() == 1, "{}: has {} extra files", path, extra.size());
  const std::string& text = extra[0].second;
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  for (const Tensor& t : module.parameters()) {
    const auto wrong = [&](float v) { return v != static_cast<float>(number); };
    SCONCE_CHECK(!std::any_of(t.data<float>(), t.data<float>() + t.numel(), wrong), "{}: is from two saves", path);
  }
  module(Tensor(scalar_tensor_of(1.0, DType::float32)));
  return number;
}

// What remains besides the file itself; it is removed. Throws Error for a name that does not say what it is.
size_t remove_remains(const testing::TemporaryFolder& folder, const std::string& name) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string found = entry.path().filename().string();
    if (found == name) continue;
    SCONCE_CHECK(found.starts_with(".sconce-save-") && found.ends_with(".tmp"), "'{}' remains", found);
    std::filesystem::remove(entry.path());
    ++count;
  }
  return count;
}

Microseconds duration_of_a_save(const jit::Module& module, const std::string& path) {
  std::vector<Microseconds> durations;
  for (int i = 0; i < 9; ++i) {
    const auto begin = Clock::now();
    save_numbered(module, path, 0);
    durations.push_back(std::chrono::duration_cast<Microseconds>(Clock::now() - begin));
  }
  std::sort(durations.begin(), durations.end());
  return durations[durations.size() / 2];
}

int run(int kills) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("model.pt");
  jit::CompilationUnit unit = jit::compile(kProgram);
  const jit::Module module = unit.module("Filled");
  const Microseconds save = duration_of_a_save(module, path);
  std::mt19937 random(7);  // NOLINT: the same moments in every run
  int whole = 0, replaced = 0, number = 0;
  size_t remains = 0;
  for (int i = 0; i < kills; ++i) {
    int ready[2];
    SCONCE_CHECK(::pipe(ready) == 0, "no pipe");
    const pid_t child = ::fork();
    SCONCE_CHECK(child >= 0, "no child process");
    if (child == 0) {
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (int n = number + 1;; ++n) save_numbered(module, path, n);
    }
    char byte;
    if (::read(ready[0], &byte, 1) != 1) fmt::print("the child did not begin\n");
    ::close(ready[0]);
    ::close(ready[1]);
    // Anywhere in the first save or the second.
    ::usleep(std::uniform_int_distribution<useconds_t>(0, static_cast<useconds_t>(2 * save.count()))(random));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    try {
      SCONCE_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child ended by itself");
      const int found = number_of(path);
      SCONCE_CHECK(found >= number, "an older file is back: {} after {}", found, number);
      replaced += found != number;
      number = found;
      remains += remove_remains(folder, "model.pt");
      ++whole;
    } catch (const std::exception& error) {
      fmt::print("kill {}: {}\n", i, error.what());
    }
  }
  fmt::print("{} of {} files whole after a kill ({} new, {} old); {} temporary files remained; a save takes {} us\n",
             whole, kills, replaced, kills - replaced, remains, save.count());
  return whole == kills ? 0 : 1;
}

}  // namespace
}  // namespace sconce

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 50;
  if (argc > 2 || kills <= 0) {
    fmt::print(stderr, "usage: sconce-kill-saves [N]\n");
    return 2;
  }
  try {
    return sconce::run(kills);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sconce-kill-saves: {}\n", error.what());
    return 2;
  }
}
