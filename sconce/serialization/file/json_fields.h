// JsonFields: a checked JSON reader, field by field. Each access checks kind and presence, and an error
// names the place:
//   model.pt2: models/model.json: graph.nodes[3].inputs[0]: has no field 'arg'
//
//   node.target = fields.text(json, "target");
//   fields.each(json, "inputs", [&](const Json& input) { node.inputs.push_back(read_argument(input)); });
//
// Includes nlohmann/json: for .cpp files only.
#pragma once

#include <nlohmann/json.hpp>

#include "sconce/serialization/file/json_document.h"

namespace sconce {

class JsonFields {
 public:
  using Json = nlohmann::json;
  explicit JsonFields(std::string name) : name_(std::move(name)) {}

  // The whole text. Throws Error for text that is not JSON.
  JsonDocument parse(std::string_view text) const { return JsonDocument(text, name_); }

  template <class... Args>
  [[noreturn]] void wrong(std::string_view format, const Args&... args) const {
    const std::string at = place();
    fail("{}: {}{}{}", name_, at, at.empty() ? "" : ": ", format_message(format, {ErrorArg(args)...}));
  }
  // "graph.nodes[3].inputs[0]"
  std::string place() const {
    std::string out;
    for (const Step& step : steps_) {
      if (step.key.data())
        out += (out.empty() ? "" : ".") + std::string(step.key);
      else
        out += "[" + std::to_string(step.index) + "]";
    }
    return out;
  }

  // Member `key` of an object; errors of f inside of it name it. `key` must outlive the call.
  template <class F>
  auto in(const Json& object, std::string_view key, F&& f) {
    const Json* found = find(object, key);
    if (!found) wrong("has no field '{}'", key);
    const Inside inside(*this, Step{key, 0});
    return f(*found);
  }
  // The same, when it is there and not null.
  template <class F>
  void maybe(const Json& object, std::string_view key, F&& f) {
    const Json* found = find(object, key);
    if (!found || found->is_null()) return;
    const Inside inside(*this, Step{key, 0});
    f(*found);
  }
  template <class F>
  void items(const Json& list, F&& f) {
    if (!list.is_array()) wrong("must be a list, is {}", list.type_name());
    for (size_t i = 0; i < list.size(); ++i) {
      const Inside inside(*this, Step{{}, i});
      f(list[i]);
    }
  }
  template <class F>
  void members(const Json& object, F&& f) {
    if (!object.is_object()) wrong("must be an object, is {}", object.type_name());
    for (const auto& [key, value] : object.items()) {
      const Inside inside(*this, Step{key, 0});
      f(key, value);
    }
  }
  template <class F>
  void each(const Json& object, std::string_view key, F&& f) {
    in(object, key, [&](const Json& list) { items(list, f); });
  }
  template <class F>
  void each_member(const Json& object, std::string_view key, F&& f) {
    in(object, key, [&](const Json& inner) { members(inner, f); });
  }
  // Of an object with exactly one member that is not null: f(key, value).
  template <class F>
  void only(const Json& object, F&& f) {
    if (!object.is_object()) wrong("must be an object, is {}", object.type_name());
    const std::string* key = nullptr;
    for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) {
      if (value.is_null()) continue;
      if (key) wrong("must have one field, has '{}' and '{}'", *key, name);
      key = &name;
    }
    if (!key) wrong("must have one field, has none");
    const Inside inside(*this, Step{*key, 0});
    f(*key, object[*key]);
  }

  const std::string& text(const Json& json) const {
    if (!json.is_string()) wrong("must be a text, is {}", json.type_name());
    return json.get_ref<const std::string&>();
  }
  int64_t integer(const Json& json) const {
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() || json.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
    if (!fits) wrong("must be an integer of 64 bits, is {}", json.is_number() ? json.dump() : json.type_name());
    return json.get<int64_t>();
  }
  bool boolean(const Json& json) const {
    if (!json.is_boolean()) wrong("must be true or false, is {}", json.type_name());
    return json.get<bool>();
  }
  // A number, or the text of one that JSON does not have.
  double real(const Json& json) const {
    if (json.is_number()) return json.get<double>();
    const std::string& word = text(json);
    if (word == "Infinity" || word == "inf") return INFINITY;
    if (word == "-Infinity" || word == "-inf") return -INFINITY;
    if (word == "NaN" || word == "nan") return NAN;
    wrong("must be a number, is '{}'", word);
  }
  std::string text(const Json& object, std::string_view key) {
    return in(object, key, [&](const Json& j) { return text(j); });
  }
  int64_t integer(const Json& object, std::string_view key) {
    return in(object, key, [&](const Json& j) { return integer(j); });
  }
  bool boolean(const Json& object, std::string_view key) {
    return in(object, key, [&](const Json& j) { return boolean(j); });
  }

 private:
  struct Step {
    std::string_view key;  // of a member; no data: an item
    size_t index = 0;
  };
  // A step of the path, for a scope.
  class Inside {
   public:
    Inside(JsonFields& fields, Step step) : fields_(fields) { fields_.steps_.push_back(step); }
    ~Inside() { fields_.steps_.pop_back(); }
    Inside(const Inside&) = delete;

   private:
    JsonFields& fields_;
  };

  const Json* find(const Json& object, std::string_view key) const {
    if (!object.is_object()) wrong("must be an object, is {}", object.type_name());
    const auto found = object.find(std::string(key));
    return found == object.end() ? nullptr : &*found;
  }

  std::string name_;
  std::vector<Step> steps_;
};

}  // namespace sconce
