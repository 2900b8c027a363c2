#include "sconce/optim/state_fields.h"

#include "sconce/optim/options.h"

namespace sconce::optim {

StateFields StateFields::reader(const Value& dict) { return StateFields(Ref<Dict>::share(&dict.to_dict()), false); }

void StateFields::operator()(const char* name, int64_t& member) {
  if (writes_) return dict_->set(name, member);
  if (const Value* v = found(name)) member = static_cast<int64_t>(number_of(*v, name));
}
void StateFields::operator()(const char* name, double& member) {
  if (writes_) return dict_->set(name, member);
  if (const Value* v = found(name)) member = number_of(*v, name);
}
void StateFields::operator()(const char* name, bool& member) {
  if (writes_) return dict_->set(name, member);
  if (const Value* v = found(name)) member = number_of(*v, name) != 0;
}
void StateFields::operator()(const char* name, std::string& member) {
  if (writes_) return dict_->set(name, member);
  if (const Value* v = found(name)) member = v->to_string_ref();
}
void StateFields::operator()(const char* name, std::vector<double>& member) {
  if (writes_) {
    Ref<List> list = make_ref<List>(any_type());
    for (const double x : member) list->append(x);
    return dict_->set(name, list);
  }
  if (const Value* v = found(name)) {
    member.clear();
    for (const Value& item : v->to_list().values()) member.push_back(number_of(item, name));
  }
}
void StateFields::operator()(const char* name, std::vector<int64_t>& member) {
  std::vector<double> numbers(member.begin(), member.end());
  if (writes_) {
    Ref<List> list = make_ref<List>(any_type());
    for (const int64_t x : member) list->append(x);
    return dict_->set(name, list);
  }
  (*this)(name, numbers);
  member.assign(numbers.begin(), numbers.end());
}
void StateFields::value(const char* name, Value& member) {
  if (writes_) return dict_->set(name, member);
  if (const Value* v = found(name)) member = *v;
}

}  // namespace sconce::optim
