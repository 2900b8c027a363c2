#include "sconce/serialization/tensors/tensor_files.h"

#include "sconce/serialization/archive/archive_state.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/serialization/tensors/safetensors.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// Walks over containers and objects, and collects tensors with their paths.
class Flattener {
 public:
  explicit Flattener(UnsupportedTensors* unsupported, OpaqueObjects* opaque = nullptr)
      : unsupported_(unsupported), opaque_(opaque) {}

  void visit(const Value& v) {
    if (v.is_tensor()) {
      tensors.emplace_back(path_, v.to_tensor());
    } else if (is_special_tensor(v)) {
      SCONCE_CHECK(unsupported_, "'{}' is a {}, which is not supported", path_, describe_special_tensor(v));
      unsupported_->emplace_back(path_, describe_special_tensor(v));
    } else if (is_opaque(v)) {
      opaque(v);
    } else if (v.is_dict()) {
      entries(v.to_dict());
    } else if (v.is_list()) {
      if (v.to_list().is_ints() || v.to_list().is_doubles() || v.to_list().is_bools()) return;
      for (size_t i = 0; i < v.to_list().size(); ++i) part(std::to_string(i), v.to_list().get(i));
    } else if (v.is_tuple()) {
      items(v.to_tuple().items);
    } else if (v.is_object()) {
      const std::vector<ClassInfo::Attribute>& attributes = v.to_object().type()->class_info()->attributes;
      for (size_t i = 0; i < attributes.size(); ++i) part(attributes[i].name, v.to_object().slot(i));
    }
  }

  void visit_named(const std::string& name, const Value& v) { part(name, v); }

  NamedTensors tensors;

 private:
  void entries(const Dict& dict) {
    dict.for_each(
        [&](const Value& key, const Value& item) { part(key.is_string() ? key.to_string_ref() : key.repr(), item); });
  }
  void items(const std::vector<Value>& values) {
    for (size_t i = 0; i < values.size(); ++i) part(std::to_string(i), values[i]);
  }
  // Attributes have the names that they have in Python.
  void opaque(const Value& v) {
    if (opaque_) opaque_->emplace_back(path_, opaque_class_name(v));
    if (opaque_arguments(v).is_tuple()) items(opaque_arguments(v).to_tuple().items);
    const Value& state = opaque_state(v);
    if (state.is_dict() || (state.is_tuple() && !is_opaque(state))) {
      visit(state);
    } else if (!state.is_none()) {
      part("state", state);
    }
    items(opaque_items(v).values());
    entries(opaque_entries(v));
  }

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
  OpaqueObjects* opaque_;
  std::string path_;
  int depth_ = 0;
};

}  // namespace

NamedTensors flatten_tensors(const Value& v, UnsupportedTensors* unsupported) {
  Flattener flattener(unsupported);
  flattener.visit(v);
  return std::move(flattener.tensors);
}

OpaqueObjects find_opaque(const Value& v) {
  UnsupportedTensors unsupported;
  OpaqueObjects opaque;
  Flattener(&unsupported, &opaque).visit(v);
  return opaque;
}

void refuse_opaque(const Value& v, const std::string& file) {
  const OpaqueObjects found = find_opaque(v);
  if (found.empty()) return;
  const auto& [name, class_name] = found.front();
  const std::string where = name.empty() ? "it" : "'" + name + "'";
  fail(
      "{}: {} is an object of the Python class '{}', which is not read. Its tensors can be used by name; to keep a "
      "module, save its state_dict(), or the module itself by torch.jit.script or torch.export",
      file, where, class_name);
}

TensorFile read_safetensors(FileBytesPtr file) {
  const SafetensorsFile directory = SafetensorsFile::read(std::move(file));
  TensorFile content;
  for (const SafetensorsFile::Entry& entry : directory.entries()) {
    if (entry.foreign_dtype.empty()) {
      content.tensors.emplace_back(entry.name, directory.in_place(entry.name));
    } else {
      content.unsupported.emplace_back(entry.name, "tensor of " + entry.foreign_dtype + " " +
                                                       format_message("{}", {ErrorArg(IntList(entry.shape))}));
    }
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
    case FileKind::legacy_state_dict: {
      Flattener flattener(&content.unsupported, &content.opaque);
      flattener.visit(read_pickled(file));
      content.tensors = std::move(flattener.tensors);
      return content;
    }
    case FileKind::package: {
      Flattener flattener(&content.unsupported, &content.opaque);
      const Records records(file);
      for (const std::string& pickle : read_package(records).pickles) {
        flattener.visit_named(pickle, read_packaged(records, pickle));
      }
      content.tensors = std::move(flattener.tensors);
      return content;
    }
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
