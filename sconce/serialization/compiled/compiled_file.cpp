#include "sconce/serialization/compiled/compiled_file.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/entry.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/executor/function_plans.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/serialization/compiled/compiled_graph.h"
#include "sconce/serialization/compiled/program_reader.h"
#include "sconce/serialization/compiled/program_writer.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/tensor/backend.h"
#include "sconce/types/class_info.h"

namespace sconce::compiled {
namespace {

using namespace executor;

// ---- writing ----

// The bytes of a storage that constants use.
struct Span {
  const char *begin = nullptr, *end = nullptr;
};

const char* end_of(const Tensor& t) {
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  const auto* begin = static_cast<const char*>(t.data());
  return t.numel() == 0 ? begin : begin + (last + 1) * static_cast<int64_t>(t.item_size());
}

// ---- reading ----

// What the file is for, of a version that this Sconce reads.
DeviceType device_of(const Records& records) {
  const int version = records.version();
  SCONCE_CHECK(
      version == kVersion || version == kDeviceVersion,
      "{}: is a compiled file of format version {}, this Sconce reads versions {} and {}; compile it anew from "
      "its program",
      records.name(), version, kVersion, kDeviceVersion);
  const ZipReader::Record* record = records.find(kDeviceRecord);
  SCONCE_CHECK((record != nullptr) == (version == kDeviceVersion),
               "{}: has {} record '{}', which belongs to version {}", records.name(), record ? "a" : "no",
               kDeviceRecord, kDeviceVersion);
  if (!record) return DeviceType::cpu;
  constexpr uint64_t kLongest = 32;
  const std::string name = record->size <= kLongest ? records.zip().read(*record) : "a long text";
  SCONCE_CHECK_AS(not_implemented, name == "cuda", "{}: is compiled for device {}, this Sconce knows cpu and cuda",
                  records.name(), string_repr(name));
  return DeviceType::cuda;
}

// Whether the weights that plans pack are no more than a multiple of what the file has: a call of a few bytes can ask
// for a large one, since views may repeat elements.
bool packs_little(const Tape& tape, uint64_t file_bytes) {
  Checked bytes = 0;
  for (const TapeNode& node : tape.nodes) {
    if (!node.op->info.entry || !node.op->info.entry->prepare) continue;
    for (const TensorUse& use : node.uses) {
      if (tape.is_constant(use.value))
        bytes = bytes + Checked(tape.twin(use.value).numel()) * static_cast<int64_t>(tape.twin(use.value).item_size());
    }
  }
  return static_cast<uint64_t>(static_cast<int64_t>(bytes)) <= kLoadBytes + kLoadBytesPerByte * file_bytes;
}

// A tensor of an argument, of which only the geometry and the device are looked at.
Tensor stand_in(const TapeValue& value, bool is_inference) {
  const Tensor& twin = value.twin;
  const Tensor t = make_tensor_unchecked(make_storage(1, value.device), twin.dtype(), twin.sizes(), twin.strides(), 0);
  if (twin.is_wrapped_number()) t.set_wrapped_number();
  if (is_inference) t.impl()->meta |= TensorImpl::inference;
  return t;
}

// Makes the plans, so that the first call runs by one. Where that might take long, the second call makes one, as for
// any other function.
void give_plans(ir::Function& method, const Value& self, CompiledFunction function, const std::string& file,
                uint64_t file_bytes) {
  uint64_t planning = 0;
  for (Program& program : function.programs) {
    std::vector<std::vector<Value>> calls;
    for (const bool is_inference : {false, true}) {
      std::vector<Value>& args = calls.emplace_back(1, self);
      for (const Output& tree : program.args)
        args.push_back(value_of(
            tree, [&](ValueId v) { return stand_in(program.tape.values[program.tape.inputs[v]], is_inference); }));
    }
    const uint64_t nodes = program.tape.nodes.size();
    planning += nodes * nodes;
    const bool is_on_device = program.tape.device.type != DeviceType::cpu;
    if (planning > kMostPlanning || (!is_on_device && !packs_little(program.tape, file_bytes))) continue;
    std::string why;
    const std::shared_ptr<const Plan> plan = make_plan(std::move(program.tape), {}, why);
    SCONCE_CHECK(plan, "{}: {}: {}", file, kCallsRecord, why);
    if (is_on_device) plan->wait();
    for (const std::vector<Value>& args : calls) give_plan(method, args, plan);
  }
}

}  // namespace

void place_on_device(CompiledFunction& function) {
  if (function.device.type == DeviceType::cpu) return;
  function.device = resolve_device(function.device);
  std::map<const Storage*, Ref<Storage>> storages;
  for (NamedConstant& c : function.constants) {
    if (!c.on_device) continue;
    Ref<Storage>& there = storages[c.tensor.storage()];
    if (!there) {
      const Storage& here = *c.tensor.storage();
      there = make_storage(here.nbytes, function.device);
      if (here.nbytes != 0)
        backend_of(function.device).copy_bytes(there->data, function.device, here.data, Device(), here.nbytes);
    }
    const Tensor moved =
        make_tensor(there, c.tensor.dtype(), c.tensor.sizes(), c.tensor.strides(), c.tensor.storage_offset());
    if (c.tensor.is_wrapped_number()) moved.set_wrapped_number();
    c.tensor = moved;
  }
  for (Program& program : function.programs) {
    Tape& tape = program.tape;
    if (tape.device.type != DeviceType::cpu) tape.device = function.device;
    for (TapeValue& v : tape.values) {
      if (v.device.type != DeviceType::cpu) v.device = function.device;
    }
    // Blocks of constants are in the order of constants (program_reader.cpp).
    size_t next = 0;
    for (TapeBlock& block : tape.blocks) {
      if (block.kind == TapeBlock::Kind::constant) block.constant = function.constants[next++].tensor;
    }
    SCONCE_ASSERT(next == function.constants.size());
    for (TapeNode& node : tape.nodes) {
      for (Value& v : node.args) {
        if (v.is_device() && v.to_device().type != DeviceType::cpu) v = Value(function.device);
      }
    }
  }
}

CompiledRecords make_records(const CompiledFunction& function) {
  std::map<const Storage*, size_t> numbers;
  std::vector<Span> spans;
  for (const NamedConstant& c : function.constants) {
    const auto [at, is_new] = numbers.try_emplace(c.tensor.storage(), spans.size());
    const auto* begin = static_cast<const char*>(c.tensor.data());
    if (is_new) spans.push_back({begin, begin});
    Span& span = spans[at->second];
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, end_of(c.tensor));
  }
  std::vector<ConstantPlace> places;
  for (const NamedConstant& c : function.constants) {
    const size_t record = numbers.at(c.tensor.storage());
    const int64_t bytes = static_cast<const char*>(c.tensor.data()) - spans[record].begin;
    const auto item = static_cast<int64_t>(c.tensor.item_size());
    SCONCE_CHECK_AS(not_implemented, bytes % item == 0,
                    "compiled files cannot hold constants of several dtypes that share memory unevenly");
    places.push_back({static_cast<uint32_t>(record), bytes / item});
  }
  CompiledRecords records;
  records.device = function.device.type;
  records.calls = write_function(function, places);
  records.data.resize(spans.size());
  for (const auto& [storage, number] : numbers) {
    const Span& span = spans[number];
    const auto bytes = static_cast<size_t>(span.end - span.begin);
    if (storage->device.type == DeviceType::cpu) {
      records.data[number] = wrap_storage(const_cast<char*>(span.begin), bytes, nullptr, nullptr);
    } else {
      records.data[number] = make_storage(bytes, {});
      if (bytes != 0)
        backend_of(storage->device)
            .copy_bytes(records.data[number]->data, Device(), span.begin, storage->device, bytes);
    }
  }
  return records;
}

CompiledFunction read_records(const CompiledRecords& records, const std::string& file) {
  ByteReader in(records.calls, file + ": " + kCallsRecord, records.device);
  return read_function(in, [&](uint32_t record, DType dtype, IntList sizes, IntList strides, int64_t offset) {
    return make_tensor(records.data.at(record), dtype, sizes, strides, offset);
  });
}

void write_compiled(const std::string& path, const CompiledRecords& records) {
  FileWriter out(path);
  ZipWriter zip(out, archive_folder(path));
  const bool is_for_cpu = records.device == DeviceType::cpu;
  zip.add("version", std::to_string(is_for_cpu ? kVersion : kDeviceVersion) + "\n");
  zip.add("byteorder", "little");
  if (!is_for_cpu) zip.add(kDeviceRecord, to_string(Device{records.device}));
  zip.add(kCallsRecord, records.calls);
  const auto add = [&](const char* folder, size_t number, const void* data, size_t bytes) {
    zip.add(folder + std::to_string(number), std::span(static_cast<const std::byte*>(data), bytes));
  };
  for (size_t i = 0; i < records.data.size(); ++i) add("data/", i, records.data[i]->data, records.data[i]->nbytes);
  if (!records.packed.index.empty()) zip.add(kPackedRecord, records.packed.index);
  for (size_t i = 0; i < records.packed.packed.size(); ++i)
    add("packed/", i, records.packed.packed[i]->data(), records.packed.packed[i]->bytes());
  zip.finish();
  out.commit();
}

CompiledFile::CompiledFile(const FileBytesPtr& file, const Limits& limits) : records_(file) {
  const Records& records = records_;
  const DeviceType device = device_of(records);
  records.check_byte_order();
  // Calls on Meta tensors are paid for by memory and time alone: they do no work for the elements that they speak of.
  Limits given = limits;
  if (given.work == Limits::kNone) given.work = Limits::kNone - 1;
  const BudgetScope scope(load_budget(*file, given));
  const ZipReader::Record* calls = records.find(kCallsRecord);
  SCONCE_CHECK(calls, "{}: is no compiled file: it has no record '{}'", records.name(), kCallsRecord);
  const std::string copy = calls->deflated ? records.zip().read(*calls) : std::string();
  const std::span<const std::byte> bytes =
      calls->deflated ? std::as_bytes(std::span(copy)) : records.zip().in_place(*calls);
  ByteReader in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, records.name() + ": " + kCallsRecord,
                device);
  Storages storages(records);
  function = read_function(in, [&](uint32_t record, DType dtype, IntList sizes, IntList strides, int64_t offset) {
    const std::string name = std::to_string(record);
    const ZipReader::Record* data = records.find("data/" + name);
    const auto count = static_cast<int64_t>((data ? data->size : 0) / item_size(dtype));
    const Tensor whole = storages.find("data/", name, dtype, count);
    storages_[record] = Ref<Storage>::share(whole.storage());
    return make_tensor(Ref<Storage>::share(whole.storage()), dtype, sizes, strides, offset);
  });
}

Ref<Storage> CompiledFile::storage_of(uint32_t record) const {
  const auto found = storages_.find(record);
  SCONCE_CHECK(found != storages_.end(), "{}: {}: there are packed weights of record {}, which no constant uses",
               records_.name(), kPackedRecord, record);
  return found->second;
}
std::vector<PackedPtr> CompiledFile::adopt_packed() const {
  return compiled::adopt_packed(records_, [&](uint32_t record) { return storage_of(record); });
}
size_t CompiledFile::compare_packed() const {
  return compiled::compare_packed(records_, [&](uint32_t record) { return storage_of(record); });
}

Archive make_archive(CompiledFunction function, const std::string& file, uint64_t bytes) {
  place_on_device(function);
  Archive archive;
  archive.device = function.device;
  archive.version = function.device.type == DeviceType::cpu ? kVersion : kDeviceVersion;
  archive.unit = std::make_shared<ir::CompilationUnit>();
  const TypePtr type = make_class_type("__torch__.Compiled");
  archive.unit->add_type(type);
  type->class_info()->is_module = true;
  archive.module = Value(make_ref<Object>(type));

  ir::Function& method = archive.unit->add_function("__torch__.Compiled." + function.name);
  Schema schema;
  schema.name = method.name();
  schema.arguments.emplace_back();
  schema.arguments[0].name = "self";
  schema.arguments[0].type = type;
  for (const Argument& a : function.arguments) schema.arguments.push_back(a);
  schema.returns.emplace_back();
  schema.returns[0].type = function.result;
  method.set_self_type(type);
  method.set_schema(std::move(schema));
  method.set_graph(make_graph(function, type));
  type->class_info()->methods.emplace_back(function.name, &method);
  // Passes would find nothing that recording has not found.
  std::shared_ptr<runtime::Code> code = runtime::generate(*method.graph(), function.name, archive.unit.get(), true);
  method.executable([&](ir::Function&) { return std::make_unique<runtime::CodeExecutable>(std::move(code)); });
  give_plans(method, archive.module, std::move(function), file, bytes);
  return archive;
}

}  // namespace sconce::compiled

namespace sconce {

using namespace compiled;

Archive load_compiled(const std::string& path) { return load_compiled(FileBytes::map(path)); }

Archive load_compiled(const FileBytesPtr& file, const LoadOptions& options) {
  CompiledFile content(file, options.limits);
  const std::vector<PackedPtr> packed = content.adopt_packed();
  content.function.device.index = content.function.device.type == DeviceType::cpu ? -1 : options.device_index;
  return make_archive(std::move(content.function), file->name(), file->bytes().size());
}

CompiledInfo describe_compiled(const FileBytesPtr& file) {
  const CompiledFunction function = CompiledFile(file).function;
  CompiledInfo info;
  info.device = function.device.type;
  Schema schema;
  schema.name = function.name;
  schema.arguments = function.arguments;
  schema.returns.emplace_back();
  schema.returns[0].type = function.result;
  info.function = schema.to_string();
  for (const NamedConstant& c : function.constants) {
    info.constants.push_back({c.name,
                              c.tensor.dtype(),
                              {c.tensor.sizes().begin(), c.tensor.sizes().end()},
                              static_cast<uint64_t>(c.tensor.numel()) * c.tensor.item_size()});
  }
  for (const Program& program : function.programs) {
    info.signatures.push_back(signature_text(function, program));
    std::vector<std::string>& calls = info.calls.emplace_back();
    for (executor::NodeId n = 0; n < program.tape.nodes.size(); ++n) calls.push_back(program.tape.node_text(n));
    const auto add_once = [](auto& all, auto item) {
      if (std::find(all.begin(), all.end(), item) == all.end()) all.push_back(std::move(item));
    };
    for (const executor::TapeNode& node : program.tape.nodes) add_once(info.operators, node.op->qualified_name());
    for (const executor::TapeValue& v : program.tape.values) add_once(info.dtypes, v.twin.dtype());
  }
  return info;
}

std::string verify_compiled(const FileBytesPtr& file) {
  CompiledFile content(file);
  size_t calls = 0;
  for (const Program& program : content.function.programs) calls += program.tape.nodes.size();
  const size_t constants = content.function.constants.size();
  if (const DeviceType device = content.function.device.type; device != DeviceType::cpu)
    return fmt::format("{} calls, {} constants, for {}", calls, constants, to_string(Device{device}));
  const Archive archive = make_archive(std::move(content.function), file->name(), file->bytes().size());
  return fmt::format("{} calls, {} constants, {} packed weights", calls, constants, content.compare_packed());
}

}  // namespace sconce
