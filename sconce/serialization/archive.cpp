#include "sconce/serialization/archive.h"

#include <algorithm>

#include "sconce/frontend/script/archive_names.h"
#include "sconce/frontend/script/missing_operators.h"
#include "sconce/frontend/script/program_state.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/code_record.h"
#include "sconce/serialization/pickle_reader.h"
#include "sconce/serialization/records.h"
#include "sconce/serialization/source_map.h"
#include "sconce/syntax/parser.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

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

void read_objects(const Records& records, script::ProgramState& program, Archive& archive) {
  ArchiveContext constants(records, program, "constants/");
  const Value table = read_pickle(records.read("constants.pkl"), records.name() + ": constants.pkl", constants);
  SCONCE_CHECK(table.is_tuple(), "{}: constants.pkl is not a tuple", records.name());
  program.constants = table.to_tuple().items;

  ArchiveContext data(records, program, "data/");
  archive.module = read_pickle(records.read("data.pkl"), records.name() + ": data.pkl", data);
  SCONCE_CHECK(archive.module.is_object(), "{}: data.pkl is not an object", records.name());
  program.unit.define_all();
}

// Names all operators that the archive's code calls and nobody defines; does nothing when there are none.
void refuse_missing_operators(const Records& records, const script::ProgramState& program) {
  std::vector<script::MissingOperator> missing;
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string qualifier = code_qualifier(std::string_view(record.name).substr(records.folder().size()));
    if (qualifier.empty()) continue;
    try {
      const auto tree = syntax::parse(program.load(qualifier), syntax::Dialect::archive);
      for (script::MissingOperator& found : script::missing_operators(*tree)) {
        const bool is_known =
            std::any_of(missing.begin(), missing.end(), [&](const auto& m) { return m.name == found.name; });
        if (!is_known) missing.push_back(std::move(found));
      }
    } catch (const CompileError&) {
      // A file that cannot be read is another problem than the one that is looked for.
    }
  }
  script::refuse_missing(missing, records.name());
}

}  // namespace

Archive load_archive(const std::string& path) { return load_archive(FileBytes::map(path)); }

Archive load_archive(FileBytesPtr file) {
  constexpr std::string_view kExtra = "extra/";
  const auto records = std::make_shared<const Records>(std::move(file));
  Archive archive;
  archive.version = records->version();
  records->check_byte_order();
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
  try {
    read_objects(*records, *program, archive);
  } catch (const CompileError&) {
    // One message should name everything that is missing, not the first call that failed.
    refuse_missing_operators(*records, *program);
    throw;
  }
  program->load = nullptr;
  return archive;
}

}  // namespace sconce
