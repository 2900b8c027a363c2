#include "sconce/serialization/archive/package.h"

#include <algorithm>

#include "sconce/serialization/archive/archive_places.h"
#include "sconce/serialization/archive/archive_state.h"
#include "sconce/serialization/archive/saved_context.h"

namespace sconce {
namespace {

constexpr std::string_view kData = ".data/", kCode = ".data/ts_code/", kExtern = ".data/extern_modules";
constexpr std::string_view kUnpackage = "torch.jit._script.unpackage_script_module";

// What a pickle refers to: storages, and TorchScript modules by their number.
class PackageContext final : public SavedContext {
 public:
  explicit PackageContext(const Records& records)
      : SavedContext(records.name()), records_(records), storages_(records) {}

  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find(kData, key + ".storage", dtype, count);
  }
  Value packaged(const std::string& function, const Value& arguments) override {
    const std::vector<Value>& args = arguments.to_tuple().items;
    if (function != kUnpackage || args.size() != 1 || !args[0].is_string()) {
      return SavedContext::packaged(function, arguments);
    }
    const std::string folder = std::string(kCode) + args[0].to_string_ref();
    if (std::find(modules.begin(), modules.end(), folder) == modules.end()) modules.push_back(folder);
    return read_archive_state(records_, folder + "/data.pkl", std::string(kData));
  }
  std::vector<std::string> modules;  // their folders

 private:
  const Records& records_;
  Storages storages_;
};

Value read_with(PackageContext& context, const Records& records, const std::string& pickle) {
  return read_pickle(records.read(pickle), records.name() + ": " + pickle, context);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string quoted(const std::vector<PackageContent::Module>& modules) {
  std::string all;
  for (const PackageContent::Module& m : modules) all += (all.empty() ? "'" : ", '") + m.name + "'";
  return all;
}

}  // namespace

bool is_package(const Records& records) { return records.find(std::string(kExtern)) != nullptr; }

PackageContent read_package(const Records& records) {
  SCONCE_CHECK(is_package(records), "{}: is no torch.package: it has no record '{}'", records.name(), kExtern);
  PackageContent content;
  content.extern_modules = lines_of(records.read(std::string(kExtern)));
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string name(records.name_in_folder(record));
    if (name.empty() || name == "byteorder" || name.starts_with(kData)) continue;
    if (name.ends_with(".py")) {
      content.python.push_back(name);
    } else if (name.ends_with(".pkl")) {
      content.pickles.push_back(name);
    } else {
      content.resources.push_back(name);
    }
  }
  for (const std::string& pickle : content.pickles) {
    PackageContext context(records);
    read_with(context, records, pickle);
    for (const std::string& folder : context.modules) {
      const std::string number = context.modules.size() > 1 ? "#" + folder.substr(kCode.size()) : "";
      content.modules.push_back({pickle + number, folder});
    }
  }
  return content;
}

Value read_packaged(const Records& records, const std::string& pickle) {
  PackageContext context(records);
  return read_with(context, records, pickle);
}

Archive load_package(FileBytesPtr file, const std::string& name, const LoadOptions& options) {
  const auto records = std::make_shared<const Records>(std::move(file));
  const std::vector<PackageContent::Module> modules = read_package(*records).modules;
  SCONCE_CHECK(!modules.empty(),
               "{}: is a torch.package without a TorchScript module; the Python source in it is never run",
               records->name());
  SCONCE_CHECK(!name.empty() || modules.size() == 1, "{}: has {} TorchScript modules, choose one of {}",
               records->name(), modules.size(), quoted(modules));
  const auto found = std::find_if(modules.begin(), modules.end(),
                                  [&](const PackageContent::Module& m) { return name.empty() || m.name == name; });
  SCONCE_CHECK(found != modules.end(), "{}: has no TorchScript module '{}', but {}", records->name(), name,
               quoted(modules));
  ArchivePlaces places;
  places.code = kCode;
  places.data = found->folder + "/data.pkl";
  places.constants = found->folder + "/constants.pkl";
  places.data_storages = places.constant_storages = kData;
  return load_archive_at(records, places, options);
}

}  // namespace sconce
