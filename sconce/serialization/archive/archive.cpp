#include "sconce/serialization/archive/archive.h"

#include <algorithm>
#include <unordered_set>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/frontend/script/names/missing_classes.h"
#include "sconce/frontend/script/names/missing_operators.h"
#include "sconce/frontend/script/program/program_state.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/archive/archive_places.h"
#include "sconce/serialization/code/code_record.h"
#include "sconce/serialization/code/source_map.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/missing_text.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/syntax/parser.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// Objects of the archive's classes, tensors of its storages.
class ArchiveContext final : public PickleContext {
 public:
  ArchiveContext(const Records& records, script::ProgramState& program, std::string folder, const LoadOptions& options)
      : records_(records), program_(program), folder_(std::move(folder)), storages_(records), options_(options) {}

  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find(folder_, key, dtype, count);
  }
  TypePtr find_class(const std::string& name) override {
    const TypePtr type = program_.find_type(name);
    SCONCE_CHECK_AS(not_implemented, type || !name.starts_with(kCustomClasses),
                    "{}: needs the class '{}', which is not registered", records_.name(), name);
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
      if (options_.run_setstate) set_state_of(object, *set_state, state);
      return object;
    }
    SCONCE_CHECK(state.is_dict(), "{}: an object of class '{}' has no dict of attributes", records_.name(),
                 type->name());
    const std::vector<ClassInfo::Attribute>& attributes = type->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const Value* v = state.to_dict().find(attributes[i].name);
      SCONCE_CHECK(v, "{}: an object of class '{}' has no attribute '{}'", records_.name(), type->name(),
                   attributes[i].name);
      set_attribute(*object, i, *v);
    }
    return object;
  }

 private:
  // The one thing of a file that runs while it is loaded.
  void set_state_of(const Ref<Object>& object, ir::Function& set_state, const Value& state) {
    const std::vector<Argument>& arguments = set_state.schema().arguments;
    const TypePtr type = object->type();
    SCONCE_CHECK(arguments.size() == 2, "{}: __setstate__ of class '{}' takes {} arguments, not 2", records_.name(),
                 type->name(), arguments.size());
    Value args[] = {object, fit_for(state, arguments[1].type, type->name() + ".__setstate__")};
    const BudgetScope scope(setstate_budget(records_.name(), options_.trust));
    runtime::RunOptions options;
    options.max_depth = kMaxLoadDepth;
    runtime::run(set_state, args, options);
    if (is_custom_class(type)) return;
    for (size_t i = 0; i < type->class_info()->attributes.size(); ++i) set_attribute(*object, i, object->slot(i));
  }
  void set_attribute(Object& object, size_t i, const Value& v) {
    const ClassInfo::Attribute& attribute = object.type()->class_info()->attributes[i];
    object.set_slot(i, fit_for(v, attribute.type, object.type()->name() + "." + attribute.name));
  }
  Value fit_for(const Value& v, TypePtr type, const std::string& what) {
    try {
      return fit(v, type);
    } catch (const Error& error) {
      fail("{}: {}: {}", records_.name(), what, error.message());
    }
  }

  const Records& records_;
  script::ProgramState& program_;
  const std::string folder_;
  Storages storages_;
  const LoadOptions& options_;
};

// The qualifier whose text the record is; empty when it is no code.
std::string qualifier_of(const Records& records, const ArchivePlaces& places, const ZipReader::Record& record) {
  const std::string_view name = records.name_in_folder(record);
  return name.starts_with(places.code) ? code_qualifier(name.substr(places.code.size())) : std::string();
}

// Declares every class and function of the code, so that all are compiled.
void declare_all(const Records& records, const ArchivePlaces& places, script::ProgramState& program) {
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string qualifier = qualifier_of(records, places, record);
    if (qualifier.empty()) continue;
    program.find_definition(qualifier + ".");  // reads the text
    script::Scope* scope = program.find_scope(qualifier);
    for (size_t i = 0; scope && i < scope->definitions().size(); ++i) {
      script::Definition& d = *scope->definitions()[i];
      if (d.kind == script::Definition::Kind::class_) scope->type_of(d);
      if (d.kind == script::Definition::Kind::function) scope->functions_of(d);
    }
  }
}

void read_objects(const Records& records, const ArchivePlaces& places, script::ProgramState& program,
                  const LoadOptions& options, Archive& archive) {
  ArchiveContext constants(records, program, places.constant_storages, options);
  const Value table = read_pickle(records.read(places.constants), records.name() + ": " + places.constants, constants);
  SCONCE_CHECK(table.is_tuple(), "{}: constants.pkl is not a tuple", records.name());
  program.constants = table.to_tuple().items;

  ArchiveContext data(records, program, places.data_storages, options);
  archive.module = read_pickle(records.read(places.data), records.name() + ": " + places.data, data);
  SCONCE_CHECK(archive.module.is_object(), "{}: {} is not an object", records.name(), places.data);
  if (options.all_code) declare_all(records, places, program);
  program.unit.define_all();
}

// All operators that the archive's code calls and that do not exist, in the order of their first use.
std::vector<script::MissingOperator> find_missing(const Records& records, const ArchivePlaces& places,
                                                  const script::ProgramState& program) {
  std::vector<script::MissingOperator> missing;
  std::unordered_set<std::string> names;
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string qualifier = qualifier_of(records, places, record);
    if (qualifier.empty()) continue;
    try {
      const SourcePtr source = program.load(qualifier);
      if (!source) continue;  // "a.b.py" is not a record of any qualifier: that of a.b is "a/b.py"
      const auto tree = syntax::parse(source, syntax::Dialect::archive);
      for (script::MissingOperator& found : script::missing_operators(*tree)) {
        if (names.insert(found.name).second) missing.push_back(std::move(found));
      }
    } catch (const CompileError&) {
      // A file that cannot be read is another problem than the one that is looked for.
    }
  }
  return missing;
}

// Names all classes of C++ that the code needs and that nobody has registered; does nothing when there are none.
void refuse_missing_classes(const Records& records, const ArchivePlaces& places, const script::ProgramState& program) {
  std::vector<script::MissingClass> missing;
  for (const ZipReader::Record& record : records.zip().records()) {
    const std::string qualifier = qualifier_of(records, places, record);
    if (qualifier.empty()) continue;
    try {
      if (const SourcePtr source = program.load(qualifier))
        script::add_missing_classes(*syntax::parse(source, syntax::Dialect::archive), missing);
    } catch (const CompileError&) {
      // As above.
    }
  }
  if (missing.empty()) return;
  std::string text;
  for (const script::MissingClass& c : missing) {
    text += (text.empty() ? "" : "; ") + c.name.substr(sizeof("__torch__.") - 1) + " (the file calls ";
    for (size_t i = 0; i < c.methods.size(); ++i) text += (i ? ", " : "") + c.methods[i];
    text += c.methods.empty() ? "none of its methods)" : ")";
  }
  fail_as(ErrorKind::not_implemented, "{}: needs classes of C++ that are not registered: {}", records.name(), text);
}

// The message of a call that is reached, whichever it is; the first call of this notes them all.
script::MissingMessage missing_message(const Records& records, const ArchivePlaces& places,
                                       const script::ProgramState& program, std::vector<std::string>& names) {
  return [&](const std::string& called) {
    if (names.empty()) {
      for (const script::MissingOperator& m : find_missing(records, places, program)) names.push_back(m.name);
    }
    if (std::find(names.begin(), names.end(), called) == names.end()) names.push_back(called);
    return missing_text(records.name(), called, names);
  };
}

}  // namespace

Archive load_archive(const std::string& path) { return load_archive(FileBytes::map(path)); }

Archive load_archive(FileBytesPtr file, const LoadOptions& options) {
  return load_archive_at(std::make_shared<const Records>(std::move(file)), ArchivePlaces(), options);
}

Archive load_archive_at(const std::shared_ptr<const Records>& records, const ArchivePlaces& places,
                        const LoadOptions& options) {
  const BudgetScope scope(load_budget(*records->zip().file(), options.limits));
  Archive archive;
  archive.version = records->version();
  records->check_byte_order();
  SCONCE_CHECK(records->find(places.constants), "{}: is no TorchScript archive: it has no record '{}'", records->name(),
               places.constants);
  archive.extra_files = extra_files(*records);

  const auto program = std::make_shared<script::ProgramState>();
  archive.unit = std::shared_ptr<ir::CompilationUnit>(program, &program->unit);
  program->archive_version = archive.version;
  program->load = [records, code = places.code](std::string_view qualifier) -> SourcePtr {
    const std::string name = code_record(qualifier), place = code + name;
    const ZipReader::Record* record = records->find(place);
    if (!record) return nullptr;
    std::shared_ptr<const SourceMap> map;
    if (const ZipReader::Record* ranges = records->find(place + ".debug_pkl")) {
      map = read_source_map([records, ranges] { return records->zip().read(*ranges); });
    }
    return std::make_shared<Source>(name, records->zip().read(*record), 1, std::move(map));
  };
  if (!options.strict)
    program->missing_message = missing_message(*records, places, *program, archive.missing_operators);
  try {
    read_objects(*records, places, *program, options, archive);
  } catch (const Error& error) {
    // One message should name everything that is missing, not the first call that failed.
    refuse_missing_classes(*records, places, *program);
    if (options.strict && dynamic_cast<const CompileError*>(&error))
      script::refuse_missing(find_missing(*records, places, *program), records->name());
    throw;
  }
  program->missing_message = nullptr;
  program->load = nullptr;
  return archive;
}

}  // namespace sconce
