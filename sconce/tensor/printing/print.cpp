// Tensor::to_string(): PyTorch's text for a tensor.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <mutex>
#include <string>
#include <vector>

#include "sconce/tensor/copy.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/printing/print_options.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/tensor.h"
#include "sconce/tensor/view_base.h"

namespace sconce {
namespace {

std::mutex mutex;  // of the options of the process
constinit PrintOptions options_of_process;
thread_local constinit PrintOptions options;  // of the text that is being written
constexpr std::string_view kPrefix = "tensor(";

void append_real(std::string& out, double v, std::chars_format format, int precision) {
  if (std::isnan(v)) {
    out += "nan";
  } else if (std::isinf(v)) {
    out += v < 0 ? "-inf" : "inf";
  } else {
    char text[350];
    out.append(text, std::to_chars(text, text + sizeof text, v, format, precision).ptr);
  }
}

// How the numbers of one tensor are written: all alike, padded on the left to the widest. For floating numbers the
// finite ones other than 0 decide: whole numbers get a point only ("2."), a wide spread needs exponents.
class Style {
 public:
  Style() = default;
  explicit Style(const std::vector<double>& values) {
    double least = INFINITY, most = 0;
    for (const double v : values) {
      if (!counts(v)) continue;
      least = std::min(least, std::abs(v));
      most = std::max(most, std::abs(v));
      whole_ = whole_ && v == std::ceil(v);
    }
    if (most == 0) return;
    exponents_ = options.scientific.value_or(most / least > 1000 || most > 1e8 || least < 1e-4);
    std::string text;
    for (const double v : values) {
      if (!counts(v)) continue;
      text.clear();
      write(text, v);
      width_ = std::max(width_, text.size());
    }
  }
  explicit Style(const std::vector<std::string>& words) {
    for (const std::string& word : words) width_ = std::max(width_, word.size());
  }

  int64_t width() const { return static_cast<int64_t>(width_); }

  void append(std::string& out, double v) const {
    std::string text;
    write(text, v);
    append(out, text);
  }
  void append(std::string& out, const std::string& text) const {
    if (text.size() < width_) out.append(width_ - text.size(), ' ');
    out += text;
  }

 private:
  static bool counts(double v) { return std::isfinite(v) && v != 0; }

  void write(std::string& out, double v) const {
    if (exponents_) {
      append_real(out, v, std::chars_format::scientific, options.precision);
    } else if (whole_) {
      append_real(out, v, std::chars_format::fixed, 0);
      if (std::isfinite(v)) out += '.';
    } else {
      append_real(out, v, std::chars_format::fixed, options.precision);
    }
  }

  bool whole_ = true;
  bool exponents_ = false;
  size_t width_ = 1;
};

// Collects the elements that will be shown, in the order in which they are shown; then writes them.
class Contents {
 public:
  explicit Contents(const Tensor& t) : tensor_(t), summarize_(t.numel() > options.threshold) {
    collect(0, t.data<char>());
    if (is_floating(t.dtype()) || is_complex(t.dtype())) {
      style_ = Style(reals_);
      if (is_complex(t.dtype())) imaginary_style_ = Style(imaginaries_);
    } else {
      style_ = Style(words_);
    }
  }

  // `indent` is the column at which the text begins.
  void write(std::string& out, size_t indent) {
    if (tensor_.dim() == 0) return write_element(out);
    write_slice(out, 0, static_cast<int64_t>(indent));
  }

 private:
  bool cut(int64_t size) const { return summarize_ && size > 2 * options.edge_items; }

  // Calls visit(i) for the indices that are shown of a dimension, and gap() between the two ends where some
  // are left out.
  template <class Visit, class Gap>
  void visit_shown(int64_t size, Visit visit, Gap gap) const {
    if (!cut(size)) {
      for (int64_t i = 0; i < size; ++i) visit(i);
      return;
    }
    for (int64_t i = 0; i < options.edge_items; ++i) visit(i);
    gap();
    for (int64_t i = size - options.edge_items; i < size; ++i) visit(i);
  }

  void collect(int64_t dim, const char* at) {
    if (dim == tensor_.dim()) return collect_element(at);
    const int64_t step = tensor_.strides()[dim] * static_cast<int64_t>(tensor_.item_size());
    visit_shown(tensor_.sizes()[dim], [&](int64_t i) { collect(dim + 1, at + i * step); }, [] {});
  }

  void collect_element(const char* at) {
    if (tensor_.dtype() == DType::uint64) {  // a Scalar holds only half of them
      words_.push_back(std::to_string(*reinterpret_cast<const uint64_t*>(at)));
      return;
    }
    const Scalar v = load_scalar(at, tensor_.dtype());
    if (v.is_complex()) {
      reals_.push_back(v.to_complex().real());
      imaginaries_.push_back(v.to_complex().imag());
    } else if (v.is_real()) {
      reals_.push_back(v.to_double());
    } else {
      words_.push_back(v.to_string());
    }
  }

  void write_element(std::string& out) {
    const size_t i = next_++;
    if (!words_.empty()) return style_.append(out, words_[i]);
    style_.append(out, reals_[i]);
    if (imaginaries_.empty()) return;
    std::string imaginary;
    imaginary_style_.append(imaginary, imaginaries_[i]);
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    if (imaginary[0] != '-') out += '+';
    out += imaginary;
    out += 'j';
  }

  // `indent` is the column of the opening bracket.
  void write_slice(std::string& out, int64_t dim, int64_t indent) {
    const int64_t inner = tensor_.dim() - 1 - dim;
    if (inner == 0) return write_row(out, indent);
    bool first = true;
    const auto separate = [&] {
      if (!first) {
        out += ',';
        out.append(static_cast<size_t>(inner), '\n');
        out.append(static_cast<size_t>(indent + 1), ' ');
      }
      first = false;
    };
    out += '[';
    visit_shown(
        tensor_.sizes()[dim],
        [&](int64_t) {
          separate();
          write_slice(out, dim + 1, indent + 1);
        },
        [&] {
          separate();
          out += "...";
        });
    out += ']';
  }

  void write_row(std::string& out, int64_t indent) {
    int64_t cell = style_.width() + 2;
    if (!imaginaries_.empty()) cell += imaginary_style_.width() + 1;
    const int64_t per_line = std::max<int64_t>(1, (options.line_width - indent) / cell);
    int64_t written = 0;
    const auto separate = [&] {
      if (written != 0) out += written % per_line == 0 ? "," : ", ";
      if (written != 0 && written % per_line == 0) {
        out += '\n';
        out.append(static_cast<size_t>(indent + 1), ' ');
      }
      ++written;
    };
    out += '[';
    visit_shown(
        tensor_.sizes()[tensor_.dim() - 1],
        [&](int64_t) {
          separate();
          write_element(out);
        },
        [&] {
          separate();
          out += " ...";
        });
    out += ']';
  }

  const Tensor tensor_;
  bool summarize_;
  std::vector<double> reals_, imaginaries_;
  std::vector<std::string> words_;
  Style style_, imaginary_style_;
  size_t next_ = 0;
};

std::string size_suffix(IntList sizes) {
  std::string text = "size=(";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

std::string dtype_suffix(DType t) { return "dtype=torch." + std::string(dtype_name(t)); }

// A dtype that the numbers themselves show.
bool is_evident(DType t) {
  return t == default_dtype() || t == complex_dtype(default_dtype()) || t == DType::int64 || t == DType::bool_;
}

// Appends ", suffix" each, on a new line where the line would get too long; the first one always if `new_line` says so.
void append_suffixes(std::string& out, const std::vector<std::string>& suffixes, bool new_line = false) {
  const size_t line_begin = out.rfind('\n');
  // Two more than the line has characters: PyTorch counts this way.
  auto line = static_cast<int64_t>(line_begin == std::string::npos ? out.size() + 2 : out.size() - line_begin + 1);
  for (const std::string& suffix : suffixes) {
    const auto length = static_cast<int64_t>(suffix.size());
    if (new_line || line + length + 2 > options.line_width) {
      new_line = false;
      out += ",\n" + std::string(kPrefix.size(), ' ') + suffix;
      line = static_cast<int64_t>(kPrefix.size()) + length;
    } else {
      out += ", " + suffix;
      line += length + 2;
    }
  }
}

// As Python writes a float.
std::string python_float(double v) {
  char text[40];
  char* end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr;
  const std::string shortest(static_cast<char*>(text), end);
  const int exponent = std::stoi(shortest.substr(shortest.find('e') + 1));
  if (!std::isfinite(v) || (v != 0 && (exponent < -4 || exponent >= 16))) return shortest;
  char wide[400];
  end = std::to_chars(wide, wide + sizeof wide, v, std::chars_format::fixed).ptr;
  const std::string fixed(static_cast<char*>(wide), end);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::vector<std::string> quantizer_suffixes(const Quantizer& q) {
  std::vector<std::string> out = {"quantization_scheme=" + std::string(qscheme_name(q.scheme))};
  if (q.per_channel()) {
    out.push_back("scale=" + q.scales.to_string());
    out.push_back("zero_point=" + q.zero_points.to_string());
    out.push_back("axis=" + std::to_string(q.axis));
  } else {
    out.push_back("scale=" + python_float(q.scale));
    out.push_back("zero_point=" + std::to_string(q.zero_point));
  }
  return out;
}

// One that was made by empty() has no numbers to show.
std::string quantized_text(const Tensor& t) {
  std::string out(kPrefix);
  const bool known = t.impl()->extra && t.impl()->extra->quantizer;
  if (!known || t.numel() == 0)
    out += t.numel() == 0 ? "[]" : "...";
  else
    Contents(quantized_numbers(t)).write(out, kPrefix.size());
  std::vector<std::string> suffixes = {size_suffix(t.sizes()), dtype_suffix(t.dtype())};
  if (known) {
    for (std::string& suffix : quantizer_suffixes(quantizer_of(t))) suffixes.push_back(std::move(suffix));
  }
  append_suffixes(out, suffixes);
  return out + ")";
}

// "name=tensor([...])" of a sparse tensor, on a line of its own.
void append_part(std::string& out, std::string_view name, const Tensor& part) {
  if (out.size() > kPrefix.size()) out += ",\n" + std::string(kPrefix.size(), ' ');
  out += std::string(name) + "=" + std::string(kPrefix);
  if (part.numel() == 0) {
    out += "[], " + size_suffix(part.sizes());
  } else {
    Contents(host_copy(part)).write(out, 2 * kPrefix.size() + name.size() + 1);
  }
  out += ')';
}

void append_history(std::vector<std::string>& suffixes, const Tensor& t) {
  if (!t.requires_grad()) return;
  const std::string made_by = history_name ? history_name(t) : "";
  suffixes.push_back(made_by.empty() ? "requires_grad=True" : "grad_fn=<" + made_by + ">");
}

std::string sparse_text(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  const bool coo = parts.layout == Layout::sparse;
  std::string out(kPrefix);
  if (coo) {
    append_part(out, "indices", parts.indices);
  } else {
    append_part(out, compresses_rows(parts.layout) ? "crow_indices" : "ccol_indices", parts.compressed);
    append_part(out, compresses_rows(parts.layout) ? "col_indices" : "row_indices", parts.plain);
  }
  append_part(out, "values", parts.values);
  std::vector<std::string> suffixes = {size_suffix(t.sizes()), "nnz=" + std::to_string(specified_elements(parts))};
  if (!is_evident(t.dtype())) suffixes.push_back(dtype_suffix(t.dtype()));
  suffixes.push_back("layout=torch." + std::string(layout_name(parts.layout)));
  append_history(suffixes, t);
  append_suffixes(out, suffixes, coo);
  return out + ")";
}

}  // namespace

PrintOptions print_options() {
  const std::lock_guard lock(mutex);
  return options_of_process;
}
void set_print_options(const PrintOptions& changed) {
  const std::lock_guard lock(mutex);
  options_of_process = changed;
}

std::string Tensor::to_string() const {
  if (!defined()) return "None";
  options = print_options();
  if (is_quantized(dtype())) return quantized_text(*this);
  if (is_sparse_tensor(*this)) return sparse_text(*this);
  std::string out(kPrefix);
  std::vector<std::string> suffixes;
  if (device().type != DeviceType::cpu) suffixes.push_back("device='" + sconce::to_string(device()) + "'");
  if (is_meta() || numel() == 0) {
    out += is_meta() ? "..." : "[]";
    if (is_meta() || dim() != 1) suffixes.push_back(size_suffix(sizes()));
    if (dtype() != default_dtype()) suffixes.push_back(dtype_suffix(dtype()));
  } else {
    Contents(host_copy(*this)).write(out, kPrefix.size());
    if (!is_evident(dtype())) suffixes.push_back(dtype_suffix(dtype()));
  }
  append_history(suffixes, *this);
  append_suffixes(out, suffixes);
  out += ')';
  return out;
}

}  // namespace sconce
