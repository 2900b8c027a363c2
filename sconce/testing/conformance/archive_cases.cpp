#include "sconce/testing/conformance/archive_cases.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compiled/lowered_call.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/lite_library.h"
#include "sconce/testing/conformance/script_call.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::testing {
namespace {

// model.safetensors goes with model.pt, model.pt.safetensors with model.pt.
std::string archive_of(const CaseFile& file) {
  const std::string stem = file.path().substr(0, file.path().size() - std::string_view(".safetensors").size());
  return std::filesystem::exists(stem + ".pt") ? stem + ".pt" : stem;
}

// Saves a module under the name of its archive, for the lite interpreter when asked for, and returns the path: in the
// folder that `options` name, or in the temporary one. With `resave`, throws Error when the saved module, saved again,
// gives other bytes.
std::string saved(const jit::Module& module, const std::string& archive, const RunOptions& options,
                  const TemporaryFolder& temporary) {
  const std::filesystem::path path = std::filesystem::absolute(archive);
  const std::string name = path.stem().string() + (options.lite ? ".ptl" : ".pt");
  std::filesystem::path folder = temporary.file("first");
  if (!options.saved_to.empty()) folder = std::filesystem::path(options.saved_to) / path.parent_path().filename();
  std::filesystem::create_directories(folder);
  std::filesystem::create_directory(temporary.file("second"));
  const auto save = [&](const jit::Module& m, const std::string& to) { options.lite ? m.save_lite(to) : m.save(to); };
  const std::string first = (folder / name).string(), second = temporary.file("second/" + name);
  save(module, first);
  if (!options.resave) return first;
  save(jit::load(first), second);
  const std::string a = read_file(first), b = read_file(second);
  SCONCE_CHECK(a == b, "{}: the second save differs from the first, from byte {} of {} on", name,
               std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin(), a.size());
  return first;
}

// Runs the cases of a file up to one, in a module of their own. `result` is what that one returned, if it did.
CaseResult replay(const CaseKind& kind, const CaseFile& file, size_t index, const RunOptions& options, Value& result) {
  const TemporaryFolder temporary;
  jit::Module module = jit::load(archive_of(file));
  if (options.resave) module = jit::load(saved(module, archive_of(file), options, temporary));
  ir::Function& forward = module.get_method("forward").function();
  const ScriptCall lowered = options.lowered.empty() ? ScriptCall() : lowered_call(forward, options.lowered);
  // Calling a module runs its hooks, too.
  const ScriptCall call = [&](std::vector<Value> args) {
    if (lowered) return result = lowered(std::move(args));
    args.erase(args.begin());
    return result = module.call(std::move(args));
  };
  for (size_t i = 0; i < index; ++i) {
    if (kind.is_case(file.at(i))) repeat_script_call(forward, module.value(), file, file.at(i), call);
  }
  result = {};
  return run_script_call(forward, module.value(), file, file.at(index), call);
}

// Recorded without a seed, a program that draws random numbers has results like ours, not the same.
CaseResult compare_random(const CaseKind& kind, const CaseFile& file, size_t index, const RunOptions& options,
                          const CaseResult& before) {
  Value results[2];
  for (const uint64_t seed : {1, 2}) {
    manual_seed(seed);
    replay(kind, file, index, options, results[seed - 1]);
  }
  if (!compare_nested(results[0], results[1])) return before;
  const Value expected = read_value(file.at(index).at("out"), file.tensors());
  if (Difference d = compare_nested(results[0], expected, compare_drawn)) return CaseResult::failure(*d);
  return CaseResult::pass();
}

// The same by bytecode: of the .ptl file that the case was recorded from or that has its name in a folder; else the
// archive is saved as one first.
CaseResult run_lite(const CaseKind& kind, const CaseFile& file, size_t index, const RunOptions& options) {
  const TemporaryFolder temporary;
  std::string path = archive_of(file);
  const std::string name = std::filesystem::path(path).stem().string() + ".ptl";
  if (!options.lite_folder.empty()) {
    path = options.lite_folder + "/" + name;
    if (!std::filesystem::exists(path)) return CaseResult::skip("there is no .ptl file");
  } else if (!has_bytecode(Records(FileBytes::map(path)))) {
    try {
      path = saved(jit::load(path), path, options, temporary);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_implemented) throw;
      return CaseResult::skip("not for the lite interpreter");
    }
  }
  const Archive archive = load_lite_archive(path);
  ir::Function* forward = ir::find_method(archive.module.to_object().type(), "forward");
  SCONCE_CHECK(forward, "{}: there is no method 'forward'", path);
  std::optional<LiteLibrary> library;
  ScriptCall call;
  if (!options.lite_libraries.empty()) {
    const std::string own = options.lite_libraries + "/" + std::filesystem::path(path).stem().string() + ".so";
    if (!std::filesystem::exists(own)) return CaseResult::skip("there is no lite library for it");
    library.emplace(own, path);
    call = [&](std::vector<Value> args) {
      args.erase(args.begin());
      return library->call(args);
    };
  }
  for (size_t i = 0; i < index; ++i) {
    if (kind.is_case(file.at(i))) repeat_script_call(*forward, archive.module, file, file.at(i), call);
  }
  return run_script_call(*forward, archive.module, file, file.at(index), call);
}

class ArchiveCases final : public CaseKind {
 public:
  std::string_view name() const override { return "archives"; }
  bool matches(const CaseFile& file) const override { return file.has_program(); }
  bool is_case(const Json& json) const override { return json.contains("inputs"); }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const override {
    try {
      if (options.lite) return run_lite(*this, file, index, options);
      Value result;
      const CaseResult compared = replay(*this, file, index, options, result);
      const bool seeded = find_member(file.at(0), "seed") != nullptr;
      if (compared.status != Status::failed || seeded || result.is_none()) return compared;
      return compare_random(*this, file, index, options, compared);
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& archive_cases() {
  static const ArchiveCases kind;
  return kind;
}

}  // namespace sconce::testing
