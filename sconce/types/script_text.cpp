#include "sconce/types/script_text.h"

#include "sconce/tensor/quantized_tensor.h"
#include "sconce/types/tensor_printer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce {
namespace {

std::string with_format(const char* format, double v, int width, int precision) {
  char text[400];
  const int n = std::snprintf(text, sizeof text, format, width, precision, v);
  return std::string(text, static_cast<size_t>(n));
}

std::string number_text(double v) {
  constexpr double kLargest = 9223372036854775808.0;  // 2^63: below, integers are written out
  if (std::abs(v) < kLargest && v == std::trunc(v)) return std::to_string(static_cast<int64_t>(v)) + ".";
  return with_format("%*.*g", v, 0, 17);
}

std::string complex_text(std::complex<double> v) {
  return number_text(v.real()) + (v.imag() < 0 || std::signbit(v.imag()) ? "-" : "+") +
         number_text(std::abs(v.imag())) + "j";
}

// How the elements of one tensor are written: all alike, in columns.
struct Format {
  const char* format = "%*.*g";
  int width = 2;
  int precision = 6;
  double scale = 1;
  std::string text(double v) const { return with_format(format, v / scale, width, precision); }
};

Format format_of(const std::vector<double>& values) {
  bool integers = true;
  double smallest = INFINITY, largest = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    integers = integers && v == std::ceil(v);
    smallest = std::min(smallest, std::abs(v));
    largest = std::max(largest, std::abs(v));
  }
  const auto digits = [](double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; };
  const int most = digits(largest), least = std::isfinite(smallest) ? digits(smallest) : 1;
  Format f;
  if (integers) {
    if (most > 9) return {"%*.*e", 11, 4, 1};
    f.width = most + 1;
  } else if (most - least > 4) {
    return {"%*.*e", most > 99 || least < -98 ? 12 : 11, 4, 1};
  } else if (most > 5 || most < 0) {
    return {"%*.*f", 7, 4, std::pow(10.0, most - 1)};
  } else {
    return {"%*.*f", most == 0 ? 7 : most + 6, 4, 1};
  }
  return f;
}

void append_matrix(std::string& out, const Format& f, const double* values, int64_t rows, int64_t columns, int indent) {
  constexpr int kLine = 80;
  const int64_t per_line = std::max<int64_t>(1, (kLine - indent) / (f.width + 1));
  for (int64_t from = 0; from < columns; from += per_line) {
    const int64_t to = std::min(columns, from + per_line);
    if (per_line < columns) {
      if (from != 0) out += '\n';
      out += "Columns " + std::to_string(from + 1) + " to " + std::to_string(to) + "\n";
    }
    for (int64_t r = 0; r < rows; ++r) {
      out.append(static_cast<size_t>(indent), ' ');
      for (int64_t c = from; c < to; ++c) {
        if (c != from) out += ' ';
        out += f.text(values[r * columns + c]);
      }
      out += '\n';
    }
  }
}

std::vector<double> elements_of(const Tensor& t) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(t.numel()));
  std::vector<int64_t> index(static_cast<size_t>(t.dim()));
  for (int64_t n = 0; n < t.numel(); ++n) {
    int64_t offset = t.storage_offset();
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
    const Tensor element = make_view(t, {}, {}, offset);
    const Scalar s = item_of(element);
    out.push_back(s.to_complex().real());
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

std::string tensor_text(const Tensor& t);

// ", qscheme: per_tensor_affine, scale: 0.1, zero_point: 10"
std::string quantizer_text(const Quantizer& q) {
  std::string out = ", qscheme: " + std::string(qscheme_name(q.scheme).substr(6));
  if (!q.per_channel())
    return out + ", scale: " + with_format("%*.*g", q.scale, 0, 6) + ", zero_point: " + std::to_string(q.zero_point);
  return out + ", scales: " + tensor_text(q.scales) + ", zero_points: " + tensor_text(q.zero_points) +
         ", axis: " + std::to_string(q.axis);
}

std::string sparse_text(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.layout != Layout::sparse) return t.to_string();  // PyTorch has no text for these
  std::string sizes;
  for (const int64_t n : t.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
  return "[ SparseCPU" + std::string(dtype_legacy_name(t.dtype())) + "Type{}\nindices:\n" + tensor_text(parts.indices) +
         "\nvalues:\n" + tensor_text(parts.values) + "\nsize:\n[" + sizes + "]\n]";
}

std::string tensor_text(const Tensor& t) {
  if (is_sparse_tensor(t)) return sparse_text(t);
  const bool quantised = is_quantized(t.dtype());
  std::string type = "[ " + std::string(quantised ? "Quantized" : "") +
                     std::string(key_name(backend_key(t.device().type))) + std::string(dtype_legacy_name(t.dtype())) +
                     "Type{";
  for (size_t d = 0; d < t.sizes().size(); ++d) type += (d ? "," : "") + std::to_string(t.sizes()[d]);
  type += "}";
  if (quantised) type += quantizer_text(quantizer_of(t));
  type += " ]";
  if (t.is_meta() || t.numel() == 0) return type;
  const std::vector<double> values = elements_of(quantised ? quantized_numbers(t) : t);
  std::string out;
  if (t.dim() == 0) return with_format("%*.*g", values[0], 0, 6) + "\n" + type;
  const Format f = format_of(values);
  if (f.scale != 1) out += with_format("%*.*g", f.scale, 0, 6) + " *\n";
  if (t.dim() <= 2) {
    append_matrix(out, f, values.data(), t.sizes()[0], t.dim() == 1 ? 1 : t.sizes()[1], 0);
    return out + type;
  }
  const auto rank = static_cast<size_t>(t.dim());
  const int64_t rows = t.sizes()[rank - 2], columns = t.sizes()[rank - 1];
  std::vector<int64_t> index(rank - 2);
  for (int64_t at = 0; at < t.numel(); at += rows * columns) {
    if (at != 0) out += '\n';
    out += '(';
    for (const int64_t i : index) out += std::to_string(i + 1) + ",";
    out += ".,.) = \n";
    append_matrix(out, f, values.data() + at, rows, columns, 1);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return out + type;
}

template <class Items, class Text>
std::string joined(const char* open, const Items& items, const char* close, const Text& text) {
  std::string out = open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    out += text(item);
  }
  return out + close;
}

}  // namespace

std::string tensor_table(const Tensor& t) { return tensor_text(t); }

std::string script_text(const Value& v) {
  switch (v.tag()) {
    case Tag::real:
      return number_text(v.to_double());
    case Tag::complex:
      return complex_text(v.to_complex());
    case Tag::string:
      return v.to_string_ref();
    case Tag::device:
      return to_string(v.to_device());
    case Tag::tensor:
#ifdef SCONCE_SMALL
      return text_printer ? text_printer(v.to_tensor()) : tensor_summary(v.to_tensor());
#else
      return tensor_text(v.to_tensor());
#endif
    case Tag::list:
      return joined("[", v.to_list().values(), "]", script_text);
    case Tag::tuple: {
      const Tuple& t = v.to_tuple();
      if (t.named_type) {
        std::string out = t.named_type->name().substr(t.named_type->name().rfind('.') + 1) + "(";
        for (size_t i = 0; i < t.items.size(); ++i) {
          out += (i ? ", " : "") + t.named_type->fields()[i] + "=" + script_text(t.items[i]);
        }
        return out + ")";
      }
      return joined("(", t.items, t.items.size() == 1 ? ",)" : ")", script_text);
    }
    case Tag::dict:
      return joined("{", v.to_dict().items(), "}",
                    [](const auto& entry) { return script_text(entry.first) + ": " + script_text(entry.second); });
    default:
      return v.repr();
  }
}

}  // namespace sconce
