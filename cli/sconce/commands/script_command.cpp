// sconce script FILE: compiles a program, lists what is in it, calls it.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/model_file.h"
#include "files/program_file.h"
#include "sconce/dispatch/schema.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/types/class_info.h"
#include "text/call_text.h"
#include "text/error_text.h"
#include "text/json.h"

namespace sconce::cli {
namespace {

struct Options {
  std::string file, call, module;
  std::vector<std::string> libraries;
  bool json = false;
  std::optional<uint64_t> seed;
};

constexpr const char* kDescription =
    "Compiles a program from its text. Without --call: lists its functions, methods and modules.\n"
    "With --call: calls one and prints the result as Python would.";
constexpr const char* kFooter =
    "Arguments of a call are expressions of the language: numbers, strings, lists, torch.ones(2, 3), calls of the\n"
    "program's own functions.\n"
    "Examples:\n"
    "  sconce script model.py\n"
    "  sconce script model.py --call 'f(1, [2.0])'\n"
    "  sconce script model.py --module 'Net(4)' --call 'forward(torch.ones(2, 4))' --seed 0";

// "f(Tensor x, int k=1) -> Tensor"
std::string signature(const NamedFunction& f) {
  Schema schema = f.function->schema();
  schema.name = f.name;
  return schema.to_string();
}

void print_list(const std::vector<NamedFunction>& functions, const std::vector<std::string>& modules, bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const NamedFunction& f : functions) {
      out.push_back({{"name", f.name}});
      if (f.function) {
        out.back()["schema"] = signature(f);
      } else {
        out.back()["error"] = f.error;
      }
    }
    for (const std::string& name : modules) out.push_back({{"module", name}});
    print_json(out);
    return;
  }
  for (const NamedFunction& f : functions) {
    if (f.function) {
      fmt::print("{}\n", signature(f));
    } else {
      fmt::print("{}: {}\n", f.name, f.error);
    }
  }
  for (const std::string& name : modules) fmt::print("module {}\n", name);
}

void print_value(const Value& v, bool json) {
  if (json)
    print_json(to_json(v));
  else
    fmt::print("{}\n", v.repr());
}

// Methods of an instance: forward(...), and those that are exported.
int run_module(ProgramFile& file, const Options& o) {
  const Value module = file.build(o.module);
  if (o.call.empty()) {
    print_list(ProgramFile::methods(module), {}, o.json);
    return 0;
  }
  const CallText call = split_call(o.call);
  ir::Function* method = module.to_object().type()->class_info()->find_method(call.callee);
  if (!method) throw UsageError(fmt::format("{} has no method '{}'", o.module, call.callee));
  CallValues values = evaluate_arguments(file.program(), call, "--call");
  values.args.insert(values.args.begin(), module);
  std::vector<Value> bound = runtime::bind_call(*method, std::move(values.args), std::move(values.kwargs));
  print_value(runtime::run(*method, bound), o.json);
  return 0;
}

// Everything that can be called, then every error. Beside modules, functions that cannot be compiled may be those that
// build them: no error.
int list(ProgramFile& file, const Options& o) {
  std::vector<NamedFunction> functions = file.functions();
  const std::vector<std::string> modules = file.modules();
  for (const std::string& import : file.skipped_imports())
    fmt::print(stderr, "{} is skipped, since other files are not read\n", import);
  std::vector<std::string> errors;
  if (modules.empty() && !o.json) {
    for (const NamedFunction& f : functions) {
      if (!f.function) errors.push_back(f.message);
    }
    std::erase_if(functions, [](const NamedFunction& f) { return !f.function; });
  }
  print_list(functions, modules, o.json);
  std::fflush(stdout);
  for (const std::string& e : errors)
    fmt::print(stderr, "sconce: {}{}", with_short_lines(e), e.ends_with('\n') ? "" : "\n");
  const bool failed =
      std::any_of(functions.begin(), functions.end(), [](const NamedFunction& f) { return !f.function; });
  return errors.empty() && !(failed && modules.empty()) ? 0 : 1;
}

int run_script(const Options& o) {
  load_libraries(o.libraries);
  if (o.seed) manual_seed(*o.seed);
  ProgramFile file(o.file);
  if (!o.module.empty()) return run_module(file, o);
  if (o.call.empty()) return list(file, o);
  const CallText call = split_call(o.call);
  if (!file.program().find_class(call.callee)) file.function(call.callee);
  const bool bare = o.call.find('(') == o.call.npos;  // a name alone
  print_value(evaluate(file.program(), bare ? call.callee + "()" : o.call, "--call"), o.json);
  return 0;
}

}  // namespace

Command add_script_command(App app) {
  auto options = std::make_shared<Options>();
  const App command = app.add_subcommand("script", kDescription);
  command.footer(kFooter);
  command.add_option("FILE", options->file, "The program's text; - reads it from standard input")
      .required()
      .type_name("");
  command.add_option("--call", options->call, "The call to make").type_name("'F(ARG, ...)'");
  command
      .add_option("--module", options->module,
                  "Builds this module first, by its name or as a call of its constructor; --call then calls a method")
      .type_name("CLASS");
  add_ops_option(command, options->libraries);
  add_json_option(command, options->json);
  command.add_option("--seed", options->seed, "Seed of random numbers, as torch.manual_seed").type_name("N");
  return [options] { return run_script(*options); };
}

}  // namespace sconce::cli
