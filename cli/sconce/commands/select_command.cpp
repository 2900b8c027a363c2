// sconce select MODEL... -o SELECTION: the operators that models need, for a library built with no others.
#include <fmt/format.h>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/selection.h"
#include "sconce/serialization/file/file_writer.h"

namespace sconce::cli {
namespace {

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> dtypes, levels, trace;
  std::string with, out, method;
  bool places = false;
};

constexpr const char* kDescription =
    "Writes which operators, dtypes and vector levels models need, so that a library can be built with no others:\n"
    "cmake -DSCONCE_SELECT=SELECTION. MODEL is a lite archive (.ptl), a compiled file (.scx), or the .pt that a lite\n"
    "archive is made from.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sconce select net.ptl -o net.txt\n"
    "  sconce select net.ptl other.scx --dtypes from-model --levels v3 -o both.txt\n"
    "  sconce select other.ptl --with net.txt -o net.txt\n"
    "  sconce select net.ptl --trace 1x3x224x224 -o net.txt";

const std::set<std::string> kLevels{"v2", "v3", "v4"};

void add_words(const std::vector<std::string>& from, std::set<std::string>& to) {
  for (const std::string& list : from) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      if (end > at) to.insert(list.substr(at, end - at));
      at = end + 1;
    }
  }
}

int run_select(const Options& o) {
  Selection selection;
  if (!o.with.empty()) selection = read_selection(o.with);
  const bool had_dtypes = !o.with.empty() && !selection.dtypes.empty();
  std::set<std::string> dtypes;
  add_words(o.dtypes, dtypes);
  const bool from_model = dtypes.erase("from-model") > 0 || had_dtypes;
  for (const std::string& name : dtypes) {
    DType dtype;
    if (name != "all" && !dtype_from_name(name, &dtype))
      throw UsageError(fmt::format("--dtypes: there is no dtype '{}'", name));
  }
  selection.places |= o.places;
  add_words(o.levels, selection.levels);
  for (const std::string& level : selection.levels) {
    if (!kLevels.contains(level)) throw UsageError(fmt::format("--levels takes v2, v3 and v4, got '{}'", level));
  }
  if (!o.trace.empty() && o.models.size() != 1) throw UsageError("--trace is for one model");
  for (const std::string& path : o.models) {
    ModelOptions options;
    options.file = path;
    options.lite = is_lite_file(path);
    const ModelFile model(options);
    const FileBytesPtr file = FileBytes::map(path);
    if (o.trace.empty()) {
      select_model(model, file, from_model, selection);
    } else {
      InputOptions inputs;
      inputs.random = o.trace;
      select_run(model, file, o.method, read_inputs(inputs, model, o.method), from_model, selection);
    }
  }
  if (dtypes.contains("all"))
    selection.dtypes.clear();
  else
    selection.dtypes.insert(dtypes.begin(), dtypes.end());
  FileWriter out(o.out);
  out.write(selection.text());
  out.commit();
  const auto all_or = [](const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? "all" : text;
  };
  fmt::print("{}: {} operators, dtypes {}, levels {}\n", o.out, selection.operators.size(), all_or(selection.dtypes),
             all_or(selection.levels));
  return 0;
}

}  // namespace

Command add_select_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("select", kDescription);
  command.footer(kExamples);
  command.add_option("MODEL", o->models, "Files that the library is to run").required().type_name("");
  command.add_option("-o,--out", o->out, "The selection to write").required().type_name("FILE");
  command.add_option("--with", o->with, "Adds to what this selection has").type_name("FILE");
  command
      .add_option("--dtypes", o->dtypes,
                  "Vector loops for these dtypes only; from-model: float32 and those of the models' tensors, with "
                  "int64 and bool where operators may make them (inputs of others need theirs); all, which is the "
                  "default")
      .type_name("NAME,...")
      .allow_extra_args(false);
  command.add_option("--levels", o->levels, "Vector loops for these levels of processors only: v2, v3, v4; else all")
      .type_name("LEVEL,...")
      .allow_extra_args(false);
  command
      .add_option("--trace", o->trace,
                  "Only what a call runs, with random tensors of these shapes, as --random of `sconce run`; repeatable")
      .type_name("SHAPE")
      .allow_extra_args(false);
  command.add_flag("--places", o->places, "Errors name lines of the program's source, which takes code and memory");
  command.add_option("--method", o->method, "What --trace calls; else forward").type_name("NAME");
  return [o] { return run_select(*o); };
}

}  // namespace sconce::cli
