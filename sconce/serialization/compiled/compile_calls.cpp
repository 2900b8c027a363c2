#include "sconce/serialization/compiled/compile_calls.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "sconce/base/error.h"
#include "sconce/codegen/device_maker.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/probe.h"
#include "sconce/executor/record_call.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

using namespace compiled;
using namespace executor;

// A copy in which no two tensors share memory, so that a tape does not rely on those that did.
Value copied(const Value& v) {
  switch (v.tag()) {
    case Tag::tensor:
      return call_op("aten::clone", {v})[0];
    case Tag::list: {
      auto list = make_ref<List>(v.to_list().element_type());
      for (const Value& item : v.to_list().values()) list->append(copied(item));
      return Value(std::move(list));
    }
    case Tag::tuple: {
      std::vector<Value> items;
      for (const Value& item : v.to_tuple().items) items.push_back(copied(item));
      return Value(make_ref<Tuple>(std::move(items), v.to_tuple().named_type));
    }
    case Tag::dict: {
      auto dict = make_ref<Dict>(v.to_dict().key_type(), v.to_dict().value_type());
      v.to_dict().for_each([&](const Value& key, const Value& item) { dict->set(key, copied(item)); });
      return Value(std::move(dict));
    }
    default:
      return v;
  }
}

// An argument as a tree whose tensors are numbers of inputs, in the order in which the recorder finds them.
Output tree_of(const Value& v, uint32_t& next) {
  Output tree;
  const auto add = [&](const Value& item) { tree.items.push_back(tree_of(item, next)); };
  switch (v.tag()) {
    case Tag::tensor:
      tree.kind = Output::Kind::tensor;
      tree.value = next++;
      return tree;
    case Tag::list:
      tree.kind = Output::Kind::list;
      tree.type = v.to_list().element_type();
      for (const Value& item : v.to_list().values()) add(item);
      return tree;
    case Tag::tuple:
      tree.kind = Output::Kind::tuple;
      tree.type = v.to_tuple().named_type;
      for (const Value& item : v.to_tuple().items) add(item);
      return tree;
    case Tag::dict:
      tree.kind = Output::Kind::dict;
      tree.type = v.to_dict().key_type();
      tree.value_type = v.to_dict().value_type();
      v.to_dict().for_each([&](const Value& key, const Value& item) {
        add(key);
        add(item);
      });
      return tree;
    default:
      tree.kind = Output::Kind::constant;
      tree.constant = v;
      return tree;
  }
}

// Its elements one behind the other, in the host's memory.
Tensor host_elements(const Tensor& t) {
  if (t.device().type == DeviceType::cpu) return call_op("aten::contiguous", {Value(t)})[0].to_tensor();
  const Tensor here = empty_tensor(t.sizes(), t.dtype(), Device());
  copy_tensor(here, t);
  return here;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!same_geometry(a, b) || !(a.device() == b.device())) return false;
  if (a.numel() == 0) return true;
  const Tensor x = host_elements(a), y = host_elements(b);
  return std::memcmp(x.data(), y.data(), static_cast<size_t>(a.numel()) * a.item_size()) == 0;
}

bool same_bits(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  const auto same_items = [](const std::vector<Value>& x, const std::vector<Value>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Value& p, const Value& q) { return same_bits(p, q); });
  };
  switch (a.tag()) {
    case Tag::tensor:
      return same_bits(a.to_tensor(), b.to_tensor());
    case Tag::list:
      return same_items(a.to_list().values(), b.to_list().values());
    case Tag::tuple:
      return same_items(a.to_tuple().items, b.to_tuple().items);
    case Tag::dict: {
      std::vector<Value> x, y;
      a.to_dict().for_each([&](const Value& key, const Value& item) { x.insert(x.end(), {key, item}); });
      b.to_dict().for_each([&](const Value& key, const Value& item) { y.insert(y.end(), {key, item}); });
      return same_items(x, y);
    }
    default:
      return a.repr() == b.repr();
  }
}

// Whether a tape that was read has its tensors where the recorded one has them: in which memory, on which device. The
// reader asks Meta tensors, the recorder the memory itself.
bool same_memory(const Tape& recorded, const Tape& read) {
  std::vector<BlockId> blocks(recorded.blocks.size(), kNone);
  const auto same = [&](ValueId a, ValueId b) {
    if (a == kNone || b == kNone) return a == b;
    const TapeValue &x = recorded.values[a], &y = read.values[b];
    if (blocks[x.block] == kNone) blocks[x.block] = y.block;
    return blocks[x.block] == y.block && x.offset == y.offset && same_geometry(x.twin, y.twin) &&
           x.device.type == y.device.type;
  };
  for (size_t n = 0; n < recorded.nodes.size(); ++n) {
    const TapeNode &x = recorded.nodes[n], &y = read.nodes[n];
    const auto same_use = [&](const TensorUse& p, const TensorUse& q) { return same(p.value, q.value); };
    if (!std::equal(x.uses.begin(), x.uses.end(), y.uses.begin(), y.uses.end(), same_use) ||
        !std::equal(x.results.begin(), x.results.end(), y.results.begin(), y.results.end(), same))
      return false;
  }
  return true;
}

class Names {
 public:
  explicit Names(const Value& module) {
    if (module.is_object()) collect(module.to_object(), "");
  }
  std::string of(const Tensor& t) const {
    const auto found = names_.find(t.data());
    return found == names_.end() ? "" : found->second;
  }

 private:
  void collect(Object& object, const std::string& path) {
    if (!seen_.insert(&object).second) return;
    const auto& attributes = object.type()->class_info()->attributes;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const Value& v = object.slot(i);
      const std::string name = path.empty() ? attributes[i].name : path + "." + attributes[i].name;
      if (v.is_tensor()) names_.emplace(v.to_tensor().data(), name);
      if (v.is_object() && v.to_object().type()->class_info()) collect(v.to_object(), name);
    }
  }
  std::unordered_set<const Object*> seen_;
  std::map<const void*, std::string> names_;
};

// Of the CPU's generator, and of that of a device that plans are made for.
struct RandomState {
  std::vector<uint8_t> host;
  uint64_t drawn = 0;
};

RandomState random_state(Device device) {
  RandomState state;
  if (const codegen::DeviceMaker* maker = codegen::find_device_maker(device.type)) state.drawn = maker->drawn(device);
  GeneratorImpl& g = *default_generator().impl();
  const std::lock_guard lock(g.mutex);
  state.host = g.state();
  return state;
}
void set_random_state(const RandomState& state, Device device) {
  if (const codegen::DeviceMaker* maker = codegen::find_device_maker(device.type))
    maker->set_drawn(device, state.drawn);
  GeneratorImpl& g = *default_generator().impl();
  const std::lock_guard lock(g.mutex);
  g.set_state(state.host);
}

// The device that a tensor of a value is on, the CPU if there is none elsewhere.
Device device_of(const Value& v) {
  Device found;
  const auto look = [&](const Value& item) {
    if (const Device d = device_of(item); d.type != DeviceType::cpu) found = d;
  };
  if (v.is_tensor()) return v.to_tensor().device();
  if (v.is_list() && v.to_list().is_tensors()) {
    for (const Value& item : v.to_list().values()) look(item);
  } else if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) look(item);
  } else if (v.is_dict()) {
    v.to_dict().for_each([&](const Value&, const Value& item) { look(item); });
  }
  return found;
}

// A call with what came of it.
struct Recorded {
  std::vector<Value> args;  // without self
  RandomState random;
  Device device;
  Value result;
};

class Compiler {
 public:
  Compiler(ir::Function& function, const Value& self, const Value& named, const std::string& name)
      : function_(function), self_(self), names_(named) {
    made_.name = name;
    const std::vector<Argument>& arguments = function.schema().arguments;
    made_.arguments.assign(arguments.begin() + (self.is_none() ? 0 : 1), arguments.end());
    made_.result = function.schema().returns.size() == 1 ? function.schema().returns[0].type : none_type();
  }

  void record(const ExampleCall& call) {
    std::vector<Value> args;
    if (!self_.is_none()) args.push_back(self_);
    for (const Value& v : call.args) args.push_back(copied(v));
    std::vector<std::pair<std::string, Value>> kwargs;
    for (const auto& [name, v] : call.kwargs) kwargs.emplace_back(name, copied(v));
    std::vector<Value> bound = runtime::bind_call(function_, std::move(args), std::move(kwargs));
    Recorded recorded;
    recorded.args.assign(bound.begin() + (self_.is_none() ? 0 : 1), bound.end());
    // What the call draws where it is given no tensor of a device.
    if (codegen::find_device_maker(DeviceType::cuda)) recorded.device = resolve_device(DeviceType::cuda);
    for (const Value& v : recorded.args) {
      if (const Device d = device_of(v); d.type != DeviceType::cpu) recorded.device = d;
    }
    recorded.random = random_state(recorded.device);
    RecordedCall run = record_call(function_, bound);
    SCONCE_CHECK_AS(not_implemented, run.tape, "{}() cannot be compiled: {}", made_.name, run.why);
    SCONCE_CHECK_AS(not_implemented, run.guards == 0,
                    "{}() cannot be compiled: it reads {} attributes that it writes elsewhere, so that they are no "
                    "constants",
                    made_.name, run.guards);
    recorded.result = std::move(run.result);
    Program program;
    uint32_t next = 0;
    for (const Value& v : recorded.args) program.args.push_back(tree_of(v, next));
    SCONCE_ASSERT(next == run.tape->inputs.size());
    program.tape = std::move(*run.tape);
    if (const Device device = program.tape.device; device.type != DeviceType::cpu) {
      SCONCE_CHECK_AS(not_implemented, made_.device.type == DeviceType::cpu || made_.device == device,
                      "{}() cannot be compiled: calls are on the devices {} and {}", made_.name,
                      to_string(made_.device), to_string(device));
      SCONCE_CHECK_AS(not_implemented, codegen::find_device_maker(device.type),
                      "{}() cannot be compiled: there are no compiled files for device {}", made_.name,
                      to_string(device));
      made_.device = device;
    }
    for (const TapeBlock& block : program.tape.blocks) {
      if (block.kind != TapeBlock::Kind::constant) continue;
      const bool is_known = std::any_of(made_.constants.begin(), made_.constants.end(),
                                        [&](const NamedConstant& c) { return c.tensor.is_same(block.constant); });
      if (!is_known)
        made_.constants.push_back(
            {names_.of(block.constant), block.constant, block.constant.device().type != DeviceType::cpu});
    }
    const std::string text = signature_text(made_, program);
    for (const Program& other : made_.programs)
      SCONCE_CHECK_AS(value, signature_text(made_, other) != text, "two of the calls have the same arguments, {}",
                      text);
    made_.programs.push_back(std::move(program));
    calls_.push_back(std::move(recorded));
  }

  // Reads what will be written, and runs it.
  CompiledRecords finish(const std::string& path, bool packed) {
    CompiledRecords records = make_records(made_);
    CompiledFunction read = read_records(records, path);
    for (size_t i = 0; i < made_.programs.size(); ++i)
      SCONCE_CHECK_AS(not_implemented, same_memory(made_.programs[i].tape, read.programs[i].tape),
                      "{}() cannot be compiled: an operator has its result in other memory, or on another device, "
                      "than its arguments say",
                      made_.name);
    const Archive archive = make_archive(std::move(read), path, uint64_t{1} << 40);
    ir::Function& method = *ir::find_method(archive.module.to_object().type(), made_.name);
    for (Recorded& call : calls_) {
      set_random_state(call.random, call.device);
      std::vector<Value> args{archive.module};
      for (const Value& v : call.args) args.push_back(v);
      SCONCE_ASSERT(same_bits(runtime::run(method, args), call.result));
    }
    if (packed && made_.device.type == DeviceType::cpu) records.packed = packed_content(records.data);
    return records;
  }

 private:
  ir::Function& function_;
  Value self_;
  Names names_;
  CompiledFunction made_;
  std::vector<Recorded> calls_;
};

}  // namespace

void compile_to_file(ir::CompilationUnit& unit, const Value& module, const std::string& method,
                     const std::vector<ExampleCall>& calls, const std::string& path,
                     const CompiledFileOptions& options) {
  SCONCE_CHECK_AS(value, !calls.empty(), "{}: needs the arguments of at least one call to compile for", path);
  const NoGrad without_gradients;
  Value frozen;
  ir::Function* function = nullptr;
  if (module.is_none()) {
    function = unit.find_function(method);
    SCONCE_CHECK(function, "{}: there is no function '{}'", path, method);
  } else {
    const ClassInfo& info = *module.to_object().type()->class_info();
    SCONCE_CHECK_AS(not_implemented, info.forward_pre_hooks.empty() && info.forward_hooks.empty(),
                    "{}: modules with hooks cannot be compiled", path);
    passes::FreezeOptions freezing;
    freezing.fold_numerics = false;  // the file shall have the program's bits
    if (method != "forward") freezing.preserved = {method};
    frozen = passes::freeze(unit, module, freezing);
    function = ir::find_method(frozen.to_object().type(), method);
    SCONCE_CHECK(function, "{}: the module has no method '{}'", path, method);
  }
  Compiler compiler(*function, frozen, module, std::string(function->short_name()));
  for (const ExampleCall& call : calls) compiler.record(call);
  write_compiled(path, compiler.finish(path, options.packed_weights));
}

}  // namespace sconce
