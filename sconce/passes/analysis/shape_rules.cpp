#include "sconce/passes/analysis/shape_rules.h"

#include <algorithm>
#include <map>

#include "sconce/ir/effects.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::passes {
namespace {

constexpr Device kMeta{DeviceType::meta};
// Small enough that the product of some is a size, and not likely in arithmetic of kernels.
constexpr int64_t kFirstTrial[] = {101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179};
constexpr int64_t kSecondTrial[] = {211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293};
enum class Trial { first, second, ones };

// The numbers that stand for symbols and unknown sizes in one trial.
class Numbers {
 public:
  Numbers(Trial trial, bool unknowns_are_equal) : trial_(trial), unknowns_are_equal_(unknowns_are_equal) {}

  int64_t of(int64_t size) {
    if (size >= 0) return size;
    any_ = true;
    if (size == TensorFacts::kUnknown && !unknowns_are_equal_) return next();
    const auto [at, is_new] = symbols_.try_emplace(size, 0);
    if (is_new) at->second = next();
    return at->second;
  }
  bool any() const { return any_; }  // was something not a number?
  bool ran_out() const { return used_ > std::size(kFirstTrial); }
  const std::map<int64_t, int64_t>& symbols() const { return symbols_; }

 private:
  int64_t next() {
    const size_t i = std::min(used_++, std::size(kFirstTrial) - 1);
    return trial_ == Trial::ones ? 1 : trial_ == Trial::first ? kFirstTrial[i] : kSecondTrial[i];
  }
  Trial trial_;
  bool unknowns_are_equal_;
  bool any_ = false;
  size_t used_ = 0;
  std::map<int64_t, int64_t> symbols_;
};

const TensorFacts* facts_of_value(const ir::Value* v) {
  const TensorFacts* facts = v->type()->is(TypeKind::tensor) ? v->type()->tensor_facts() : nullptr;
  return facts && facts->dtype && facts->sizes && !facts->undefined ? facts : nullptr;
}

bool all_known(const std::vector<int64_t>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 0; });
}

Tensor meta_tensor(const TensorFacts& facts, Numbers& numbers) {
  std::vector<int64_t> sizes = *facts.sizes;
  for (int64_t& n : sizes) n = numbers.of(n);
  if (facts.strides && all_known(*facts.strides))
    return empty_strided_tensor(sizes, *facts.strides, *facts.dtype, kMeta);
  return empty_tensor(sizes, *facts.dtype, kMeta);
}

std::optional<sconce::Value> argument(const ir::Value* v, const KnownInts& ints, Numbers& numbers);

// Nobody gives it other items: operators read it, or it is a result.
bool keeps_its_items(const ir::Node& list) {
  return std::ranges::all_of(list.output()->uses(), [](const ir::Use& use) {
    const ir::Node& user = *use.user;
    if (user.is(ir::kind::Return)) return !user.block()->owner();
    if (user.is(ir::kind::TupleConstruct)) return keeps_its_items(user);
    if (!user.op() || ir::is_call(user)) return false;
    if (use.offset >= user.op()->schema().arguments.size()) return true;
    const Argument& argument = user.op()->schema().arguments[use.offset];
    return !argument.alias || (!argument.is_written() && argument.alias->after.empty());
  });
}

std::optional<sconce::Value> list_argument(const ir::Node& list, const KnownInts& ints, Numbers& numbers) {
  if (!list.output()->type()->is(TypeKind::list) || !keeps_its_items(list)) return std::nullopt;
  Ref<List> items = make_ref<List>(list.output()->type()->element());
  for (const ir::Value* item : list.inputs()) {
    std::optional<sconce::Value> v = argument(item, ints, numbers);
    if (!v) return std::nullopt;
    items->append(std::move(*v));
  }
  return sconce::Value(std::move(items));
}

std::optional<sconce::Value> argument(const ir::Value* v, const KnownInts& ints, Numbers& numbers) {
  if (std::optional<sconce::Value> constant = ir::constant_value(v)) {
    if (constant->is_tensor()) return sconce::Value(meta_tensor(sconce::facts_of(constant->to_tensor()), numbers));
    if (constant->is_device()) return sconce::Value(kMeta);
    if (constant->is_list() && constant->to_list().is_tensors()) return std::nullopt;
    return constant;
  }
  if (const TensorFacts* facts = facts_of_value(v)) return sconce::Value(meta_tensor(*facts, numbers));
  if (const auto known = ints.find(v); known != ints.end()) {
    return sconce::Value(known->second.symbolic ? numbers.of(known->second.value) : known->second.value);
  }
  if (v->node()->is(ir::kind::ListConstruct)) return list_argument(*v->node(), ints, numbers);
  return std::nullopt;
}

struct Run {
  Numbers numbers;
  std::vector<sconce::Value> returns;
  bool changed_input = false;
};

std::optional<Run> run(const ir::Node& node, const KnownInts& ints, Trial trial, bool unknowns_are_equal) {
  const Op& op = *node.op();
  const Schema& schema = op.schema();
  Run result{Numbers(trial, unknowns_are_equal), {}};
  std::vector<sconce::Value> args;
  for (const ir::Value* v : node.inputs()) {
    std::optional<sconce::Value> arg = argument(v, ints, result.numbers);
    if (!arg) return std::nullopt;
    args.push_back(std::move(*arg));
  }
  if (result.numbers.ran_out()) return std::nullopt;
  if (const std::optional<size_t> device = schema.find_argument("device")) args[*device] = sconce::Value(kMeta);
  const std::vector<sconce::Value> inputs = args;
  std::vector<TensorFacts> before;
  for (const sconce::Value& v : inputs)
    before.push_back(v.is_tensor() ? sconce::facts_of(v.to_tensor()) : TensorFacts());
  try {
    result.returns.resize(schema.returns.size());
    op.call_boxed(args.data(), result.returns.data());
  } catch (const Error&) {
    return std::nullopt;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor() && sconce::facts_of(inputs[i].to_tensor()) != before[i]) result.changed_input = true;
  }
  return result;
}

int64_t size_from_trials(int64_t first, int64_t second, std::optional<int64_t> with_ones, const Run& a, const Run& b) {
  if (first == second && (!with_ones || *with_ones == first)) return first;
  for (const auto& [symbol, number] : a.numbers.symbols()) {
    if (symbol != TensorFacts::kUnknown && number == first && b.numbers.symbols().at(symbol) == second &&
        with_ones.value_or(1) == 1) {
      return symbol;
    }
  }
  return TensorFacts::kUnknown;
}

OutputFacts facts_from_trials(size_t i, const Run& a, const Run* b, const Run* ones) {
  const auto tensor = [&](const Run& r) { return r.returns[i].is_tensor() ? &r.returns[i].to_tensor() : nullptr; };
  const Tensor* ta = tensor(a);
  if (!ta) return std::nullopt;
  TensorFacts facts;
  facts.dtype = ta->dtype();
  if (!b) {
    facts.sizes = ta->sizes().vec();
    return facts;
  }
  const Tensor *tb = tensor(*b), *tc = ones ? tensor(*ones) : nullptr;
  if (!tb || ta->dtype() != tb->dtype() || (tc && ta->dtype() != tc->dtype())) return std::nullopt;
  if (ta->dim() != tb->dim() || (tc && ta->dim() != tc->dim())) return facts;
  facts.sizes.emplace();
  for (int64_t d = 0; d < ta->dim(); ++d) {
    const size_t at = static_cast<size_t>(d);
    facts.sizes->push_back(
        size_from_trials(ta->sizes()[at], tb->sizes()[at], tc ? std::optional(tc->sizes()[at]) : std::nullopt, a, *b));
  }
  return facts;
}

// The device of results: the one that is asked for, else that of all tensors, else the default.
std::optional<Device> result_device(const ir::Node& node) {
  if (const ir::Value* wanted = named_input(node, "device")) {
    const std::optional<sconce::Value> device = ir::constant_value(wanted);
    if (!device) return std::nullopt;
    if (device->is_device()) return device->to_device();
  }
  std::vector<Device> devices;
  bool known = true;
  const auto add = [&](const ir::Value* v) {
    if (!v->type()->is(TypeKind::tensor)) return;
    const TensorFacts* facts = v->type()->tensor_facts();
    if (const auto constant = ir::constant_value(v); constant && constant->is_tensor()) {
      devices.push_back(constant->to_tensor().device());
    } else if (facts && facts->device) {
      devices.push_back(*facts->device);
    } else {
      known = false;
    }
  };
  for (const ir::Value* v : node.inputs()) {
    add(v);
    if (v->node()->is(ir::kind::ListConstruct)) {
      for (const ir::Value* item : v->node()->inputs()) add(item);
    }
  }
  if (!known) return std::nullopt;
  if (devices.empty()) return Device();
  const bool equal = std::all_of(devices.begin(), devices.end(), [&](Device d) { return d == devices[0]; });
  return equal ? std::optional(devices[0]) : std::nullopt;
}

// Strides follow only from strides; rows in a row are the rule that needs none.
bool has_all_strides(const ir::Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const ir::Value* v) {
    if (v->node()->is(ir::kind::ListConstruct)) return !v->type()->element()->is(TypeKind::tensor);
    if (!v->type()->is(TypeKind::tensor) || ir::constant_value(v)) return true;
    const TensorFacts* facts = v->type()->tensor_facts();
    return facts && facts->strides && all_known(*facts->strides) && facts->sizes && all_known(*facts->sizes);
  });
}

}  // namespace

std::optional<MetaResult> call_on_meta(const ir::Node& node, const KnownInts& ints) {
  if (!node.op() || node.op()->schema().is_vararg || node.op()->has(Trait::data_dependent)) return std::nullopt;
  if (node.inputs().size() != node.op()->schema().arguments.size()) return std::nullopt;
  std::optional<Run> a = run(node, ints, Trial::first, false), b, ones;
  // [*, 3] + [*, 3]: unknown sizes that have to be equal, or 1. Only where results cannot depend on their difference.
  const bool equal = !a && node.op()->has(Trait::pointwise);
  if (equal) a = run(node, ints, Trial::first, true);
  if (!a) return std::nullopt;
  const bool any = a->numbers.any();
  if (any) {
    b = run(node, ints, Trial::second, equal);
    if (!b) return std::nullopt;
    ones = run(node, ints, Trial::ones, equal);
  }
  MetaResult result;
  result.changed_input = a->changed_input || (b && b->changed_input);
  const std::optional<Device> device = result_device(node);
  const bool strides = !any && has_all_strides(node);
  for (size_t i = 0; i < a->returns.size(); ++i) {
    OutputFacts facts = facts_from_trials(i, *a, b ? &*b : nullptr, ones ? &*ones : nullptr);
    if (facts) {
      facts->device = device;
      if (strides) facts->strides = a->returns[i].to_tensor().strides().vec();
    }
    result.outputs.push_back(std::move(facts));
  }
  return result;
}

}  // namespace sconce::passes
