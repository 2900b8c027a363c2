#include "sconce/serialization/compiled/program_values.h"

#include <algorithm>

#include "sconce/serialization/file/utf8.h"

namespace sconce::compiled {
namespace {

// Numbers of kinds in files; those of TypeKind may change.
constexpr TypeKind kSimple[] = {TypeKind::any,     TypeKind::tensor, TypeKind::int_,     TypeKind::float_,
                                TypeKind::complex, TypeKind::bool_,  TypeKind::number,   TypeKind::string,
                                TypeKind::none,    TypeKind::device, TypeKind::generator};
enum Compound : uint8_t { kList = 32, kOptional, kTuple, kNamedTuple, kDict, kUnion };

enum ValueKind : uint8_t {
  kNone,
  kFalse,
  kTrue,
  kInt,
  kReal,
  kCpu,
  kString,
  kComplex,
  kListValue,
  kTupleValue,
  kDevice
};

std::string read_name(ByteReader& in) {
  const std::string_view text = in.text();
  SCONCE_CHECK(valid_utf8(text) == text.size(), "{}: a name is no UTF-8", in.name());
  return std::string(text);
}

}  // namespace

void write_type(ByteWriter& out, TypePtr type) {
  const auto* const simple = std::find(std::begin(kSimple), std::end(kSimple), type->kind());
  if (simple != std::end(kSimple)) return out.byte(static_cast<uint8_t>(simple - kSimple));
  const auto contained = [&] {
    out.number(static_cast<uint32_t>(type->contained().size()));
    for (const TypePtr t : type->contained()) write_type(out, t);
  };
  switch (type->kind()) {
    case TypeKind::list:
    case TypeKind::optional:
      out.byte(type->is(TypeKind::list) ? kList : kOptional);
      return write_type(out, type->element());
    case TypeKind::dict:
      out.byte(kDict);
      write_type(out, type->contained()[0]);
      return write_type(out, type->contained()[1]);
    case TypeKind::union_:
      out.byte(kUnion);
      return contained();
    case TypeKind::tuple:
      if (type->name().empty()) {
        out.byte(kTuple);
        return contained();
      }
      out.byte(kNamedTuple);
      out.text(type->name());
      contained();
      for (const std::string& field : type->fields()) out.text(field);
      return;
    default:
      fail_as(ErrorKind::not_implemented, "compiled files cannot hold the type {}", type->annotation());
  }
}

TypePtr read_type(ByteReader& in, int depth) {
  SCONCE_CHECK(depth < kMaxDepth, "{}: types are nested deeper than {}", in.name(), kMaxDepth);
  const uint8_t kind = in.byte();
  if (kind < std::size(kSimple)) return simple_type(kSimple[kind]);
  const auto contained = [&] {
    std::vector<TypePtr> types;
    for (uint32_t n = in.count("types", kMaxItems); n > 0; --n) types.push_back(read_type(in, depth + 1));
    return types;
  };
  switch (kind) {
    case kList:
      return list_type(read_type(in, depth + 1));
    case kOptional:
      return optional_type(read_type(in, depth + 1));
    case kDict: {
      const TypePtr key = read_type(in, depth + 1);
      return dict_type(key, read_type(in, depth + 1));
    }
    case kTuple:
      return tuple_type(contained());
    case kUnion:
      return union_type(contained());
    case kNamedTuple: {
      const std::string name = read_name(in);
      SCONCE_CHECK(!name.empty(), "{}: a named tuple has no name", in.name());
      const std::vector<TypePtr> types = contained();
      std::vector<std::string> fields;
      for (size_t i = 0; i < types.size(); ++i) fields.push_back(read_name(in));
      return named_tuple_type(name, types, fields);
    }
    default:
      fail("{}: there is no kind {} of types", in.name(), kind);
  }
}

void write_value(ByteWriter& out, const Value& v) {
  switch (v.tag()) {
    case Tag::none:
      return out.byte(kNone);
    case Tag::boolean:
      return out.byte(v.to_bool() ? kTrue : kFalse);
    case Tag::integer:
      out.byte(kInt);
      return out.integer(v.to_int());
    case Tag::real:
      out.byte(kReal);
      return out.real(v.to_double());
    case Tag::device:
      // Which of several devices is decided when the file is loaded.
      if (v.to_device().type == DeviceType::cpu) return out.byte(kCpu);
      SCONCE_CHECK_AS(not_implemented, v.to_device().type == out.device(),
                      "the compiled file is for {}, and a call names the device {}", to_string(Device{out.device()}),
                      v.repr());
      return out.byte(kDevice);
    case Tag::string:
      out.byte(kString);
      return out.text(v.to_string_ref());
    case Tag::complex:
      out.byte(kComplex);
      out.real(v.to_complex().real());
      return out.real(v.to_complex().imag());
    case Tag::list:
      out.byte(kListValue);
      write_type(out, v.to_list().element_type());
      out.number(static_cast<uint32_t>(v.to_list().size()));
      for (const Value& item : v.to_list().values()) write_value(out, item);
      return;
    case Tag::tuple:
      SCONCE_CHECK_AS(not_implemented, !v.to_tuple().named_type, "compiled files cannot hold the constant {}",
                      v.repr());
      out.byte(kTupleValue);
      out.number(static_cast<uint32_t>(v.to_tuple().items.size()));
      for (const Value& item : v.to_tuple().items) write_value(out, item);
      return;
    default:
      fail_as(ErrorKind::not_implemented, "compiled files cannot hold a constant of type {}", v.type()->annotation());
  }
}

Value read_value(ByteReader& in, int depth) {
  SCONCE_CHECK(depth < kMaxDepth, "{}: values are nested deeper than {}", in.name(), kMaxDepth);
  switch (const uint8_t kind = in.byte()) {
    case kNone:
      return {};
    case kFalse:
    case kTrue:
      return Value(kind == kTrue);
    case kInt:
      return Value(in.integer());
    case kReal:
      return Value(in.real());
    case kCpu:
      return Value(Device{DeviceType::cpu});
    case kString:
      return Value(read_name(in));
    case kComplex: {
      const double real = in.real();
      return Value(std::complex<double>(real, in.real()));
    }
    case kListValue: {
      const TypePtr element = read_type(in);
      auto list = make_ref<List>(element);
      for (uint32_t n = in.count("items", kMaxItems); n > 0; --n) {
        Value item = read_value(in, depth + 1);
        SCONCE_CHECK(is_subtype(item.type(), element), "{}: a value of type {} stands in a list of {}", in.name(),
                     item.type()->annotation(), element->annotation());
        list->append(std::move(item));
      }
      return Value(std::move(list));
    }
    case kTupleValue: {
      std::vector<Value> items;
      for (uint32_t n = in.count("items", kMaxItems); n > 0; --n) items.push_back(read_value(in, depth + 1));
      return Value(make_ref<Tuple>(std::move(items)));
    }
    case kDevice:
      if (in.device() != DeviceType::cpu) return Value(Device{in.device()});
      [[fallthrough]];
    default:
      fail("{}: there is no kind {} of values", in.name(), kind);
  }
}

}  // namespace sconce::compiled
