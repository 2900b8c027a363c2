#include <cstdlib>

#include "sconce/serialization/pickle/pickle_reader.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

// A class for every name, storages of a few bytes.
class AnythingGoes final : public PickleContext {
 public:
  Tensor storage(const std::string&, std::optional<DType> dtype, int64_t count) override {
    constexpr int64_t kMost = 64;
    SCONCE_CHECK(count <= kMost, "too large");
    Tensor t = empty_tensor({count}, dtype.value_or(DType::uint8));
    for (size_t i = 0; i < static_cast<size_t>(count) * t.item_size(); ++i) t.data<uint8_t>()[i] = 1;
    return t;
  }
  TypePtr find_class(const std::string&) override { return class_type("__torch__.Anything"); }
  TypePtr find_type(std::string_view text) override {
    // Types live as long as the process: a few texts are enough.
    SCONCE_CHECK(text.size() < 24, "too long");
    return parse_type(text, [](std::string_view) { return class_type("__torch__.Anything"); });
  }
  Value build(TypePtr, Value state) override { return state; }
};

}  // namespace

void pickle(std::string_view bytes) {
  AnythingGoes context;
  try {
    const Value v = read_pickle(bytes, "pickle", context);
    v.repr();  // walks over all of it
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
