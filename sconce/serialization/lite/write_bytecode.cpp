// The writer of lite archives: methods to tables, tables to pickles.
#include <unordered_set>

#include "sconce/serialization/code/source_map_writer.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/lite/lite_compile.h"
#include "sconce/serialization/pickle/pickle_writer.h"
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
    for (size_t i = 0; i < compiled_.called.size(); ++i) {  // it grows
      const std::string name = compiled_.called[i];
      if (!names_.insert(name).second) continue;
      for (TypePtr type : classes_.all()) {
        if (ir::Function* method = ir::find_method(type, name)) add(*method);
      }
    }
  }
  const lite::Tables& tables() const { return tables_; }
  const std::vector<lite::WrittenPlace>& places() const { return compiled_.places; }

 private:
  void add(ir::Function& method) {
    if (!method.has_graph()) return;  // of a class of C++, which the reader of the file knows
    if (added_.insert(&method).second) tables_.methods.push_back(lite::compile_method(method, compiled_));
  }

  Classes classes_;
  lite::Tables tables_;
  lite::Compiled compiled_;
  std::unordered_set<std::string> names_;
  std::unordered_set<const ir::Function*> added_;
};

// The numbers of ranges; those that no record has get one of their own.
class Tags {
 public:
  Tags(const std::vector<lite::WrittenPlace>& places, SourceMapWriter& ranges) : ranges_(ranges) {
    for (const lite::WrittenPlace& p : places) {
      need(p.range);
      for (const ir::InlinedCall* c = p.inlined.get(); c; c = c->outer.get()) need(c->call);
    }
    if (!missing_.ranges.empty()) record_ = ranges.write(missing_);
  }
  const std::string& record() const { return record_; }
  Value of(const Range& range) { return ranges_.tag_of(range).value_or(0); }

 private:
  void need(const Range& range) {
    if (!ranges_.tag_of(range)) missing_.ranges.push_back({missing_.ranges.size(), range});
  }
  SourceMapWriter& ranges_;
  PrintedFile missing_;
  std::string record_;
};

Value tuple_of(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }

// Whose method was called: (class, name of the attribute); None for functions and where it is not known.
Value instance_of(const ir::InlinedCall& call) {
  if (call.object.empty()) return {};
  return tuple_of({std::string_view(call.function).substr(0, call.function.rfind('.')),
                   std::string_view(call.object).substr(call.object.rfind('.') + 1)});
}

// From the outside in: (class and instance, tag of the call, the call inside of it, function).
Value stack_of(const ir::InlinedCall* innermost, Tags& tags) {
  Value inner;
  for (const ir::InlinedCall* c = innermost; c; c = c->outer.get()) {
    const std::string_view name = std::string_view(c->function).substr(c->function.rfind('.') + 1);
    inner = tuple_of({instance_of(*c), tags.of(c->call), std::move(inner), name});
  }
  return inner;
}

std::string pickled(const Value& v, StorageTable& storages, const char* name) {
  PickleOptions options;
  options.name = name;
  return write_pickle(v, storages, options);
}

}  // namespace

LiteRecords write_lite_records(const Value& module, StorageTable& storages, SourceMapWriter& ranges) {
  const Collector methods(module);
  Tags tags(methods.places(), ranges);
  std::vector<Value> places;
  for (const lite::WrittenPlace& p : methods.places()) {
    places.push_back(
        tuple_of({static_cast<int64_t>(places.size()), tags.of(p.range), p.kind, stack_of(p.inlined.get(), tags)}));
  }
  StorageTable none;
  return {pickled(lite::pickle_of(methods.tables()), storages, "bytecode.pkl"),
          pickled(lite::handles_of(methods.tables()), none, "mobile_debug_handles.pkl"),
          pickled(tuple_of(std::move(places)), none, "callstack_debug_map.pkl"), tags.record()};
}

}  // namespace sconce
