// Tensors in IR text: {5} for one element; up to ten elements as C++ prints a tensor, in one line:
//    1.5000  2.2500 [ CPUFloatType{2} ]
// and "<Tensor>" for the others.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sconce/ir/literal.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::ir {
namespace {

constexpr int64_t kMaxPrinted = 10;

Scalar element(const Tensor& t, int64_t index) {
  int64_t at = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    at += index % t.size(d) * t.stride(d);
    index /= t.size(d);
  }
  // PyTorch shows numbers as doubles, which is also how those of uint64 can be shown that are no int64.
  if (t.dtype() == DType::uint64 && t.data<uint64_t>()[at] > static_cast<uint64_t>(INT64_MAX))
    return Scalar(static_cast<double>(t.data<uint64_t>()[at]));
  return load_scalar(static_cast<const char*>(t.data()) + at * static_cast<int64_t>(item_size(t.dtype())), t.dtype());
}

std::string number_text(double v, int width) { return fmt::format("{:>{}g}", v, width); }

std::string item_text(const Scalar& v) {
  if (v.is_complex()) return fmt::format("({:g},{:g})", v.to_complex().real(), v.to_complex().imag());
  if (v.is_real()) return fmt::format("{:g}", v.real());
  return std::to_string(v.is_bool() ? static_cast<int64_t>(v.integer() != 0) : v.integer());
}

// How C++ streams lay out the elements of a tensor: all with one width, scaled where they are large or small.
struct ElementLayout {
  double scale = 1;
  int width = 0;
  enum { whole, fixed, scientific } mode = whole;

  explicit ElementLayout(const std::vector<double>& values) {
    double low = INFINITY, high = 0;
    bool integral = true;
    for (const double v : values) {
      if (!std::isfinite(v)) continue;
      integral = integral && v == std::trunc(v);
      low = std::min(low, std::abs(v));
      high = std::max(high, std::abs(v));
    }
    if (low == INFINITY) low = 0;
    const auto digits = [](double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; };
    const int most = digits(high), least = digits(low);
    if (integral) {
      mode = most > 9 ? scientific : whole;
      width = most > 9 ? 11 : most + 1;
    } else if (most - least > 4) {
      mode = scientific;
      width = std::abs(most) > 99 || std::abs(least) > 99 ? 12 : 11;
    } else {
      mode = fixed;
      const bool scaled = most > 5 || most < 0;
      scale = scaled ? std::pow(10, most - 1) : 1;
      width = scaled || most == 0 ? 7 : most + 6;
    }
  }
  std::string text(double v) const {
    if (!std::isfinite(v)) return fmt::format("{:>{}}", v, width);
    if (mode == whole) return number_text(v, width);
    return mode == fixed ? fmt::format("{:>{}.4f}", v / scale, width) : fmt::format("{:>{}.4e}", v, width);
  }
};

// One matrix, or the vector: a line after each row, or after each element. Lines are joined by spaces.
std::string matrix_text(const std::vector<double>& values, size_t columns, std::string_view indent) {
  const ElementLayout layout(values);
  std::string out;
  if (layout.scale != 1) out += std::string(indent) + fmt::format("{:g} * ", layout.scale);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % columns == 0) out += indent;
    out += layout.text(values[i]) + " ";
  }
  return out;
}

std::string dense_text(const Tensor& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.numel(); ++i) values.push_back(element(t, i).to_double());
  const size_t columns = static_cast<size_t>(t.size(-1));
  if (t.dim() <= 2) return matrix_text(values, columns, "");
  // Matrices one after the other, each with its index.
  std::string out;
  const size_t size = columns * static_cast<size_t>(t.size(-2));
  for (size_t i = 0; i < values.size(); i += size) {
    std::string index;
    int64_t at = static_cast<int64_t>(i / size);
    for (int64_t d = t.dim() - 3; d >= 0; --d) {
      index.insert(0, std::to_string(at % t.size(d) + 1) + ",");
      at /= t.size(d);
    }
    const auto begin = values.begin() + static_cast<ptrdiff_t>(i);
    out +=
        (i ? " (" : "(") + index + ".,.) = " + matrix_text({begin, begin + static_cast<ptrdiff_t>(size)}, columns, " ");
  }
  return out;
}

// Numbers up to the '[' of "[ CPUFloatType{2} ]". Marks of slices are skipped, "1e+05 *" scales what follows.
std::vector<double> read_elements(TextCursor& in) {
  std::vector<double> values;
  double scale = 1;
  while (in.skip_spaces(), in.peek() != '[') {
    if (in.accept('(')) {
      in.word(",.");
      in.expect(')');
      in.expect('=');
      continue;
    }
    const std::string_view rest = in.rest();
    double v = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + std::min<size_t>(rest.size(), 64), v);
    if (error != std::errc() || values.size() > static_cast<size_t>(kMaxPrinted)) in.expected("a tensor");
    in.set_at(in.at() + static_cast<size_t>(end - rest.data()));
    if (in.accept('*')) {
      scale = v;
    } else {
      values.push_back(v * scale);
    }
  }
  return values;
}

DType read_dtype(TextCursor& in) {
  std::string_view name = in.word();
  for (const Key key : kBackendKeys) {
    if (name.starts_with(key_name(key))) name.remove_prefix(key_name(key).size());
  }
  if (name.ends_with("Type")) name.remove_suffix(4);
  for (const DType t : kAllDTypes) {
    if (dtype_legacy_name(t) == name) return t;
  }
  in.fail("unknown dtype '{}' of a tensor", name);
}

Tensor read_item(TextCursor& in, TypePtr type) {
  const TensorFacts* facts = type->tensor_facts();
  in.expect('{');
  Scalar v(int64_t{0});
  const auto real = [&] {
    in.skip_spaces();
    const std::string_view rest = in.rest();
    double d = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + std::min<size_t>(rest.size(), 64), d);
    if (error != std::errc()) in.expected("a number");
    const std::string_view text = rest.substr(0, static_cast<size_t>(end - rest.data()));
    in.set_at(in.at() + text.size());
    int64_t i = 0;
    const auto [last, bad] = std::from_chars(text.data(), text.data() + text.size(), i);
    return bad == std::errc() && last == end ? Scalar(i) : Scalar(d);
  };
  if (in.accept('(')) {
    const double re = real().to_double();
    in.expect(',');
    v = Scalar(std::complex<double>(re, real().to_double()));
    in.expect(')');
  } else {
    v = real();
  }
  in.expect('}');
  const DType plain = v.is_complex() ? DType::complex64 : v.is_real() ? DType::float32 : DType::int64;
  Tensor item = scalar_tensor_of(v, facts && facts->dtype ? *facts->dtype : plain);
  if (!facts || !facts->sizes || facts->sizes->empty()) return item;
  for (const int64_t n : *facts->sizes) {
    if (n != 1) in.fail("one element for a {}", type->to_string());
  }
  return make_view(item, *facts->sizes, *facts->sizes, 0);
}

}  // namespace

std::string tensor_literal_text(const Tensor& given) {
  const bool readable = given.device().type == DeviceType::cpu && (given.keys() & kFormatKeys).empty();
  const Tensor t = readable && given.numel() <= kMaxPrinted ? resolved_math_bits(given) : given;
  if (!readable || t.numel() > kMaxPrinted || (is_complex(t.dtype()) && t.numel() > 1)) return "<Tensor>";
  if (t.numel() == 1) return "{" + item_text(element(t, 0)) + "}";
  std::string sizes;
  for (const int64_t n : t.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(n);
  const std::string name(dtype_legacy_name(t.dtype()));
  return (t.numel() ? dense_text(t) : "") + "[ CPU" + name + "Type{" + sizes + "} ]";
}

Tensor read_tensor_literal(TextCursor& in, TypePtr type) {
  in.skip_spaces();
  if (in.peek() == '<') in.fail("'<Tensor>' stands for a tensor that the text does not have");
  if (in.peek() == '{') return read_item(in, type);
  const std::vector<double> values = read_elements(in);
  in.expect('[');
  in.skip_spaces();
  const DType dtype = read_dtype(in);
  std::vector<int64_t> sizes;
  int64_t count = 1;
  in.expect('{');
  do {
    in.skip_spaces();
    const std::string_view digits = in.word("");
    int64_t n = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (n < 0 || n > INT32_MAX || sizes.size() == 64) in.fail("'{}' is no size of a tensor", digits);
    sizes.push_back(n);
    count = std::min(count * n, int64_t{INT32_MAX});
  } while (in.accept(','));
  in.expect('}');
  in.expect(']');
  if (count != static_cast<int64_t>(values.size())) {
    in.fail("a tensor of sizes {} has {} elements, got {}", sizes, count, values.size());
  }
  const Tensor t = empty_tensor(sizes, dtype);
  char* data = static_cast<char*>(t.data());
  for (size_t i = 0; i < values.size(); ++i) store_scalar(data + i * item_size(dtype), dtype, Scalar(values[i]));
  return t;
}

}  // namespace sconce::ir
