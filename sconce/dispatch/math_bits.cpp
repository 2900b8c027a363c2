// The math bit fallback (formats.h): Note [Math bits] in tensor/math_bits.h.

#include <vector>

#include "sconce/base/error.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/math_bits.h"

namespace sconce {
namespace {

const Op& operator_called(const char* name) {
  const Op* op = find_op(name, "");
  SCONCE_CHECK(op, "{} is missing: a conjugate or negative view needs it", name);
  return *op;
}

// Keys of a call over one tensor, below Key::math_bits: recorders and hooks see the call, autograd has seen the one
// that needs it.
KeySet keys_below(const Tensor& t) { return active_keys(t.keys()) & KeySet::below(Key::math_bits); }

Tensor clone_of(const Tensor& t) {
  static const Op& op = operator_called("aten::clone");
  Value args[] = {t, Value()}, returned;
  op.redispatch_boxed(keys_below(t), args, &returned);
  return returned.to_tensor();
}

void write_back(const Tensor& t, const Tensor& result) {
  static const Op& op = operator_called("aten::copy_");
  if (!(t.sizes() == result.sizes())) resize_tensor(t, result.sizes());
  Value args[] = {t, result, Value(false)}, returned;
  op.redispatch_boxed(keys_below(t), args, &returned);
}

// The plain tensors that stand in for those with bits, one for each.
class StandIns {
 public:
  Tensor of(const Tensor& t, bool is_written) {
    if (!t.defined() || !has_math_bits(t)) return t;
    for (Pair& pair : pairs_) {
      if (!pair.given.is_same(t)) continue;
      pair.is_written |= is_written;
      return pair.plain;
    }
    pairs_.push_back({t, clone_of(t), is_written});
    return pairs_.back().plain;
  }

  Value of(const Value& v, bool is_written) {
    if (v.is_tensor()) return of(v.to_tensor(), is_written);
    if (!v.is_list() || !v.to_list().is_tensors() || !any_bits(v.to_list().tensors())) return v;
    Value list(v.to_list().copy());
    for (size_t i = 0; i < list.to_list().size(); ++i) {
      const Value item = list.to_list().get(i);
      if (item.is_tensor()) list.to_list().set(i, of(item.to_tensor(), is_written));
    }
    return list;
  }

  void write_back() const {
    for (const Pair& pair : pairs_) {
      if (pair.is_written) sconce::write_back(pair.given, pair.plain);
    }
  }

  // Puts the tensors that were given in place of their stand-ins.
  void put_back(Value& v) const {
    if (v.is_tensor()) {
      for (const Pair& pair : pairs_) {
        if (pair.is_written && v.to_tensor().is_same(pair.plain)) {
          v = pair.given;
          return;
        }
      }
    } else if (v.is_list() && v.to_list().is_tensors()) {
      for (size_t i = 0; i < v.to_list().size(); ++i) {
        Value item = v.to_list().get(i);
        put_back(item);
        v.to_list().set(i, std::move(item));
      }
    }
  }

 private:
  struct Pair {
    Tensor given, plain;
    bool is_written;
  };
  static bool any_bits(TensorList list) {
    bool any = false;
    for (const Tensor& t : list) any |= t.defined() && has_math_bits(t);
    return any;
  }

  std::vector<Pair> pairs_;
};

}  // namespace

void guard_math_bits(const Op& op, KeySet keys, Value* args, Value* returns) {
  keys = keys - Key::math_bits;
  if (op.info.formats & kTakesMathBits) return op.redispatch_boxed(keys, args, returns);
  const Schema& schema = op.schema();
  StandIns stand_ins;
  for (size_t i = 0; i < counts_of(op).arguments; ++i)
    args[i] = stand_ins.of(args[i], schema.arguments[i].is_written());
  op.redispatch_boxed(keys, args, returns);
  stand_ins.write_back();
  for (size_t i = 0; i < schema.returns.size(); ++i) stand_ins.put_back(returns[i]);
}

}  // namespace sconce
