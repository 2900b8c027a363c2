// Models of lite archives: methods as stack code (Note [Stack code]).
#include <utility>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/budget/pay.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/archive_pickle.h"
#include "sconce/lite/archive_types.h"
#include "sconce/lite/lite_budget.h"
#include "sconce/lite/lite_model.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/lite/stack_machine.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/lite/lite_load.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

using namespace std::string_view_literals;

struct ArchiveModel final : ModelBody {
  Value run(size_t number, std::vector<Value>& args) override {
    StackMethod& method = program.methods[number];
    args[0] = module;
    bind_arguments(method, args);
    return run_method(program, method, args, places.get());
  }

  ArchiveTypes types;  // above what has values of them
  StackProgram program;
  std::unique_ptr<Places> places;
  Value module;
};

constexpr std::string_view kData = "data/";

// What pickles of an archive refer to: classes, tensors of its storages.
class ArchiveContext final : public PickleSource {
 public:
  ArchiveContext(ArchiveModel& model, const Records& records, std::string_view folder)
      : model_(model), file_(records.name()), folder_(folder), storages_(records) {}

  Value read(const Records& records, std::string_view record) {
    return read_archive_pickle(records.read(record), format_message("{}: {}", {file_, record}), *this);
  }

  // Constants' storages are shared with constants.pkl where the key says so: "0.storage", or, once, "constants/0".
  Tensor storage(const std::string& key, DType dtype, int64_t count) override {
    constexpr std::string_view kConstants = "constants/";
    const std::string_view folder = key.ends_with(".storage"sv) ? kConstants : folder_;
    return storages_.find(key.starts_with(kConstants) ? ""sv : folder, key, dtype, count);
  }
  TypePtr find_class(std::string_view name) override { return model_.types.find_class(name); }
  TypePtr find_type(std::string_view text) override { return model_.types.parse(text); }
  Value build(TypePtr type, Value state) override {
    if (folder_ != kData) wrong("%s: bytecode.pkl: an object of class '%s' is no constant", type);
    if (is_custom_class(type)) return restored(type, std::move(state), nullptr);
    if (StackMethod* m = model_.program.find(type, "__setstate__"sv)) return restored(type, std::move(state), m);
    if (!state.is_dict()) wrong("%s: an object of class '%s' has no dict of attributes", type);
    return object_of(type, state.to_dict());
  }

 private:
  // `text` names the file and the class.
  [[noreturn, gnu::cold, gnu::noinline]] void wrong(const char* text, TypePtr type) const {
    refuse(text, file_.c_str(), type->name().c_str());
  }

  // A class is what its first object shows; the others must be the same.
  Value object_of(TypePtr type, const Dict& state) {
    std::vector<ClassLayout::Attribute>& attributes = type->class_layout()->attributes;
    const bool is_first = !std::exchange(type->class_layout()->is_module, true);  // which marks those that are known
    if (is_first) attributes = std::vector<ClassLayout::Attribute>(state.size());
    bool same = state.size() == attributes.size();
    std::vector<Value> values(state.size());
    size_t at = 0;
    state.for_each([&](const Value& key, const Value& v) {
      if (!key.is_string()) wrong("%s: an attribute of class '%s' has no name", type);
      if (is_first) {
        attributes[at].name = key.to_string_ref();
        attributes[at].type = v.is_none() ? any_type() : v.type();
      }
      same = same && attributes[at].name == key.to_string_ref();
      values[at++] = v;
    });
    if (!same) wrong("%s: two objects of class '%s' have different attributes", type);
    Ref<Object> object = make_ref<Object>(type);
    for (size_t i = 0; i < values.size(); ++i) object->set_slot(i, std::move(values[i]));
    return object;
  }
  // By __setstate__ of the archive, or of a class of C++.
  Value restored(TypePtr type, Value state, StackMethod* set_state) {
    restored_slots_ += type->class_layout()->attributes.size() + 1;
    if (restored_slots_ > kMaxRestoredSlots)
      refuse("%s: __setstate__ makes more than %zu attributes", file_.c_str(), kMaxRestoredSlots);
    Value args[] = {make_ref<Object>(type), std::move(state)};
    const Value object = args[0];
    const CodeOfFile scope;
    if (set_state)
      run_method(model_.program, *set_state, args, model_.places.get(), kMaxSetStateDepth);
    else
      custom_classes->restore(type, std::span<Value>(args));
    return object;
  }

  ArchiveModel& model_;
  const std::string& file_;
  const std::string_view folder_;
  Storages storages_;
  size_t restored_slots_ = 0;
};

// The slots that __setstate__ sets, for classes of which no object shows their attributes.
void define_slots(const StackProgram& program) {
  for (const StackMethod& m : program.methods) {
    if (m.short_name() != "__setstate__"sv || !m.self->class_layout()->attributes.empty()) continue;
    int32_t last = -1;
    for (const Instruction& i : m.code) {
      if (i.op == Opcode::set_attr) last = std::max(last, i.x);
    }
    std::vector<ClassLayout::Attribute> attributes(static_cast<size_t>(last + 1));
    for (size_t i = 0; i < attributes.size(); ++i) {
      attributes[i].name = std::to_string(i);
      attributes[i].type = any_type();
    }
    m.self->class_layout()->attributes = std::move(attributes);
  }
}

}  // namespace

void read_lite_archive(Model& model, const Records& records, bool trust) {
  OwnBudget budget(load_limits(records.zip().file()->bytes().size(), {}), "loading <model>");
  if (!trust) budget->allow_loading_only();
  const InsideOperator reader;  // may call what __setstate__ may not
  auto* const archive = new ArchiveModel;
  model.body.reset(archive);
  {
    ArchiveContext constants(*archive, records, "bytecode/"sv);
    const Value bytecode = constants.read(records, "bytecode.pkl"sv);
    read_program(bytecode, records.name(), records.version(), archive->types, archive->program);
  }
  if (places_reader) archive->places = places_reader(records, archive->program);
  define_slots(archive->program);
  archive->module = ArchiveContext(*archive, records, kData).read(records, "data.pkl"sv);
  if (!archive->module.is_object()) refuse("%s: data.pkl is not an object", records.name().c_str());
  const TypePtr type = archive->module.to_object().type();
  for (const bool is_forward : {true, false}) {  // which is the first
    const std::span<StackMethod> methods = archive->program.methods;
    for (size_t i = 0; i < methods.size(); ++i) {
      const std::string_view name = methods[i].short_name();
      if (methods[i].self == type && (name == "forward"sv) == is_forward && name != "__setstate__"sv &&
          name != "__getstate__"sv)
        model.add(name, methods[i].signature(1), i);
    }
  }
}

}  // namespace sconce::lite
