#include "sconce/api/deep_copy.h"

#include <unordered_map>

#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/generated/copy.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/class_info.h"

namespace sconce::jit {
namespace {

class Copier {
 public:
  Value copy(const Value& v, int depth = 0) {
    SCONCE_CHECK(depth < kMaxDepth, "deep_copy: values are nested deeper than {}", kMaxDepth);
    if (v.tag() < Tag::tensor || v.is_string() || v.is_complex()) return v;
    const void* key = v.is_tensor() ? static_cast<const void*>(v.to_tensor().impl()) : v.counted();
    if (const auto known = copies_.find(key); known != copies_.end()) return known->second;
    switch (v.tag()) {
      case Tag::tensor:
        return copies_[key] = Value(copy_tensor(v.to_tensor()));
      case Tag::list: {
        const List& from = v.to_list();
        if (from.is_ints() || from.is_doubles() || from.is_bools()) return copies_[key] = Value(from.copy());
        auto to = make_ref<List>(from.element_type());
        copies_[key] = Value(to);
        to->reserve(from.size());
        for (size_t i = 0; i < from.size(); ++i) to->append(copy(from.get(i), depth + 1));
        return Value(to);
      }
      case Tag::dict: {
        auto to = make_ref<Dict>(v.to_dict().key_type(), v.to_dict().value_type());
        copies_[key] = Value(to);
        v.to_dict().for_each([&](const Value& k, const Value& x) { to->set(copy(k, depth + 1), copy(x, depth + 1)); });
        return Value(to);
      }
      case Tag::tuple: {
        std::vector<Value> items;
        for (const Value& item : v.to_tuple().items) items.push_back(copy(item, depth + 1));
        return copies_[key] = Value(make_ref<Tuple>(std::move(items), v.to_tuple().named_type));
      }
      case Tag::object: {
        const Object& from = v.to_object();
        auto to = make_ref<Object>(from.type());
        copies_[key] = Value(to);
        if (is_custom_class(from.type())) return copy_custom(v, Value(to), depth);
        for (size_t i = 0; i < from.type()->class_info()->attributes.size(); ++i)
          to->set_slot(i, copy(from.slot(i), depth + 1));
        return Value(to);
      }
      default:
        return v;  // enum members, generators, futures: themselves
    }
  }

 private:
  static constexpr int kMaxDepth = 1000;

  // By the state that a file would hold.
  Value copy_custom(const Value& from, const Value& to, int depth) {
    const TypePtr type = from.to_object().type();
    ir::Function *get = ir::find_method(type, "__getstate__"), *set = ir::find_method(type, "__setstate__");
    SCONCE_CHECK(get && set,
                 "Cannot serialize custom bound C++ class {}. Please define serialization methods via def_pickle() for "
                 "this class.",
                 type->name());
    Value self[] = {from};
    Value args[] = {to, copy(runtime::run(*get, self), depth + 1)};
    runtime::run(*set, args);
    return to;
  }

  // A leaf stays one, with a copy of its gradient.
  static Tensor copy_tensor(const Tensor& from) {
    SCONCE_CHECK(
        autograd::is_leaf(from),
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
        "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage");
    const NoGrad off;
    Tensor to = clone(from);
    if (!from.requires_grad()) return to;
    autograd::make_leaf(to);
    if (const Tensor grad = autograd::grad(from); grad.defined()) autograd::set_grad(to, clone(grad));
    return to;
  }

  std::unordered_map<const void*, Value> copies_;
};

}  // namespace

Value deep_copy(const Value& v) { return Copier().copy(v); }

}  // namespace sconce::jit
