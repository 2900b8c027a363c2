#include "files/file_info.h"

#include <unordered_set>

#include <fmt/format.h>

#include "command_limits.h"
#include "files/image.h"
#include "files/model_file.h"
#include "files/program_file.h"
#include "files/wav.h"
#include "graphs/operator_uses.h"
#include "sconce/api/jit.h"
#include "sconce/dispatch/schema.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/file/stray_text.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/tensors/tensor_files.h"

namespace sconce::cli {
namespace {

// Operators that loaders put into programs, and that are no part of them.
constexpr std::string_view kCheckPrefix = "sconce::check_";

TensorInfo describe(const std::string& name, const Tensor& t, const char* role) {
  TensorInfo info;
  info.name = name;
  info.role = role;
  info.dtype = t.dtype();
  info.shape.assign(t.sizes().begin(), t.sizes().end());
  info.elements = static_cast<uint64_t>(t.numel());
  info.bytes = info.elements * t.item_size();
  return info;
}

// By class, in the order in which they are met.
void add_opaque(FileInfo& info, const OpaqueObjects& objects) {
  std::vector<std::pair<std::string, std::vector<std::string>>> classes;
  std::map<std::string, size_t> places;
  for (const auto& [name, class_name] : objects) {
    const auto [place, is_new] = places.try_emplace(class_name, classes.size());
    if (is_new) classes.emplace_back(class_name, std::vector<std::string>());
    classes[place->second].second.push_back(name.empty() ? "the whole file" : name);
  }
  std::vector<std::string> lines;
  for (const auto& [class_name, names] : classes) {
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    lines.push_back(fmt::format("{}: {}{}", class_name, names[0], more));
  }
  if (!lines.empty()) info.lists.emplace_back("objects of Python classes, which are not read", std::move(lines));
}

void add_file(FileInfo& info, TensorFile content) {
  for (const auto& [name, t] : content.tensors) info.tensors.push_back(describe(name, t, ""));
  info.metadata = std::move(content.metadata);
  info.unsupported = std::move(content.unsupported);
  add_opaque(info, content.opaque);
}

// TorchScript modules with their methods, and the records that are no part of them.
void add_package(FileInfo& info, const FileBytesPtr& file) {
  const Records records(file);
  info.version = records.version();
  const PackageContent content = read_package(records);
  std::vector<std::string> modules;
  for (const PackageContent::Module& m : content.modules) {
    try {
      const Archive archive = load_package(file, m.name, load_options());
      const jit::Module module(archive.unit, archive.module);
      std::string methods;
      for (const std::string& method : module.method_names()) methods += (methods.empty() ? "" : ", ") + method;
      modules.push_back(fmt::format("{}: {} ({})", m.name, module.type_name(), methods));
    } catch (const Error& e) {
      modules.push_back(fmt::format("{}: {}", m.name, e.message()));
    }
  }
  info.lists.emplace_back("TorchScript modules", std::move(modules));
  info.lists.emplace_back("pickles", content.pickles);
  info.lists.emplace_back("Python source, which is never run", content.python);
  info.lists.emplace_back("resources", content.resources);
  info.lists.emplace_back("Python modules that it needs", content.extern_modules);
  add_file(info, read_tensors(file));
}

void add_module(FileInfo& info, const jit::Module& module) {
  info.root = module.type_name();
  info.training = module.has_attr("training") && module.is_training();
  for (const auto& [path, m] : module.named_modules()) {
    ModuleInfo one{path, m.type_name(), 0};
    for (const Tensor& p : m.parameters()) one.parameters += static_cast<uint64_t>(p.numel());
    info.modules.push_back(std::move(one));
  }
  for (const std::string& name : module.method_names()) {
    const jit::Function method = module.method(name);
    Schema schema = method.schema();
    schema.name = name;
    if (!schema.arguments.empty()) schema.arguments.erase(schema.arguments.begin());
    info.methods.push_back(schema.to_string());
  }
  const bool roles = info.kind != FileKind::lite;  // bytecode does not say which tensors are parameters
  for (const auto& [name, t] : module.named_parameters())
    info.tensors.push_back(describe(name, t, roles ? "parameter" : ""));
  for (const auto& [name, t] : module.named_buffers()) info.tensors.push_back(describe(name, t, roles ? "buffer" : ""));
  const size_t names = module.state_dict().size();
  info.other_names = names > info.tensors.size() ? names - info.tensors.size() : 0;
}

// What the checks in front of an exported program ask: "input: float32 [*, 4]", "input 'x': dimension 0: 2 to 64".
void add_input_rules(FileInfo& info, ir::Function& forward) {
  const auto constant = [](const ir::Node& n, size_t i) -> const Value* {
    const ir::AttributeValue* v = n.input(i)->node()->attribute("value");
    return v ? std::get_if<Value>(v) : nullptr;
  };
  const auto limits = [](const Value* min, const Value* max) {
    if (!min || !min->is_int()) return fmt::format("at most {}", max && max->is_int() ? max->repr() : "any");
    return max && max->is_int() ? fmt::format("{} to {}", min->to_int(), max->to_int())
                                : fmt::format("at least {}", min->to_int());
  };
  for (const ir::Node* n : forward.graph()->nodes()) {
    const std::string_view kind = n->op() ? n->op()->info.name : "";
    if (!kind.starts_with(kCheckPrefix)) continue;
    if (kind == "sconce::check_tensor" && constant(*n, 1) && constant(*n, 2) && constant(*n, 3)) {
      std::string sizes;
      for (const int64_t size : constant(*n, 3)->to_list().ints())
        sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size < 0 ? "*" : std::to_string(size));
      info.input_rules.push_back(fmt::format("{}: {} [{}]", constant(*n, 1)->to_string_ref(),
                                             dtype_name(dtype_from_number(constant(*n, 2)->to_int())), sizes));
    } else if (kind == "sconce::check_range" && constant(*n, 1)) {
      info.input_rules.push_back(
          fmt::format("{}: {}", constant(*n, 1)->to_string_ref(), limits(constant(*n, 2), constant(*n, 3))));
    } else if (kind == "sconce::check_size" && constant(*n, 1) && constant(*n, 3)) {
      info.input_rules.push_back(
          fmt::format("{}: {}", constant(*n, 1)->to_string_ref(), constant(*n, 3)->to_string_ref()));
    } else if (kind == "sconce::check_guard" && constant(*n, 1)) {
      info.input_rules.push_back(constant(*n, 1)->to_string_ref());
    }
  }
}

void add_program(FileInfo& info, const FileBytesPtr& file) {
  try {
    info.version = Records(file).version();
    const Archive archive = load_program(file, info.kind);
    for (const auto& [name, content] : archive.extra_files) info.extra_files.emplace_back(name, content.size());
    add_module(info, jit::Module(archive.unit, archive.module));
    info.operators = operators_in_unit(*archive.unit);
    if (!archive.missing_operators.empty()) {  // graphs do not have them
      info.operators = operators_in_text(file);
      info.operators_from_text = true;
    }
    if (info.kind != FileKind::exported_program) return;
    if (ir::Function* forward = ir::find_method(archive.module.to_object().type(), "forward"))
      add_input_rules(info, *forward);
    std::erase_if(info.operators, [](const OperatorUse& use) { return use.name.starts_with(kCheckPrefix); });
  } catch (const Error& e) {
    info.problem = e.what();
    add_file(info, read_tensors(file));
    info.operators = operators_in_text(file);
    info.operators_from_text = true;
  }
}

// The calls of each program, and what they were recorded for.
void add_compiled(FileInfo& info, const FileBytesPtr& file) {
  try {
    info.version = Records(file).version();
    const CompiledInfo content = describe_compiled(file);
    if (content.device != DeviceType::cpu) info.details = "for " + to_string(Device{content.device});
    info.methods.push_back(content.function);
    for (const CompiledInfo::Weight& c : content.constants) {
      TensorInfo t{c.name, "", c.dtype, c.shape, 1, c.bytes};
      for (const int64_t size : c.shape) t.elements *= static_cast<uint64_t>(size);
      info.tensors.push_back(std::move(t));
    }
    for (size_t i = 0; i < content.signatures.size(); ++i)
      info.lists.emplace_back("calls for " + content.signatures[i], content.calls[i]);
  } catch (const Error& e) {
    info.problem = e.what();
  }
}

void add_text(FileInfo& info, const FileBytesPtr& file) {
  try {
    check_is_program_text(file);
    ProgramFile program(info.path);
    const bool only_functions = program.modules().empty();
    for (const NamedFunction& f : program.functions()) {
      if (!f.function && only_functions && info.problem.empty()) info.problem = f.message;
      if (!f.function) continue;
      Schema schema = f.function->schema();
      schema.name = f.name;
      info.methods.push_back(schema.to_string());
    }
    for (const std::string& name : program.modules()) info.modules.push_back({"", name, 0});
    info.operators = operators_in_unit(program.program().unit());
  } catch (const Error& e) {
    info.problem = e.message();
    if (info.problem.starts_with(info.path + ": ")) info.problem.erase(0, info.path.size() + 2);
  }
}

void add_records(FileInfo& info, const FileBytesPtr& file) {
  if (!looks_like_zip(file->bytes())) return;
  const ZipReader zip(file);
  for (const ZipReader::Record& r : zip.records()) info.records.push_back({std::string(r.name), r.size, r.stored_size});
}

// Width first, as everybody writes it.
std::string picture_details(const Tensor& t) { return fmt::format("{} x {} pixels", t.size(3), t.size(2)); }

}  // namespace

std::vector<std::string> FileInfo::missing() const {
  std::vector<std::string> out;
  for (const OperatorUse& use : operators) {
    if (!use.known) out.push_back(use.name);
  }
  return out;
}

FileInfo read_file_info(const std::string& path) {
  const FileBytesPtr file = open_file(path);
  FileInfo info;
  info.path = path;
  info.bytes = file->bytes().size();
  info.kind = kind_of(file);
  add_records(info, file);
  switch (info.kind) {
    case FileKind::torchscript:
      info.has_bytecode = has_bytecode(Records(file));
      [[fallthrough]];
    case FileKind::lite:
    case FileKind::exported_program:
      add_program(info, file);
      break;
    case FileKind::compiled:
      add_compiled(info, file);
      break;
    case FileKind::package:
      add_package(info, file);
      break;
    case FileKind::state_dict:
    case FileKind::legacy_state_dict:
    case FileKind::safetensors:
    case FileKind::npy:
    case FileKind::npz:
      add_file(info, read_tensors(file));
      break;
    case FileKind::png:
      info.details = picture_details(read_png(file));
      break;
    case FileKind::jpeg:
      info.details = picture_details(read_jpeg(file));
      break;
    case FileKind::wav: {
      const Sound sound = read_wav(file);
      info.details =
          fmt::format("{} channels, {} samples at {} Hz", sound.samples.size(0), sound.samples.size(1), sound.rate);
      break;
    }
    case FileKind::text:
      add_text(info, file);
      break;
    case FileKind::unknown:
      break;
  }
  return info;
}

}  // namespace sconce::cli
