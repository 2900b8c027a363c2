// sconce run FILE [INPUT...]: calls a program and shows what it returns.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/inputs.h"
#include "files/map_tensors.h"
#include "files/model_file.h"
#include "files/output_file.h"
#include "files/run_device.h"
#include "graphs/top_classes.h"
#include "sconce/api/deep_copy.h"
#include "sconce/tensor/copy.h"
#include "text/json.h"
#include "text/table.h"
#include "text/units.h"
#include "threads.h"

namespace sconce::cli {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  TopOptions top;
  std::string method, out, device;
  int threads = 0;
  int64_t repeat = 1;
  bool json = false, top_given = false;
};

constexpr const char* kDescription =
    "Runs a program once and prints its result as Python would. The program is a TorchScript archive (.pt), a lite\n"
    "archive (.ptl), an exported program (.pt2) or program text.";
constexpr const char* kExamples =
    "Examples:\n"
    "  sconce run mlp.pt 'torch.ones(2, 4)'\n"
    "  sconce run resnet18.pt cat.jpg --image-size 256 --image-crop 224 --normalize imagenet --top 5\n"
    "  sconce run model.pt x.npy mask=None --out y.npy\n"
    "  sconce run model.pt --random 1x3x224x224 --repeat 20 --out y.npz\n"
    "  sconce run model.py --method f 3 '[1, 2]'\n"
    "  sconce run model.py --module 'Net(4)' --seed 0 --random 2x4 --json";

void print_top(const std::vector<std::vector<ClassScore>>& rows) {
  const bool labels = !rows.empty() && !rows[0].empty() && !rows[0][0].label.empty();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.size() > 1) fmt::print("{}row {}\n", row == 0 ? "" : "\n", row);
    Table table({"class>", "score>", "probability>", labels ? "label" : ""});
    for (const ClassScore& c : rows[row]) {
      table.add(
          {std::to_string(c.index), fmt::format("{:.4f}", c.score), fmt::format("{:.4f}", c.probability), c.label});
    }
    fmt::print("{}", table.to_string());
  }
}

nlohmann::ordered_json top_json(const std::vector<std::vector<ClassScore>>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const std::vector<ClassScore>& row : rows) {
    auto& classes = out.emplace_back(nlohmann::ordered_json::array());
    for (const ClassScore& c : row) {
      classes.push_back({{"class", c.index}, {"score", c.score}, {"probability", c.probability}});
      if (!c.label.empty()) classes.back()["label"] = c.label;
    }
  }
  return out;
}

// Every run gets the inputs as they were read, whatever the one before did to them.
Value run_repeatedly(const ModelFile& model, const Options& o, const CallValues& inputs, Device device) {
  std::vector<double> seconds;
  Value result;
  for (int64_t i = 0; i < o.repeat; ++i) {
    CallValues copy = inputs;
    if (o.repeat > 1) {
      for (Value& v : copy.args) v = jit::deep_copy(v);
      for (auto& [name, v] : copy.kwargs) v = jit::deep_copy(v);
    }
    const auto start = std::chrono::steady_clock::now();
    result = model.call(o.method, std::move(copy.args), std::move(copy.kwargs));
    wait_for_device(device);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (o.repeat > 1) {
    const double first = seconds[0];
    std::sort(seconds.begin(), seconds.end());
    fmt::print(stderr, "{} runs: median {}, fastest {}, slowest {}, first {}\n", o.repeat,
               seconds_text(seconds[seconds.size() / 2]), seconds_text(seconds.front()), seconds_text(seconds.back()),
               seconds_text(first));
  }
  return result;
}

int run(const Options& o) {
  constexpr int64_t kMaxRepeat = 10'000'000;
  if (o.repeat < 1 || o.repeat > kMaxRepeat)
    throw UsageError(fmt::format("--repeat takes a number from 1 to {}, got {}", kMaxRepeat, o.repeat));
  if (o.top_given && o.top.count < 1) throw UsageError(fmt::format("--top takes a number from 1, got {}", o.top.count));
  if (!o.top.labels.empty() && o.top.count == 0) throw UsageError("--labels needs --top");
  if (!o.out.empty()) check_output_path(o.out);
  const Device chosen = chosen_device(o.device);
  ModelOptions options = o.model;
  options.device_index = chosen.index;
  const ModelFile model(options);
  const Device device = device_of_program(model, o.device, chosen);
  CallValues inputs = read_inputs(o.inputs, model, o.method);
  move_to_device(model, inputs, device);
  start_threads(o.threads);
  Value result = run_repeatedly(model, o, inputs, device);
  // Printed as it is; for all else it is fetched.
  if (device.type != DeviceType::cpu && (!o.out.empty() || o.top.count > 0 || o.json))
    result = map_tensors(result, host_copy);
  if (!o.out.empty()) write_output(o.out, result);
  if (o.top.count > 0) {
    const auto rows = top_classes(result, o.top);
    if (o.json)
      print_json(top_json(rows));
    else
      print_top(rows);
  } else if (o.json) {
    print_json(to_json(result));
  } else if (o.out.empty()) {
    fmt::print("{}\n", result.repr());
  }
  return 0;
}

}  // namespace

Command add_run_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("run", kDescription);
  command.footer(std::string(kInputHelp) + kExamples);
  add_model_options(command, o->model);
  command.add_option("--method", o->method, "What to call; else forward, or the only function").type_name("NAME");
  add_input_options(command, o->inputs);
  command.add_option("--out", o->out, fmt::format("Writes the result to a file instead: {}", output_endings()))
      .type_name("FILE");
  add_json_option(command, o->json);
  command.add_option("--top", o->top.count, "Prints the K highest class scores instead")
      .type_name("K")
      .each([o](const std::string&) { o->top_given = true; });
  command.add_option("--labels", o->top.labels, "The names of classes for --top, one on a line").type_name("FILE");
  command
      .add_option("--repeat", o->repeat,
                  "Runs N times, and says on standard error how long that took, with all threads (bench: with one)")
      .type_name("N");
  add_device_option(command, o->device);
  add_threads_option(command, o->threads);
  return [o] { return run(*o); };
}

}  // namespace sconce::cli
