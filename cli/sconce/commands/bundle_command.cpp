// sconce bundle MODEL -o DIR: a folder with a model, a library that runs it and no more, and a program in C.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "commands/commands.h"
#include "files/selection.h"
#include "sconce/base/error.h"
#include "sconce/serialization/file/file_writer.h"
#include "text/units.h"

extern char** environ;

namespace sconce::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model, out, sources, parts;
  std::vector<std::string> levels;
  bool all_dtypes = false;
};

constexpr const char* kDescription =
    "Writes a folder that runs a model without the rest of Sconce: libsconce_lite.so with the operators that the "
    "model\n"
    "needs, its header, the model as a .ptl or .scx, a program in C, and a CMakeLists.txt that builds it. The library "
    "is\n"
    "linked from the parts of a build folder (its target small_parts), by cmake.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sconce bundle net.pt -o net\n"
    "  sconce bundle net.scx -o net --levels v3\n"
    "  cmake -S net -B net/build && cmake --build net/build && net/build/run net/model.ptl 1 3 224 224";

constexpr const char* kProgram = R"(/* Runs the model on ones: run MODEL SIZE... */
#include <stdio.h>
#include <stdlib.h>

#include "sconce_lite.h"

static int failed(const char* what) {
  printf("%s: %s\n", what, sconce_lite_last_error());
  return 1;
}

int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file || fseek(file, 0, SEEK_END) != 0) return printf("usage: run MODEL SIZE...\n"), 2;
  const size_t size = (size_t)ftell(file);
  void* bytes = aligned_alloc(64, (size + 63) / 64 * 64);
  rewind(file);
  if (!bytes || fread(bytes, 1, size, file) != size) return printf("%s cannot be read\n", argv[1]), 2;
  sconce_lite_model* model = NULL;
  if (sconce_lite_load(bytes, size, 0, &model) != SCONCE_LITE_OK) return failed("load");
  int64_t sizes[SCONCE_LITE_MAX_RANK], count = 1;
  int rank = 0;
  for (; rank + 2 < argc && rank < SCONCE_LITE_MAX_RANK; ++rank) count *= sizes[rank] = atoll(argv[rank + 2]);
  float* x = malloc((size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) x[i] = 1;
  const sconce_lite_value input = sconce_lite_tensor_of(x, SCONCE_LITE_FLOAT32, rank, sizes);
  const sconce_lite_value* y = NULL;
  if (sconce_lite_run(model, 0, &input, 1, &y) != SCONCE_LITE_OK) return failed("run");
  if (y->kind == SCONCE_LITE_TENSOR && y->as.tensor.dtype == SCONCE_LITE_FLOAT32)
    printf("the first of its numbers: %g\n", ((const float*)y->as.tensor.data)[0]);
  sconce_lite_free(model);
  return 0;
}
)";

constexpr const char* kLists = R"(cmake_minimum_required(VERSION 3.16)
project(run_model LANGUAGES C)
set(CMAKE_C_STANDARD 11)
add_library(sconce_lite SHARED IMPORTED)
set_target_properties(sconce_lite PROPERTIES IMPORTED_LOCATION "${CMAKE_CURRENT_SOURCE_DIR}/libsconce_lite.so"
  IMPORTED_NO_SONAME ON INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}")
add_executable(run main.c)
target_link_libraries(run PRIVATE sconce_lite)
)";

void write_file(const fs::path& path, std::string_view text) {
  FileWriter out(path);
  out.write(text);
  out.commit();
}

// Runs a program, and shows what it printed where it fails.
void run_program(std::vector<std::string> words, const fs::path& log) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int started = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  SCONCE_CHECK(started == 0, "{} cannot be started: {}", words[0], std::strerror(started));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string said = read_text(log);
  fail("{} {} failed:\n{}", words[0], words[1], said.substr(said.size() - std::min<size_t>(said.size(), 4000)));
}

fs::path build_library(const Options& o, const fs::path& folder) {
  const fs::path build = folder / ".build", log = folder / ".build.log";
  fs::create_directories(build);
  run_program({"cmake", "-S", o.sources, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
               "-DSCONCE_SELECT=" + (folder / "selection.txt").string(), "-DSCONCE_PARTS=" + o.parts},
              log);
  run_program({"cmake", "--build", build}, log);
  fs::remove(log);
  return build;
}

int run_bundle(const Options& o) {
  if (!fs::exists(fs::path(o.sources) / "cmake/small.cmake"))
    throw UsageError(fmt::format("{}: is not the folder of Sconce's sources: --sources names it", o.sources));
  const fs::path folder = fs::absolute(o.out);
  fs::create_directories(folder);
  ModelOptions options;
  options.file = o.model;
  options.lite = is_lite_file(o.model);
  const ModelFile model(options);
  const FileBytesPtr file = FileBytes::map(o.model);
  Selection selection;
  for (const std::string& level : o.levels) selection.levels.insert(level);
  select_model(model, file, !o.all_dtypes, selection);
  selection.origins = {fs::path(o.model).filename()};
  write_file(folder / "selection.txt", selection.text());

  const bool is_compiled = model.kind() == FileKind::compiled;
  const fs::path shipped = folder / (is_compiled ? "model.scx" : "model.ptl");
  if (const std::optional<jit::Module>& module = model.module();
      module && model.kind() == FileKind::torchscript && !options.lite)
    module->save_lite(shipped);
  else
    fs::copy_file(o.model, shipped, fs::copy_options::overwrite_existing);

  const fs::path build = build_library(o, folder);
  fs::copy_file(build / "lib/libsconce_lite.so", folder / "libsconce_lite.so", fs::copy_options::overwrite_existing);
  fs::copy_file(build / "include/sconce_lite.h", folder / "sconce_lite.h", fs::copy_options::overwrite_existing);
  fs::remove_all(build);
  run_program({"strip", folder / "libsconce_lite.so"}, folder / ".strip.log");
  fs::remove(folder / ".strip.log");
  write_file(folder / "main.c", kProgram);
  write_file(folder / "CMakeLists.txt", kLists);
  fmt::print("{}: {} operators, {} and {}\n", o.out, selection.operators.size(),
             bytes_text(fs::file_size(folder / "libsconce_lite.so")) + " of code",
             bytes_text(fs::file_size(shipped)) + " of model");
  return 0;
}

}  // namespace

Command add_bundle_command(App app) {
  auto o = std::make_shared<Options>();
  o->sources = SCONCE_SOURCE_DIR;
  o->parts = SCONCE_BUILD_DIR;
  const App command = app.add_subcommand("bundle", kDescription);
  command.footer(kExamples);
  command.add_option("MODEL", o->model, "A .ptl, .scx or .pt file").required().type_name("");
  command.add_option("-o,--out", o->out, "The folder to write").required().type_name("DIR");
  command.add_option("--levels", o->levels, "Levels of processors: v2, v3, v4; else all")
      .type_name("LEVEL,...")
      .delimiter(',')
      .allow_extra_args(false);
  command.add_flag("--all-dtypes", o->all_dtypes, "Vector loops for all dtypes, not only for the model's");
  command.add_option("--sources", o->sources, "The folder of Sconce's sources").type_name("DIR");
  command.add_option("--parts", o->parts, "A build folder that has the target small_parts").type_name("DIR");
  return [o] { return run_bundle(*o); };
}

}  // namespace sconce::cli
