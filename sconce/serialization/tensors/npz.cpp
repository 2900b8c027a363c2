// .npz: a zip file of .npy files.
#include "sconce/base/error.h"
#include "sconce/serialization/file/zip_reader.h"
#include "sconce/serialization/tensors/npy.h"
#include "sconce/serialization/tensors/tensor_files.h"

namespace sconce {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NamedTensors read_npz(FileBytesPtr file) {
  const ZipReader zip(std::move(file));
  NamedTensors tensors;
  for (const ZipReader::Record& record : zip.records()) {
    const std::string& name = zip.file()->name();
    SCONCE_CHECK(record.name.ends_with(kSuffix), "{}: record '{}' is not an array: its name does not end in .npy", name,
                 record.name);
    const std::string whole = name + ": " + std::string(record.name);
    Tensor t;
    if (record.deflated) {
      std::string content = zip.read(record);
      t = parse_npy(std::as_writable_bytes(std::span(content)), whole, nullptr);
    } else {
      zip.check(record);
      t = parse_npy(zip.in_place(record), whole, zip.file());
    }
    tensors.emplace_back(record.name.substr(0, record.name.size() - kSuffix.size()), std::move(t));
  }
  return tensors;
}

}  // namespace sconce
