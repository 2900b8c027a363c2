// Pickle reader: reads pickles as data, by a closed list of opcodes and constructors; nothing is ever called.
// References to things outside of the pickle (classes of a program, storages of tensors) go through a PickleContext.
//
// Tuples, numbers, strings, None become Values of their own; lists and dicts become List[Any] and Dict[Any, Any] unless
// the pickle says their types (restore_type_tag, build_intlist, ...); sets become lists, bytes become strings, integers
// of more than 64 bits strings of their digits.
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
// A pickle may use a value several times, also inside of values that it uses several times. The number of values,
// shared ones counted as often as they are used, is limited, so that no walk takes exponential time:
inline constexpr uint64_t kMaxPickleSharing = 16;         // for every byte of the pickle, and
inline constexpr uint64_t kMinPickleSharing = 1'000'000;  // in any case
inline constexpr uint64_t kMaxPickleKeyParts = 100;       // values in a key of a dict

class ValueFitter;

class SCONCE_API PickleContext {
 public:
  PickleContext();
  virtual ~PickleContext();
  // BINPERSID: the storage that ("storage", class, key, location, count) means, as a flat tensor over it. `dtype` is
  // that of the class; nothing for UntypedStorage, whose bytes are counted.
  virtual Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) = 0;
  // The class or enum that GLOBAL "__torch__.m", "K" means. Throws Error when there is none.
  virtual TypePtr find_class(const std::string& qualified_name) = 0;
  // Type tags: "List[__torch__.m.K]".
  virtual TypePtr find_type(std::string_view text) = 0;
  // `v` as a value of the type, for a tag: see value_fit.h. Throws Error when it does not fit.
  virtual Value fit(const Value& v, TypePtr type);
  // NEWOBJ, then BUILD with `state`: an object of the class.
  virtual Value build(TypePtr class_type, Value state) = 0;
#ifdef SCONCE_SMALL  // lite archives have no classes but their own
  static constexpr bool keeps_opaque() { return false; }
#else
  // Whether objects of unknown classes become records (opaque_objects.h); otherwise they are an error.
  virtual bool keeps_opaque() const { return false; }
  // BINPERSID of a torch.package: ("reduce_package", id, function, arguments). An opaque object, unless the context
  // knows the function.
  virtual Value packaged(const std::string& function, const Value& arguments);
#endif
  // Whether values may be shared without limit: for readers that look at a shared part once.
  virtual bool shares_freely() const { return false; }
  // REDUCE of a class: the member of the enum that has the value. Throws Error.
  virtual Value member(TypePtr enum_type, const Value& value);

 private:
  std::unique_ptr<ValueFitter> fitter_;
};

// For pickles that are numbers, strings and containers of them: refuses everything else.
class SCONCE_API PlainContext : public PickleContext {
 public:
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override;
  TypePtr find_class(const std::string& qualified_name) override;
  TypePtr find_type(std::string_view text) override;
  Value build(TypePtr class_type, Value state) override;
};

// The value that the pickle in `bytes` is; `name` is its name in errors. With `used`, the pickle may end before the
// bytes do, and `used` gets its length (legacy files hold several). Throws Error.
SCONCE_API Value read_pickle(std::string_view bytes, const std::string& name, PickleContext& context,
                             size_t* used = nullptr);

}  // namespace sconce
