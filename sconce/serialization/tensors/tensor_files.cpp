#include "sconce/serialization/tensors/tensor_files.h"

#include "sconce/serialization/archive/archive_state.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/serialization/tensors/safetensors.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// Walks over containers and objects, and collects tensors with their paths.
class Flattener {
 public:
  explicit Flattener(UnsupportedTensors* unsupported) : unsupported_(unsupported) {}

  void visit(const Value& v) {
    if (v.is_tensor()) {
      tensors.emplace_back(path_, v.to_tensor());
    } else if (is_special_tensor(v)) {
      SCONCE_CHECK(unsupported_, "'{}' is a {}, which is not supported", path_, describe_special_tensor(v));
      unsupported_->emplace_back(path_, describe_special_tensor(v));
    } else if (v.is_dict()) {
      v.to_dict().for_each(
          [&](const Value& key, const Value& item) { part(key.is_string() ? key.to_string_ref() : key.repr(), item); });
    } else if (v.is_list()) {
      if (v.to_list().is_ints() || v.to_list().is_doubles() || v.to_list().is_bools()) return;
      for (size_t i = 0; i < v.to_list().size(); ++i) part(std::to_string(i), v.to_list().get(i));
    } else if (v.is_tuple()) {
      for (size_t i = 0; i < v.to_tuple().items.size(); ++i) part(std::to_string(i), v.to_tuple().items[i]);
    } else if (v.is_object()) {
      const std::vector<ClassInfo::Attribute>& attributes = v.to_object().type()->class_info()->attributes;
      for (size_t i = 0; i < attributes.size(); ++i) part(attributes[i].name, v.to_object().slot(i));
    }
  }

  NamedTensors tensors;

 private:
  void part(const std::string& name, const Value& v) {
    SCONCE_CHECK(++depth_ <= kMaxPickleDepth, "containers are nested more than {} deep", kMaxPickleDepth);
    const size_t length = path_.size();
    if (length != 0) path_ += '.';
    path_ += name;
    visit(v);
    path_.resize(length);
    --depth_;
  }

  UnsupportedTensors* unsupported_;
  std::string path_;
  int depth_ = 0;
};

}  // namespace

NamedTensors flatten_tensors(const Value& v, UnsupportedTensors* unsupported) {
  Flattener flattener(unsupported);
  flattener.visit(v);
  return std::move(flattener.tensors);
}

TensorFile read_safetensors(FileBytesPtr file) {
  const SafetensorsFile directory = SafetensorsFile::read(std::move(file));
  TensorFile content;
  for (const SafetensorsFile::Entry& entry : directory.entries()) {
    content.tensors.emplace_back(entry.name, directory.in_place(entry.name));
  }
  content.metadata.insert(directory.metadata().begin(), directory.metadata().end());
  return content;
}

TensorFile read_tensors(const std::string& path) { return read_tensors(FileBytes::map(path)); }

TensorFile read_tensors(const FileBytesPtr& file) {
  TensorFile content;
  const FileKind kind = kind_of(file);
  switch (kind) {
    case FileKind::safetensors:
      return read_safetensors(file);
    case FileKind::npy:
      content.tensors = {{"", read_npy(file)}};
      return content;
    case FileKind::npz:
      content.tensors = read_npz(file);
      return content;
    case FileKind::state_dict:
    case FileKind::legacy_state_dict:
      content.tensors = flatten_tensors(read_pickled(file), &content.unsupported);
      return content;
    case FileKind::torchscript:
    case FileKind::lite:
      content.tensors = flatten_tensors(read_archive_state(Records(file)), &content.unsupported);
      return content;
    case FileKind::exported_program:
      content.tensors = flatten_tensors(load_exported_program(file).module, &content.unsupported);
      return content;
    default:
      fail("{}: is not a file of tensors but {} {}", file->name(), kind == FileKind::unknown ? "an" : "a",
           kind_name(kind));
  }
}

}  // namespace sconce
