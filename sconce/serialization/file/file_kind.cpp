#include "sconce/serialization/file/file_kind.h"

#include <algorithm>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/serialization/file/utf8.h"
#include "sconce/serialization/file/zip_reader.h"
#include "sconce/serialization/tensors/legacy_pickled.h"

namespace sconce {
namespace {

using namespace std::string_view_literals;

// The name of a record behind the folder that records of PyTorch's archives lie in.
std::string_view without_folder(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == name.npos ? name : name.substr(slash + 1);
}

FileKind kind_of_zip(const FileBytesPtr& file) {
  const ZipReader zip(file);
  const std::span<const ZipReader::Record> records = zip.records();
  const auto ends_in_npy = [](const ZipReader::Record& r) { return r.name.ends_with(".npy"); };
  if (std::all_of(records.begin(), records.end(), ends_in_npy)) return FileKind::npz;
  if (zip.find("serialized_exported_program.json")) return FileKind::exported_program;  // PyTorch 2.1 to 2.7
  const std::string_view first = records.front().name;
  const std::string_view folder = first.substr(0, first.size() - without_folder(first).size());
  if (folder.empty()) return FileKind::unknown;
  const auto has = [&](std::string_view record) { return zip.find({folder, record}) != nullptr; };
  if (has("archive_format")) return FileKind::exported_program;
  if (has("calls.scx")) return FileKind::compiled;
  if (has(".data/extern_modules")) return FileKind::package;
  const bool code = std::any_of(records.begin(), records.end(), [&](const ZipReader::Record& r) {
    return without_folder(r.name).starts_with("code/") && r.name.starts_with(folder);
  });
  if (has("bytecode.pkl") && !code) return FileKind::lite;
  if (has("constants.pkl") || has("model.json")) return FileKind::torchscript;
  return has("data.pkl") ? FileKind::state_dict : FileKind::unknown;
}

// UTF-8 without control characters, as far as one looks.
bool looks_like_text(std::string_view bytes) {
  constexpr size_t kLook = 4096, kLongestCharacter = 4;
  const std::string_view head = bytes.substr(0, kLook);
  for (const char c : head) {
    if ((static_cast<uint8_t>(c) < 0x20 && "\t\n\v\f\r"sv.find(c) == std::string_view::npos) || c == 0x7f) return false;
  }
  // Where one stops looking, a character may be cut.
  const size_t valid = valid_utf8(head);
  return !head.empty() && (valid == head.size() || (head.size() == kLook && kLook - valid < kLongestCharacter));
}

bool looks_like_safetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i) header = header << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return header >= 2 && header <= bytes.size() - 8;
}

}  // namespace

FileKind kind_of(const FileBytesPtr& file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return kind_of_zip(file);
  if (bytes.starts_with("\x93NUMPY")) return FileKind::npy;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return FileKind::png;
  if (bytes.starts_with("\xff\xd8\xff")) return FileKind::jpeg;
  if ((bytes.starts_with("RIFF") || bytes.starts_with("RIFX")) && bytes.substr(0, 12).ends_with("WAVE")) {
    return FileKind::wav;
  }
  if (looks_like_legacy_pickled(bytes)) return FileKind::legacy_state_dict;
  if (looks_like_safetensors(bytes)) return FileKind::safetensors;
  return looks_like_text(bytes) ? FileKind::text : FileKind::unknown;
}

const char* kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::unknown:
      return "unknown file";
    case FileKind::torchscript:
      return "TorchScript archive";
    case FileKind::lite:
      return "lite-interpreter archive";
    case FileKind::exported_program:
      return "exported program";
    case FileKind::compiled:
      return "compiled file";
    case FileKind::package:
      return "torch.package archive";
    case FileKind::state_dict:
      return "torch.save file";
    case FileKind::legacy_state_dict:
      return "legacy torch.save file";
    case FileKind::safetensors:
      return "safetensors file";
    case FileKind::npy:
      return "NumPy array";
    case FileKind::npz:
      return "NumPy archive";
    case FileKind::png:
      return "PNG image";
    case FileKind::jpeg:
      return "JPEG image";
    case FileKind::wav:
      return "WAV sound";
    case FileKind::text:
      return "text";
  }
  return "unknown file";
}

const char* program_hint(FileKind kind) {
  if (kind != FileKind::state_dict && kind != FileKind::legacy_state_dict) return "";
  return "; torch.save keeps tensors and the names of classes, but no code: save the module by "
         "torch.jit.script(module).save(...) or torch.export.save(...)";
}

}  // namespace sconce
