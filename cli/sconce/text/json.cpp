#include "text/json.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/tensor/element.h"
#include "sconce/tensor/math_bits.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double d) {
  if (std::isfinite(d)) return d;
  return float_repr(d);
}

Json element(const Tensor& t, int64_t offset) {
  const auto* base = static_cast<const std::byte*>(t.data());
  return to_json(load_scalar(base + offset * static_cast<int64_t>(t.item_size()), t.dtype()));
}

Json elements(const Tensor& t, int64_t dim, int64_t offset) {
  if (dim == t.dim()) return element(t, offset);
  Json out = Json::array();
  for (int64_t i = 0; i < t.size(dim); ++i) out.push_back(elements(t, dim + 1, offset + i * t.stride(dim)));
  return out;
}

Json tensor(const Tensor& given) {
  if (!given.defined()) return nullptr;
  const Tensor t = resolved_math_bits(given);
  Json out;
  out["dtype"] = dtype_name(t.dtype());
  out["shape"] = std::vector<int64_t>(t.sizes().begin(), t.sizes().end());
  out["data"] = elements(t, 0, 0);
  return out;
}

Json dict(const Dict& d) {
  Json out = d.key_type()->to_string() == "str" ? Json::object() : Json::array();
  d.for_each([&](const Value& key, const Value& value) {
    if (out.is_object()) {
      out[key.to_string_ref()] = to_json(value);
    } else {
      out.push_back(Json::array({to_json(key), to_json(value)}));
    }
  });
  return out;
}

}  // namespace

void add_json_option(App command, bool& json) { command.add_flag("--json", json, "Prints JSON"); }

Json to_json(const Value& v) {
  switch (v.tag()) {
    case Tag::none:
      return nullptr;
    case Tag::boolean:
      return v.to_bool();
    case Tag::integer:
      return v.to_int();
    case Tag::real:
      return number(v.to_double());
    case Tag::complex:
      return Json::array({number(v.to_complex().real()), number(v.to_complex().imag())});
    case Tag::string:
      return v.to_string_ref();
    case Tag::tensor:
      return tensor(v.to_tensor());
    case Tag::dict:
      return dict(v.to_dict());
    case Tag::list: {
      Json out = Json::array();
      for (size_t i = 0; i < v.to_list().size(); ++i) out.push_back(to_json(v.to_list().get(i)));
      return out;
    }
    case Tag::tuple: {
      Json out = Json::array();
      for (const Value& item : v.to_tuple().items) out.push_back(to_json(item));
      return out;
    }
    default:
      return v.repr();
  }
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_json(const Json& json) { fmt::print("{}\n", json_text(json)); }

}  // namespace sconce::cli
