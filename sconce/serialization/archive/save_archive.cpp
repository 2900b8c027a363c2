#include "sconce/serialization/archive/save_archive.h"

#include <unordered_map>
#include <unordered_set>

#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/code/code_printer.h"
#include "sconce/serialization/code/code_record.h"
#include "sconce/serialization/code/source_map_writer.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/pickle/pickle_writer.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

constexpr int kDottedVersion = 6;           // from here on, the version's record is `.data/version`
constexpr size_t kSmallestToDeflate = 200;  // as PyTorch does

// The results of __getstate__ for the objects that have one. Each is called once: it may make new objects.
class States {
 public:
  std::optional<Value> operator()(const Value& object) {
    const auto found = states_.find(object.counted());
    if (found != states_.end()) return found->second.second;
    std::optional<Value> state;
    const TypePtr type = object.to_object().type();
    ir::Function* get = ir::find_method(type, "__getstate__");
    if (get && ir::find_method(type, "__setstate__")) {
      Value args[] = {object};
      state = runtime::run(*get, args);
    }
    states_.emplace(object.counted(), std::make_pair(object, state));
    return state;
  }

 private:
  std::unordered_map<const void*, std::pair<Value, std::optional<Value>>> states_;
};

// The named types of a value and of everything in it, in the order in which they are met.
class UsedTypes {
 public:
  explicit UsedTypes(States& states) : states_(states) {}

  void visit(const Value& v) {
    if (v.tag() < Tag::tensor || v.is_tensor() || v.is_string() || v.is_complex()) return;
    if (!seen_.insert(v.counted()).second) return;
    switch (v.tag()) {
      case Tag::list: {
        const List& list = v.to_list();
        add(list.element_type());
        if (list.is_ints() || list.is_doubles() || list.is_bools() || list.is_tensors()) return;
        for (size_t i = 0; i < list.size(); ++i) visit(list.get(i));
        return;
      }
      case Tag::dict:
        add(v.to_dict().key_type());
        add(v.to_dict().value_type());
        return v.to_dict().for_each([this](const Value& key, const Value& value) {
          visit(key);
          visit(value);
        });
      case Tag::tuple:
        if (v.to_tuple().named_type) add(v.to_tuple().named_type);
        for (const Value& item : v.to_tuple().items) visit(item);
        return;
      case Tag::enum_:
        return add(v.to_enum().type);
      case Tag::object: {
        const TypePtr type = v.to_object().type();
        add(type);
        if (const std::optional<Value> state = states_(v)) return visit(*state);
        for (size_t i = 0; i < type->class_info()->attributes.size(); ++i) visit(v.to_object().slot(i));
        return;
      }
      default:
        return;
    }
  }
  std::vector<TypePtr> take() { return std::move(types_); }

 private:
  void add(TypePtr type) {
    const bool is_named = type->is(TypeKind::class_) || type->is(TypeKind::enum_) || type->is(TypeKind::interface) ||
                          (type->is(TypeKind::tuple) && !type->fields().empty());
    if (is_named && added_.insert(type).second) types_.push_back(type);
    if (!type->is(TypeKind::class_)) {
      for (const TypePtr part : type->contained()) add(part);
    }
  }

  States& states_;
  std::unordered_set<const void*> seen_;
  std::unordered_set<TypePtr> added_;
  std::vector<TypePtr> types_;
};

void add_storages(ZipWriter& zip, const std::string& folder, const StorageTable& table) {
  for (const auto& [key, bytes] : table.storages()) {
    zip.add(folder + key, {static_cast<const std::byte*>(bytes.data()), static_cast<size_t>(bytes.numel())});
  }
}

// The result of f; its errors begin with the file's name.
template <class F>
auto naming(const std::string& path, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    fail_as(error.kind(), "{}: cannot be saved: {}", path, error.message());
  }
}

void write_archive(const Value& module, FileWriter& out, const std::string& path, const SaveOptions& options) {
  States states;
  const auto pickled = [&](const Value& v, StorageTable& storages, const char* record) {
    PickleOptions how;
    how.state_of = [&](const Value& object) { return states(object); };
    how.name = path + ": " + record;
    return write_pickle(v, storages, how);
  };
  UsedTypes types(states);
  types.visit(module);
  const PrintedCode code = naming(path, [&] { return print_code(types.take()); });
  StorageTable data, constants(options.lite ? ".storage" : "");
  const std::string data_pickle = pickled(module, data, "data.pkl");
  const std::string constant_pickle = pickled(make_ref<Tuple>(code.constants), constants, "constants.pkl");

  ZipWriter zip(out, archive_folder(path));
  for (const auto& [name, content] : options.extra_files) zip.add("extra/" + name, content);
  add_storages(zip, "data/", data);
  zip.add("data.pkl", data_pickle);
  SourceMapWriter ranges;
  for (const PrintedFile& file : code.files) {
    const std::string record = code_record(file.qualifier), places = ranges.write(file);
    zip.add(record, file.text, options.deflate && file.text.size() > kSmallestToDeflate);
    zip.add(record + ".debug_pkl", places, options.deflate && places.size() > kSmallestToDeflate);
  }
  LiteRecords lite;
  if (options.lite) lite = naming(path, [&] { return write_lite_records(module, constants, ranges); });
  add_storages(zip, "constants/", constants);
  zip.add("constants.pkl", constant_pickle);
  if (options.lite) {
    zip.add("bytecode.pkl", lite.bytecode);
    zip.add("mobile_debug_handles.pkl", lite.debug_handles);
    zip.add("callstack_debug_map.pkl", lite.debug_places);
    if (!lite.debug_ranges.empty()) zip.add("bytecode.debug_pkl", lite.debug_ranges);
  }
  zip.add(code.version >= kDottedVersion ? ".data/version" : "version", std::to_string(code.version) + "\n");
  zip.add("byteorder", "little");
  zip.finish();
}

}  // namespace

void save_archive(const Value& module, const std::string& path, const SaveOptions& options) {
  SCONCE_CHECK(module.is_object(), "{}: only modules can be saved in an archive, got a value of type {}", path,
               module.type()->annotation());
  // Opened first: a failure should not wait for the code to be printed.
  FileWriter out(path);
  write_archive(module, out, path, options);
  out.commit();
}

}  // namespace sconce
