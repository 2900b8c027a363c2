#include "files/map_tensors.h"

#include <unordered_map>

namespace sconce::cli {
namespace {

class Mapper {
 public:
  explicit Mapper(const std::function<Tensor(const Tensor&)>& f) : f_(f) {}

  Value map(const Value& v) {
    if (v.is_tensor()) return map_shared(v.to_tensor().impl(), [&] { return Value(f_(v.to_tensor())); });
    if (v.is_list() || v.is_dict() || v.is_tuple()) return map_shared(v.counted(), [&] { return container(v); });
    return v;
  }

 private:
  template <class Make>
  Value map_shared(const void* key, Make&& make) {
    const auto found = done_.find(key);
    if (found != done_.end()) return found->second;
    Value made = make();
    done_.emplace(key, made);
    return made;
  }
  Value container(const Value& v) {
    if (v.is_tuple()) {
      std::vector<Value> items;
      for (const Value& item : v.to_tuple().items) items.push_back(map(item));
      return make_ref<Tuple>(std::move(items), v.to_tuple().named_type);
    }
    if (v.is_list()) {
      Ref<List> list = make_ref<List>(v.to_list().element_type());
      for (const Value& item : v.to_list().values()) list->append(map(item));
      return list;
    }
    Ref<Dict> dict = make_ref<Dict>(v.to_dict().key_type(), v.to_dict().value_type());
    v.to_dict().for_each([&](const Value& key, const Value& item) { dict->set(key, map(item)); });
    return dict;
  }

  const std::function<Tensor(const Tensor&)>& f_;
  std::unordered_map<const void*, Value> done_;
};

}  // namespace

Value map_tensors(const Value& v, const std::function<Tensor(const Tensor&)>& f) { return Mapper(f).map(v); }

}  // namespace sconce::cli
