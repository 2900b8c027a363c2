#include "sconce/lite/tape_runner.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/executor/probe.h"
#include "sconce/serialization/compiled/compiled_file.h"

namespace sconce::lite {
namespace {

using namespace executor;

// Whether a value is what a program was compiled for; its tensors go to `tensors`, in order.
bool matches(const Output& tree, const Value& v, const Tape& tape, std::vector<Tensor>& tensors) {
  switch (tree.kind) {
    case Output::Kind::tensor: {
      if (!v.is_tensor()) return false;
      const Tensor& wanted = tape.twin(tape.inputs[tree.value]);
      if (v.to_tensor().dtype() != wanted.dtype() || v.to_tensor().sizes() != wanted.sizes()) return false;
      tensors[tree.value] = v.to_tensor();
      return true;
    }
    case Output::Kind::constant:
      return v.tag() == tree.constant.tag() && v.equals(tree.constant);
    case Output::Kind::list: {
      if (!v.is_list() || v.to_list().size() != tree.items.size()) return false;
      for (size_t i = 0; i < tree.items.size(); ++i) {
        if (!matches(tree.items[i], v.to_list().get(i), tape, tensors)) return false;
      }
      return true;
    }
    case Output::Kind::tuple: {
      if (!v.is_tuple() || v.to_tuple().items.size() != tree.items.size()) return false;
      for (size_t i = 0; i < tree.items.size(); ++i) {
        if (!matches(tree.items[i], v.to_tuple().items[i], tape, tensors)) return false;
      }
      return true;
    }
    case Output::Kind::dict: {
      if (!v.is_dict() || v.to_dict().size() * 2 != tree.items.size()) return false;
      for (size_t i = 0; i < tree.items.size(); i += 2) {
        const Value* found = v.to_dict().find(tree.items[i].constant);
        if (!found || !matches(tree.items[i + 1], *found, tape, tensors)) return false;
      }
      return true;
    }
  }
  return false;
}

}  // namespace

TapeRunner::TapeRunner(compiled::CompiledFunction function, std::string signature, std::string file)
    : function_(std::move(function)), signature_(std::move(signature)), file_(std::move(file)) {
  for (const compiled::Program& program : function_.programs) {
    const Tape& tape = program.tape;
    Steps& steps = steps_.emplace_back();
    steps.values.resize(tape.values.size());
    steps.calls.resize(tape.nodes.size());
    std::vector<size_t> last(tape.values.size(), tape.nodes.size());
    size_t most_args = 0, most_results = 0;
    for (size_t n = 0; n < tape.nodes.size(); ++n) {
      for (const TensorUse& use : tape.nodes[n].uses) last[use.value] = n;
      for (const ValueId r : tape.nodes[n].results) {
        if (r != kNone) last[r] = n;
      }
      most_args = std::max(most_args, tape.nodes[n].args.size());
      most_results = std::max(most_results, tape.nodes[n].result_sizes.size());
    }
    for (const ValueId v : tape.outputs()) last[v] = tape.nodes.size();
    for (ValueId v = 0; v < last.size(); ++v) {
      if (last[v] < tape.nodes.size() && !tape.is_constant(v)) steps.calls[last[v]].dying.push_back(v);
    }
    for (ValueId v = 0; v < tape.values.size(); ++v) {
      if (tape.is_constant(v) && tape.blocks[tape.block_of(v)].first == v) steps.values[v] = tape.constant(v);
    }
    steps.args.resize(most_args);
    steps.results.resize(most_results);
  }
}

bool TapeRunner::take_inputs(const compiled::Program& program, Steps& steps, const std::vector<Value>& args) const {
  const Tape& tape = program.tape;
  std::vector<Tensor> given(tape.inputs.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (!matches(program.args[i], args[i], tape, given)) return false;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& wanted = tape.twin(tape.inputs[i]);
    SCONCE_CHECK(given[i].strides() == wanted.strides(), "the file was compiled for strides {}, given were {}",
                 wanted.strides(), given[i].strides());
    steps.values[tape.inputs[i]] = std::move(given[i]);
  }
  return true;
}

void TapeRunner::call(const compiled::Program& program, Steps& steps, size_t n) const {
  const TapeNode& node = program.tape.nodes[n];
  for (size_t i = 0; i < node.args.size(); ++i) {
    steps.args[i] = node.args[i].is_list() ? Value(node.args[i].to_list().copy()) : node.args[i];
  }
  for (const TensorUse& use : node.uses) {
    const Tensor& t = steps.values[use.value];
    if (use.item < 0)
      steps.args[use.arg] = Value(t);
    else
      steps.args[use.arg].to_list().set(static_cast<size_t>(use.item), Value(t));
  }
  node.op->call_boxed(steps.args.data(), steps.results.data());
  size_t next = 0;
  const auto take = [&](const Tensor& t) {
    const ValueId r = node.results[next++];
    if (r == kNone) return;
    SCONCE_CHECK(t.defined() && same_geometry(t, program.tape.twin(r)),
                 "{}: call {}: {} gives a tensor of other sizes than the file says", file_, n,
                 node.op->qualified_name());
    steps.values[r] = t;
  };
  for (size_t i = 0; i < node.result_sizes.size(); ++i) {
    const Value& v = steps.results[i];
    if (node.result_sizes[i] == kNone) {
      take(v.to_optional_tensor());
    } else {
      SCONCE_CHECK(v.is_list() && v.to_list().size() == node.result_sizes[i], "{}: call {}: {} gives another list",
                   file_, n, node.op->qualified_name());
      for (const Tensor& t : v.to_list().tensors()) take(t);
    }
    steps.results[i] = Value();
  }
  for (size_t i = 0; i < node.args.size(); ++i) steps.args[i] = Value();
  for (const ValueId v : steps.calls[n].dying) steps.values[v] = Tensor();
}

Value TapeRunner::run(size_t, std::vector<Value>& args) {
  args.erase(args.begin());
  for (size_t i = args.size(); i < function_.arguments.size(); ++i) {
    SCONCE_CHECK(function_.arguments[i].default_value, "{}() is missing value for argument '{}'", function_.name,
                 function_.arguments[i].name);
    args.push_back(*function_.arguments[i].default_value);
  }
  SCONCE_CHECK(args.size() == function_.arguments.size(), "{}() takes {} arguments, {} were given", function_.name,
               function_.arguments.size(), args.size());
  for (size_t p = 0; p < steps_.size(); ++p) {
    const compiled::Program& program = function_.programs[p];
    Steps& steps = steps_[p];
    if (!take_inputs(program, steps, args)) continue;
    struct Clean {  // what a call that failed has left
      const Tape& tape;
      Steps& steps;
      ~Clean() {
        for (ValueId v = 0; v < steps.values.size(); ++v) {
          if (!tape.is_constant(v)) steps.values[v] = Tensor();
        }
        std::fill(steps.args.begin(), steps.args.end(), Value());
        std::fill(steps.results.begin(), steps.results.end(), Value());
      }
    } clean{program.tape, steps};
    for (size_t n = 0; n < program.tape.nodes.size(); ++n) call(program, steps, n);
    return compiled::value_of(program.tape.output, [&](ValueId v) { return steps.values[v]; });
  }
  std::string compiled_for;
  for (const compiled::Program& program : function_.programs)
    compiled_for += (compiled_for.empty() ? "" : ", ") + compiled::signature_text(function_, program);
  fail("the file was compiled for arguments {}", compiled_for);
}

void read_compiled_file(Model& model, const Records& records, bool) {
  compiled::CompiledFunction function = compiled::CompiledFile(records.zip().file()).function;
  Schema schema;
  schema.arguments = function.arguments;
  schema.returns.emplace_back();
  schema.returns[0].type = function.result;
  schema.name = function.name;
  auto* const runner = new TapeRunner(std::move(function), schema.to_string(), records.name());
  model.body.reset(runner);
  model.reserve(1);
  model.add(runner->name(), runner->signature(), 0);
}

}  // namespace sconce::lite
