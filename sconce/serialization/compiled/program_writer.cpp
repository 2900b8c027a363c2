#include "sconce/serialization/compiled/program_writer.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/serialization/compiled/program_format.h"
#include "sconce/serialization/compiled/program_values.h"

namespace sconce::compiled {
namespace {

using namespace executor;

void write_geometry(ByteWriter& out, const Tensor& t, Device device) {
  out.byte(static_cast<uint8_t>(t.dtype()));
  out.byte(
      static_cast<uint8_t>((t.is_wrapped_number() ? kWrapped : 0) | (device.type != DeviceType::cpu ? kOnDevice : 0)));
  out.byte(static_cast<uint8_t>(t.dim()));
  for (const int64_t size : t.sizes()) out.integer(size);
  for (const int64_t stride : t.strides()) out.integer(stride);
}

class TapeWriter {
 public:
  TapeWriter(ByteWriter& out, const CompiledFunction& function, std::vector<const Op*>& ops)
      : out_(out), function_(function), ops_(ops) {}

  void write(const Program& program) {
    const Tape& tape = program.tape;
    numbers_.assign(tape.values.size(), kNone);
    next_ = 0;
    out_.number(static_cast<uint32_t>(tape.inputs.size()));
    for (const ValueId v : tape.inputs) {
      SCONCE_ASSERT(numbers_[v] == kNone);
      numbers_[v] = next_++;
      write_geometry(out_, tape.twin(v), tape.values[v].device);
    }
    for (const TapeBlock& block : tape.blocks) {
      if (block.kind != TapeBlock::Kind::constant) continue;
      const auto found = std::find_if(function_.constants.begin(), function_.constants.end(),
                                      [&](const NamedConstant& c) { return c.tensor.is_same(block.constant); });
      SCONCE_ASSERT(found != function_.constants.end());
      numbers_[block.first] = next_ + static_cast<uint32_t>(found - function_.constants.begin());
    }
    next_ += static_cast<uint32_t>(function_.constants.size());
    for (const Output& arg : program.args) write_tree(arg, [](ValueId v) { return v; });
    out_.number(static_cast<uint32_t>(tape.nodes.size()));
    for (const TapeNode& node : tape.nodes) write_node(tape, node);
    write_tree(tape.output, [&](ValueId v) { return number_of(v); });
  }

 private:
  uint32_t number_of(ValueId v) const {
    SCONCE_ASSERT(numbers_[v] != kNone);
    return numbers_[v];
  }

  void write_node(const Tape& tape, const TapeNode& node) {
    const auto known = std::find(ops_.begin(), ops_.end(), node.op);
    out_.number(static_cast<uint32_t>(known - ops_.begin()));
    if (known == ops_.end()) ops_.push_back(node.op);
    SCONCE_CHECK_AS(not_implemented, !is_hidden(*node.op), "{}() cannot be compiled: it calls {}, which {}",
                    function_.name, node.op->qualified_name(), kHidden);
    const std::vector<Argument>& schema = node.op->schema().arguments;
    executor::Numbers written;
    for (const TensorUse& use : node.uses) {
      if (schema[use.arg].is_written()) written.push_back(use.value);
    }
    SCONCE_CHECK_AS(not_implemented, written == node.writes,
                    "{}() cannot be compiled: {} writes to some of its arguments only, which files cannot say",
                    function_.name, node.op->qualified_name());
    for (uint32_t i = 0; i < node.args.size(); ++i) write_argument(node, i);
    // Those that are new; what is an argument itself or undefined is found out again.
    for (const ValueId r : node.results) {
      if (r == kNone || numbers_[r] != kNone) continue;
      numbers_[r] = next_++;
      write_geometry(out_, tape.twin(r), tape.values[r].device);
    }
  }

  void write_argument(const TapeNode& node, uint32_t arg) {
    std::vector<const TensorUse*> uses;
    for (const TensorUse& use : node.uses) {
      if (use.arg == arg) uses.push_back(&use);
    }
    if (uses.size() == 1 && uses[0]->item < 0) {
      out_.byte(kTensorArgument);
      return out_.number(number_of(uses[0]->value));
    }
    if (node.args[arg].is_list() && node.args[arg].to_list().is_tensors()) {
      std::vector<uint32_t> items(node.args[arg].to_list().size(), kNone);
      for (const TensorUse* use : uses) items.at(static_cast<size_t>(use->item)) = number_of(use->value);
      out_.byte(kTensorsArgument);
      out_.number(static_cast<uint32_t>(items.size()));
      for (const uint32_t item : items) out_.number(item);
      return;
    }
    out_.byte(kValueArgument);
    write_value(out_, node.args[arg]);
  }

  template <class F>
  void write_tree(const Output& tree, const F& number) {
    out_.byte(static_cast<uint8_t>(kTreeKinds[static_cast<size_t>(tree.kind)]));
    switch (tree.kind) {
      case Output::Kind::tensor:
        return out_.number(number(tree.value));
      case Output::Kind::constant:
        return write_value(out_, tree.constant);
      case Output::Kind::list:
        write_type(out_, tree.type);
        break;
      case Output::Kind::tuple:
        out_.byte(tree.type ? 1 : 0);
        if (tree.type) write_type(out_, tree.type);
        break;
      case Output::Kind::dict:
        write_type(out_, tree.type);
        write_type(out_, tree.value_type);
        break;
    }
    out_.number(static_cast<uint32_t>(tree.items.size()));
    for (const Output& item : tree.items) write_tree(item, number);
  }

  ByteWriter& out_;
  const CompiledFunction& function_;
  std::vector<const Op*>& ops_;
  std::vector<uint32_t> numbers_;  // in the file, by value
  uint32_t next_ = 0;
};

}  // namespace

std::string write_function(const CompiledFunction& function, const std::vector<ConstantPlace>& places) {
  ByteWriter programs(function.device.type);
  std::vector<const Op*> ops;
  for (const Program& program : function.programs) TapeWriter(programs, function, ops).write(program);

  ByteWriter out(function.device.type);
  out.text(function.name);
  out.number(static_cast<uint32_t>(function.arguments.size()));
  for (const Argument& a : function.arguments) {
    out.text(a.name);
    write_type(out, a.type);
    out.byte(a.default_value ? 1 : 0);
    if (a.default_value) write_value(out, *a.default_value);
  }
  write_type(out, function.result);
  out.number(static_cast<uint32_t>(function.constants.size()));
  for (size_t i = 0; i < function.constants.size(); ++i) {
    out.text(function.constants[i].name);
    out.number(places[i].record);
    out.integer(places[i].offset);
    write_geometry(out, function.constants[i].tensor, function.constants[i].tensor.device());
  }
  out.number(static_cast<uint32_t>(ops.size()));
  for (const Op* op : ops) out.text(op->qualified_name());
  out.number(static_cast<uint32_t>(function.programs.size()));
  return out.bytes() + programs.bytes();
}

}  // namespace sconce::compiled
