// Nests from the text that to_string prints, for tests.
#pragma once

#include <cctype>
#include <map>
#include <sstream>
#include <stdexcept>

#include "sconce/dispatch/registry.h"
#include "sconce/loops/nest.h"

namespace sconce::loops {

inline DType dtype_of_text(const std::string& word) {
  static const std::map<std::string, DType> kNames = {
      {"f32", DType::float32}, {"f64", DType::float64}, {"f16", DType::float16},   {"bf16", DType::bfloat16},
      {"i8", DType::int8},     {"i16", DType::int16},   {"i32", DType::int32},     {"i64", DType::int64},
      {"u8", DType::uint8},    {"bool", DType::bool_},  {"c64", DType::complex64}, {"c128", DType::complex128},
  };
  return kNames.at(word);
}

class NestText {
 public:
  explicit NestText(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(words(line));
  }
  Nest nest;

 private:
  // Words and numbers, without the punctuation between them.
  static std::vector<std::string> words(const std::string& line) {
    std::vector<std::string> out(1);
    for (const char c : line) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '%' || c == '.' || c == '_' || c == '-' || c == '=') {
        out.back() += c;
      } else if (!out.back().empty()) {
        out.emplace_back();
      }
    }
    if (out.back().empty()) out.pop_back();
    return out;
  }

  static Source source(const std::string& word) {
    const auto number = static_cast<size_t>(std::stoi(word.substr(1)));
    return word[0] == '%' ? from_call(number) : from_buffer(number);
  }

  void read(const std::vector<std::string>& w) {
    if (w.empty()) return;
    if (w[0] == "nest") {
      for (size_t k = 1; k < w.size(); ++k) nest.sizes.push_back(std::stoll(w[k]));
    } else if (w[0][0] == '%') {
      read_call(w);
    } else if (w[1] == "=") {
      nest.stores.push_back({source(w[2]).number, source(w[0]).number});
    } else {
      Buffer b{dtype_of_text(w[1]), {}, w.back() == "written"};
      for (size_t k = 2; k < w.size() - b.written; ++k) b.strides.push_back(std::stoll(w[k]));
      nest.buffers.push_back(b);
    }
  }

  // %1 : f32 = mul.Tensor(%0, b1), or with the common dtype: lt.Tensor<f32>(..)
  void read_call(const std::vector<std::string>& w) {
    size_t at = 4;
    LoopCall call;
    const DType result = dtype_of_text(w[1]);
    const auto is_operand = [&](size_t k) {
      return k < w.size() && (w[k][0] == '%' || (w[k][0] == 'b' && std::isdigit(static_cast<unsigned char>(w[k][1]))));
    };
    if (w[3] == "convert") {
      call = make_conversion(result);
    } else {
      const Op* op = find_op("aten::" + w[3]);
      if (op == nullptr) throw std::runtime_error("no operator " + w[3]);
      const auto cases = op->info.entry->pointwise();
      DType common = result;
      if (!is_operand(at)) common = dtype_of_text(w[at++]);
      call = make_call(*op, *cases[cases.size() - 1].loops, common, result);
    }
    for (; is_operand(at); ++at) call.inputs.push_back(source(w[at]));
    for (; at < w.size(); ++at) {
      const bool whole = w[at].find('.') == std::string::npos;
      call.params.push_back(whole ? Param::from_int(std::stoll(w[at])) : Param::from_float(std::stod(w[at])));
    }
    nest.calls.push_back(call);
  }
};

}  // namespace sconce::loops
