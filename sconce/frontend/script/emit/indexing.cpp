// Subscripts.
//
// Note [Tensor indexing]
// x[i, a:b, None, ..., j] is applied from left to right: an int selects and leaves the dimension number as it is, a
// slice and None go on to the next. Behind `...` dimensions count from the end. Tensors are collected and indexed with
// at last: x[1:, t] is index(slice(x, 0, 1), [None, t]).
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/slice_value.h"
#include "sconce/frontend/script/names/tuple_items.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

namespace {
bool is_ellipsis(ExprPtr x) {
  const auto* c = as<Constant>(x);
  return c && c->literal == Constant::Literal::ellipsis;
}
}  // namespace

SugaredPtr Emitter::Impl::subscript(const Subscript& s, TypePtr hint) {
  const SugaredPtr base = sugared(s.value, nullptr);
  const TypePtr type = base->type();
  if (type && is_subtype(type, tensor_type())) {
    const Indexed part = index_tensor(s.range, base->as_value(e, s.range), s.indices);
    if (part.indices.empty()) return simple(part.tensor);
    return simple(call_op(e, s.range, "aten::index", {part.tensor, index_list(s.range, part.indices)}));
  }
  if (s.indices.size() != 1) {
    if (type && type->is(TypeKind::dict)) {  // d[1, 2]
      return base->subscript(e, s.range, simple(e.tuple(s.range, values(s.indices, {}))), hint);
    }
    refuse(s.range, "Only tensors take several indices, found {}", type ? type->annotation() : base->kind());
  }
  const SugaredPtr index = as<Slice>(s.indices[0]) ? nullptr : sugared(s.indices[0], nullptr);
  const auto* slice_object = dynamic_cast<SliceValue*>(index.get());
  if (!index || slice_object) {
    const auto bounds = [&] { return index ? slice_object->bounds : slice_bounds(*as<Slice>(s.indices[0])); };
    if (dynamic_cast<SimpleValue*>(base.get())) {
      if (type->is(TypeKind::class_)) refuse(s.range, "slices of instances of {} aren't supported", type->annotation());
      if (!type->is(TypeKind::tuple)) {  // a list, a str, or nothing that has slices: the operator says so
        return simple(slice(s.range, base->as_value(e, s.range), std::nullopt, bounds()));
      }
    }
    return tuple_slice(s.range, base, bounds());
  }
  if (auto* v = dynamic_cast<SimpleValue*>(base.get()); v && type->is(TypeKind::class_)) {
    if (SugaredPtr result =
            call_magic_method(e, s.range, "__getitem__", {v->value, index->as_value(e, s.indices[0]->range)})) {
      return result;
    }
    // A module among several of one interface: the index need not be known.
    if (type->class_info()->is_module && hint && hint->is(TypeKind::interface)) {
      ir::Value* i = index->as_value(e, s.indices[0]->range);
      return simple(call_op(e, s.range, "prim::ModuleContainerIndex", {v->value, i})->set_type(hint));
    }
  }
  return base->subscript(e, s.range, index, hint);
}

Emitter::Impl::Indexed Emitter::Impl::index_tensor(const Range& at, ir::Value* tensor,
                                                   const std::vector<ExprPtr>& indices) {
  enum class Step : uint8_t { skip, slice, unsqueeze, select, tensor };
  struct Part {
    Step step = Step::skip;
    int64_t dim = 0;
    ir::Value* value = nullptr;
    SugaredPtr bounds;  // of a slice object
  };
  std::vector<Part> parts(indices.size());
  const auto classify = [&](size_t i, int64_t dim, bool behind) {
    Part& part = parts[i];
    part.dim = dim;
    const int64_t next = behind ? dim - 1 : dim + 1;
    if (as<Slice>(indices[i])) {
      part.step = Step::slice;
      return next;
    }
    const SugaredPtr index = sugared(indices[i], nullptr);
    if (dynamic_cast<SliceValue*>(index.get())) {
      part.step = Step::slice;
      part.bounds = index;
      return next;
    }
    part.value = index->as_value(e, indices[i]->range);
    if (part.value->type()->is(TypeKind::list)) {
      part.value = call_op(e, at, "aten::tensor", {part.value},
                           {{at, "dtype", simple(e.constant(at, sconce::Value(DType::int64)))}});
    }
    const TypePtr type = part.value->type();
    if (type->is(TypeKind::none)) {
      part.step = Step::unsqueeze;
      return behind ? dim : next;
    }
    if (type->is(TypeKind::int_)) {
      part.step = Step::select;
      return behind ? next : dim;
    }
    if (!is_subtype(type, optional_type(tensor_type()))) {
      refuse(at,
             "Unsupported operation: indexing tensor with unsupported index type '{}'. Only ints, slices, lists and "
             "tensors are supported",
             type->annotation());
    }
    if (behind) refuse(at, "Ellipses followed by tensor indexing is currently not supported");
    part.step = Step::tensor;
    return next;
  };
  size_t ellipsis = 0;
  int64_t dim = 0;
  for (; ellipsis < indices.size() && !is_ellipsis(indices[ellipsis]); ++ellipsis) dim = classify(ellipsis, dim, false);
  dim = -1;
  for (size_t i = indices.size(); i-- > ellipsis + 1;) {
    if (is_ellipsis(indices[i])) refuse(at, "An index can only have a single ellipsis ('...')");
    dim = classify(i, dim, true);
  }
  Indexed result{tensor, {}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const auto dim_value = [&] { return e.constant(at, sconce::Value(part.dim)); };
    switch (part.step) {
      case Step::skip:
        break;
      case Step::slice:
        result.tensor =
            slice(at, result.tensor, part.dim,
                  part.bounds ? static_cast<SliceValue&>(*part.bounds).bounds : slice_bounds(*as<Slice>(indices[i])));
        break;
      case Step::unsqueeze:
        result.tensor = call_op(e, at, "aten::unsqueeze", {result.tensor, dim_value()});
        break;
      case Step::select:
        result.tensor = call_op(e, at, "aten::select", {result.tensor, dim_value(), part.value});
        break;
      case Step::tensor:
        result.indices.resize(static_cast<size_t>(part.dim) + 1, nullptr);
        result.indices.back() = part.value;
        break;
    }
  }
  for (ir::Value*& v : result.indices) {
    if (!v) v = e.none(at);
  }
  return result;
}

ir::Value* Emitter::Impl::index_list(const Range& at, const std::vector<ir::Value*>& indices) {
  return e.list(at, optional_type(tensor_type()), indices);
}

SliceBounds Emitter::Impl::slice_bounds(const Slice& s) {
  const auto bound = [&](ExprPtr x) { return x ? e.value(x) : nullptr; };
  SliceBounds bounds;
  bounds.start = bound(s.start);
  bounds.stop = bound(s.stop);
  bounds.step = bound(s.step);
  return bounds;
}

ir::Value* Emitter::Impl::slice(const Range& at, ir::Value* v, std::optional<int64_t> dim, const SliceBounds& bounds) {
  std::vector<ir::Value*> args{v};
  if (dim) args.push_back(e.constant(at, sconce::Value(*dim)));
  args.push_back(bounds.start ? bounds.start : e.none(at));
  args.push_back(bounds.stop ? bounds.stop : e.none(at));
  const bool has_step = bounds.step && !bounds.step->type()->is(TypeKind::none);
  args.push_back(has_step ? bounds.step : e.constant(at, sconce::Value(int64_t{1})));
  return call_op(e, at, "aten::slice", args);
}

// t[a:b:s] of a tuple (or of modules): the items are chosen now, so the bounds must be constants.
SugaredPtr Emitter::Impl::tuple_slice(const Range& at, SugaredPtr tuple, const SliceBounds& bounds) {
  const TypePtr type = dynamic_cast<SimpleValue*>(tuple.get()) ? tuple->type() : nullptr;
  std::vector<SugaredPtr> items;
  if (!type) items = tuple->unpack(e, at, std::nullopt);
  const auto size = static_cast<int64_t>(type ? type->contained().size() : items.size());
  const auto bound = [&](ir::Value* v) -> std::optional<int64_t> {
    if (!v || v->type()->is(TypeKind::none)) return std::nullopt;
    const std::optional<sconce::Value> constant = ir::constant_value(v);
    if (!constant || !constant->is_int()) refuse(at, "tuple slice indices must be integer constants");
    return constant->to_int();
  };
  const std::optional<int64_t> start = bound(bounds.start), stop = bound(bounds.stop);
  const int64_t step = bound(bounds.step).value_or(1);
  if (step == 0) refuse(at, "slice step cannot be zero");
  const auto clamp = [&](std::optional<int64_t> i, int64_t otherwise) {
    if (!i) return otherwise;
    const int64_t least = step > 0 ? 0 : -1;
    const int64_t most = step > 0 ? size : size - 1;
    const int64_t from_start = *i < 0 ? *i + size : *i;
    return from_start < least ? least : from_start > most ? most : from_start;
  };
  const int64_t first = clamp(start, step > 0 ? 0 : size - 1);
  const int64_t last = clamp(stop, step > 0 ? size : -1);
  std::vector<SugaredPtr> chosen;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    chosen.push_back(items.empty() ? tuple->subscript(e, at, simple(e.constant(at, sconce::Value(i))), nullptr)
                                   : items[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  auto result = std::make_shared<TupleItems>(std::move(chosen));
  if (type) return simple(result->as_value(e, at));
  return result;
}

ir::Value* Emitter::Impl::to_tensor_like(const Range& at, ir::Value* v, ir::Value* like) {
  switch (v->type()->kind()) {
    case TypeKind::int_:
    case TypeKind::float_:
    case TypeKind::complex:
    case TypeKind::bool_:
    case TypeKind::number: {
      ir::Value* dtype = call_op(e, at, "prim::dtype", {like});
      ir::Value* device = call_op(e, at, "prim::device", {like});
      return call_op(e, at, "aten::tensor", {v}, {{at, "dtype", simple(dtype)}, {at, "device", simple(device)}});
    }
    default:
      return v;
  }
}

}  // namespace sconce::script
