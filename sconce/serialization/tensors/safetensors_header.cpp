#include "sconce/serialization/tensors/safetensors_header.h"

#include <unordered_set>

#include "sconce/base/error.h"
#include "sconce/serialization/file/json_text.h"

namespace sconce {
namespace {

using Json = nlohmann::json;

// Takes the header apart while the parser reads it, so that nothing larger than the header itself is ever built:
//   {  "name": {  "dtype": "F32", "shape": [ 2, 3 ], "data_offsets": [ 0, 24 ]  }, "__metadata__": { "key": "text" }  }
// Every function returns true to go on; errors are thrown.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& file) : header_(header), file_(file) {}

  bool start_object(size_t) override {
    if (place_ == Place::start) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      seen_.clear();
      header_.tensors.push_back({key_, {}, {}, 0, 0});
    } else {
      misplaced("an object");
    }
    return true;
  }
  bool key(std::string& text) override {
    key_ = text;
    if (place_ == Place::top) {
      SCONCE_CHECK(names_.insert(text).second, "{}: the header has '{}' twice", file_, text);
    } else if (place_ == Place::metadata) {
      SCONCE_CHECK(metadata_keys_.insert(text).second, "{}: the metadata has '{}' twice", file_, text);
    } else {
      SCONCE_CHECK(text == "dtype" || text == "shape" || text == "data_offsets",
                   "{}: tensor '{}' has the unknown key '{}'", file_, current().name, text);
      SCONCE_CHECK(seen_.insert(text).second, "{}: tensor '{}' has '{}' twice", file_, current().name, text);
    }
    return true;
  }
  bool end_object() override {
    if (place_ == Place::tensor) {
      SCONCE_CHECK(seen_.size() == 3, "{}: tensor '{}' needs dtype, shape and data_offsets", file_, current().name);
      place_ = Place::top;
    } else {
      place_ = place_ == Place::metadata ? Place::top : Place::end;
    }
    return true;
  }
  bool start_array(size_t) override {
    if (place_ != Place::tensor || (key_ != "shape" && key_ != "data_offsets")) misplaced("a list");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    offsets_ = 0;
    return true;
  }
  bool end_array() override {
    SCONCE_CHECK(place_ == Place::shape || offsets_ == 2, "{}: tensor '{}' needs two data_offsets", file_,
                 current().name);
    place_ = Place::tensor;
    return true;
  }
  bool number_unsigned(uint64_t n) override {
    if (place_ == Place::shape) {
      current().shape.push_back(n);
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? current().begin : current().end) = n;
    } else {
      misplaced(std::to_string(n));
    }
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      header_.metadata.emplace_back(key_, text);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      current().dtype = text;
    } else {
      misplaced("a text");
    }
    return true;
  }
  bool number_integer(int64_t n) override { misplaced(std::to_string(n)); }
  bool number_float(double, const std::string& text) override { misplaced(text); }
  bool boolean(bool b) override { misplaced(b ? "true" : "false"); }
  bool null() override { misplaced("null"); }
  bool binary(Json::binary_t&) override { misplaced("bytes"); }
  bool parse_error(size_t at, const std::string&, const Json::exception&) override {
    fail("{}: the header is not a JSON object: byte {} is wrong", file_, at);
  }

 private:
  enum class Place { start, top, metadata, tensor, shape, offsets, end };

  SafetensorsHeader::Tensor& current() { return header_.tensors.back(); }
  [[noreturn]] void misplaced(std::string_view what) {
    switch (place_) {
      case Place::metadata:
        fail("{}: the metadata '{}' is not a text", file_, key_);
      case Place::top:
        fail("{}: tensor '{}' needs dtype, shape and data_offsets, got {}", file_, key_, what);
      case Place::shape:
      case Place::offsets:
        fail("{}: tensor '{}' has {} where a size or an offset belongs", file_, current().name, what);
      case Place::tensor:
        fail("{}: tensor '{}' has {} as its {}", file_, current().name, what, key_);
      default:
        fail("{}: the header is not a JSON object", file_);
    }
  }

  SafetensorsHeader& header_;
  const std::string& file_;
  Place place_ = Place::start;
  std::string key_;
  int offsets_ = 0;
  std::unordered_set<std::string> names_, metadata_keys_, seen_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file) {
  SCONCE_CHECK(text.starts_with('{'), "{}: the header is not a JSON object", file);
  SafetensorsHeader header;
  HeaderReader reader(header, file);
  parse_json_text(text, &reader);
  return header;
}

}  // namespace sconce
