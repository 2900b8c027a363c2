// sconce compile FILE [INPUT...] -o OUT.scx: a program compiled for inputs of one kind, as a file that loads at once.
#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/model_file.h"
#include "files/run_device.h"
#include "sconce/base/error.h"
#include "sconce/executor/plan_steps.h"
#include "sconce/loops/nest_source.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/compiled/compile_calls.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/file/file_writer.h"
#include "sconce/tensor/grad_mode.h"
#include "text/json.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> also;
  std::string method, out, device, emit = "scx";
  bool eval = false, no_packed = false, json = false;
};

constexpr const char* kDescription =
    "Compiles a program for inputs of one kind: freezes the module, runs it once, and writes the calls of operators "
    "that\n"
    "it made, with its weights. The file loads without compiling anything, and gives the program's bits. It is good "
    "for\n"
    "inputs of the same dtypes and sizes, on the same kind of device, and the same numbers. OUT is written whole or "
    "not at\n"
    "all.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sconce compile resnet18.pt -o resnet18.scx --random 1x3x224x224\n"
    "  sconce compile resnet18.pt -o resnet18.scx --random 1x3x224x224 --also 8x3x224x224\n"
    "  sconce compile net.py -o net.scx --module 'Net(4)' --eval x.npy\n"
    "  sconce compile resnet18.pt -o resnet18.scx --random 1x3x224x224 --device cuda\n"
    "  sconce run resnet18.scx cat.png --image-size 224x224";

// "8x3x224x224" or "2x16:int64,2x16": random tensors for one more call.
CallValues further_call(const std::string& text) {
  CallValues call;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    call.args.emplace_back(random_tensor(text.substr(from, end - from)));
    from = end + 1;
  }
  return call;
}

// The loop nests of the call's plan, as a file of C++.
int emit_source(const Options& o, const ModelFile& model, const jit::Function& method) {
  CallValues inputs = read_inputs(o.inputs, model, o.method);
  if (o.eval && model.module()) model.module()->eval();
  const NoGrad without_gradients;
  if (!method.self().is_none()) inputs.args.insert(inputs.args.begin(), method.self());
  std::vector<Value> args = runtime::bind_call(method.function(), std::move(inputs.args), std::move(inputs.kwargs));
  const executor::PlanListing plan = executor::list_plan(method.function(), std::move(args));
  SCONCE_CHECK(!plan.steps.empty() || plan.why.empty(), "{}: {} has no plan for these inputs: {}", o.model.file,
               method.name(), plan.why);
  std::string text = fmt::format("// The loop nests of {}, by sconce compile --emit cpp.\n{}", method.qualified_name(),
                                 loops::source_prelude());
  size_t nests = 0;
  for (const executor::PlanStep& step : plan.steps) {
    if (step.source.empty()) continue;
    text += "\n" + step.source;
    ++nests;
  }
  FileWriter file(o.out);
  file.write(text);
  file.commit();
  fmt::print("{}: {} of {} steps are loop nests, or have one behind them\n", o.out, nests, plan.steps.size());
  return 0;
}

int run_compile(const Options& o) {
  if (o.emit != "scx" && o.emit != "cpp") throw UsageError(fmt::format("--emit takes scx or cpp, got '{}'", o.emit));
  if (o.emit == "cpp" && !o.out.ends_with(".cpp"))
    throw UsageError(fmt::format("--out takes the name of a .cpp file for --emit cpp, got '{}'", o.out));
  if (o.emit == "scx" && !o.out.ends_with(".scx"))
    throw UsageError(fmt::format("--out takes the name of a .scx file, got '{}'", o.out));
  const Device device = chosen_device(o.device);
  if (o.emit == "cpp" && device.type != DeviceType::cpu)
    throw UsageError(
        "--emit cpp writes loops of the CPU, and --device asks for another one; SCONCE_LOGS=+kernels shows "
        "texts of a device");
  const ModelFile model(o.model);
  if (model.kind() == FileKind::compiled) throw UsageError(fmt::format("{}: is compiled already", model.file()));
  if (model.kind() == FileKind::lite)
    throw UsageError(
        fmt::format("{}: a lite archive has bytecode and no code, which compiling begins with; the .pt that "
                    "it was made from can be compiled",
                    model.file()));
  const jit::Function method = model.method(o.method);
  if (o.emit == "cpp") return emit_source(o, model, method);
  CallValues inputs = read_inputs(o.inputs, model, o.method);
  if (o.eval && model.module()) model.module()->eval();
  move_to_device(model, inputs, device);
  std::vector<ExampleCall> calls{{std::move(inputs.args), std::move(inputs.kwargs)}};
  for (const std::string& text : o.also) {
    CallValues further = further_call(text);
    move_inputs(further, device);
    calls.push_back({std::move(further.args), std::move(further.kwargs)});
  }
  compile_to_file(*model.unit(), method.self(), method.self().is_none() ? method.qualified_name() : method.name(),
                  calls, o.out, {.packed_weights = !o.no_packed});
  struct stat info{};
  const uint64_t bytes = stat(o.out.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  const CompiledInfo made = describe_compiled(FileBytes::map(o.out));
  if (o.json) {
    nlohmann::ordered_json programs;
    for (size_t i = 0; i < made.signatures.size(); ++i)
      programs.push_back({{"arguments", made.signatures[i]}, {"calls", made.calls[i].size()}});
    print_json({{"file", o.out}, {"bytes", bytes}, {"constants", made.constants.size()}, {"programs", programs}});
    return 0;
  }
  fmt::print("{}: {}, {}\n", o.out, kind_name(FileKind::compiled), bytes_text(bytes));
  for (size_t i = 0; i < made.signatures.size(); ++i)
    fmt::print("  {} call{} for {}\n", count_text(made.calls[i].size()), made.calls[i].size() == 1 ? "" : "s",
               made.signatures[i]);
  return 0;
}

}  // namespace

Command add_compile_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("compile", kDescription);
  command.footer(std::string(kInputHelp) + kExamples);
  add_model_options(command, o->model);
  add_input_options(command, o->inputs);
  command.add_option("-o,--out", o->out, "The file to write, OUT.scx, or OUT.cpp").required().type_name("FILE");
  command.add_option("--emit", o->emit, "scx, or cpp: the loop nests of the program's plan as C++ source")
      .type_name("KIND");
  command.add_option("--method", o->method, "What to compile; else forward, or the only function").type_name("NAME");
  command
      .add_option("--also", o->also,
                  "Compiles for random tensors of these shapes, too: one call, tensors separated by commas; repeatable")
      .type_name("SHAPE,...")
      .allow_extra_args(false);
  add_device_option(command, o->device);
  command.add_flag("--no-packed-weights", o->no_packed,
                   "Leaves out the second form of weights, which makes loading quick and the file large");
  command.add_flag("--eval", o->eval, "Leaves training mode");
  add_json_option(command, o->json);
  return [o] { return run_compile(*o); };
}

}  // namespace sconce::cli
