// State dicts of optimisers, in PyTorch's layout.
#include "sconce/generated/copy.h"
#include "sconce/optim/optimizer.h"
#include "sconce/optim/step_count.h"

namespace sconce::optim {
namespace {

Ref<Dict> new_dict() { return make_ref<Dict>(any_type(), any_type()); }

Ref<Dict> to_dict(const Options& options) {
  Ref<Dict> dict = new_dict();
  for (const auto& [name, v] : options.items()) dict->set(name, v);
  return dict;
}

const Value& entry(const Value& dict, const char* name) {
  SCONCE_CHECK_AS(type, dict.is_dict(), "a state dict must be a dict, got {}", dict.type()->annotation());
  const Value* found = dict.to_dict().find(name);
  SCONCE_CHECK_AS(key, found, "'{}'", name);
  return *found;
}

std::vector<Value> items_of(const Value& v) {
  if (v.is_tuple()) return v.to_tuple().items;
  return v.to_list().values();
}

// State in the parameter's dtype, if it belongs to its elements.
Value fitted(const Value& v, const Tensor& parameter) {
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    const DType dtype = is_floating(parameter.dtype()) ? parameter.dtype() : t.dtype();
    return _to_copy(t, dtype, {}, parameter.device());
  }
  if (v.is_list()) {
    Ref<List> list = make_ref<List>(v.to_list().element_type());
    for (const Value& item : v.to_list().values()) list->append(fitted(item, parameter));
    return list;
  }
  if (v.is_dict()) {
    Ref<Dict> dict = make_ref<Dict>(v.to_dict().key_type(), v.to_dict().value_type());
    v.to_dict().for_each([&](const Value& key, const Value& item) { dict->set(key, fitted(item, parameter)); });
    return dict;
  }
  return v;
}

}  // namespace

Value Optimizer::state_dict() const {
  Ref<Dict> states = new_dict();
  Ref<List> groups = make_ref<List>(any_type());
  std::unordered_map<const TensorImpl*, int64_t> numbers;
  int64_t next = 0;
  for (const ParamGroup& group : groups_) {
    Ref<Dict> packed = to_dict(group.options);
    if (!group.names.empty()) {
      Ref<List> names = make_ref<List>(any_type());
      for (const std::string& name : group.names) names->append(name);
      packed->set("param_names", names);
    }
    Ref<List> params = make_ref<List>(any_type());
    for (const Tensor& t : group.params) {
      const int64_t number = numbers.emplace(t.impl(), next++).first->second;
      params->append(number);
      const State& state = state_of(t);
      if (!state.empty()) states->set(number, to_dict(state));
    }
    packed->set("params", params);
    groups->append(packed);
  }
  Ref<Dict> result = new_dict();
  result->set("state", states);
  result->set("param_groups", groups);
  return result;
}

void Optimizer::load_state_dict(const Value& saved) {
  const std::vector<Value> groups = items_of(entry(saved, "param_groups"));
  const Value& states = entry(saved, "state");
  SCONCE_CHECK_AS(value, groups.size() == groups_.size(),
                  "loaded state dict has a different number of parameter groups");
  std::vector<std::vector<Value>> keys;
  for (size_t i = 0; i < groups.size(); ++i) {
    keys.push_back(items_of(entry(groups[i], "params")));
    SCONCE_CHECK_AS(value, keys[i].size() == groups_[i].params.size(),
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
  }
  std::unordered_map<const TensorImpl*, State> loaded_states;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = 0; j < keys[i].size(); ++j) {
      const Tensor& parameter = groups_[i].params[j];
      const Value* found = states.to_dict().find(keys[i][j]);
      if (!found) continue;
      State& state = loaded_states[parameter.impl()];
      found->to_dict().for_each([&](const Value& key, const Value& v) {
        const std::string& name = key.to_string_ref();
        // The number of steps keeps its own dtype: bfloat16 cannot count to 1000.
        state.set(name, name == "step" ? (v.is_tensor() ? Value(clone(v.to_tensor())) : v) : fitted(v, parameter));
      });
      fix_step(state);
    }
  }
  state_ = std::move(loaded_states);
  for (size_t i = 0; i < groups.size(); ++i) {
    Options options;
    std::vector<std::string> names;
    groups[i].to_dict().for_each([&](const Value& key, const Value& v) {
      const std::string& name = key.to_string_ref();
      if (name == "param_names") {
        for (const Value& item : items_of(v)) names.push_back(item.to_string_ref());
      } else if (name != "params") {
        options.set(name, v);
      }
    });
    // Options that older versions did not have.
    for (const auto& [name, v] : defaults_.items()) {
      if (!options.has(name)) options.set(name, v);
    }
    groups_[i].options = std::move(options);
    if (!names.empty()) groups_[i].names = std::move(names);
  }
  loaded();
}

}  // namespace sconce::optim
