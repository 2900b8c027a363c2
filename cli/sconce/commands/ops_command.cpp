// sconce ops [PATTERN]: what the operator table knows.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/model_file.h"
#include "sconce/dispatch/printing/entry_text.h"
#include "sconce/dispatch/registry.h"
#include "text/json.h"
#include "text/table.h"

namespace sconce::cli {
namespace {

struct Options {
  std::vector<std::string> words, traits, libraries;
  bool json = false, count = false;
};

constexpr const char* kDescription =
    "Searches the operators that Sconce has. Every word must occur in an operator's name, schema or description;\n"
    "a whole name (aten::add, aten::add.Tensor) shows everything about it.";
constexpr const char* kFooter =
    "Exit status: 1 when nothing was found.\n"
    "Examples:\n"
    "  sconce ops conv 2d\n"
    "  sconce ops aten::add.Tensor\n"
    "  sconce ops --trait view\n"
    "  sconce ops --ops my_ops.so my_ops::\n"
    "  sconce ops softmax --json";

struct TraitName {
  Trait trait;
  const char* name;
};
constexpr TraitName kTraits[] = {
    {Trait::pointwise, "pointwise"},
    {Trait::reduction, "reduction"},
    {Trait::view, "view"},
    {Trait::inplace, "inplace"},
    {Trait::out, "out"},
    {Trait::random, "random"},
    {Trait::idempotent, "idempotent"},
    {Trait::core, "core"},
    {Trait::compound, "compound"},
    {Trait::data_dependent, "data_dependent"},
    {Trait::commutative, "commutative"},
    {Trait::asks_autograd, "asks_autograd"},
    {Trait::runs_backward, "runs_backward"},
    {Trait::keeps_floats, "keeps_floats"},
};

std::vector<std::string> traits_of(const Op& op) {
  std::vector<std::string> out;
  for (const TraitName& t : kTraits) {
    if (op.has(t.trait)) out.push_back(t.name);
  }
  return out;
}

// How it is computed, in the words of the table.
const char* kind_of(const Op& op) {
  if (op.has(Trait::pointwise)) return "pointwise";
  if (op.has(Trait::reduction)) return "reduce";
  return op.has(Trait::compound) ? "compound" : "leaf";
}

std::vector<std::string> devices_of(const Op& op) {
  std::vector<std::string> out;
  for (const Key key : kBackendKeys) {
    if (op.has_kernel(key)) out.emplace_back(key_name(key));
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Every word in the name; or in name, schema and description together.
enum class Match { none, anywhere, name };
Match match(const Op& op, const std::vector<std::string>& words) {
  const std::string name = lower(op.qualified_name());
  const std::string all = name + "\n" + lower(op.schema_text()) + "\n" + lower(op.texts().doc ? op.texts().doc : "");
  Match best = Match::name;
  for (const std::string& word : words) {
    if (name.find(word) != name.npos) continue;
    if (all.find(word) == all.npos) return Match::none;
    best = Match::anywhere;
  }
  return best;
}

// A whole name: all overloads of "aten::add", or the one of "aten::add.Tensor" or "add.Tensor".
std::vector<const Op*> exact(const std::vector<std::string>& words) {
  if (words.size() != 1) return {};
  const std::string& name = words[0];
  const bool has_space = name.find("::") != name.npos;
  if (name.find('.') != name.npos) {
    const Op* op = find_op(has_space ? name : "aten::" + name);
    return op ? std::vector<const Op*>{op} : std::vector<const Op*>();
  }
  return has_space ? find_overloads(name) : std::vector<const Op*>();
}

// Names that one would have meant: those with the fewest single-letter changes.
std::string nearest(const std::string& word) {
  const auto distance = [&](std::string_view a) {
    std::vector<size_t> row(word.size() + 1);
    for (size_t j = 0; j <= word.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t corner = row[0]++;
      for (size_t j = 1; j <= word.size(); ++j) {
        const size_t changed = corner + (a[i - 1] != word[j - 1]);
        corner = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
      }
    }
    return row.back();
  };
  std::string best;
  size_t fewest = word.size() / 3 + 1;  // more is another word
  for (const Op* op : all_ops()) {
    const std::string_view full = op->info.name;
    const size_t colons = full.rfind(':');
    const std::string_view name = word.find(':') == word.npos ? full.substr(colons + 1) : full;
    if (const size_t d = distance(name); d < fewest) fewest = d, best = full;
  }
  return best;
}

// Forms that write share the record of the operator that has it.
const char* decomposition(const Op& op) {
  return op.info.entry && !op.schema().is_mutable() ? op.info.entry->decompose : nullptr;
}

void show(const Op& op) {
  fmt::print("{}\n", op.schema_text());
  if (op.texts().doc) fmt::print("  {}\n", op.texts().doc);
  Table table({"", ""});
  table.add({"kind", kind_of(op)});
  if (const auto traits = traits_of(op); !traits.empty())
    table.add({"traits", fmt::format("{}", fmt::join(traits, ", "))});
  if (const auto devices = devices_of(op); !devices.empty())
    table.add({"kernels", fmt::format("{}", fmt::join(devices, ", "))});
  if (!op.origin().empty()) table.add({"defined in", op.origin()});
  const auto block = [](const char* title, std::string_view text) {
    fmt::print("  {}\n", title);
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) fmt::print("    {}\n", text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  };
  const std::vector<EntryLine> lines = entry_lines(op);
  const auto is_block = [](const EntryLine& line) { return line.text.find('\n') != line.text.npos; };
  for (const EntryLine& line : lines) {
    if (!is_block(line)) table.add({line.title, line.text});
  }
  fmt::print("{}", table.to_string(2));
  for (const EntryLine& line : lines) {
    if (is_block(line)) block(line.title.c_str(), line.text);
  }
  if (op.texts().derivatives) block("derivatives", op.texts().derivatives);
  if (op.texts().body) block("body", op.texts().body);
  if (const char* text = decomposition(op)) block("decompose", text);
}

nlohmann::ordered_json expressions_json(const Op& op, const ReduceCase* reduction, std::span<const Expression> all) {
  auto out = nlohmann::ordered_json::array();
  for (const Expression& e : all) {
    nlohmann::ordered_json one;
    if (reduction) one = {{"role", role_name(e.role)}, {"index", e.index}};
    one["text"] = e.text;
    if (e.classes) one["types"] = classes_text(e.classes);
    one["steps"] = step_lines(op, reduction, e);
    out.push_back(std::move(one));
  }
  return out;
}

// The entry with the steps of its expressions: a list for each case, in the order in which they are tried.
nlohmann::ordered_json entry_json(const Op& op) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  const auto add_case = [&](const char* when, const ReduceCase* reduction, std::span<const Expression> all) {
    nlohmann::ordered_json one = {{"when", when ? nlohmann::ordered_json(when) : nlohmann::ordered_json(nullptr)}};
    if (reduction && reduction->loops) one["loops"] = reduction->loops;
    if (reduction && reduction->accumulators) one["accumulators"] = reduction->accumulators;
    one["expressions"] = expressions_json(op, reduction, all);
    out["cases"].push_back(std::move(one));
  };
  if (const OpEntry* entry = op.info.entry) {
    if (entry->number) add_case(nullptr, nullptr, {entry->number, 1});
    for (const PointwiseCase& c : entry->pointwise()) add_case(c.when, nullptr, c.expressions());
    for (const ReduceCase& c : entry->reductions()) add_case(c.when, &c, c.expressions());
    if (entry->absent) out["absent"] = entry->absent;
    if (entry->shape) out["shape"] = entry->shape;
    if (entry->scatter && op.has(Trait::view)) out["scatter"] = entry->scatter;
    if (const char* text = decomposition(op)) out["decompose"] = text;
  }
  if (const Op* twin = functional_twin(op)) out["functional"] = twin->qualified_name();
  return out;
}

nlohmann::ordered_json as_json(const Op& op) {
  const auto text = [](const char* t) { return t ? nlohmann::ordered_json(t) : nlohmann::ordered_json(nullptr); };
  const std::string origin = op.origin();
  return {{"name", op.qualified_name()},
          {"schema", op.schema_text()},
          {"kind", kind_of(op)},
          {"traits", traits_of(op)},
          {"kernels", devices_of(op)},
          {"defined_in", text(origin.empty() ? nullptr : origin.c_str())},
          {"doc", text(op.texts().doc)},
          {"entry", entry_json(op)},
          {"derivatives", text(op.texts().derivatives)},
          {"body", text(op.texts().body)}};
}

int run_ops(const Options& o) {
  load_libraries(o.libraries);
  uint32_t traits = 0;
  for (const std::string& name : o.traits) {
    const auto* found =
        std::find_if(std::begin(kTraits), std::end(kTraits), [&](const TraitName& t) { return t.name == name; });
    if (found == std::end(kTraits)) {
      std::vector<std::string> known;
      for (const TraitName& t : kTraits) known.emplace_back(t.name);
      throw UsageError(fmt::format("there is no trait '{}', but {}", name, fmt::join(known, ", ")));
    }
    traits |= static_cast<uint32_t>(found->trait);
  }
  std::vector<const Op*> found = o.traits.empty() ? exact(o.words) : std::vector<const Op*>();
  const bool whole = !found.empty();
  if (!whole) {
    std::vector<std::string> words;
    words.reserve(o.words.size());
    for (const std::string& w : o.words) words.push_back(lower(w));
    std::vector<std::pair<std::string, const Op*>> by_name, anywhere;
    for (const Op* op : all_ops()) {
      if ((op->info.traits & traits) != traits) continue;
      const Match m = match(*op, words);
      if (m == Match::name) by_name.emplace_back(op->qualified_name(), op);
      if (m == Match::anywhere) anywhere.emplace_back(op->qualified_name(), op);
    }
    for (auto* list : {&by_name, &anywhere}) {
      std::sort(list->begin(), list->end());
      for (const auto& [name, op] : *list) found.push_back(op);
    }
  }
  if (o.json) {
    auto out = nlohmann::ordered_json::array();
    for (const Op* op : found) out.push_back(as_json(*op));
    print_json(out);
  } else if (o.count) {
    fmt::print("{}\n", found.size());
  } else if (whole) {
    for (const Op* op : found) show(*op);
  } else {
    for (const Op* op : found) fmt::print("{}\n", op->schema_text());
  }
  if (!found.empty()) return 0;
  if (!o.json && !o.count) {
    const std::string meant = o.words.size() == 1 ? nearest(o.words[0]) : "";
    fmt::print(stderr, "sconce: no operator matches '{}'{}\n", fmt::join(o.words, " "),
               meant.empty() ? "" : fmt::format("; the nearest name is {}", meant));
  }
  return 1;
}

}  // namespace

Command add_ops_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("ops", kDescription);
  command.footer(kFooter);
  command.add_option("PATTERN", o->words, "Words to look for; without any, all operators").type_name("");
  command.add_option("--trait", o->traits, "Only those with this trait: view, random, core, ...; repeatable")
      .type_name("TRAIT")
      .allow_extra_args(false);
  command.add_flag("--count", o->count, "Only says how many there are");
  add_json_option(command, o->json);
  add_ops_option(command, o->libraries);
  return [o] { return run_ops(*o); };
}

}  // namespace sconce::cli
