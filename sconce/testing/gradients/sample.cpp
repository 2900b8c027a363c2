#include "sconce/testing/gradients/sample.h"

#include <charconv>
#include <map>

#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/gradients/sample_tensor.h"

namespace sconce::testing {
namespace {

const std::map<std::string_view, DType>& dtype_words() {
  static const std::map<std::string_view, DType> words = {
      {"bool", DType::bool_},  {"u8", DType::uint8},    {"i8", DType::int8},       {"i16", DType::int16},
      {"i32", DType::int32},   {"i64", DType::int64},   {"f16", DType::float16},   {"bf16", DType::bfloat16},
      {"f32", DType::float32}, {"f64", DType::float64}, {"c64", DType::complex64}, {"c128", DType::complex128}};
  return words;
}

class Reader {
 public:
  Reader(const Op& op, std::string_view text, Numbers numbers) : op_(op), text_(text), numbers_(numbers) {}

  Sample sample() {
    std::vector<Value> args;
    std::vector<NamedValue> named;
    while (skip_spaces(), at_ < text_.size() && !text_.substr(at_).starts_with("->")) {
      const size_t start = at_;
      const std::string_view name = word();
      if (!name.empty() && peek() == '=') {
        ++at_;
        named.emplace_back(name, value());
      } else {
        at_ = start;
        if (!named.empty()) wrong("a name, behind others that have one");
        args.push_back(value());
      }
      skip_spaces();
      if (at_ < text_.size() && !text_.substr(at_).starts_with("->")) expect(',');
    }
    sample_.args = bind_arguments(op_.schema(), args, named);
    if (at_ < text_.size()) results();
    return std::move(sample_);
  }

 private:
  [[noreturn]] void wrong(std::string_view expected) const {
    fail("{}: sample \"{}\": expected {} at \"{}\"", op_.qualified_name(), text_, expected, text_.substr(at_));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  void expect(char c) {
    skip_spaces();
    if (peek() != c) wrong(std::string("'") + c + "'");
    ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_spaces();
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_') ++at_;
    return text_.substr(start, at_ - start);
  }

  // -> 0, abs(1)
  void results() {
    at_ += 2;
    do {
      const bool absolute = word_is("abs");
      if (absolute) expect('(');
      const Value index = number();
      if (!index.is_int()) wrong("the number of a result");
      sample_.results.push_back({static_cast<size_t>(index.to_int()), absolute});
      if (absolute) expect(')');
    } while (accept(','));
    if (at_ < text_.size()) wrong("the end");
  }
  bool word_is(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  Value value() {
    skip_spaces();
    const char c = peek();
    if (c == '[') return list();
    if (c == '\'') {
      const size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) wrong("a quote that ends");
      const Value text(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return text;
    }
    if (c == '-' || c == '.' || std::isdigit(static_cast<unsigned char>(c))) return number();
    const size_t start = at_;
    const std::string_view name = word();
    if (const auto dtype = dtype_words().find(name); dtype != dtype_words().end()) return tensor(dtype->second);
    if (const std::optional<Value> constant = named_constant(name)) return *constant;
    at_ = start;
    wrong("a value");
  }

  static std::optional<Value> named_constant(std::string_view name) {
    if (name == "None") return Value();
    if (name == "True") return Value(true);
    if (name == "False") return Value(false);
    if (name == "inf") return Value(INFINITY);
    if (name == "nan") return Value(NAN);
    if (name == "cpu") return Value(Device(DeviceType::cpu));
    if (name == "strided") return Value(Layout::strided);
    if (name == "contiguous_format") return Value(MemoryFormat::contiguous);
    if (name == "preserve_format") return Value(MemoryFormat::preserve);
    if (name == "channels_last") return Value(MemoryFormat::channels_last);
    DType dtype;
    if (dtype_from_name(name, &dtype)) return Value(dtype);
    return {};
  }

  Value number() {
    // "0..1" is a range: the first number ends before the points.
    size_t end = at_;
    bool real = false;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool range = c == '.' && end + 1 < text_.size() && text_[end + 1] == '.';
      const bool sign = (c == '-' || c == '+') && (end == at_ || text_[end - 1] == 'e');
      if (range || !(std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'e' || sign)) break;
      real |= c == '.' || c == 'e';
      ++end;
    }
    const std::string_view digits = text_.substr(at_, end - at_);
    if (digits == "-" && text_.substr(end).starts_with("inf")) {
      at_ = end + 3;
      return -INFINITY;
    }
    double v = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc() || stop != digits.data() + digits.size()) wrong("a number");
    at_ = end;
    if (peek() == 'j') {
      ++at_;
      return std::complex<double>(0, v);
    }
    if (peek() == '+' || (peek() == '-' && real)) {  // 1+2j
      const Value imaginary = (peek() == '+' ? ++at_ : at_, number());
      return std::complex<double>(v, imaginary.to_complex().imag());
    }
    return real ? Value(v) : Value(static_cast<int64_t>(v));
  }

  Value list() {
    expect('[');
    std::vector<Value> items;
    while (!accept(']')) {
      items.push_back(value());
      skip_spaces();
      if (peek() != ']') expect(',');
    }
    return typed_list(items);
  }

  static Value typed_list(const std::vector<Value>& items) {
    const auto all = [&](auto is) { return std::all_of(items.begin(), items.end(), is); };
    if (all([](const Value& v) { return v.is_int(); })) {
      std::vector<int64_t> out;
      for (const Value& v : items) out.push_back(v.to_int());
      return Value(IntList(out));
    }
    if (all([](const Value& v) { return v.is_tensor() || v.is_none(); })) {
      std::vector<Tensor> out;
      for (const Value& v : items) out.push_back(v.to_optional_tensor());
      return Value(out);
    }
    if (all([](const Value& v) { return v.is_bool(); })) {
      auto out = make_ref<List>(bool_type());
      for (const Value& v : items) out->append(v);
      return out;
    }
    if (all([](const Value& v) { return v.is_int() || v.is_double(); })) {
      std::vector<double> out;
      for (const Value& v : items) out.push_back(v.to_scalar().to_double());
      return Value(ListRef<double>(out));
    }
    auto out = make_ref<List>(items[0].type());
    for (const Value& v : items) out->append(v);
    return out;
  }

  static Projection projection_of(std::string_view kind) {
    if (kind == "symmetric" || kind == "spd") return Projection::symmetric;
    if (kind == "lower") return Projection::lower;
    if (kind == "upper") return Projection::upper;
    return kind == "logprobs" ? Projection::log_probabilities : Projection::none;
  }

  Value tensor(DType dtype) {
    SampleTensor sample;
    sample.dtype = dtype;
    sample.seed = tensors_++;
    Tensor t;
    bool constant = dtype != DType::float64 && dtype != DType::complex128, real = false;
    const bool literal = peek() == '{';
    if (literal) {
      t = tensor_of(dtype);
    } else {
      if (peek() != '[') wrong("sizes in brackets, or values in braces");
      const Value sizes = list();
      const IntList all = sizes.to_list().ints();
      sample.sizes.assign(all.begin(), all.end());
    }
    if (text_.substr(at_).starts_with(".t()")) {
      sample.transposed = true;
      at_ += 4;
    }
    while (skip_spaces(),
           at_ < text_.size() && peek() != ',' && peek() != ']' && !text_.substr(at_).starts_with("->")) {
      if (peek() == '-' || std::isdigit(static_cast<unsigned char>(peek()))) {
        sample.from = number().to_scalar().to_double();
        expect('.');
        expect('.');
        sample.to = number().to_scalar().to_double();
        continue;
      }
      const std::string_view name = word();
      if (name == "const")
        constant = true;
      else if (name == "real")
        real = true;
      else if (!name.empty())
        sample.kind = name;
      else
        wrong("a range, a kind of values, 'const' or 'real'");
    }
    if (numbers_ == Numbers::complex && dtype == DType::float64 && !real) {
      sample.dtype = DType::complex128;
      sample_.changed = true;
    }
    t = literal ? to(t, sample.dtype) : make_sample_tensor(sample);
    if (!constant) {
      autograd::set_requires_grad(t, true);
      sample_.projections.push_back(projection_of(sample.kind));
    }
    return t;
  }

  // {1, 2}, {{1, 2}, {3, 4}}
  Tensor tensor_of(DType dtype) {
    std::vector<int64_t> sizes;
    std::vector<double> numbers;
    braces(0, sizes, numbers);
    Tensor t = empty_tensor(sizes, DType::float64);
    if (static_cast<size_t>(t.numel()) != numbers.size()) wrong("rows of one length, before this");
    std::copy(numbers.begin(), numbers.end(), t.data<double>());
    return to(t, dtype);
  }
  void braces(size_t depth, std::vector<int64_t>& sizes, std::vector<double>& numbers) {
    expect('{');
    int64_t count = 0;
    while (!accept('}')) {
      skip_spaces();
      if (peek() == '{') {
        braces(depth + 1, sizes, numbers);
      } else {
        numbers.push_back(value().to_scalar().to_double());
      }
      ++count;
      skip_spaces();
      if (peek() != '}') expect(',');
    }
    if (sizes.size() <= depth) sizes.resize(depth + 1);
    sizes[depth] = count;
  }

  const Op& op_;
  std::string_view text_;
  Numbers numbers_;
  size_t at_ = 0;
  Sample sample_;
  uint64_t tensors_ = 0;
};

}  // namespace

Sample read_sample(const Op& op, std::string_view text, Numbers numbers) { return Reader(op, text, numbers).sample(); }

}  // namespace sconce::testing
