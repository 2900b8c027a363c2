#include "sconce/serialization/compiled/program_reader.h"

#include <algorithm>
#include <unordered_map>

#include "sconce/base/checked.h"
#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/probe.h"
#include "sconce/executor/signature.h"
#include "sconce/kernels/boxed/call_signature.h"
#include "sconce/serialization/compiled/program_format.h"
#include "sconce/serialization/compiled/program_values.h"
#include "sconce/serialization/pickle/value_fit.h"
#include "sconce/tensor/generator.h"

namespace sconce::compiled {
namespace {

using namespace executor;

struct Geometry {
  DType dtype{};
  bool wrapped = false, on_device = false;
  Dims sizes, strides;

  Tensor twin() const {
    const Tensor t = empty_strided_tensor(sizes, strides, dtype, Device{DeviceType::meta});
    if (wrapped) t.set_wrapped_number();
    return t;
  }
};

Geometry read_geometry(ByteReader& in) {
  Geometry g;
  g.dtype = dtype_from_number(in.byte());
  SCONCE_CHECK(!is_uncommon(g.dtype), "{}: tensors of {} cannot be in compiled files", in.name(), dtype_name(g.dtype));
  const uint8_t flags = in.flags(in.device() == DeviceType::cpu ? kWrapped : kWrapped | kOnDevice);
  g.wrapped = (flags & kWrapped) != 0;
  g.on_device = (flags & kOnDevice) != 0;
  const uint8_t rank = in.byte();
  SCONCE_CHECK(rank <= TensorImpl::kInlineRank, "{}: a tensor has {} dimensions, at most {} are possible", in.name(),
               rank, TensorImpl::kInlineRank);
  SCONCE_CHECK(!g.wrapped || rank == 0, "{}: a tensor of {} dimensions stands for a number", in.name(), rank);
  for (int i = 0; i < rank; ++i) g.sizes.push_back(in.integer());
  for (int i = 0; i < rank; ++i) g.strides.push_back(in.integer());
  for (int i = 0; i < rank; ++i)
    SCONCE_CHECK(g.sizes[i] >= 0 && g.strides[i] >= 0, "{}: a tensor has size {} and stride {}", in.name(), g.sizes[i],
                 g.strides[i]);
  return g;
}

// From the first element to behind the last one.
int64_t extent_bytes(const Tensor& t) {
  if (t.numel() == 0) return 0;
  Checked last = 1;
  for (int64_t d = 0; d < t.dim(); ++d) last = last + Checked(t.sizes()[d] - 1) * Checked(t.strides()[d]);
  return last * Checked(static_cast<int64_t>(t.item_size()));
}

bool is_plain_meta(const Tensor& t) {
  constexpr KeySet kPlain{Key::meta, Key::view, Key::autograd};
  return (t.keys() - kPlain).empty() && t.is_meta() && t.dim() <= TensorImpl::kInlineRank && !t.requires_grad();
}

TypePtr without_optional(TypePtr type) { return type->is(TypeKind::optional) ? type->element() : type; }
bool is_tensor_list(TypePtr type) {
  return type->is(TypeKind::list) && without_optional(type->element())->is(TypeKind::tensor);
}

// An operator that a tape may call: it makes tensors, out of its arguments alone.
void check_operator(const Op& op, const std::string& file) {
  const Schema& schema = op.schema();
  SCONCE_CHECK(!is_hidden(op), "{}: {} {}", file, op.qualified_name(), kHidden);
  const bool makes_tensors = !schema.returns.empty() && schema.returns.size() <= kMostReturns &&
                             std::all_of(schema.returns.begin(), schema.returns.end(), [](const Argument& r) {
                               return without_optional(r.type)->is(TypeKind::tensor) || is_tensor_list(r.type);
                             });
  SCONCE_CHECK(makes_tensors && !schema.is_vararg && !schema.is_varret, "{}: {} does not make tensors alone", file,
               op.qualified_name());
  SCONCE_CHECK(!op.has(Trait::runs_backward) && !op.has(Trait::asks_autograd),
               "{}: {} depends on more than its arguments", file, op.qualified_name());
}

class TapeReader {
 public:
  TapeReader(ByteReader& in, const CompiledFunction& function, const std::vector<const Op*>& ops)
      : in_(in), function_(function), ops_(ops) {}

  Program read() {
    Program program;
    tape_.check_results = true;
    const uint32_t inputs = in_.count("inputs", kMaxInputs, 3);
    for (uint32_t i = 0; i < inputs; ++i) {
      const Geometry g = read_geometry(in_);
      tape_.inputs.push_back(add_block(g, {}, device_for(g.on_device)));
    }
    for (const NamedConstant& c : function_.constants) {
      const auto block = static_cast<BlockId>(tape_.blocks.size());
      const auto value = static_cast<ValueId>(tape_.values.size());
      tape_.values.push_back({Tape::twin_of(c.tensor), block, 0, device_for(c.on_device)});
      tape_.blocks.push_back({TapeBlock::Kind::constant, value, kNone, c.tensor});
    }
    uint32_t next_input = 0;
    for (size_t i = 0; i < function_.arguments.size(); ++i) {
      program.args.push_back(read_tree([&](uint32_t v) {
        SCONCE_CHECK(v == next_input && v < inputs, "{}: input {} stands where {} belongs", in_.name(), v, next_input);
        ++next_input;
      }));
      check_type(program.args.back(), function_.arguments[i].type);
    }
    SCONCE_CHECK(next_input == inputs, "{}: {} of {} inputs belong to no argument", in_.name(), inputs - next_input,
                 inputs);
    const uint32_t calls = in_.count("calls", kMaxCalls, 4);
    uint64_t writes = 0;
    for (uint32_t i = 0; i < calls; ++i) {
      read_call();
      writes += !tape_.nodes.back().writes.empty();
    }
    SCONCE_CHECK(writes * calls <= kMaxWrites, "{}: {} of {} calls write in place, which is too many", in_.name(),
                 writes, calls);
    tape_.output = read_tree([&](uint32_t v) { check_value(v); });
    check_type(tape_.output, function_.result);
    program.tape = std::move(tape_);
    return program;
  }

 private:
  std::string where() const { return in_.name() + ": call " + std::to_string(tape_.nodes.size()); }
  void check_value(uint32_t v) const {
    SCONCE_CHECK(v < tape_.values.size(), "{}: tensor {} is used, and {} are there by then", where(), v,
                 tape_.values.size());
  }

  // A tape is of the device once a tensor of it is there.
  Device device_for(bool on_device) {
    if (on_device) tape_.device = function_.device;
    return on_device ? function_.device : Device();
  }
  // Where the results of a call are: on the device that it names, else where its tensors are. Numbers as tensors of the
  // CPU join those of the device.
  bool gives_device_tensors(const TapeNode& node) const {
    for (const Value& v : node.args) {
      if (v.is_device()) return v.to_device().type != DeviceType::cpu;
    }
    return std::any_of(node.uses.begin(), node.uses.end(),
                       [&](const TensorUse& use) { return tape_.values[use.value].device.type != DeviceType::cpu; });
  }

  // A value in memory of its own: an input, or the first result that lies there.
  ValueId add_block(const Geometry& g, const Tensor& made, Device device) {
    const auto block = static_cast<BlockId>(tape_.blocks.size());
    const auto value = static_cast<ValueId>(tape_.values.size());
    Tensor twin = made.defined() ? Tape::twin_of(made) : g.twin();
    bytes_ = bytes_ + Checked(extent_bytes(twin));
    SCONCE_CHECK(bytes_ <= kMaxTensorBytes, "{}: tensors of more than {} bytes", where(), kMaxTensorBytes);
    tape_.values.push_back({std::move(twin), block, 0, device});
    tape_.blocks.push_back({made.defined() ? TapeBlock::Kind::made : TapeBlock::Kind::input,
                            value,
                            made.defined() ? static_cast<NodeId>(tape_.nodes.size()) : kNone,
                            {}});
    return value;
  }

  void read_call() {
    TapeNode node;
    const uint32_t number = in_.number();
    SCONCE_CHECK(number < ops_.size(), "{}: operator {} of {}", where(), number, ops_.size());
    node.op = ops_[number];
    const Schema& schema = node.op->schema();
    bool has_device = false;
    for (uint32_t i = 0; i < schema.arguments.size(); ++i) {
      read_argument(node, i);
      has_device |= without_optional(schema.arguments[i].type)->is(TypeKind::device);
    }
    SCONCE_CHECK(!node.uses.empty() || has_device, "{}: {} is given no tensor and no device", where(),
                 node.op->qualified_name());
    for (const TensorUse& use : node.uses) {
      if (schema.arguments[use.arg].is_written()) node.writes.push_back(use.value);
    }
    for (const ValueId w : node.writes)
      SCONCE_CHECK(tape_.blocks[tape_.block_of(w)].kind == TapeBlock::Kind::made,
                   "{}: {} writes to an argument of the function or to a constant", where(), node.op->qualified_name());
    tape_.draws |= node.op->has(Trait::random);
    MetaTwins twins;
    std::vector<Value> results;
    try {
      call_on_meta(tape_, node, twins, results);
    } catch (const Error& e) {
      fail("{}: {}", where(), e.message());
    }
    for (const auto& [value, twin] : twins)
      SCONCE_CHECK(same_geometry(twin, tape_.twin(value)), "{}: {} changes the sizes of an argument", where(),
                   node.op->qualified_name());
    take_results(node, twins, results);
    tape_.nodes.push_back(std::move(node));
  }

  void read_argument(TapeNode& node, uint32_t arg) {
    const Argument& wanted = node.op->schema().arguments[arg];
    const TypePtr type = without_optional(wanted.type);
    const uint8_t kind = in_.byte();
    const auto check_kind = [&](bool fits, const char* given) {
      SCONCE_CHECK(fits, "{}: argument '{}' of {} is {}, expected {}", where(), wanted.name, node.op->qualified_name(),
                   given, wanted.type->annotation());
    };
    const auto use = [&](uint32_t v, int32_t item) {
      check_value(v);
      node.uses.push_back({arg, item, v});
    };
    if (kind == kTensorArgument) {
      check_kind(type->is(TypeKind::tensor), "a tensor");
      use(in_.number(), -1);
      node.args.emplace_back();
    } else if (kind == kTensorsArgument) {
      check_kind(is_tensor_list(type), "a list of tensors");
      const bool may_lack = type->element()->is(TypeKind::optional);
      auto list = make_ref<List>(optional_type(tensor_type()));
      const uint32_t count = in_.count("tensors", kMaxItems, 4);
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t v = in_.number();
        list->append(Value());
        if (v != kNone) use(v, static_cast<int32_t>(i));
        SCONCE_CHECK(v != kNone || may_lack, "{}: item {} of argument '{}' of {} is missing", where(), i, wanted.name,
                     node.op->qualified_name());
      }
      node.args.emplace_back(std::move(list));
    } else {
      SCONCE_CHECK(kind == kValueArgument, "{}: there is no kind {} of arguments", where(), kind);
      const Value v = read_value(in_);
      check_kind(
          v.is_none() ? wanted.type->is(TypeKind::optional) : !type->is(TypeKind::tensor) && !is_tensor_list(type),
          "a value");
      try {
        node.args.push_back(ValueFitter().fit(v, plain_type(wanted.type)));
      } catch (const Error& e) {
        fail("{}: argument '{}' of {}: {}", where(), wanted.name, node.op->qualified_name(), e.message());
      }
    }
  }

  void take_results(TapeNode& node, const MetaTwins& twins, const std::vector<Value>& results) {
    // Arguments by identity; arguments and results by the memory in which they lie.
    std::unordered_map<const TensorImpl*, ValueId> given;
    std::unordered_map<const Storage*, std::pair<ValueId, Tensor>> places;
    for (const TensorUse& use : node.uses) {
      const Tensor& twin = twins.at(use.value);
      given.emplace(twin.impl(), use.value);
      places.emplace(twin.storage(), std::pair(use.value, twin));
    }
    const bool on_device = gives_device_tensors(node);
    const auto take = [&](const Tensor& t) {
      if (!t.defined()) return node.results.push_back(kNone);
      SCONCE_CHECK(is_plain_meta(t), "{}: {} gives a tensor of a special kind", where(), node.op->qualified_name());
      // On Meta, a copy to another device is the argument itself.
      const auto same = given.find(t.impl());
      const bool moves =
          same != given.end() && on_device != (tape_.values[same->second].device.type != DeviceType::cpu);
      if (same != given.end() && !moves) return node.results.push_back(same->second);
      const Geometry said = read_geometry(in_);
      SCONCE_CHECK(said.dtype == t.dtype() && IntList(said.sizes) == t.sizes() &&
                       IntList(said.strides) == t.strides() && said.wrapped == t.is_wrapped_number(),
                   "{}: {} gives {}, and the file says {}", where(), node.op->qualified_name(), geometry_text(t),
                   geometry_text(said.twin()));
      SCONCE_CHECK(tape_.values.size() < kMaxResults, "{}: more than {} tensors", where(), kMaxResults);
      const auto place = moves ? places.end() : places.find(t.storage());
      const bool is_there =
          place == places.end() ? on_device : tape_.values[place->second.first].device.type != DeviceType::cpu;
      SCONCE_CHECK(said.on_device == is_there, "{}: {} gives a tensor of {}, and the file says {}", where(),
                   node.op->qualified_name(), to_string(device_for(is_there)), to_string(device_for(said.on_device)));
      const ValueId made = place == places.end() ? add_block({}, t, device_for(is_there))
                                                 : add_view(node, place->second.first, place->second.second, t);
      node.results.push_back(made);
      if (!moves) places.emplace(t.storage(), std::pair(made, t));
    };
    for (const Value& v : results) {
      if (v.is_list()) {
        node.result_sizes.push_back(static_cast<uint32_t>(v.to_list().size()));
        for (const Tensor& t : v.to_list().tensors()) take(t);
      } else {
        node.result_sizes.push_back(kNone);
        take(v.to_optional_tensor());
      }
    }
  }

  ValueId add_view(const TapeNode& node, ValueId base, const Tensor& of, const Tensor& t) {
    const auto bytes_before = [](const Tensor& x) { return x.storage_offset() * static_cast<int64_t>(x.item_size()); };
    const TapeValue from = tape_.values[base];
    const int64_t offset = Checked(from.offset) + Checked(bytes_before(t)) - Checked(bytes_before(of));
    const int64_t room = extent_bytes(tape_.twin(tape_.blocks[from.block].first));
    SCONCE_CHECK(offset >= 0 && offset + Checked(extent_bytes(t)) <= room,
                 "{}: {} gives a view that reaches outside of the tensor that it is a view of", where(),
                 node.op->qualified_name());
    const auto value = static_cast<ValueId>(tape_.values.size());
    tape_.values.push_back({Tape::twin_of(t), from.block, offset, from.device});
    return value;
  }

  // `check` looks at the number of each tensor.
  Output read_tree(const std::function<void(uint32_t)>& check, int depth = 0) {
    SCONCE_CHECK(depth < kMaxDepth, "{}: values are nested deeper than {}", in_.name(), kMaxDepth);
    Output tree;
    switch (const uint8_t kind = in_.byte()) {
      case kTensorTree:
        tree.kind = Output::Kind::tensor;
        tree.value = in_.number();
        check(tree.value);
        return tree;
      case kConstantTree:
        tree.kind = Output::Kind::constant;
        tree.constant = read_value(in_);
        return tree;
      case kListTree:
        tree.kind = Output::Kind::list;
        tree.type = read_type(in_);
        break;
      case kTupleTree:
        tree.kind = Output::Kind::tuple;
        if (in_.flag()) tree.type = read_type(in_);
        break;
      case kDictTree:
        tree.kind = Output::Kind::dict;
        tree.type = read_type(in_);
        tree.value_type = read_type(in_);
        break;
      default:
        fail("{}: there is no kind {} of results", in_.name(), kind);
    }
    for (uint32_t n = in_.count("items", kMaxItems); n > 0; --n) tree.items.push_back(read_tree(check, depth + 1));
    check_container(tree);
    return tree;
  }

  void check_type(const Output& tree, TypePtr type) const {
    SCONCE_CHECK(is_subtype(type_of(tree), type), "{}: a value of type {} stands where {} belongs", in_.name(),
                 type_of(tree)->annotation(), type->annotation());
  }

  // Items have the types that their container says, and keys of dicts can be keys.
  void check_container(const Output& tree) const {
    if (tree.kind == Output::Kind::list) {
      for (const Output& item : tree.items) check_type(item, tree.type);
    } else if (tree.kind == Output::Kind::dict) {
      SCONCE_CHECK(tree.items.size() % 2 == 0, "{}: a dict has {} keys and values", in_.name(), tree.items.size());
      for (size_t i = 0; i < tree.items.size(); i += 2) {
        const Output& key = tree.items[i];
        const bool may_be_key =
            key.kind == Output::Kind::constant &&
            (key.constant.is_string() || key.constant.is_int() || key.constant.is_double() || key.constant.is_bool());
        SCONCE_CHECK(may_be_key, "{}: a key of a dict is neither a text nor a number", in_.name());
        check_type(key, tree.type);
        check_type(tree.items[i + 1], tree.value_type);
      }
    } else if (tree.type) {
      SCONCE_CHECK(tree.type->is(TypeKind::tuple) && tree.type->contained().size() == tree.items.size(),
                   "{}: {} values stand where {} belongs", in_.name(), tree.items.size(), tree.type->annotation());
      for (size_t i = 0; i < tree.items.size(); ++i) check_type(tree.items[i], tree.type->contained()[i]);
    }
  }

  ByteReader& in_;
  const CompiledFunction& function_;
  const std::vector<const Op*>& ops_;
  Tape tape_;
  Checked bytes_ = 0;
};

// A name of Python: functions and arguments are found by it.
std::string read_identifier(ByteReader& in) {
  const std::string name(in.text());
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool is_name = !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
  SCONCE_CHECK(is_name, "{}: a name is {}, which is none", in.name(), string_repr(name));
  return name;
}

// Draws of random operators on Meta are taken back.
class KeptDraws {
 public:
  explicit KeptDraws(const std::vector<const Op*>& ops) {
    if (std::none_of(ops.begin(), ops.end(), [](const Op* op) { return op->has(Trait::random); })) return;
    GeneratorImpl& g = *default_generator().impl();
    const std::lock_guard lock(g.mutex);
    state_ = g.state();
  }
  ~KeptDraws() {
    if (state_.empty()) return;
    GeneratorImpl& g = *default_generator().impl();
    const std::lock_guard lock(g.mutex);
    g.set_state(state_);
  }
  KeptDraws(const KeptDraws&) = delete;

 private:
  std::vector<uint8_t> state_;
};

// All that are missing are named, so that a library that was built without them can be built with them.
std::vector<const Op*> read_operators(ByteReader& in) {
  std::vector<const Op*> ops;
  std::string missing;
  for (uint32_t n = in.count("operators", kMaxOperators, 4); n > 0; --n) {
    const std::string_view name = in.text();
    const Op* op = find_op(name);
    if (!op) {
      missing += (missing.empty() ? "" : ", ") + std::string(name.substr(0, 200));
      SCONCE_CHECK_AS(not_implemented, missing.size() < 100'000, "{}: operators that it needs are missing: {}, ...",
                      in.name(), missing);
      continue;
    }
    check_operator(*op, in.name());
    ops.push_back(op);
  }
  SCONCE_CHECK_AS(not_implemented, missing.empty(), "{}: operators that it needs are missing: {}", in.name(), missing);
  return ops;
}

}  // namespace

TypePtr type_of(const Output& tree) {
  switch (tree.kind) {
    case Output::Kind::tensor:
      return tensor_type();
    case Output::Kind::constant:
      return tree.constant.type();
    case Output::Kind::list:
      return list_type(tree.type);
    case Output::Kind::dict:
      return dict_type(tree.type, tree.value_type);
    case Output::Kind::tuple:
      break;
  }
  if (tree.type) return tree.type;
  std::vector<TypePtr> types;
  for (const Output& item : tree.items) types.push_back(type_of(item));
  return tuple_type(types);
}

std::string signature_text(const CompiledFunction& function, const Program& program) {
  std::vector<Value> args;
  std::vector<std::string> names;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    names.push_back(function.arguments[i].name);
    args.push_back(value_of(program.args[i], [&](ValueId v) { return program.tape.twin(program.tape.inputs[v]); }));
  }
  return boxed::call_text(Value(make_ref<Tuple>(std::move(args))), names, [&](const Tensor& twin) {
    for (const ValueId v : program.tape.inputs) {
      if (program.tape.twin(v).is_same(twin)) return program.tape.values[v].device.type;
    }
    return DeviceType::cpu;
  });
}

CompiledFunction read_function(ByteReader& in, const MakeConstant& make_constant) {
  CompiledFunction f;
  f.device = Device{in.device()};
  f.name = read_identifier(in);
  for (uint32_t n = in.count("arguments", kMaxInputs, 6); n > 0; --n) {
    Argument a;
    a.name = read_identifier(in);
    a.type = read_type(in);
    if (in.flag()) {
      a.default_value = ValueFitter().fit(read_value(in), a.type);
      a.default_text = a.default_value->repr();
    }
    f.arguments.push_back(std::move(a));
  }
  f.result = read_type(in);
  for (uint32_t n = in.count("constants", kMaxConstants, 19); n > 0; --n) {
    NamedConstant c;
    c.name = in.text();
    const uint32_t record = in.number();
    const int64_t offset = in.integer();
    const Geometry g = read_geometry(in);
    c.tensor = make_constant(record, g.dtype, g.sizes, g.strides, offset);
    if (g.wrapped) c.tensor.set_wrapped_number();
    c.on_device = g.on_device;
    SCONCE_CHECK(is_plain(c.tensor), "{}: a constant is of a special kind", in.name());
    f.constants.push_back(std::move(c));
  }
  const std::vector<const Op*> ops = read_operators(in);
  const uint32_t programs = in.count("programs", kMaxPrograms);
  SCONCE_CHECK(programs > 0, "{}: has no program", in.name());
  const KeptDraws draws(ops);
  for (uint32_t i = 0; i < programs; ++i) f.programs.push_back(TapeReader(in, f, ops).read());
  SCONCE_CHECK(in.at_end(), "{}: goes on behind its end", in.name());
  return f;
}

}  // namespace sconce::compiled
