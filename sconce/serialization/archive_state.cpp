#include "sconce/serialization/archive_state.h"

#include "sconce/serialization/pickle_reader.h"

namespace sconce {
namespace {

class StateContext final : public PickleContext {
 public:
  explicit StateContext(const Records& records) : storages_(records, "data/") {}

  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    return storages_.find(key, dtype, count);
  }
  TypePtr find_class(const std::string&) override { return any_class(); }
  TypePtr find_type(std::string_view text) override {
    return parse_type(text,
                      [](std::string_view name) { return name.starts_with("__torch__") ? any_class() : nullptr; });
  }
  Value build(TypePtr, Value state) override { return state; }
  Value member(TypePtr, const Value& value) override { return value; }

 private:
  static TypePtr any_class() { return class_type("__torch__.AnyClass"); }
  Storages storages_;
};

}  // namespace

Value read_archive_state(const Records& records) {
  records.version();
  records.check_byte_order();
  StateContext context(records);
  return read_pickle(records.read("data.pkl"), records.name() + ": data.pkl", context);
}

}  // namespace sconce
