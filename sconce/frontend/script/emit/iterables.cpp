#include "sconce/frontend/script/emit/iterables.h"

#include <limits>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/tuple_items.h"

namespace sconce::script {
namespace {

// A name that makes an iterable when it is called.
class IterableFunction : public SugaredValue {
 public:
  using Make = SugaredPtr (*)(Emitter& e, const Range& at, const CallArguments& args);
  IterableFunction(std::string name, Make make) : name_(std::move(name)), make_(make) {}
  std::string kind() const override { return name_; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    return make_(e, at, args);
  }

 private:
  const std::string name_;
  const Make make_;
};

void refuse_keywords(const Range& at, std::string_view name, const CallArguments& args) {
  if (!args.keywords.empty()) refuse(at, "{} does not take the keyword argument '{}'", name, args.keywords[0].name);
}

ir::Value* int_argument(Emitter& e, const CallArgument& a) { return a.value->as_value(e, a.at); }

SugaredPtr make_range(Emitter& e, const Range& at, const CallArguments& args) {
  refuse_keywords(at, "range", args);
  std::vector<ir::Value*> inputs;
  for (const CallArgument& a : args.positional) inputs.push_back(int_argument(e, a));
  return std::make_shared<RangeValue>(e, at, inputs);
}

SugaredPtr make_zip(Emitter& e, const Range& at, const CallArguments& args) {
  refuse_keywords(at, "zip", args);
  if (args.positional.empty()) refuse(at, "zip expected at least 1 arguments, got 0");
  std::vector<SugaredPtr> parts;
  for (const CallArgument& a : args.positional) parts.push_back(a.value->iterate(e, a.at));
  return std::make_shared<ZipValue>(at, std::move(parts));
}

SugaredPtr make_enumerate(Emitter& e, const Range& at, const CallArguments& args) {
  std::optional<CallArgument> start;
  for (const CallArgument& a : args.keywords) {
    if (a.name != "start" || args.positional.size() > 1) refuse_keywords(at, "enumerate", args);
    start = a;
  }
  const size_t count = args.positional.size();
  if (count == 0) refuse(at, "enumerate expected at least 1 arguments, got 0");
  if (count > 2) refuse(at, "enumerate expected at most 2 arguments, got {}", count);
  if (count == 2) start = args.positional[1];
  const SugaredPtr iterable = args.positional[0].value->iterate(e, at);
  std::vector<ir::Value*> inputs;
  if (start) inputs.push_back(int_argument(e, *start));
  inputs.push_back(e.constant(at, sconce::Value(std::numeric_limits<int64_t>::max())));
  const SugaredPtr counter = std::make_shared<RangeValue>(e, at, inputs, iterable->static_length());
  return std::make_shared<ZipValue>(at, std::vector<SugaredPtr>{counter, iterable});
}

}  // namespace

RangeValue::RangeValue(Emitter& e, const Range& at, const std::vector<ir::Value*>& inputs,
                       std::optional<size_t> static_length)
    : static_length_(static_length) {
  if (inputs.empty()) refuse(at, "range expected at least 1 arguments, got 0");
  if (inputs.size() > 3) refuse(at, "range expected at most 3 arguments, got {}", inputs.size());
  std::vector<ir::Value*> ints = inputs;
  for (size_t i = 0; i < ints.size(); ++i) {
    if (ints[i]->type()->is(TypeKind::tensor)) ints[i] = convert(e, at, ints[i], int_type(), true);
    if (ints[i]->type() != int_type()) {
      refuse(at, "all inputs of range must be ints, found {} in argument {}", inputs[i]->type()->annotation(), i);
    }
  }
  if (ints.size() == 1) {
    end_ = ints[0];
    return;
  }
  start_ = ints[0];
  end_ = ints[1];
  step_ = ints.size() == 3 ? ints[2] : e.constant(at, sconce::Value(1));
}

ir::Value* RangeValue::length(Emitter& e, const Range& at) {
  return start_ ? call_op(e, at, "aten::__range_length", {start_, end_, step_}) : end_;
}

SugaredPtr RangeValue::item(Emitter& e, const Range& at, ir::Value* index, TypePtr) {
  return simple(start_ ? call_op(e, at, "aten::__derive_index", {index, start_, step_}) : index);
}

ZipValue::ZipValue(const Range& at, std::vector<SugaredPtr> parts) : parts_(std::move(parts)) {
  size_t known = 0;
  for (const SugaredPtr& part : parts_) {
    const std::optional<size_t> n = part->static_length();
    if (!n) continue;
    ++known;
    static_length_ = std::min(static_length_.value_or(*n), *n);
  }
  if (known != 0 && known != parts_.size()) {
    refuse(at,
           "Can not iterate over a module list or tuple with a value that does not have a statically determinable "
           "length\n");
  }
}

ir::Value* ZipValue::as_value(Emitter&, const Range& at) { refuse(at, "iterabletree cannot be used as a value"); }

void ZipValue::add_lengths(Emitter& e, const Range& at, std::vector<ir::Value*>& lengths) const {
  for (const SugaredPtr& part : parts_) {
    if (const auto* inner = dynamic_cast<const ZipValue*>(part.get())) {
      inner->add_lengths(e, at, lengths);
    } else {
      lengths.push_back(part->length(e, at));
    }
  }
}

ir::Value* ZipValue::length(Emitter& e, const Range& at) {
  std::vector<ir::Value*> lengths;
  add_lengths(e, at, lengths);
  return lengths.size() == 1 ? lengths[0] : call_op(e, at, "prim::min", {e.list(at, int_type(), lengths)});
}

SugaredPtr ZipValue::item(Emitter& e, const Range& at, ir::Value* index, TypePtr) {
  std::vector<SugaredPtr> items;
  for (const SugaredPtr& part : parts_) items.push_back(part->item(e, at, index, nullptr));
  return std::make_shared<TupleItems>(std::move(items));
}

SugaredPtr range_function() { return std::make_shared<IterableFunction>("range", make_range); }
SugaredPtr zip_function() { return std::make_shared<IterableFunction>("zip", make_zip); }
SugaredPtr enumerate_function() { return std::make_shared<IterableFunction>("enumerate", make_enumerate); }

}  // namespace sconce::script
