#include "sconce/serialization/archive.h"

#include <charconv>
#include <cstring>

#include "sconce/frontend/script/archive_names.h"
#include "sconce/frontend/script/program_state.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/pickle_reader.h"
#include "sconce/serialization/source_map.h"
#include "sconce/serialization/zip_reader.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// The records of an archive, without the folder that they all lie in.
class Records {
 public:
  explicit Records(FileBytesPtr file) : zip_(std::move(file)) {
    SCONCE_CHECK(!zip_.records().empty(), "{}: the zip file is empty", name());
    const std::string& first = zip_.records().front().name;
    const size_t slash = first.find('/');
    SCONCE_CHECK(slash != first.npos, "{}: record '{}' is not in a folder, as in an archive of PyTorch", name(), first);
    folder_ = first.substr(0, slash + 1);
  }
  const std::string& name() const { return zip_.file()->name(); }
  const ZipReader& zip() const { return zip_; }
  const std::string& folder() const { return folder_; }
  const ZipReader::Record* find(const std::string& record) const { return zip_.find(folder_ + record); }
  std::string read(const std::string& record) const {
    const ZipReader::Record* found = find(record);
    SCONCE_CHECK(found, "{}: there is no record '{}'", name(), record);
    return zip_.read(*found);
  }

 private:
  ZipReader zip_;
  std::string folder_;
};

int read_version(const Records& records) {
  const std::string text = records.read(records.find(".data/version") ? ".data/version" : "version");
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  SCONCE_CHECK(error == std::errc() && rest.find_first_not_of(" \r\n") == rest.npos,
               "{}: the version '{}' is not a number", records.name(), text);
  SCONCE_CHECK(version >= kOldestArchiveVersion && version <= kNewestArchiveVersion,
               "{}: has format version {}; versions {} to {} can be read", records.name(), version,
               kOldestArchiveVersion, kNewestArchiveVersion);
  return version;
}

// Keeps the file alive as long as a storage lies in it.
void drop_file(void* file) noexcept { delete static_cast<FileBytesPtr*>(file); }

constexpr size_t kAlignment = 64;

// The storages of one folder ("data/", "constants/"): each is made once, so that tensors which shared memory share it
// again.
class Storages {
 public:
  Storages(const Records& records, std::string folder) : records_(records), folder_(std::move(folder)) {}

  Tensor find(const std::string& key, std::optional<DType> dtype, int64_t count) {
    const DType type = dtype.value_or(DType::uint8);
    int64_t bytes = 0;
    SCONCE_CHECK(!__builtin_mul_overflow(count, static_cast<int64_t>(item_size(type)), &bytes),
                 "{}: storage '{}' claims to have {} elements", records_.name(), key, count);
    Ref<Storage>& storage = storages_[key];
    if (!storage) storage = make(key, static_cast<size_t>(bytes));
    SCONCE_CHECK(static_cast<size_t>(bytes) <= storage->nbytes, "{}: storage '{}' has {} bytes, {} elements need more",
                 records_.name(), key, storage->nbytes, count);
    return make_tensor(storage, type, {count}, {1}, 0);
  }

 private:
  Ref<Storage> make(const std::string& key, size_t bytes) const {
    if (bytes == 0) return make_storage(0, {});
    const ZipReader::Record* record = records_.find(folder_ + key);
    SCONCE_CHECK(record, "{}: there is no record '{}{}'", records_.name(), folder_, key);
    SCONCE_CHECK(record->size >= bytes, "{}: record '{}{}' has {} bytes, its tensors need {}", records_.name(), folder_,
                 key, record->size, bytes);
    const bool in_place =
        !record->deflated && reinterpret_cast<uintptr_t>(records_.zip().in_place(*record).data()) % kAlignment == 0;
    if (in_place) {
      return wrap_storage(records_.zip().in_place(*record).data(), bytes, drop_file,
                          new FileBytesPtr(records_.zip().file()));
    }
    const std::string content = records_.zip().read(*record);
    Ref<Storage> storage = make_storage(bytes, {});
    std::memcpy(storage->data, content.data(), bytes);
    return storage;
  }

  const Records& records_;
  std::string folder_;
  std::unordered_map<std::string, Ref<Storage>> storages_;
};

// Objects of the archive's classes, tensors of its storages.
class ArchiveContext final : public PickleContext {
 public:
  ArchiveContext(const Records& records, script::ProgramState& program, std::string folder)
      : records_(records), program_(program), storages_(records, std::move(folder)) {}

  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find(key, dtype, count);
  }
  TypePtr find_class(const std::string& name) override {
    const TypePtr type = program_.find_type(name);
    SCONCE_CHECK(type && (type->is(TypeKind::class_) || type->is(TypeKind::enum_)), "{}: there is no class '{}'",
                 records_.name(), name);
    return type;
  }
  TypePtr find_type(std::string_view text) override {
    return parse_type(text, [this](std::string_view name) { return program_.find_type(name); });
  }
  Value build(TypePtr type, Value state) override {
    Ref<Object> object = make_ref<Object>(type);
    if (ir::Function* set_state = ir::find_method(type, "__setstate__")) {
      Value args[] = {object, std::move(state)};
      runtime::run(*set_state, args);
      return object;
    }
    SCONCE_CHECK(state.is_dict(), "{}: an object of class '{}' has no dict of attributes", records_.name(),
                 type->name());
    const std::vector<ClassInfo::Attribute>& attributes = type->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const Value* v = state.to_dict().find(attributes[i].name);
      SCONCE_CHECK(v, "{}: an object of class '{}' has no attribute '{}'", records_.name(), type->name(),
                   attributes[i].name);
      object->set_slot(i, retyped(*v, attributes[i].type));
    }
    return object;
  }

 private:
  // Old archives do not say the types of containers, and none says those of named tuples: the attribute does.
  Value retyped(const Value& v, TypePtr type) {
    if (type->is(TypeKind::optional) && !v.is_none()) return retyped(v, type->element());
    if (type->is(TypeKind::tuple) && v.is_tuple()) {
      SCONCE_CHECK(v.to_tuple().items.size() == type->contained().size(), "{}: a tuple has {} items where {} has {}",
                   records_.name(), v.to_tuple().items.size(), type->annotation(), type->contained().size());
      std::vector<Value> items;
      for (size_t i = 0; i < type->contained().size(); ++i) {
        items.push_back(retyped(v.to_tuple().items[i], type->contained()[i]));
      }
      return make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type);
    }
    if (type->is(TypeKind::list) && v.is_list() && v.to_list().element_type() != type->element()) {
      Ref<List> list = make_ref<List>(type->element());
      for (const Value& item : v.to_list().values()) list->append(retyped(item, type->element()));
      return list;
    }
    if (type->is(TypeKind::dict) && v.is_dict() && v.type() != type) {
      Ref<Dict> dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
      v.to_dict().for_each(
          [&](const Value& key, const Value& item) { dict->set(key, retyped(item, type->contained()[1])); });
      return dict;
    }
    return v;
  }

  const Records& records_;
  script::ProgramState& program_;
  Storages storages_;
};

std::string code_record(std::string_view qualifier) {
  std::string path = "code/";
  for (char c : qualifier) path += c == '.' ? '/' : c;
  return path + ".py";
}

}  // namespace

Archive load_archive(const std::string& path) { return load_archive(FileBytes::map(path)); }

Archive load_archive(FileBytesPtr file) {
  constexpr std::string_view kExtra = "extra/";
  const auto records = std::make_shared<const Records>(std::move(file));
  Archive archive;
  archive.version = read_version(*records);
  SCONCE_CHECK(records->find("constants.pkl"), "{}: is no TorchScript archive: it has no record 'constants.pkl'",
               records->name());
  for (const ZipReader::Record& record : records->zip().records()) {
    if (record.name.starts_with(records->folder() + std::string(kExtra))) {
      archive.extra_files.emplace_back(record.name.substr(records->folder().size() + kExtra.size()),
                                       records->zip().read(record));
    }
  }

  const auto program = std::make_shared<script::ProgramState>();
  archive.unit = std::shared_ptr<ir::CompilationUnit>(program, &program->unit);
  program->archive_version = archive.version;
  program->load = [records](std::string_view qualifier) -> SourcePtr {
    const std::string name = code_record(qualifier);
    const ZipReader::Record* record = records->find(name);
    if (!record) return nullptr;
    std::shared_ptr<const SourceMap> map;
    if (const ZipReader::Record* ranges = records->find(name + ".debug_pkl")) {
      map = read_source_map([records, ranges] { return records->zip().read(*ranges); });
    }
    return std::make_shared<Source>(name, records->zip().read(*record), 1, std::move(map));
  };
  ArchiveContext constants(*records, *program, "constants/");
  const Value table = read_pickle(records->read("constants.pkl"), records->name() + ": constants.pkl", constants);
  SCONCE_CHECK(table.is_tuple(), "{}: constants.pkl is not a tuple", records->name());
  program->constants = table.to_tuple().items;

  ArchiveContext data(*records, *program, "data/");
  archive.module = read_pickle(records->read("data.pkl"), records->name() + ": data.pkl", data);
  SCONCE_CHECK(archive.module.is_object(), "{}: data.pkl is not an object", records->name());
  program->unit.define_all();
  program->load = nullptr;
  return archive;
}

}  // namespace sconce
