// torch.save files: a zip file with the pickle data.pkl, and the storages that it refers to.
#include "sconce/serialization/archive/saved_context.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/pickle/pickle_writer.h"
#include "sconce/serialization/tensors/legacy_pickled.h"
#include "sconce/serialization/tensors/tensor_files.h"

namespace sconce {
namespace {

class ZipContext final : public SavedContext {
 public:
  explicit ZipContext(const Records& records) : SavedContext(records.name()), storages_(records) {}
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find("data/", key, dtype, count);
  }

 private:
  Storages storages_;
};

}  // namespace

Value read_pickled(FileBytesPtr file) {
  if (!looks_like_zip(file->bytes())) return read_legacy_pickled(file);
  const Records records(std::move(file));
  SCONCE_CHECK(!records.find("constants.pkl"), "{}: is a TorchScript archive, no torch.save file", records.name());
  records.check_byte_order();
  ZipContext context(records);
  return read_pickle(records.read("data.pkl"), records.name() + ": data.pkl", context);
}

void write_pickled(const std::string& path, const Value& v) {
  refuse_opaque(v, path);
  UnsupportedTensors unsupported;
  flatten_tensors(v, &unsupported);
  if (!unsupported.empty()) {
    const auto& [name, description] = unsupported.front();
    fail("{}: tensor '{}' cannot be written: it is a {}", path, name, description);
  }
  StorageTable storages;
  PickleOptions options;
  options.plain = true;
  options.name = path + ": data.pkl";
  const std::string pickle = write_pickle(v, storages, options);
  FileWriter out(path);
  ZipWriter zip(out, archive_folder(path));
  zip.add("data.pkl", pickle);
  zip.add(".format_version", "1");
  zip.add(".storage_alignment", "64");
  zip.add("byteorder", "little");
  for (const auto& [key, bytes] : storages.storages()) {
    zip.add("data/" + key, std::span(bytes.data<const std::byte>(), static_cast<size_t>(bytes.numel())));
  }
  zip.add("version", "3\n");
  zip.finish();
  out.commit();
}

}  // namespace sconce
