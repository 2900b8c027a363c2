// sconce convert IN OUT: the same program or the same tensors in another format.
#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/map_tensors.h"
#include "files/model_file.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/serialization/archive/save_archive.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "text/json.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

struct Options {
  ModelOptions model;  // IN is its file
  std::string out, weights, dtype_name;
  std::optional<DType> dtype;
  std::vector<std::string> keep;
  bool half = false, freeze = false, eval = false, deflate = false, json = false;
};

constexpr const char* kDescription =
    "Writes a program or tensors in another format. What IN is is seen from its content, what OUT is to be from its\n"
    "name. OUT is written whole or not at all.";
constexpr const char* kFooter =
    "  from                                   to\n"
    "  .pt, .pt2, program text (--module)     .pt TorchScript archive, .ptl with bytecode for the lite interpreter\n"
    "  any program, any file of tensors       .pth, .safetensors, .npz; .npy for one tensor\n"
    "Examples:\n"
    "  sconce convert model.pt model.ptl\n"
    "  sconce convert model.pt small.pt --freeze --half\n"
    "  sconce convert net.py net.pt --module 'Net(4)' --weights net.pth\n"
    "  sconce convert model.pt weights.safetensors\n"
    "  sconce convert old.pth new.pth --dtype bfloat16";

enum class Format { archive, lite, pickled, safetensors, npz, npy };
struct FormatName {
  Format format;
  const char* ending;
  bool program;
};
constexpr FormatName kFormats[] = {
    {Format::archive, ".pt", true},   {Format::lite, ".ptl", true},
    {Format::pickled, ".pth", false}, {Format::safetensors, ".safetensors", false},
    {Format::npz, ".npz", false},     {Format::npy, ".npy", false},
};

const FormatName& format_of(const std::string& path) {
  std::string known;
  for (const FormatName& f : kFormats) {
    if (path.ends_with(f.ending)) return f;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", f.ending);
  }
  throw UsageError(fmt::format("{}: the name must say the format: {}", path, known));
}

Tensor converted(const Tensor& t, const Options& o) { return o.dtype && is_floating(t.dtype()) ? t.to(*o.dtype) : t; }

// ---- programs ----

jit::Module prepared(const ModelFile& model, const Options& o) {
  const std::optional<jit::Module>& root = model.module();
  SCONCE_ASSERT(root);  // of a file that is a program
  jit::Module module = *root;
  if (!o.weights.empty()) {
    jit::NamedTensors state;
    for (auto& [name, t] : read_tensors(o.weights).tensors) state.emplace_back(name, std::move(t));
    module.load_state_dict(state);
  }
  if (o.eval) module.eval();
  if (o.dtype) module.to(*o.dtype);
  if (!o.freeze) return module;
  passes::FreezeOptions options;
  options.preserved = o.keep;
  return jit::Module(model.unit(), passes::freeze(*model.unit(), module.value(), options));
}

void write_program(const ModelFile& model, const Options& o, const FormatName& format) {
  if (!model.module())
    throw UsageError(fmt::format("{}: --module must say which module to build and write", model.file()));
  if (model.kind() == FileKind::lite)
    throw UsageError(fmt::format(
        "{}: a lite archive has bytecode and no code, so it cannot become a {} file; the .pt that it was made from can",
        model.file(), format.ending));
  SaveOptions options;
  options.extra_files = model.extra_files();
  options.lite = format.format == Format::lite;
  options.deflate = o.deflate;
  save_archive(prepared(model, o).value(), o.out, options);
}

// ---- tensors ----

struct Tensors {
  Value value;  // of torch.save files: all of it; else None
  TensorFile content;
  size_t left_out = 0;  // values of `value` that are no tensors
};

size_t count_others(const Value& v) {
  size_t count = 0;
  if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) count += count_others(item);
  } else if (v.is_list()) {
    for (const Value& item : v.to_list().values()) count += count_others(item);
  } else if (v.is_dict()) {
    v.to_dict().for_each([&](const Value&, const Value& item) { count += count_others(item); });
  } else {
    count = !v.is_tensor();
  }
  return count;
}

Tensors read(const Options& o, FileKind kind) {
  Tensors t;
  const std::string& path = o.model.file;
  if (kind == FileKind::state_dict || kind == FileKind::legacy_state_dict) {
    t.value = map_tensors(read_pickled(open_file(path)), [&](const Tensor& x) { return converted(x, o); });
    t.content.tensors = flatten_tensors(t.value);
    t.left_out = count_others(t.value);
  } else {
    t.content = read_tensors(path);
    for (auto& [name, x] : t.content.tensors) x = converted(x, o);
  }
  return t;
}

Value as_dict(const NamedTensors& tensors) {
  Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());  // a state dict
  for (const auto& [name, t] : tensors) dict->set(Value(name), Value(t));
  return dict;
}

void write_tensors(const Options& o, const Tensors& t, const FormatName& format) {
  NamedTensors tensors = t.content.tensors;
  switch (format.format) {
    case Format::pickled:
      // A lone tensor stays one.
      return write_pickled(o.out, !t.value.is_none()                                ? t.value
                                  : tensors.size() == 1 && tensors[0].first.empty() ? Value(tensors[0].second)
                                                                                    : as_dict(tensors));
    case Format::npy:
      if (tensors.size() != 1)
        throw UsageError(fmt::format("{}: a .npy file has one tensor, {} has {}; .npz takes them all", o.out,
                                     o.model.file, tensors.size()));
      return write_npy(o.out, tensors[0].second);
    default:
      break;
  }
  if (t.left_out > 0) fmt::print(stderr, "sconce: {}: {} values that are no tensors are left out\n", o.out, t.left_out);
  for (auto& [name, x] : tensors) {
    if (name.empty()) name = "tensor";
  }
  if (format.format == Format::npz)
    write_npz(o.out, tensors, o.deflate);
  else
    write_safetensors(o.out, {tensors, t.content.metadata, {}});
}

bool is_program(FileKind kind) {
  return kind == FileKind::torchscript || kind == FileKind::lite || kind == FileKind::exported_program ||
         kind == FileKind::package || kind == FileKind::text;
}

int run_convert(Options& o) {
  if (o.half && !o.dtype_name.empty()) throw UsageError("--half is --dtype float16: give one of them");
  if (o.half) o.dtype_name = "float16";
  if (!o.dtype_name.empty()) {
    DType dtype{};
    if (!dtype_from_name(o.dtype_name, &dtype) || !is_floating(dtype)) {
      throw UsageError(fmt::format(
          "--dtype takes float16, bfloat16, float32, float64, float8_e4m3fn or float8_e5m2, got '{}'", o.dtype_name));
    }
    o.dtype = dtype;
  }
  const FormatName& format = format_of(o.out);
  const std::string& in = o.model.file;
  const FileKind kind = in == "-" ? FileKind::text : kind_of(open_file(in));
  if (kind == FileKind::compiled)
    throw UsageError(
        fmt::format("{}: a compiled file has calls for inputs of known sizes and no code, so that it cannot be "
                    "converted; the program that it was made from can",
                    in));
  if (!is_program(kind)) {
    if (format.program)
      throw UsageError(
          fmt::format("{}: a {} has no code, so it cannot become a program; --weights puts its tensors into one: "
                      "sconce convert model.pt {} --weights {}",
                      in, kind_name(kind), o.out, in));
    for (const auto& [given, name] : {std::pair(!o.weights.empty(), "--weights"), std::pair(o.freeze, "--freeze"),
                                      std::pair(o.eval, "--eval"), std::pair(!o.model.module.empty(), "--module")}) {
      if (given) throw UsageError(fmt::format("{} is for programs; {} is a {}", name, in, kind_name(kind)));
    }
    write_tensors(o, read(o, kind), format);
  } else {
    const ModelFile model(o.model);
    if (format.program) {
      write_program(model, o, format);
    } else {
      if (!model.module()) throw UsageError(fmt::format("{}: --module must say whose tensors to write", in));
      if (o.freeze) throw UsageError("--freeze makes tensors part of the code; a file of tensors has none");
      Tensors t;
      for (auto& [name, x] : prepared(model, o).state_dict()) t.content.tensors.emplace_back(name, std::move(x));
      write_tensors(o, t, format);
    }
  }
  struct stat info{};
  const uint64_t bytes = stat(o.out.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  const char* made = kind_name(kind_of(open_file(o.out)));
  if (o.json)
    print_json({{"file", o.out}, {"kind", made}, {"bytes", bytes}});
  else
    fmt::print("{}: {}, {}\n", o.out, made, bytes_text(bytes));
  return 0;
}

}  // namespace

Command add_convert_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("convert", kDescription);
  command.footer(kFooter);
  command.add_option("IN", o->model.file, "A program or a file of tensors").required().type_name("");
  command.add_option("OUT", o->out, "What to write: .pt, .ptl, .pth, .safetensors, .npz or .npy")
      .required()
      .type_name("");
  command.add_option("--module", o->model.module, "Of program text: builds this module").type_name("CLASS");
  command.add_option("--seed", o->model.seed, "Seed of random numbers, for --module").type_name("N");
  command.add_option("--weights", o->weights, "Puts the tensors of this file into the program; all names must fit")
      .type_name("FILE");
  command.add_option("--dtype", o->dtype_name, "Converts floating-point tensors").type_name("DTYPE");
  command.add_flag("--half", o->half, "The same as --dtype float16");
  command.add_flag("--eval", o->eval, "Leaves training mode");
  command.add_flag("--freeze", o->freeze, "Makes weights part of the code, and optimises it: for inference only");
  command.add_option("--keep", o->keep, "With --freeze: keeps this attribute or method, beside forward; repeatable")
      .type_name("NAME")
      .allow_extra_args(false);
  command.add_flag("--deflate", o->deflate, "Packs: code of programs, tensors of .npz");
  add_json_option(command, o->json);
  add_ops_option(command, o->model.libraries);
  return [o] { return run_convert(*o); };
}

}  // namespace sconce::cli
