// Reads pickles as data: a closed list of opcodes and constructors, and nothing is ever called. What a pickle may refer
// to outside of itself (classes of a program, storages of tensors) comes from a PickleContext.
//
// Tuples, numbers, texts, None become Values of their own; lists and dicts become List[Any] and Dict[Any, Any] unless
// the pickle says their types (restore_type_tag, build_intlist, ...); sets become lists, bytes become texts,
// integers of more than 64 bits texts of their digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sconce/types/value.h"

namespace sconce {

// Limits against hostile files; each has a clear error and a test.
inline constexpr int kMaxPickleDepth = 1000;         // of containers in containers
inline constexpr size_t kMaxPickleItems = 1u << 26;  // on the stack and in the memo
inline constexpr size_t kMaxPickleLong = 255;        // bytes of an integer
// A pickle may use a value several times, also inside of values that it uses several times. All in all, what was
// written once may stand for so many values, so that nothing that walks over them takes exponential time:
inline constexpr uint64_t kMaxPickleSharing = 16;         // for every byte of the pickle, and
inline constexpr uint64_t kMinPickleSharing = 1'000'000;  // in any case
inline constexpr uint64_t kMaxPickleKeyParts = 100;       // values in a key of a dict

class ValueFitter;

class SCONCE_API PickleContext {
 public:
  PickleContext();
  virtual ~PickleContext();
  // BINPERSID: the storage that ("storage", class, key, location, count) means, as a flat tensor over it. `dtype` is
  // what the class says; nothing for UntypedStorage, whose bytes are counted.
  virtual Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) = 0;
  // The class or enum that GLOBAL "__torch__.m", "K" means. Throws Error when there is none.
  virtual TypePtr find_class(const std::string& qualified_name) = 0;
  // Type tags: "List[__torch__.m.K]".
  virtual TypePtr find_type(std::string_view text) = 0;
  // `v` as a value of the type, for a tag: see value_fit.h. Throws Error when it is none.
  virtual Value fit(const Value& v, TypePtr type);
  // NEWOBJ, then BUILD with `state`: an object of the class.
  virtual Value build(TypePtr class_type, Value state) = 0;
  // REDUCE of a class: the member of the enum that has the value. Throws Error.
  virtual Value member(TypePtr enum_type, const Value& value);

 private:
  std::unique_ptr<ValueFitter> fitter_;
};

// For pickles that are numbers, texts and containers of them: refuses whatever is not.
class SCONCE_API PlainContext final : public PickleContext {
 public:
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override;
  TypePtr find_class(const std::string& qualified_name) override;
  TypePtr find_type(std::string_view text) override;
  Value build(TypePtr class_type, Value state) override;
};

// The value that the pickle in `bytes` is; `name` is what errors call it. With `used`, the pickle may end before the
// bytes do, and `used` gets its length (legacy files hold several). Throws Error.
SCONCE_API Value read_pickle(std::string_view bytes, const std::string& name, PickleContext& context,
                             size_t* used = nullptr);

}  // namespace sconce
