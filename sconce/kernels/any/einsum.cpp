// The parser of einsum's equation: its labels are decided before anything is computed.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/generated/contraction_kernels.h"
#include "sconce/tensor/tensor.h"

namespace sconce::any_device {
namespace {

constexpr int kLetters = 52;
// Dimensions that an ellipsis covers are labels too, counted from its last: kLetters is the last one.
using Labels = std::vector<int>;

// 'A' to 'Z', then 'a' to 'z': the order of an implicit result.
int label_of(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
std::string letter_of(int label) {
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

// The subscripts of one operand or of the result; -1 stands for an ellipsis. `at` moves behind them.
Labels parse_subscripts(std::string_view equation, size_t* at, std::string_view stop, const std::string& who) {
  Labels out;
  for (; *at < equation.size() && stop.find(equation[*at]) == std::string_view::npos; ++*at) {
    const char c = equation[*at];
    if (c == ' ') continue;
    if (c == '.') {
      SCONCE_CHECK(std::find(out.begin(), out.end(), -1) == out.end(),
                   "einsum(): found '.' for {} for which an ellipsis was already found", who);
      SCONCE_CHECK(equation.substr(*at, 3) == "...", "einsum(): found '.' for {} that is not part of any ellipsis",
                   who);
      *at += 2;
      out.push_back(-1);
      continue;
    }
    SCONCE_CHECK(is_letter(c),
                 "einsum(): invalid subscript given at index {} in the equation string, subscripts must be in [a-zA-Z]",
                 *at);
    out.push_back(label_of(c));
  }
  return out;
}

// The ellipsis written out, `covered` dimensions of `most`.
Labels expanded(const Labels& subscripts, int covered) {
  Labels out;
  for (int s : subscripts) {
    if (s >= 0) out.push_back(s);
    for (int k = covered; s < 0 && k > 0; --k) out.push_back(kLetters + k - 1);
  }
  return out;
}

}  // namespace

std::vector<int64_t> sconce_einsum_labels(std::string_view equation, IntList ranks) {
  std::vector<Labels> operands;
  size_t at = 0;
  // "->" ends the operands; a '-' elsewhere is not a subscript.
  const size_t arrow = equation.find("->");
  const std::string_view left = equation.substr(0, arrow);
  while (true) {
    SCONCE_CHECK(operands.size() < ranks.size(),
                 "einsum(): fewer operands were provided than specified in the equation");
    operands.push_back(parse_subscripts(left, &at, ",", "operand " + std::to_string(operands.size())));
    if (at >= left.size()) break;
    ++at;
  }
  SCONCE_CHECK(operands.size() == ranks.size(), "einsum(): more operands were provided than specified in the equation");
  int most = 0;  // dimensions that an ellipsis covers
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool ellipsis = std::find(operands[i].begin(), operands[i].end(), -1) != operands[i].end();
    const auto named = static_cast<int64_t>(operands[i].size()) - ellipsis;
    SCONCE_CHECK(
        ellipsis ? named <= ranks[i] : named == ranks[i],
        "einsum(): the number of subscripts in the equation ({}) {} the number of dimensions ({}) for operand {}{}",
        named, ellipsis ? "is more than" : "does not match", ranks[i], i, ellipsis ? "" : " and no ellipsis was given");
    const auto covered = static_cast<int>(ranks[i] - named);
    most = std::max(most, covered);
    operands[i] = expanded(operands[i], covered);
  }
  std::vector<int> occurs(static_cast<size_t>(kLetters + most));
  for (const Labels& operand : operands) {
    for (int label : operand) ++occurs[static_cast<size_t>(label)];
  }
  Labels result;
  if (arrow == std::string_view::npos) {
    result = expanded({-1}, most);
    for (int label = 0; label < kLetters; ++label) {
      if (occurs[static_cast<size_t>(label)] == 1) result.push_back(label);
    }
  } else {
    at = arrow + 2;
    result = expanded(parse_subscripts(equation, &at, "", "the output"), most);
    for (size_t i = 0; i < result.size(); ++i) {
      const int label = result[i];
      if (label >= kLetters) continue;
      SCONCE_CHECK(std::find(result.begin(), result.begin() + static_cast<int64_t>(i), label) ==
                       result.begin() + static_cast<int64_t>(i),
                   "einsum(): output subscript {} appears more than once in the output", letter_of(label));
      SCONCE_CHECK(occurs[static_cast<size_t>(label)] > 0,
                   "einsum(): output subscript {} does not appear in the equation for any input operand",
                   letter_of(label));
    }
  }
  std::vector<int64_t> number(occurs.size(), -1);
  int64_t count = 0;
  for (int label : result) number[static_cast<size_t>(label)] = count++;
  for (size_t label = 0; label < occurs.size(); ++label) {
    if (occurs[label] > 0 && number[label] < 0) number[label] = count++;
  }
  std::vector<int64_t> plan{static_cast<int64_t>(result.size()), count};
  for (const Labels& operand : operands) {
    for (int label : operand) plan.push_back(number[static_cast<size_t>(label)]);
  }
  return plan;
}

}  // namespace sconce::any_device
