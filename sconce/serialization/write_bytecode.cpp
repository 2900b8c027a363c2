#include <unordered_set>

#include "sconce/serialization/lite.h"
#include "sconce/serialization/lite_compile.h"
#include "sconce/serialization/pickle_writer.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

// The classes of a module and of all that it holds, in the order in which they are met.
class Classes {
 public:
  explicit Classes(const Value& root) { visit(root, 0); }
  const std::vector<TypePtr>& all() const { return all_; }

 private:
  static constexpr int kMostDepth = 1000;
  void visit(const Value& v, int depth) {
    if (depth > kMostDepth) return;  // pickling it fails with the reason
    if (v.is_object()) {
      if (!seen_.insert(v.counted()).second) return;
      const TypePtr type = v.to_object().type();
      if (known_.insert(type).second) all_.push_back(type);
      for (size_t i = 0; i < type->class_info()->attributes.size(); ++i) visit(v.to_object().slot(i), depth + 1);
    } else if (v.is_list() && v.to_list().element_type()->is(TypeKind::class_)) {
      for (const Value& item : v.to_list().values()) visit(item, depth + 1);
    } else if (v.is_dict()) {
      v.to_dict().for_each([&](const Value&, const Value& item) { visit(item, depth + 1); });
    } else if (v.is_tuple()) {
      for (const Value& item : v.to_tuple().items) visit(item, depth + 1);
    }
  }

  std::vector<TypePtr> all_;
  std::unordered_set<TypePtr> known_;
  std::unordered_set<const void*> seen_;
};

// The module's own methods first, those that restore objects, those that are called by name.
class Collector {
 public:
  explicit Collector(const Value& module) : classes_(module) {
    tables_.version = lite::kWrittenBytecode;
    for (const auto& [name, method] : module.to_object().type()->class_info()->methods) add(*method);
    for (TypePtr type : classes_.all()) {
      if (!ir::find_method(type, "__setstate__")) continue;
      add(*ir::find_method(type, "__setstate__"));
      if (ir::Function* get_state = ir::find_method(type, "__getstate__")) add(*get_state);
    }
    for (size_t i = 0; i < called_.size(); ++i) {  // it grows
      const std::string name = called_[i];
      if (!names_.insert(name).second) continue;
      for (TypePtr type : classes_.all()) {
        if (ir::Function* method = ir::find_method(type, name)) add(*method);
      }
    }
  }
  lite::Tables tables() && { return std::move(tables_); }

 private:
  void add(ir::Function& method) {
    if (added_.insert(&method).second) tables_.methods.push_back(lite::compile_method(method, called_));
  }

  Classes classes_;
  lite::Tables tables_;
  lite::CalledMethods called_;
  std::unordered_set<std::string> names_;
  std::unordered_set<const ir::Function*> added_;
};

}  // namespace

std::string write_bytecode(const Value& module, StorageTable& storages) {
  PickleOptions options;
  options.name = "bytecode.pkl";
  return write_pickle(lite::pickle_of(Collector(module).tables()), storages, options);
}

}  // namespace sconce
