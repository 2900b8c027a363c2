// sconce info FILE...: what files hold.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/file_info.h"
#include "files/model_file.h"
#include "sconce/base/error.h"
#include "sconce/tensor/libraries/backend_library.h"
#include "text/json.h"
#include "text/table.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files, libraries;
  std::string device;
  bool tree = false, tensors = false, operators = false, records = false, json = false;
};

constexpr const char* kDescription =
    "Says what files hold: programs with their methods, parameters and operators, files of tensors, pictures, sound.\n"
    "Nothing in a file is run. A program that cannot be compiled here is described as far as possible, with the\n"
    "operators that are missing.";
constexpr const char* kFooter =
    "Exit status: 1 when a file cannot be read, or when its program cannot be loaded.\n"
    "Examples:\n"
    "  sconce info resnet18.pt\n"
    "  sconce info resnet18.pt --tree --tensors\n"
    "  sconce info detector.pt --ops my_ops.so --operators\n"
    "  sconce info *.safetensors --json | jq .tensors[].shape\n"
    "  sconce info --device cuda";

// Rows shown of a long list, unless it is asked for.
constexpr size_t kShown = 12;

struct Sum {
  uint64_t tensors = 0, elements = 0, bytes = 0;
  std::set<std::string> dtypes;
};
Sum sum_of(const std::vector<TensorInfo>& tensors, std::string_view role) {
  Sum sum;
  for (const TensorInfo& t : tensors) {
    if (t.role != role) continue;
    ++sum.tensors;
    sum.elements += t.elements;
    sum.bytes += t.bytes;
    sum.dtypes.emplace(dtype_name(t.dtype));
  }
  return sum;
}

std::string sum_text(const Sum& sum) {
  if (sum.tensors == 0) return "none";
  return fmt::format("{} in {} tensor{}, {} ({})", count_text(sum.elements), count_text(sum.tensors),
                     sum.tensors == 1 ? "" : "s", bytes_text(sum.bytes), fmt::join(sum.dtypes, ", "));
}

std::string headline(const FileInfo& f) {
  std::string text = fmt::format("{}: {}", f.path, kind_name(f.kind));
  if (f.has_bytecode) text += " with bytecode";
  if (f.version) text += fmt::format(", format version {}", *f.version);
  if (!f.details.empty()) text += ", " + f.details;
  return f.problem.empty() || f.bytes ? text + ", " + bytes_text(f.bytes) : text;
}

// Records by the first part of their name inside of the archive's folder: "data/", "code/".
std::vector<std::pair<std::string, std::pair<size_t, uint64_t>>> record_groups(const FileInfo& f) {
  std::vector<std::pair<std::string, std::pair<size_t, uint64_t>>> groups;
  for (const RecordInfo& r : f.records) {
    std::string name = r.name;
    if (f.kind != FileKind::npz && name.find('/') != name.npos) name.erase(0, name.find('/') + 1);
    const size_t slash = name.find('/');
    if (slash != name.npos) name.erase(slash + 1);
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (at == groups.end()) at = groups.insert(groups.end(), {name, {0, 0}});
    ++at->second.first;
    at->second.second += r.stored_size;
  }
  return groups;
}

void print_list(const char* title, const std::string& text) {
  if (!text.empty()) fmt::print("\n{}\n{}", title, text);
}

void print_tree(const FileInfo& f) {
  std::string text;
  for (const ModuleInfo& m : f.modules) {
    if (m.path.empty()) continue;
    const auto depth = static_cast<size_t>(std::count(m.path.begin(), m.path.end(), '.'));
    const std::string name = m.path.substr(m.path.rfind('.') + 1), type = m.type.substr(m.type.rfind('.') + 1);
    text += fmt::format("{:{}}{}: {}{}\n", "", 2 + 2 * depth, name, type,
                        m.parameters ? ", " + count_text(m.parameters) : "");
  }
  print_list("modules, with the elements of their parameters", text);
}

void print_tensors(const FileInfo& f) {
  const bool roles =
      std::any_of(f.tensors.begin(), f.tensors.end(), [](const TensorInfo& t) { return !t.role.empty(); });
  Table table({"name", "dtype", "shape", "bytes>", roles ? "role" : ""});
  for (const TensorInfo& t : f.tensors) {
    table.add({t.name, std::string(dtype_name(t.dtype)), shape_text(t.shape), count_text(t.bytes), t.role});
  }
  print_list("tensors", table.to_string(2));
}

void print_operators(const FileInfo& f, bool all) {
  std::vector<OperatorUse> uses = f.operators;
  std::stable_sort(uses.begin(), uses.end(),
                   [](const OperatorUse& a, const OperatorUse& b) { return a.count > b.count; });
  Table table({"", ">", ""});
  const size_t shown = all || uses.size() <= kShown + 1 ? uses.size() : kShown;
  size_t calls = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    calls += uses[i].count;
    if (i < shown || !uses[i].known)
      table.add({uses[i].name, std::to_string(uses[i].count), uses[i].known ? "" : "missing"});
  }
  if (uses.empty()) return;
  fmt::print("\noperators: {}, in {} places{}\n{}", uses.size(), count_text(calls),
             f.operators_from_text ? " (as far as the text tells)" : "", table.to_string(2));
  if (shown < uses.size()) fmt::print("  ... --operators shows all\n");
}

void print_info(const FileInfo& f, const Options& o) {
  fmt::print("{}\n", headline(f));
  Table facts({"", ""});
  const bool program =
      f.kind == FileKind::torchscript || f.kind == FileKind::lite || f.kind == FileKind::exported_program;
  if (!f.root.empty())
    facts.add({"class", fmt::format("{}, {} module{}{}", f.root, count_text(f.modules.size()),
                                    f.modules.size() == 1 ? "" : "s", f.training ? ", in training mode" : "")});
  const bool roles = program && f.kind != FileKind::lite && f.problem.empty();
  if (roles) {
    facts.add({"parameters", sum_text(sum_of(f.tensors, "parameter"))});
    facts.add({"buffers", sum_text(sum_of(f.tensors, "buffer"))});
    if (f.other_names) facts.add({"shared", fmt::format("{} more names for these tensors", f.other_names)});
  }
  if (!f.tensors.empty() && !roles) facts.add({"tensors", sum_text(sum_of(f.tensors, ""))});
  for (const auto& [key, value] : f.metadata) {
    constexpr size_t kLongest = 80;
    facts.add({key, value.size() > kLongest ? fmt::format("{} bytes of text", value.size()) : value});
  }
  fmt::print("{}", facts.to_string(2));

  std::string methods;
  for (const std::string& m : f.methods) methods += "  " + m + "\n";
  print_list(f.kind == FileKind::text ? "functions" : "methods", methods);
  std::string rules;
  for (const std::string& r : f.input_rules) rules += "  " + r + "\n";
  print_list("inputs", rules);
  if (f.kind == FileKind::text) {
    std::string modules;
    for (const ModuleInfo& m : f.modules) modules += "  " + m.type + "\n";
    print_list("modules", modules);
  } else if (o.tree) {
    print_tree(f);
  }
  if (o.tensors || (!program && !f.tensors.empty())) print_tensors(f);
  std::string unsupported;
  for (const auto& [name, what] : f.unsupported)
    unsupported += fmt::format("  {}{}{}\n", name, name.empty() ? "" : ": ", what);
  print_list("tensors that cannot be used here", unsupported);
  for (const auto& [heading, lines] : f.lists) {
    std::string text;
    for (const std::string& line : lines) text += "  " + line + "\n";
    print_list(heading.c_str(), text);
  }
  print_operators(f, o.operators);
  if (o.records) {
    Table table({"", ">", ""});
    for (const RecordInfo& r : f.records)
      table.add({r.name, count_text(r.size),
                 r.size == r.stored_size ? "" : fmt::format("{} packed", count_text(r.stored_size))});
    print_list("records, in bytes", table.to_string(2));
  } else if (!f.records.empty() && f.kind != FileKind::npz) {
    Table table({"", ">", ">"});
    for (const auto& [name, group] : record_groups(f))
      table.add(
          {name, group.first == 1 && !name.ends_with('/') ? "" : count_text(group.first), bytes_text(group.second)});
    print_list("records", table.to_string(2));
  }
  Table extra({"", ">"});
  for (const auto& [name, bytes] : f.extra_files) extra.add({name, bytes_text(bytes)});
  if (!extra.empty()) print_list("extra files", extra.to_string(2));
  const std::vector<std::string> missing = f.missing();
  if (!missing.empty() && f.problem.empty()) fmt::print("\nmissing: {}\n", fmt::join(missing, ", "));
  if (!f.problem.empty()) fmt::print("\ncannot be loaded: {}\n", f.problem);
}

Json as_json(const FileInfo& f) {
  Json out{{"file", f.path}, {"kind", kind_name(f.kind)}, {"bytes", f.bytes}};
  if (f.version) out["version"] = *f.version;
  if (f.kind == FileKind::torchscript) out["bytecode"] = f.has_bytecode;
  if (!f.details.empty()) out["details"] = f.details;
  if (!f.root.empty()) out["class"] = f.root, out["training"] = f.training;
  if (!f.methods.empty()) out["methods"] = f.methods;
  if (!f.input_rules.empty()) out["inputs"] = f.input_rules;
  for (const auto& [name, what] : f.unsupported) out["unsupported_tensors"][name] = what;
  for (const auto& [heading, lines] : f.lists) out["lists"][heading] = lines;
  for (const ModuleInfo& m : f.modules)
    out["modules"].push_back({{"path", m.path}, {"type", m.type}, {"parameters", m.parameters}});
  for (const TensorInfo& t : f.tensors) {
    out["tensors"].push_back({{"name", t.name},
                              {"dtype", dtype_name(t.dtype)},
                              {"shape", t.shape},
                              {"elements", t.elements},
                              {"bytes", t.bytes}});
    if (!t.role.empty()) out["tensors"].back()["role"] = t.role;
  }
  for (const OperatorUse& use : f.operators)
    out["operators"].push_back({{"name", use.name}, {"count", use.count}, {"known", use.known}});
  for (const RecordInfo& r : f.records)
    out["records"].push_back({{"name", r.name}, {"bytes", r.size}, {"stored_bytes", r.stored_size}});
  for (const auto& [name, bytes] : f.extra_files) out["extra_files"][name] = bytes;
  if (!f.metadata.empty()) out["metadata"] = f.metadata;
  if (!f.operators.empty()) out["missing"] = f.missing();
  if (!f.problem.empty()) out["problem"] = f.problem;
  return out;
}

// One of several files that cannot be read does not hide the others.
FileInfo described(const std::string& path, const Options& o) {
  try {
    return read_file_info(path);
  } catch (const Error& e) {
    if (o.files.size() == 1 && !o.json) throw;
    FileInfo info;
    info.path = path;
    info.problem = e.message();
    if (info.problem.starts_with(path + ": ")) info.problem.erase(0, path.size() + 2);
    return info;
  }
}

// What there is of a device type, or why it cannot be used.
int describe_device(const Options& o) {
  const DeviceType type = parse_device(o.device).type;
  const std::string why = why_no_backend(type);
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("available", why.empty() ? "yes" : "no");
  if (!why.empty()) lines.emplace_back("reason", why);
  if (const DeviceQueries* queries = find_queries(type)) {
    for (auto& line : queries->describe()) lines.push_back(std::move(line));
  }
  if (o.json) {
    Json json = {{"device", o.device}};
    for (const auto& [name, text] : lines) json[name] = text;
    print_json(json);
    return 0;
  }
  Table table({"", ""});
  for (const auto& [name, text] : lines) table.add({name, text});
  fmt::print("{}", table.to_string());
  return 0;
}

int run_info(const Options& o) {
  if (!o.device.empty() && o.files.empty()) return describe_device(o);
  if (!o.device.empty()) throw UsageError("--device describes a device: it takes no files");
  if (o.files.empty()) throw UsageError("FILE is required");
  load_libraries(o.libraries);
  int status = 0;
  for (size_t i = 0; i < o.files.size(); ++i) {
    const FileInfo info = described(o.files[i], o);
    if (o.json) {
      print_json(as_json(info));
    } else {
      if (i > 0) fmt::print("\n");
      print_info(info, o);
    }
    if (!info.problem.empty()) status = 1;
  }
  return status;
}

}  // namespace

Command add_info_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("info", kDescription);
  command.footer(kFooter);
  command.add_option("FILE", o->files, "Any files").type_name("");
  command
      .add_option("--device", o->device, "Describes the devices of a type instead (cuda), or says why there are none")
      .type_name("NAME");
  command.add_flag("--tree", o->tree, "Shows the tree of modules");
  command.add_flag("--tensors", o->tensors, "Lists parameters and buffers");
  command.add_flag("--operators", o->operators, "Lists all operators, not only the most frequent");
  command.add_flag("--records", o->records, "Lists all records of an archive");
  command.add_flag("--json", o->json, "Prints JSON, all of it: one line for each file");
  add_ops_option(command, o->libraries);
  return [o] { return run_info(*o); };
}

}  // namespace sconce::cli
