// sconce diff A B: what is different in two files: code, weights, results.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/compare_values.h"
#include "files/inputs.h"
#include "files/model_file.h"
#include "graphs/method_texts.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/tensor/generator.h"
#include "text/json.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/text_diff.h"
#include "text/units.h"
#include "threads.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string files[2], module, method;
  std::vector<std::string> libraries;
  InputOptions inputs;
  Tolerance tolerance;
  uint64_t seed = 0;
  int threads = 0;
  bool code = false, weights = false, results = false, json = false, run = false;
};

constexpr const char* kDescription =
    "Compares two files: the code of programs, method by method, and the tensors of any files. With inputs, runs both\n"
    "programs and compares the results. Prints nothing when everything is equal.";
constexpr const char* kFooter =
    "Exit status: 0 when nothing differs, 1 when something does.\n"
    "Results are equal within a tolerance: |a - b| <= atol + rtol * |b|, by dtype what torch.testing.assert_close "
    "takes;\n"
    "of two dtypes, the coarser one decides.\n"
    "Examples:\n"
    "  sconce diff old.pt new.pt\n"
    "  sconce diff model.pt model.ptl --run 'torch.ones(1, 4)'\n"
    "  sconce diff model.pt frozen.pt --results --random 1x3x224x224 --rtol 1e-4\n"
    "  sconce diff model.pt half.pt --results --any-dtype --run x.npy\n"
    "  sconce diff model.pt weights.safetensors --weights\n"
    "  sconce diff a.npz b.npz --json";

bool is_program(FileKind kind) {
  return kind == FileKind::torchscript || kind == FileKind::lite || kind == FileKind::exported_program ||
         kind == FileKind::compiled || kind == FileKind::package || kind == FileKind::text;
}

// Bytecode, and calls for inputs of known sizes, can only be compared with their like.
bool has_code(FileKind kind) { return kind != FileKind::lite && kind != FileKind::compiled; }

// One of the two files.
struct Side {
  std::string path;
  FileKind kind;
  std::unique_ptr<ModelFile> model;  // of programs
  NamedTensors tensors;
  bool has_tensors = true;
};

Side open(const std::string& path, const Options& o) {
  Side side{path, path == "-" ? FileKind::text : kind_of(open_file(path)), nullptr, {}, true};
  if (!is_program(side.kind)) {
    side.tensors = read_tensors(path).tensors;
    return side;
  }
  ModelOptions options;
  options.file = path;
  if (side.kind == FileKind::text) options.module = o.module;
  options.seed = o.seed;
  side.model = std::make_unique<ModelFile>(options);
  side.has_tensors = side.model->module().has_value() && side.kind != FileKind::compiled;
  if (side.has_tensors) {
    for (const auto& [name, t] : side.model->module()->state_dict()) side.tensors.emplace_back(name, t);
  }
  return side;
}

const char* only_in(size_t side) { return side == 0 ? "only in the first" : "only in the second"; }

// ---- code ----

struct CodeDifference {
  std::string name, text;  // text: a unified diff, or which file has it
};

std::vector<CodeDifference> compare_code(const Side& a, const Side& b) {
  const std::vector<MethodText> texts[] = {method_texts(*a.model), method_texts(*b.model)};
  const auto find = [](const std::vector<MethodText>& list, const std::string& name) -> const MethodText* {
    for (const MethodText& m : list) {
      if (m.name == name) return &m;
    }
    return nullptr;
  };
  std::vector<CodeDifference> out;
  for (const MethodText& m : texts[0]) {
    const MethodText* other = find(texts[1], m.name);
    std::string diff = other ? unified_diff(m.text, other->text) : only_in(0);
    if (!diff.empty()) out.push_back({m.name, std::move(diff)});
  }
  for (const MethodText& m : texts[1]) {
    if (!find(texts[0], m.name)) out.push_back({m.name, only_in(1)});
  }
  return out;
}

// Lines that go in red, lines that come in green.
std::string coloured_diff(std::string_view diff) {
  std::string out;
  while (!diff.empty()) {
    const size_t end = std::min(diff.find('\n'), diff.size());
    const std::string_view line = diff.substr(0, end);
    const bool plain = !line.starts_with('+') && !line.starts_with('-');
    out += plain ? std::string(line) : coloured(stdout, line[0] == '+' ? Colour::green : Colour::red, line);
    out += '\n';
    diff.remove_prefix(std::min(end + 1, diff.size()));
  }
  return out;
}

// ---- weights ----

struct WeightDifference {
  std::string name;
  std::string change;  // "only in the first", "values", "shape [2] and [3]"
  std::optional<TensorDifference> difference;
};

std::vector<WeightDifference> compare_weights(const Side& a, const Side& b) {
  std::unordered_map<std::string, Tensor> in_b(b.tensors.begin(), b.tensors.end());
  std::vector<WeightDifference> out;
  for (const auto& [name, t] : a.tensors) {
    const auto other = in_b.find(name);
    if (other == in_b.end()) {
      out.push_back({name, only_in(0), {}});
      continue;
    }
    if (auto d = compare_tensors(t, other->second)) out.push_back({name, d->what.empty() ? "values" : d->what, d});
    in_b.erase(other);
  }
  for (const auto& [name, t] : b.tensors) {
    if (in_b.count(name)) out.push_back({name, only_in(1), {}});
  }
  return out;
}

void print_weights(const std::vector<WeightDifference>& differences) {
  Table table({"tensor", "change", "elements>", "largest difference>", "relative>"});
  for (const WeightDifference& w : differences) {
    if (w.difference && w.difference->has_numbers) {
      table.add({w.name, w.change, count_text(static_cast<uint64_t>(w.difference->elements)),
                 fmt::format("{:.3g}", w.difference->max_abs), fmt::format("{:.3g}", w.difference->max_rel)});
    } else {
      table.add({w.name, w.change});
    }
  }
  fmt::print("{}", table.to_string());
}

// ---- results ----

// Both programs see the same inputs and the same random numbers.
Value result_of(const Side& side, const Options& o) {
  manual_seed(o.seed);
  CallValues inputs = read_inputs(o.inputs, *side.model, o.method);
  return side.model->call(o.method, std::move(inputs.args), std::move(inputs.kwargs));
}

int run_diff(const Options& o) {
  load_libraries(o.libraries);
  const Side a = open(o.files[0], o), b = open(o.files[1], o);
  const bool run = o.run || !o.inputs.random.empty();
  const bool asked = o.code || o.weights || o.results;
  if (o.results && !run) throw UsageError("--results needs inputs: --run INPUT..., or --random");
  const bool both_programs = a.model && b.model;
  for (const auto& [wanted, option] : {std::pair(run, "--run"), std::pair(o.code, "--code")}) {
    if (wanted && !both_programs)
      throw UsageError(fmt::format("{} compares programs; {} is a {}", option, a.model ? b.path : a.path,
                                   kind_name(a.model ? b.kind : a.kind)));
  }
  const bool is_compiled = a.kind == FileKind::compiled || b.kind == FileKind::compiled;
  const bool comparable = both_programs && !is_compiled && has_code(a.kind) == has_code(b.kind);
  if (o.code && !comparable)
    throw UsageError(fmt::format("--code: {} has {} and no code", has_code(a.kind) ? b.path : a.path,
                                 is_compiled ? "calls" : "bytecode"));
  if (o.weights && is_compiled)
    throw UsageError("--weights: weights of a compiled file are constants without names to compare them by");
  if (o.weights && !(a.has_tensors && b.has_tensors))
    throw UsageError(
        fmt::format("--weights compares tensors; {} has none without --module", a.has_tensors ? b.path : a.path));

  bool same = true;
  Json json{{"files", {a.path, b.path}}};
  const auto title = [&](const char* text) {
    if (!same) fmt::print("\n");
    fmt::print("{}\n", text);
    same = false;
  };
  if (comparable && (o.code || !asked)) {
    const std::vector<CodeDifference> code = compare_code(a, b);
    json["code"] = Json::array();
    for (const CodeDifference& c : code) json["code"].push_back({{"method", c.name}, {"difference", c.text}});
    if (!code.empty() && !o.json) {
      title(fmt::format("code: --- {} +++ {}", a.path, b.path).c_str());
      for (const CodeDifference& c : code)
        fmt::print("{}{}", c.name + "\n", c.text.ends_with('\n') ? coloured_diff(c.text) : "  " + c.text + "\n");
    }
    same = same && code.empty();
  }
  if (a.has_tensors && b.has_tensors && (o.weights || !asked)) {
    const std::vector<WeightDifference> weights = compare_weights(a, b);
    json["weights"] = Json::array();
    for (const WeightDifference& w : weights) {
      json["weights"].push_back({{"name", w.name}, {"change", w.change}});
      if (w.difference && w.difference->has_numbers) {
        json["weights"].back()["elements"] = w.difference->elements;
        json["weights"].back()["max_abs"] = to_json(Value(w.difference->max_abs));
        json["weights"].back()["max_rel"] = to_json(Value(w.difference->max_rel));
      }
    }
    if (!weights.empty() && !o.json) {
      title(fmt::format("weights: {} differ{}", weights.size(), weights.size() == 1 ? "s" : "").c_str());
      print_weights(weights);
    }
    same = same && weights.empty();
  }
  if (run) {
    start_threads(o.threads);
    const ResultComparison results = compare_results(result_of(a, o), result_of(b, o), o.tolerance);
    const bool equal = results.difference.empty();
    json["results"] = {{"equal", equal},
                       {"difference", equal ? Json(nullptr) : Json(results.difference)},
                       {"elements", results.elements},
                       {"max_abs", to_json(Value(results.max_abs))},
                       {"max_rel", to_json(Value(results.max_rel))}};
    // Where something else differs, or nothing else was asked for, equal results are news, too.
    if (!o.json && (!equal || !same || o.results)) {
      if (!same) fmt::print("\n");
      fmt::print("{}\n", equal ? "results: equal, " + results.numbers_text() : results.difference);
    }
    same = same && equal;
  }
  if (o.json) {
    json["equal"] = same;
    print_json(json);
  }
  return same ? 0 : 1;
}

}  // namespace

Command add_diff_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("diff", kDescription);
  command.footer(std::string(kFooter) + "\n\n" + kInputHelp);
  command.add_option("A", o->files[0], "A program, or a file of tensors").required().type_name("");
  command.add_option("B", o->files[1], "The other one").required().type_name("");
  command.add_flag("--code", o->code, "Compares only code (and --weights, and results, where asked for)");
  command.add_flag("--weights", o->weights, "Compares only tensors (and --code, and results, where asked for)");
  command.add_flag("--results", o->results, "Compares only what --run or --random gives (and --code, --weights)");
  const Option run = command.add_option("--run", o->inputs.values, "Runs both programs with these inputs, see below")
                         .type_name("INPUT")
                         .expected(0, -1);
  add_random_options(command, o->inputs);
  command.add_option("--method", o->method, "What to run; else forward, or the only function").type_name("NAME");
  command.add_option("--rtol", o->tolerance.rtol, "Relative tolerance of results").type_name("X");
  command.add_option("--atol", o->tolerance.atol, "Absolute tolerance of results").type_name("X");
  command.add_flag("--any-dtype", o->tolerance.any_dtype, "Results of two dtypes may be equal");
  command.add_option("--seed", o->seed, "Seed of random numbers, before each run; else 0").type_name("N");
  command.add_option("--module", o->module, "Of program text: builds this module").type_name("CLASS");
  add_threads_option(command, o->threads);
  add_json_option(command, o->json);
  add_ops_option(command, o->libraries);
  return [o, run] {
    o->run = run.count() > 0;
    std::erase(o->inputs.values, "");  // CLI11's value of --run without any
    return run_diff(*o);
  };
}

}  // namespace sconce::cli
