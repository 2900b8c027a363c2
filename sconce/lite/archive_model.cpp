// Models of lite archives: methods as stack code (Note [Stack code]).
#include <cstring>
#include <utility>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/archive_pickle.h"
#include "sconce/lite/archive_types.h"
#include "sconce/lite/lite_model.h"
#include "sconce/lite/selected.h"
#include "sconce/lite/stack_machine.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite_load.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

struct ArchiveModel {
  ArchiveTypes types;  // above what has values of them
  StackProgram program;
  std::unique_ptr<Places> places;
  Value module;
};

class Bytecode final : public MethodBody {
 public:
  Bytecode(std::shared_ptr<ArchiveModel> model, StackMethod& method) : model_(std::move(model)), method_(method) {}
  Value run(std::vector<Value> args) override {
    args.insert(args.begin(), model_->module);
    bind_arguments(method_, args);
    return run_method(model_->program, method_, args, model_->places.get());
  }

 private:
  const std::shared_ptr<ArchiveModel> model_;
  StackMethod& method_;
};

// What pickles of an archive refer to: classes, tensors of its storages.
class ArchiveContext final : public PickleSource {
 public:
  ArchiveContext(ArchiveModel& model, const Records& records, std::string folder, bool trust)
      : model_(model), file_(records.name()), folder_(std::move(folder)), trust_(trust), storages_(records, "") {}

  Value read(const Records& records, const std::string& record) {
    return read_archive_pickle(records.read(record), format_message("{}: {}", {file_, record}), *this);
  }

  // Constants' storages are shared with constants.pkl where the key says so: "0.storage", or, once, "constants/0".
  Tensor storage(const std::string& key, DType dtype, int64_t count) override {
    if (key.starts_with("constants/")) return storages_.find(key, dtype, count);
    return storages_.find((key.ends_with(".storage") ? "constants/" : folder_) + key, dtype, count);
  }
  TypePtr find_class(std::string_view name) override { return model_.types.find_class(name); }
  TypePtr find_type(std::string_view text) override { return model_.types.parse(text); }
  Value build(TypePtr type, Value state) override {
    SCONCE_CHECK(folder_ == "data/", "{}: bytecode.pkl: an object of class '{}' is no constant", file_, type->name());
    if (is_custom_class(type)) return restored(type, std::move(state), nullptr);
    if (StackMethod* m = model_.program.find(type, "__setstate__")) return restored(type, std::move(state), m);
    SCONCE_CHECK(state.is_dict(), "{}: an object of class '{}' has no dict of attributes", file_, type->name());
    return object_of(type, state.to_dict());
  }

 private:
  // A class is what its first object shows; the others must be the same.
  Value object_of(TypePtr type, const Dict& state) {
    std::vector<ClassInfo::Attribute>& attributes = type->class_info()->attributes;
    const bool is_first = !std::exchange(type->class_info()->is_module, true);  // which marks those that are known
    std::vector<Value> values;
    bool same = true;
    state.for_each([&](const Value& key, const Value& v) {
      SCONCE_CHECK(key.is_string(), "{}: an attribute of class '{}' has no name", file_, type->name());
      if (is_first) attributes.push_back({key.to_string_ref(), v.is_none() ? any_type() : v.type()});
      same = same && values.size() < attributes.size() && attributes[values.size()].name == key.to_string_ref();
      values.push_back(v);
    });
    SCONCE_CHECK(same && values.size() == attributes.size(), "{}: two objects of class '{}' have different attributes",
                 file_, type->name());
    Ref<Object> object = make_ref<Object>(type);
    for (size_t i = 0; i < values.size(); ++i) object->set_slot(i, std::move(values[i]));
    return object;
  }
  // By __setstate__ of the archive, or of a class of C++.
  Value restored(TypePtr type, Value state, StackMethod* set_state) {
    restored_slots_ += type->class_info()->attributes.size() + 1;
    SCONCE_CHECK(restored_slots_ <= kMaxRestoredSlots, "{}: __setstate__ makes more than {} attributes", file_,
                 kMaxRestoredSlots);
    Value args[] = {make_ref<Object>(type), std::move(state)};
    const Value object = args[0];
    const BudgetScope scope(setstate_budget(file_, trust_));
    if (set_state)
      run_method(model_.program, *set_state, args, model_.places.get(), kMaxSetStateDepth);
    else
      custom_classes->restore(type, std::span<Value>(args));
    return object;
  }

  ArchiveModel& model_;
  const std::string file_, folder_;
  const bool trust_;
  Storages storages_;
  size_t restored_slots_ = 0;
};

// The slots that __setstate__ sets, for classes of which no object shows their attributes.
void define_slots(const StackProgram& program) {
  for (const StackMethod& m : program.methods) {
    if (m.short_name() != "__setstate__") continue;
    int32_t last = -1;
    for (const Instruction& i : m.code) {
      if (i.op == Opcode::set_attr) last = std::max(last, i.x);
    }
    for (int32_t i = 0; i <= last; ++i) m.self->class_info()->attributes.push_back({std::to_string(i), any_type()});
  }
}

}  // namespace

void read_lite_archive(Model& model, const FileBytesPtr& file, bool trust) {
  const std::span<const std::byte> bytes = file->bytes();
  SCONCE_CHECK_AS(not_implemented, bytes.size() < 8 || std::memcmp(bytes.data() + 4, "PTMF", 4) != 0,
                  "{}: lite archives in a flatbuffer (PTMF) are not supported; those in a zip file, which "
                  "_save_for_lite_interpreter writes, are",
                  file->name());
  const Records records(file);
  const BudgetScope scope(load_budget(*file, {}));
  auto archive = std::make_shared<ArchiveModel>();
  {
    ArchiveContext constants(*archive, records, "bytecode/", trust);
    const Value bytecode = constants.read(records, "bytecode.pkl");
    read_program(bytecode, file->name(), records.version(), archive->types, archive->program);
  }
  if (places_reader) archive->places = places_reader(records, archive->program);
  define_slots(archive->program);
  archive->module = ArchiveContext(*archive, records, "data/", trust).read(records, "data.pkl");
  SCONCE_CHECK(archive->module.is_object(), "{}: data.pkl is not an object", file->name());
  const TypePtr type = archive->module.to_object().type();
  const auto add = [&](StackMethod& m) {
    model.add(std::string(m.short_name()), m.signature(1), std::make_unique<Bytecode>(archive, m));
  };
  StackMethod* forward = archive->program.find(type, "forward");
  if (forward) add(*forward);
  for (StackMethod& m : archive->program.methods) {
    if (&m != forward && m.self == type && m.short_name() != "__setstate__" && m.short_name() != "__getstate__") add(m);
  }
}

}  // namespace sconce::lite
