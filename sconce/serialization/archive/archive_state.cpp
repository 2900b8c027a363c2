#include "sconce/serialization/archive/archive_state.h"

#include <unordered_map>

#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/special_tensors.h"

namespace sconce {
namespace {

class StateContext final : public PickleContext {
 public:
  StateContext(const Records& records, const std::string& storages) : folder_(storages), storages_(records) {}

  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find(folder_, key, dtype, count);
  }
  TypePtr find_class(const std::string&) override { return any_class(); }
  TypePtr find_type(std::string_view text) override {
    return parse_type(text,
                      [](std::string_view name) { return name.starts_with("__torch__") ? any_class() : nullptr; });
  }
  // Objects are dicts here, so no type that speaks of classes could be kept.
  Value fit(const Value& v, TypePtr) override { return v; }
  // Of attributes, tensors and objects count: a list of a module's parameters beside them is not their name.
  Value build(TypePtr, Value state) override {
    Value kept = state;
    if (state.is_dict()) {
      Ref<Dict> attributes = make_ref<Dict>(any_type(), any_type());
      state.to_dict().for_each([&](const Value& name, const Value& v) {
        const bool is_object = (v.is_dict() || v.is_tuple() || v.is_list()) && objects_.contains(v.counted());
        if (v.is_tensor() || is_special_tensor(v) || is_object) attributes->set(name, v);
      });
      kept = std::move(attributes);
    }
    if (kept.is_dict() || kept.is_tuple() || kept.is_list()) objects_.emplace(kept.counted(), kept);
    return kept;
  }
  Value member(TypePtr, const Value& value) override { return value; }

 private:
  static TypePtr any_class() { return class_type("__torch__.AnyClass"); }
  const std::string folder_;
  Storages storages_;
  std::unordered_map<const Counted*, Value> objects_;  // held, so that addresses stay theirs
};

}  // namespace

Value read_archive_state(const Records& records, const std::string& data, const std::string& storages) {
  records.version();
  records.check_byte_order();
  StateContext context(records, storages);
  return read_pickle(records.read(data), records.name() + ": " + data, context);
}

}  // namespace sconce
