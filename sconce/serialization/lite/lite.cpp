#include "sconce/serialization/lite/lite.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite_debug.h"
#include "sconce/serialization/lite/lite_load.h"
#include "sconce/serialization/lite/lite_translate.h"
#include "sconce/serialization/lite/lite_types.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace lite {
namespace {

// Objects of classes that the file does not define, tensors of its storages.
class Context final : public PickleContext {
 public:
  Context(const Records& records, Types& types, std::string folder, bool has_objects, const LoadOptions& options)
      : has_objects_(has_objects),
        options_(options),
        name_(records.name()),
        types_(types),
        folder_(std::move(folder)),
        storages_(records) {}

  // Constants' storages are shared with constants.pkl where the key says so: "0.storage", or, once, "constants/0".
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    if (key.starts_with("constants/")) return storages_.find({}, key, dtype, count);
    return storages_.find(key.ends_with(".storage") ? "constants/" : folder_, key, dtype, count);
  }
  TypePtr find_class(const std::string& name) override { return types_.find_class(name); }
  TypePtr find_type(std::string_view text) override { return types_.parse(text); }
  Value build(TypePtr type, Value state) override {
    SCONCE_CHECK(has_objects_, "{}: bytecode.pkl: an object of class '{}' is no constant", name_, type->name());
    if (ir::Function* set_state = ir::find_method(type, "__setstate__")) return restored(type, *set_state, state);
    SCONCE_CHECK(state.is_dict(), "{}: an object of class '{}' has no dict of attributes", name_, type->name());
    std::vector<ClassInfo::Attribute> attributes;
    std::vector<Value> values;
    state.to_dict().for_each([&](const Value& key, const Value& v) {
      SCONCE_CHECK(key.is_string(), "{}: an attribute of class '{}' has no name", name_, type->name());
      const auto kind = v.is_tensor() ? ClassInfo::AttributeKind::buffer : ClassInfo::AttributeKind::plain;
      attributes.push_back({key.to_string_ref(), v.is_none() ? any_type() : v.type(), kind});
      values.push_back(v);
    });
    define(type, std::move(attributes));
    Ref<Object> object = make_ref<Object>(type);
    for (size_t i = 0; i < values.size(); ++i) object->set_slot(i, std::move(values[i]));
    return object;
  }

 private:
  // A class is what its first object shows; the others must be the same.
  void define(TypePtr type, std::vector<ClassInfo::Attribute> attributes) {
    ClassInfo& info = *type->class_info();
    if (defined_.insert(type).second) {
      info.attributes = std::move(attributes);
      return;
    }
    bool same = info.attributes.size() == attributes.size();
    for (size_t i = 0; same && i < attributes.size(); ++i) same = info.attributes[i].name == attributes[i].name;
    SCONCE_CHECK(same, "{}: two objects of class '{}' have different attributes", name_, type->name());
  }
  Value restored(TypePtr type, ir::Function& set_state, const Value& state) {
    restored_slots_ += type->class_info()->attributes.size() + 1;
    SCONCE_CHECK(restored_slots_ <= kMaxRestoredSlots, "{}: __setstate__ makes more than {} attributes", name_,
                 kMaxRestoredSlots);
    Ref<Object> object = make_ref<Object>(type);
    if (!options_.run_setstate) return object;
    const BudgetScope scope(setstate_budget(name_, options_.trust));
    const std::vector<Argument>& arguments = set_state.schema().arguments;
    Value args[] = {object, is_custom_class(type) && arguments.size() == 2 ? fit(state, arguments[1].type) : state};
    runtime::RunOptions options;
    options.max_depth = kMaxSetStateDepth;
    runtime::run(set_state, args, options);
    return object;
  }

  const bool has_objects_;
  const LoadOptions& options_;
  const std::string& name_;
  Types& types_;
  const std::string folder_;
  Storages storages_;
  std::unordered_set<TypePtr> defined_;
  size_t restored_slots_ = 0;
};

Schema schema_of(const Method& m, Types& types, const std::string& file) {
  Schema schema;
  schema.name = m.short_name();
  const auto arguments = [&](const std::vector<ArgumentRow>& rows, bool defaults) {
    std::vector<Argument> result;
    for (const ArgumentRow& row : rows) {
      Argument a;
      a.name = row.name;
      try {
        a.type = types.parse_in_schema(row.type);
      } catch (const Error& e) {
        fail("{}: bytecode.pkl: method '{}': argument '{}': {}", file, m.name, row.name, e.message());
      }
      // None is both no default and the default None; only an optional argument can have that.
      if (defaults && (!row.default_value.is_none() || a.type->is(TypeKind::optional))) {
        a.default_value = row.default_value;
      }
      result.push_back(std::move(a));
    }
    return result;
  };
  schema.arguments = arguments(m.arguments, true);
  schema.returns = arguments(m.returns, false);
  return schema;
}

// The slots that __setstate__ sets, for a class of which no object shows its attributes.
void define_slots(const Method& m, TypePtr type) {
  int32_t last = -1;
  for (const Instruction& i : m.instructions) {
    if (i.op == Opcode::set_attr) last = std::max(last, i.x);
  }
  ClassInfo& info = *type->class_info();
  for (int32_t i = 0; i <= last; ++i) info.attributes.push_back({std::to_string(i), any_type()});
}

}  // namespace

void define_methods(const Tables& tables, int archive_version, const std::string& file, ir::CompilationUnit& unit,
                    Types& types, const FindPlace& find_place, bool strict, std::vector<std::string>* missing) {
  TranslateContext context;
  const std::vector<std::vector<Operator>> operators =
      find_operators(tables, archive_version, file, strict ? nullptr : &context.missing);
  context.unit = &unit;
  context.file = file;
  context.find_type = [&](std::string_view text) { return types.parse(text); };
  context.find_place = find_place;
  for (size_t i = 0; i < tables.methods.size(); ++i) {
    const Method& m = tables.methods[i];
    const Verified verified = verify(m, operators[i], file);
    const TypePtr type = types.find_class(m.class_name());
    SCONCE_CHECK(!unit.find_function(m.name), "{}: bytecode.pkl: method '{}' is there twice", file, m.name);
    ir::Function& function = unit.add_function(m.name);
    function.set_self_type(type);
    function.set_schema(schema_of(m, types, file));
    function.set_no_graph("was loaded from lite bytecode");
    std::shared_ptr<runtime::Code> code = translate(m, operators[i], verified, context);
    for (size_t k = 0; k < code->arg_types.size(); ++k) code->arg_types[k] = function.schema().arguments[k].type;
    function.executable([&](ir::Function&) { return std::make_unique<runtime::CodeExecutable>(code); });
    type->class_info()->methods.emplace_back(m.short_name(), &function);
    if (m.short_name() == "__setstate__") define_slots(m, type);
  }
  if (missing) *missing = std::move(context.missing);
}

}  // namespace lite

bool has_bytecode(const Records& records) { return records.find("bytecode.pkl") != nullptr; }

Archive load_lite_archive(const std::string& path) { return load_lite_archive(FileBytes::map(path)); }

std::vector<std::string> lite_operators(const FileBytesPtr& file) {
  const Records records(file);
  const LoadOptions options;
  const BudgetScope scope(load_budget(*file, options.limits));
  ir::CompilationUnit unit;
  lite::Types types(unit, records.name());
  lite::Context constants(records, types, "bytecode/", false, options);
  const lite::Tables tables = lite::read_tables(
      read_pickle(records.read("bytecode.pkl"), records.name() + ": bytecode.pkl", constants), records.name());
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const lite::Method& m : tables.methods) {
    for (const lite::OperatorRow& row : m.operators) add(row.qualified_name());
    for (const lite::Instruction& i : m.instructions) add(lite::opcode_operator(i.op));
  }
  return names;
}

Archive load_lite_archive(FileBytesPtr file, const LoadOptions& options) {
  const std::span<const std::byte> bytes = file->bytes();
  SCONCE_CHECK_AS(not_implemented, bytes.size() < 8 || std::memcmp(bytes.data() + 4, "PTMF", 4) != 0,
                  "{}: lite archives in a flatbuffer (PTMF) are not supported; those in a zip file, which "
                  "_save_for_lite_interpreter writes, are",
                  file->name());
  const Records records(std::move(file));
  SCONCE_CHECK(has_bytecode(records), "{}: is no lite archive: it has no record 'bytecode.pkl'", records.name());
  const BudgetScope scope(load_budget(*records.zip().file(), options.limits));
  Archive archive;
  archive.version = records.version();
  archive.extra_files = extra_files(records);
  archive.unit = std::make_shared<ir::CompilationUnit>();
  lite::Types types(*archive.unit, records.name());
  lite::Context constants(records, types, "bytecode/", false, options);
  lite::Tables tables = lite::read_tables(
      read_pickle(records.read("bytecode.pkl"), records.name() + ": bytecode.pkl", constants), records.name());
  const lite::FindPlace find_place = lite::read_debug_places(records, tables);
  lite::define_methods(tables, archive.version, records.name(), *archive.unit, types, find_place, options.strict,
                       &archive.missing_operators);
  lite::Context data(records, types, "data/", true, options);
  archive.module = read_pickle(records.read("data.pkl"), records.name() + ": data.pkl", data);
  SCONCE_CHECK(archive.module.is_object(), "{}: data.pkl is not an object", records.name());
  return archive;
}

}  // namespace sconce
