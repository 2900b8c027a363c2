#include "files/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_limits.h"
#include "commands/commands.h"
#include "files/image.h"
#include "files/wav.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/tensors/tensor_files.h"

namespace sconce::cli {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

// All tensors, or the one that is asked for.
Values pick(const InputFile& file, const NamedTensors& tensors) {
  Values out;
  for (const auto& [name, t] : tensors) {
    if (file.name.empty() || name == file.name) out.emplace_back(name, t);
  }
  if (!out.empty()) return out;
  std::vector<std::string> names;
  for (const auto& [name, t] : tensors) names.push_back(name);
  if (names.empty()) throw UsageError(fmt::format("{}: has no tensors", file.path));
  throw UsageError(fmt::format("{}: has no tensor '{}', but {}", file.path, file.name, fmt::join(names, ", ")));
}

Values read_value(const InputFile& file, const FileBytesPtr& bytes) {
  const Value v = read_pickled(bytes);
  UnsupportedTensors unsupported;  // others can be used beside them
  if (!file.name.empty()) return pick(file, flatten_tensors(v, &unsupported));
  refuse_opaque(v, file.path);
  return {{"", v}};
}

Values only(const InputFile& file, Value v) {
  if (!file.name.empty())
    throw UsageError(fmt::format("{}: has no names, so ':{}' finds nothing", file.path, file.name));
  return {{"", std::move(v)}};
}

}  // namespace

Values read_input_file(const InputFile& file, const PictureOptions& pictures) {
  const FileBytesPtr bytes = open_file(file.path);
  const FileKind kind = kind_of(bytes);
  switch (kind) {
    case FileKind::npy:
      return only(file, read_npy(bytes));
    case FileKind::npz:
      return pick(file, read_npz(bytes));
    case FileKind::safetensors:
      return pick(file, read_safetensors(bytes).tensors);
    case FileKind::state_dict:
    case FileKind::legacy_state_dict:
      return read_value(file, bytes);
    case FileKind::png:
      return only(file, prepare_picture(read_png(bytes), pictures));
    case FileKind::jpeg:
      return only(file, prepare_picture(read_jpeg(bytes), pictures));
    case FileKind::wav:
      return only(file, read_wav(bytes).samples);
    default:
      fail("{}: a file of this kind ({}) cannot be an input", file.path, kind_name(kind));
  }
}

}  // namespace sconce::cli
