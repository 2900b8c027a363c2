#include "sconce/testing/conformance/operator_cases.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compare/compare_rules.h"
#include "sconce/testing/compare/decomposed_call.h"
#include "sconce/testing/compare/ruled_sizes.h"
#include "sconce/testing/compiled/lowered_call.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/recorded_call.h"
#include "sconce/testing/gradients/gradients.h"
#include "sconce/testing/second_device/second_device.h"

namespace sconce::testing {
namespace {

bool is_well_formed(const Json& json) {
  const Json* seed = find_member(json, "seed");
  const Json* mutated = find_member(json, "mutated");
  const Json* grad = find_member(json, "grad");
  const Json* raises = find_member(json, "raises");
  return is_call(json) && (raises ? raises->is_object() : json.contains("out")) &&
         (!seed || seed->is_number_unsigned()) && (!mutated || mutated->is_object()) && (!grad || grad->is_object());
}

void seed_for(const Json& json) {
  if (const Json* seed = find_member(json, "seed")) manual_seed(seed->get<uint64_t>());
}

bool is_plainly_laid_out(const Tensor& t) {
  return t.is_contiguous() || t.is_contiguous(MemoryFormat::channels_last) ||
         t.is_contiguous(MemoryFormat::channels_last_3d);
}

bool are_plainly_laid_out(const std::vector<Value>& args) {
  for (const Value& v : flatten(args)) {
    if (v.is_tensor() && !is_plainly_laid_out(v.to_tensor())) return false;
  }
  return true;
}

// Deep copies, so that a write can be noticed.
Value snapshot(const Value& value) {
  if (value.is_tensor()) {
    const Tensor& t = value.to_tensor();
    if (t.layout() != Layout::strided) return shallow_copy(t);
    Tensor copy = empty_tensor(t.sizes(), t.dtype());
    visit_item_size(t.dtype(), [&]<class T>() {
      const std::vector<T> all = elements<T>(t);
      if (!all.empty()) std::memcpy(copy.data(), all.data(), all.size() * sizeof(T));
    });
    return copy;
  }
  if (value.is_list() && value.to_list().is_tensors()) {
    auto copy = make_ref<List>(value.to_list().element_type());
    for (const Value& v : value.to_list().values()) copy->append(snapshot(v));
    return copy;
  }
  return value;
}

std::vector<Value> snapshot(const std::vector<Value>& values) {
  std::vector<Value> copies;
  for (const Value& v : values) copies.push_back(snapshot(v));
  return copies;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && visit_item_size(a.dtype(), [&]<class T>() {
           const std::vector<T> x = elements<T>(a), y = elements<T>(b);
           return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
         });
}

Difference compare_written(const RecordedCall& call, const std::vector<Value>& before, const Json& json,
                           const SafetensorsFile& tensors, Rule rule, bool strides) {
  const Json* mutated = find_member(json, "mutated");
  const Schema& schema = call.op->schema();
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    const Json* expected = mutated ? find_member(*mutated, argument.name.c_str()) : nullptr;
    if (expected != nullptr) {
      const std::vector<Value> wanted = flatten({read_value(*expected, tensors)}), got = flatten({call.args[i]});
      // A part of a decomposition says nothing alone: all of them were returned, and compared.
      const Rule part = rule >= Rule::svd ? Rule::geometry : rule;
      if (Difference d = compare_outputs(part, before, got, wanted, strides)) {
        return fmt::format("'{}' after the call: {}", argument.name, *d);
      }
    } else if (!argument.is_written() &&
               !argument.name.starts_with("running_")) {  // batch norms write those all the same
      const std::vector<Value> now = flatten({call.args[i]}), then = flatten({before[i]});
      for (size_t k = 0; k < now.size(); ++k) {
        if (now[k].is_tensor() && !same_bytes(now[k].to_tensor(), then[k].to_tensor())) {
          return fmt::format("the call writes to '{}', its schema does not", argument.name);
        }
      }
    }
  }
  return {};
}

// A return that is written, as in add_(Tensor(a!) self, ...) -> Tensor(a!), is the argument itself. Not so of a view
// whose schema says that it may be written (prims::as_strided).
Difference compare_identity(const RecordedCall& call, const std::vector<Value>& returns) {
  if (call.op->has(Trait::view)) return {};
  const Schema& schema = call.op->schema();
  for (size_t r = 0; r < schema.returns.size() && r < returns.size(); ++r) {
    const auto& alias = schema.returns[r].alias;
    if (!alias || !alias->write || !returns[r].is_tensor()) continue;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument& argument = schema.arguments[i];
      if (argument.alias != alias || !call.args[i].is_tensor()) continue;
      if (!returns[r].to_tensor().is_same(call.args[i].to_tensor())) {
        return fmt::format("returns another tensor than '{}'", argument.name);
      }
    }
  }
  return {};
}

// Whether another layout of the arguments may change the result, or make it an error.
bool depends_on_strides(const Op& op) {
  const Schema& schema = op.schema();
  for (const Argument& result : schema.returns) {
    if (result.alias && !result.alias->write) return true;  // a view
  }
  if (op.has(Trait::random)) return true;                            // numbers are drawn in the order of memory
  if (schema.name.starts_with("aten::_embedding_bag")) return true;  // dense weights need fewer intermediate results
  for (std::string_view name : {"as_strided", "resize", "view", "set_"}) {
    if (schema.name.find(name) != std::string::npos) return true;
  }
  return false;
}

// Whether a call took neither tensors nor a device, so that it runs where it wants.
bool names_no_device(const RecordedCall& call) {
  for (const Value& v : flatten(call.args)) {
    if (v.is_device() || (v.is_tensor() && v.to_tensor().device().type != DeviceType::cpu)) return false;
  }
  return true;
}

// Which of several equal elements an index names PyTorch leaves open, and its CPU and GPU name different ones: on
// another device than the recording's an index is right that leads to the value beside it and occurs once.
void settle_ties(const Op& op, const std::vector<Value>& args, std::vector<Value>& got,
                 const std::vector<Value>& expected) {
  if (!names_any_of_equals(op.schema().name)) return;
  const std::vector<Argument>& arguments = op.schema().arguments;
  const auto named = std::find_if(arguments.begin(), arguments.end(), [](const auto& a) { return a.name == "dim"; });
  const auto dim_at = static_cast<size_t>(named - arguments.begin());
  if (got.size() != 2 || expected.size() != 2 || !got[1].is_tensor() || args.size() <= dim_at) return;
  const Tensor &self = args[0].to_tensor(), &values = expected[0].to_tensor(), &index = got[1].to_tensor();
  if (self.dim() == 0 || index.numel() == 0 || index.sizes() != values.sizes()) return;
  const int64_t dim = args[dim_at].to_int();
  const bool kept = index.dim() == self.dim();
  const Tensor places = kept ? index : unsqueeze(index, dim);
  const Tensor sorted = std::get<0>(sort(places, dim));
  const int64_t count = sorted.size(dim);
  const bool once =
      count == 1 || !item_of(any(eq(narrow(sorted, dim, 1, count - 1), narrow(sorted, dim, 0, count - 1)))).to_bool();
  const Tensor found = gather(self, dim, places), wanted = kept ? values : unsqueeze(values, dim);
  const Tensor same = logical_or(eq(found, wanted), logical_and(ne(found, found), ne(wanted, wanted)));
  if (once && item_of(all(same)).to_bool()) got[1] = expected[1];
}

CaseResult run_on_data(RecordedCall call, const CaseFile& file, const Json& json, const RunOptions& options) {
  const Device device = options.device;
  const std::vector<Value> before = snapshot(call.args);
  const bool strides = are_plainly_laid_out(call.args);
  seed_for(json);
  std::vector<Value> returns;
  if (device.type == DeviceType::cpu) {
    returns = options.lowered.empty() ? invoke(call) : invoke_lowered(call, options.lowered);
  } else {
    const RecordedCall there = on_device(call, device);
    returns = invoke(there);
    for (const Value& v : flatten(returns)) {
      if (v.is_tensor() && v.to_tensor().device() != device && !names_no_device(there))
        return CaseResult::failure(fmt::format("an output is on {}", to_string(v.to_tensor().device())));
    }
    if (Difference d = compare_identity(there, returns)) return CaseResult::failure(*d);
    for (Value& v : returns) v = to_device(v, Device());
    for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = to_device(there.args[i], Device());
  }

  Rule rule = rule_for(call.op->schema().name, before);
  // A GPU's generator draws other numbers than the CPU's, in PyTorch, too: what was drawn on one is kept elsewhere
  // (kernels/cuda/random).
  if (device.type == DeviceType::cuda && call.op->has(Trait::random) != (rule == Rule::distribution))
    rule = Rule::geometry;
  const std::vector<Value> expected = flatten({read_value(json.at("out"), file.tensors())});
  std::vector<Value> got = flatten(returns);
  if (got.empty() && expected.size() == 1 && expected[0].is_none()) got.emplace_back();  // "-> ()" is None
  if (device.type == DeviceType::cuda) settle_ties(*call.op, before, got, expected);
  if (Difference d = compare_outputs(rule, before, got, expected, strides)) return CaseResult::failure(*d);
  if (Difference d = compare_written(call, before, json, file.tensors(), rule, strides)) return CaseResult::failure(*d);
  if (device.type != DeviceType::cpu) return CaseResult::pass();
  if (!options.lowered.empty()) return CaseResult::pass();  // a function returns a new reference to what is written
  if (Difference d = compare_identity(call, returns)) return CaseResult::failure(*d);
  return CaseResult::pass();
}

// The call by the operator's decomposition. It gives new tensors: identity and writes are not its matter, but it must
// leave the arguments alone.
CaseResult run_decomposed(const RecordedCall& call, const CaseFile& file, const Json& json) {
  if (const std::string reason = why_not_decomposed(*call.op); !reason.empty()) return CaseResult::skip(reason);
  const std::vector<Value> before = snapshot(call.args);
  const bool strides = are_plainly_laid_out(call.args);
  seed_for(json);
  const std::vector<Value> got = flatten(invoke_decomposed(*call.op, call.args));
  const Rule rule = rule_for(call.op->schema().name, before);
  const std::vector<Value> expected = flatten({read_value(json.at("out"), file.tensors())});
  if (Difference d = compare_outputs(rule, before, got, expected, strides)) return CaseResult::failure(*d);
  if (Difference d = compare_written(call, before, json, file.tensors(), rule, strides)) return CaseResult::failure(*d);
  return CaseResult::pass();
}

// Note [Bytes of bools] in kernels/cpu/engine/sound_bools.h: the results must be the same.
bool vary_true_bytes(const RecordedCall& call) {
  bool varied = false;
  for (const Value& v : flatten(call.args)) varied |= v.is_tensor() && testing::vary_true_bytes(v.to_tensor());
  return varied;
}

// The gradients of a call of its own: arguments that require grad, and results computed from them, are not compared. Of
// all inputs together, then of each alone: formulas for several arguments need not compute all of them.
CaseResult run_gradients(const Op& op, const CaseFile& file, const Json& json, const RunOptions& options) {
  const std::vector<Value> expected = flatten({read_value(json.at("out"), file.tensors())});
  const Json& grad = json.at("grad");
  const auto check = [&](std::optional<size_t> only) {
    RecordedCall call = bind_call(op, json, file.tensors(), options.strided);
    if (options.any_bytes) vary_true_bytes(call);
    if (options.device.type != DeviceType::cpu) call = on_device(call, options.device);
    seed_for(json);
    return check_gradients(call, grad, file.tensors(), expected, only, options.device);
  };
  if (const Difference d = check(std::nullopt)) return CaseResult::failure(*d);
  const size_t inputs = read_places(grad.at("inputs")).size();
  for (size_t i = 0; i < inputs && inputs > 1; ++i) {
    if (const Difference d = check(i)) return CaseResult::failure(*d);
  }
  return CaseResult::pass();
}

CaseResult run_on_meta(RecordedCall call, const CaseFile& file, const Json& json) {
  if (call.op->has(Trait::data_dependent))
    return CaseResult::skip("data-dependent: the size of the result depends on values");
  const bool strides = are_plainly_laid_out(call.args);
  bool on_meta = false;
  const Schema& schema = call.op->schema();
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (stays_on_cpu(schema.arguments[i])) continue;
    const TypePtr type = schema.arguments[i].type;
    const bool device =
        type->is(TypeKind::device) || (type->is(TypeKind::optional) && type->element()->is(TypeKind::device));
    call.args[i] = device ? Value(Device(DeviceType::meta)) : to_meta(call.args[i]);
    on_meta |= device;
  }
  for (const Value& v : flatten(call.args)) on_meta |= v.is_tensor();
  if (!on_meta) return CaseResult::skip("takes neither tensors nor a device");

  const std::vector<Value> expected = flatten({read_value(json.at("out"), file.tensors())});
  for (const Value& v : expected) {
    if (v.is_number()) return CaseResult::skip("data-dependent: returns a number");
  }
  const RuledSizes ruled(*call.op, call.args);
  const std::vector<Value> returns = invoke(call);
  std::vector<Value> got = flatten(returns);
  if (got.empty() && expected.size() == 1 && expected[0].is_none()) got.emplace_back();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].is_tensor() && !got[i].to_tensor().is_meta())
      return CaseResult::failure(fmt::format("output {} is not on meta", i));
  }
  if (Difference d = compare_outputs(Rule::geometry, call.args, got, expected, strides)) return CaseResult::failure(*d);
  if (Difference d = compare_identity(call, returns)) return CaseResult::failure(*d);
  if (Difference d = ruled.compare(returns)) return CaseResult::failure(*d);
  return CaseResult::pass();
}

bool is_kind(const std::string& exception, ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime:
      return exception == "RuntimeError" || exception == "AssertionError";
    case ErrorKind::type:
      return exception == "TypeError";
    case ErrorKind::value:
      return exception == "ValueError";
    case ErrorKind::index:
      return exception == "IndexError";
    case ErrorKind::not_implemented:
      return exception == "NotImplementedError";
    case ErrorKind::zero_division:
      return exception == "ZeroDivisionError";
    default:
      return false;
  }
}

// A call that PyTorch refuses: of this kind, in these words.
CaseResult run_refusal(RecordedCall call, const Json& raises, bool meta) {
  const std::string type = raises.at("type").get<std::string>(), expected = raises.at("message").get<std::string>();
  if (meta) {
    for (Value& v : call.args) v = to_meta(v);
  }
  try {
    invoke(call);
  } catch (const Error& error) {
    if (error.message().find(expected) == std::string::npos)
      return CaseResult::failure(fmt::format("refused as {}, expected {}", error.message(), expected));
    if (!is_kind(type, error.kind())) return CaseResult::failure(fmt::format("the error is no {}", type));
    return CaseResult::pass();
  }
  return CaseResult::failure(fmt::format("accepted, expected {}: {}", type, expected));
}

class OperatorCases final : public CaseKind {
 public:
  std::string_view name() const override { return "operators"; }

  bool matches(const CaseFile& file) const override { return is_well_formed(file.at(0)); }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json& json) const override {
    const Json* op = find_member(json, "op");
    return op && op->is_string() ? op->get<std::string>() : "";
  }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions& options) const override {
    CaseResult result = run_case(file, index, options);
    if (options.device == kSecondDevice) {
      if (const std::string touch = take_touch(); !touch.empty()) return CaseResult::failure(touch);
    }
    return result;
  }

 private:
  CaseResult run_case(const CaseFile& file, size_t index, const RunOptions& options) const {
    const Json& json = file.at(index);
    if (!is_well_formed(json)) return CaseResult::failure("the case needs op, args, kwargs and out");
    const std::string name = subject(json);
    const Op* op = find_op(name);
    if (op == nullptr) return CaseResult::skip(fmt::format("{}: {}", kOperatorMissing, name));
    if (!op->has_kernel(Key::cpu))
      return CaseResult::skip(fmt::format("{}: {} has no CPU kernel", kOperatorMissing, name));
    try {
      const RecordedCall call = bind_call(*op, json, file.tensors(), options.strided);
      if (options.strided && depends_on_strides(*call.op)) return CaseResult::skip("depends on strides");
      if (options.any_bytes && !vary_true_bytes(call)) return CaseResult::skip("takes no bools");
      if (const Json* raises = find_member(json, "raises")) {
        if (options.device.type != DeviceType::cpu || options.grad_only || options.decomposed)
          return CaseResult::skip("a refusal");
        return run_refusal(call, *raises, options.meta);
      }
      if (options.decomposed) return run_decomposed(call, file, json);
      if (options.grad_only) return run_gradients(*op, file, json, options);
      const CaseResult result = options.meta ? run_on_meta(call, file, json) : run_on_data(call, file, json, options);
      const bool gradients = json.contains("grad") && !options.meta && options.lowered.empty();
      return result.status == Status::passed && gradients ? run_gradients(*op, file, json, options) : result;
    } catch (const Error& error) {
      // The errors of meta kernels for calls whose result's size is in the data (a mask as index, one_hot without a
      // number of classes).
      const bool needs_data =
          error.kind() == ErrorKind::not_implemented && error.message().find("depends on values") != std::string::npos;
      if (options.meta && needs_data) return CaseResult::skip(fmt::format("data-dependent: {}", error.what()));
      const std::string refusal = fmt::format("no kernel for {}", key_name(backend_key(options.device.type)));
      if (options.device.type != DeviceType::cpu && error.message().find(refusal) != std::string::npos)
        return CaseResult::skip(fmt::format("{}: {}", kRefused, error.message()));
      return CaseResult::failure(error.what());
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& operator_cases() {
  static const OperatorCases kind;
  return kind;
}

}  // namespace sconce::testing
