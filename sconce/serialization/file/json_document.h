// JSON document: the tree of a text, of bounded depth. To destroy it takes no memory; nlohmann's own trees take some,
// and end the process when there is none.
//
// Includes nlohmann/json: for .cpp files only.
#pragma once

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/serialization/file/json_text.h"

namespace sconce {

inline constexpr size_t kMaxJsonDepth = 1000;  // of arrays and objects in each other; a limit against hostile files

class JsonDocument {
 public:
  using Json = nlohmann::json;
  // Throws Error, which begins with `name`, for a text that is not JSON.
  JsonDocument(std::string_view text, const std::string& name) {
    try {
      Builder builder(root_, name);
      parse_json_text(text, &builder);
    } catch (...) {
      dismantle(root_);
      throw;
    }
  }
  ~JsonDocument() { dismantle(root_); }
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  operator const Json&() const { return root_; }
  const Json& operator*() const { return root_; }
  const Json* operator->() const { return &root_; }

 private:
  // Empties arrays and objects from within: destroying an empty one is plain.
  static void dismantle(Json& json) noexcept {
    if (auto* array = json.get_ptr<Json::array_t*>()) {
      for (; !array->empty(); array->pop_back()) dismantle(array->back());
    } else if (auto* object = json.get_ptr<Json::object_t*>()) {
      for (; !object->empty(); object->erase(object->begin())) dismantle(object->begin()->second);
    }
  }

  // What is read is put into the tree at once, where the document finds it.
  class Builder final : public nlohmann::json_sax<Json> {
   public:
    Builder(Json& root, const std::string& name) : root_(root), name_(name) {}

    bool null() override { return put(Json()); }
    bool boolean(bool v) override { return put(Json(v)); }
    bool number_integer(number_integer_t v) override { return put(Json(v)); }
    bool number_unsigned(number_unsigned_t v) override { return put(Json(v)); }
    bool number_float(number_float_t v, const string_t&) override { return put(Json(v)); }
    bool string(string_t& v) override { return put(Json(std::move(v))); }
    bool binary(binary_t& v) override { return put(Json(std::move(v))); }
    bool start_object(size_t) override { return open(Json(Json::value_t::object)); }
    bool start_array(size_t) override { return open(Json(Json::value_t::array)); }
    bool key(string_t& v) override {
      member_ = &open_.back()->get_ref<Json::object_t&>()[v];
      dismantle(*member_);  // the last of several counts
      return true;
    }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(size_t, const std::string&, const Json::exception& error) override {
      fail("{}: is not JSON: {}", name_, error.what());
    }

   private:
    Json& place() {
      if (open_.empty()) return root_;
      if (auto* array = open_.back()->get_ptr<Json::array_t*>()) return array->emplace_back();
      return *member_;
    }
    bool put(Json v) {
      place() = std::move(v);
      return true;
    }
    bool open(Json v) {
      SCONCE_CHECK(open_.size() < kMaxJsonDepth, "{}: is not JSON that can be read: it is nested deeper than {}", name_,
                   kMaxJsonDepth);
      Json& made = place();
      made = std::move(v);
      open_.push_back(&made);
      return true;
    }
    bool close() {
      open_.pop_back();
      return true;
    }

    Json& root_;
    const std::string& name_;
    std::vector<Json*> open_;  // arrays and objects that have begun, the innermost last
    Json* member_ = nullptr;   // of the innermost object: what its last key is for
  };

  Json root_;
};

}  // namespace sconce
