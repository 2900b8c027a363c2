// Models of lite archives: methods as stack code (Note [Stack code]).
#include <utility>

#include "sconce/base/text/find_text.h"
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
#include "sconce/types/containers.h"

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

// Slots of a class that no definition describes.
void make_slots(ClassLayout& info, size_t count) {
  std::vector<ClassLayout::Attribute> slots(count);
  for (ClassLayout::Attribute& slot : slots) slot.type = any_type();
  info.attributes.swap(slots);
}

// The slots that __setstate__ sets, for classes of which no object shows their attributes.
void define_slots(const StackProgram& program) {
  for (const StackMethod& m : program.methods) {
    if (m.short_name() != "__setstate__"sv || !m.self->class_layout()->attributes.empty()) continue;
    int32_t last = -1;
    for (const Instruction& i : m.code) {
      if (i.op == Opcode::set_attr) last = std::max(last, i.x);
    }
    make_slots(*m.self->class_layout(), static_cast<size_t>(last + 1));
  }
}

// Those of the class, forward first.
void add_methods(Model& model, StackProgram& program, TypePtr type) {
  model.reserve(program.methods.size());
  for (const bool is_forward : {true, false}) {
    size_t number = 0;
    for (const StackMethod& m : program.methods) {
      const std::string_view name = m.short_name();
      if (m.self == type && (name == "forward"sv) == is_forward && name != "__setstate__"sv &&
          name != "__getstate__"sv) {
        const Value signature = m.signature(1);
        program.kept.to_list().append(signature);
        model.add(name, signature.to_string_ref(), number);
      }
      ++number;
    }
  }
}

// `text` names the file and the class.
[[noreturn, gnu::cold, gnu::noinline]] void wrong(const char* text, const Records& records, TypePtr type) {
  refuse(text, records.name().c_str(), type->name().c_str());
}

// A class is what its first object shows; the others must be the same.
Value object_of(TypePtr type, const Dict& state, const Records& records) {
  ClassLayout& info = *type->class_layout();
  const bool is_first = !std::exchange(info.is_module, true);  // which marks those that are known
  if (is_first) make_slots(info, state.size());
  const auto differs = [&] { wrong("%s: two objects of class '%s' have different attributes", records, type); };
  if (state.size() != info.attributes.size()) differs();
  Value made = new_object(type);
  Value* slot = made.to_object().slots();
  ClassLayout::Attribute* attribute = info.attributes.data();
  state.for_each([&](const Value& key, const Value& v) {
    if (!key.is_string()) wrong("%s: an attribute of class '%s' has no name", records, type);
    const std::string& name = key.to_string_ref();
    if (is_first) {
      attribute->name.append(name);
      if (!v.is_none()) attribute->type = v.type();
    }
    if (attribute++->name != name) differs();
    *slot++ = v;
  });
  return made;
}

}  // namespace

// Constants' storages are shared with constants.pkl where the key says so: "0.storage", or, once, "constants/0".
Tensor ArchiveContext::storage(const std::string& key, DType dtype, int64_t count) {
  constexpr std::string_view kConstants = "constants/";
  const std::string_view in = key.ends_with(".storage"sv) ? kConstants : folder;
  return storages.find(key.starts_with(kConstants) ? ""sv : in, key, dtype, count);
}

Value ArchiveContext::build(TypePtr type, Value&& state) {
  if (!has_objects) wrong("%s: bytecode.pkl: an object of class '%s' is no constant", records, type);
  const bool is_custom = is_custom_class(type);
  StackMethod* const set_state = is_custom ? nullptr : program.find(type, "__setstate__"sv);
  if (!set_state && !is_custom) {
    if (!state.is_dict()) wrong("%s: an object of class '%s' has no dict of attributes", records, type);
    return object_of(type, state.to_dict(), records);
  }
  // By __setstate__ of the archive, or of a class of C++.
  restored_slots += type->class_layout()->attributes.size() + 1;
  if (restored_slots > kMaxRestoredSlots)
    refuse("%s: __setstate__ makes more than %zu attributes", records.name().c_str(), kMaxRestoredSlots);
  const CodeOfFile scope;
  Value made = new_object(type);
  Value args[] = {made, std::move(state)};
  if (set_state)
    run_method(program, *set_state, args, places, kMaxSetStateDepth);
  else
    custom_classes->restore(type, std::span<Value>(args));
  return made;
}

void read_lite_archive(Model& model, const Records& records, bool trust) {
  OwnBudget budget(load_limits(records.zip().file()->bytes().size(), {}), "loading <model>");
  if (!trust) budget->allow_loading_only();
  const InsideOperator reader;  // may call what __setstate__ may not
  auto* const archive = new ArchiveModel;
  model.body.reset(archive);
  StackProgram& program = archive->program;
  ArchiveContext context{records, archive->types, program, Storages(records)};
  read_program(read_archive_pickle("bytecode.pkl", context), records.name(), records.version(), archive->types,
               program);
  if (places_reader) archive->places = places_reader(records, program);
  define_slots(program);
  context.folder = "data/";
  context.has_objects = true;
  context.places = archive->places.get();
  archive->module = read_archive_pickle("data.pkl", context);
  if (!archive->module.is_object()) refuse("%s: data.pkl is not an object", records.name().c_str());
  const TypePtr type = archive->module.to_object().type();
  add_methods(model, program, type);
}

}  // namespace sconce::lite
