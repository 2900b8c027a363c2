#include "commands/completion_values.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "files/model_file.h"
#include "files/picture_options.h"
#include "files/program_file.h"
#include "sconce/dispatch/registry.h"
#include "sconce/lowering/dialect.h"
#include "sconce/passes/passes.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cli {
namespace {

using Words = std::vector<std::string>;

bool is_file(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The first file that the command line names, behind the command.
std::string first_file(const Words& words) {
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with('-') && is_file(words[i])) return words[i];
  }
  return "";
}

std::vector<std::string> dtypes() {
  std::vector<std::string> out;
  for (const DType dtype : kAllDTypes) out.emplace_back(dtype_name(dtype));
  return out;
}

std::vector<std::string> dialects() {
  std::vector<std::string> out;
  for (const lowering::Dialect& d : lowering::all_dialects()) out.emplace_back(d.name);
  return out;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> out;
  for (const passes::PassInfo& p : passes::all_passes()) out.emplace_back(p.name);
  return out;
}

// Without overloads, and without namespaces for aten's, which is how people type them.
std::vector<std::string> operators() {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    const std::string name = op->info.name;
    names.insert(name.starts_with("aten::") ? name.substr(6) : name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> methods(const Words& words) {
  ModelOptions options;
  options.file = first_file(words);
  if (options.file.empty()) return {};
  return ModelFile(options).method_names();
}

std::vector<std::string> modules(const Words& words) {
  const std::string file = first_file(words);
  return file.empty() ? std::vector<std::string>() : ProgramFile(file).modules();
}

struct OptionValues {
  const char* option;
  std::vector<std::string> (*values)(const Words& words);
};
constexpr OptionValues kOptions[] = {
    {"--pass", [](const Words&) { return pass_names(); }},
    {"--to", [](const Words&) { return dialects(); }},
    {"--dtype", [](const Words&) { return dtypes(); }},
    {"--by", [](const Words&) { return Words{"op", "line", "module"}; }},
    {"--normalize", [](const Words&) { return Words{"imagenet"}; }},
    {"--method", methods},
    {"--function", methods},
    {"--module", modules},
};

std::vector<std::string> values_of(const Words& words) {
  const std::string& command = words[0];
  const std::string& before = words[words.size() - 2];
  for (const OptionValues& o : kOptions) {
    if (before == o.option) return o.values(words);
  }
  if (command == "completion" && words.size() == 2) return {"bash", "zsh", "fish"};
  if (command == "ops" && !before.starts_with("--")) return operators();
  return {};
}

}  // namespace

bool option_has_values(const std::string& option) {
  return std::any_of(std::begin(kOptions), std::end(kOptions),
                     [&](const OptionValues& o) { return option == o.option; });
}

std::vector<std::string> completion_values(const Words& words) {
  if (words.size() < 2) return {};
  std::vector<std::string> out;
  try {
    out = values_of(words);
  } catch (const std::exception&) {
    return {};  // the command itself says what is wrong
  }
  std::erase_if(out, [&](const std::string& value) { return !value.starts_with(words.back()); });
  return out;
}

}  // namespace sconce::cli
