// Python's repr of values.
#include <charconv>
#include <cmath>

#include "sconce/types/identity.h"
#include "sconce/types/tensor_printer.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

std::string complex_repr(std::complex<double> v) {
  // A part that is a whole number prints without ".0": (1+2j).
  const auto part = [](double d) {
    std::string text = float_repr(d);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  const std::string imag = part(v.imag()) + "j";
  if (v.real() == 0 && !std::signbit(v.real())) return imag;
  return "(" + part(v.real()) + (imag[0] == '-' ? "" : "+") + imag + ")";
}

std::string device_repr(Device d) {
  const Device type(d.type);
  std::string out = "device(type='" + to_string(type) + "'";
  if (d.index >= 0) out += ", index=" + std::to_string(d.index);
  return out + ")";
}

std::string last_name(const std::string& qualified) { return qualified.substr(qualified.rfind('.') + 1); }

// Looks like Python's, but says nothing about addresses.
std::string address_repr(const std::string& what, const void* p) {
  constexpr uint64_t kAddressBits = 0x7fff'ffff'fff0;
  char text[24] = "0x";
  char* end = std::to_chars(text + 2, text + sizeof text, identity_of(p) & kAddressBits, 16).ptr;
  return "<" + what + " at " + std::string(text, end) + ">";
}

// Containers that contain themselves print "..." where they come again.
class Repr {
 public:
  std::string print(const Value& v) {
    switch (v.tag()) {
      case Tag::none:
        return "None";
      case Tag::boolean:
        return v.to_bool() ? "True" : "False";
      case Tag::integer:
        return std::to_string(v.to_int());
      case Tag::real:
        return float_repr(v.to_double());
      case Tag::complex:
        return complex_repr(v.to_complex());
      case Tag::string:
        return string_repr(v.to_string_ref());
      case Tag::device:
        return device_repr(v.to_device());
      case Tag::tensor:
#ifdef SCONCE_SMALL
        return repr_printer ? repr_printer(v.to_tensor()) : tensor_summary(v.to_tensor());
#else
        return v.to_tensor().to_string();
#endif
      case Tag::enum_: {
        const EnumValue& e = v.to_enum();
        return "<" + last_name(e.type->name()) + "." + e.name + ": " + print(e.value) + ">";
      }
      case Tag::object:
        return address_repr(v.to_object().type()->name() + " object", v.counted());
      case Tag::future:
        return address_repr(v.type()->annotation(), v.counted());
      case Tag::generator:
        return address_repr("Generator", v.counted());
      case Tag::capsule:
        return address_repr("capsule", v.counted());
      default:
        break;
    }
    for (const void* open : open_) {
      if (open == v.counted()) return v.is_list() ? "[...]" : v.is_dict() ? "{...}" : "(...)";
    }
    open_.push_back(v.counted());
    std::string out = v.is_list() ? list(v.to_list()) : v.is_dict() ? dict(v.to_dict()) : tuple(v.to_tuple());
    open_.pop_back();
    return out;
  }

 private:
  std::string list(const List& items) {
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out += ", ";
      out += print(items.get(i));
    }
    return out + "]";
  }

  std::string dict(const Dict& items) {
    std::string out = "{";
    items.for_each([&](const Value& key, const Value& value) {
      if (out.size() > 1) out += ", ";
      out += print(key) + ": " + print(value);
    });
    return out + "}";
  }

  std::string tuple(const Tuple& tuple) {
    const bool named = tuple.named_type != nullptr;
    std::string out = named ? last_name(tuple.named_type->name()) + "(" : "(";
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      if (i != 0) out += ", ";
      if (named) out += tuple.named_type->fields()[i] + "=";
      out += print(tuple.items[i]);
    }
    return out + (tuple.items.size() == 1 && !named ? ",)" : ")");
  }

  std::vector<const void*> open_;
};

}  // namespace

std::string float_repr(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[40];
  const auto print = [&](std::chars_format format) {
    return std::string(text, std::to_chars(text, text + sizeof text, v, format).ptr);
  };
  // The shortest digits that read back the same, with an exponent below 1e-4 and from 1e16 on.
  const std::string scientific = print(std::chars_format::scientific);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  std::string out = print(std::chars_format::fixed);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string string_repr(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = single ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      ((out += "\\x") += kHex[byte >> 4]) += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out += quote;
}

std::string Value::repr() const { return Repr().print(*this); }

}  // namespace sconce
