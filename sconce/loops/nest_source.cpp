#include "sconce/loops/nest_source.h"

#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce::loops {
namespace {

const char* type_name(DType t, const LoopCall* call) {
  switch (t) {
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::int64:
      return "int64_t";
    case DType::int32:
      return "int32_t";
    case DType::int16:
      return "int16_t";
    case DType::int8:
      return "int8_t";
    case DType::uint8:
      return "uint8_t";
    case DType::bool_:
      return "bool";
    default:
      SCONCE_CHECK_AS(not_implemented, false, "C++ source: {} computes in {}, which C++ has no type for",
                      call && call->op ? call->op->qualified_name() : "a nest", dtype_name(t));
      return "";
  }
}

// Functions of the C library, by the name that expressions have for them.
bool is_standard(std::string_view name) {
  for (const std::string_view known :
       {"exp",      "exp2",   "expm1", "log",   "log2",     "log10",   "log1p", "sin",   "cos",   "tan",
        "asin",     "acos",   "atan",  "atan2", "sinh",     "cosh",    "tanh",  "asinh", "acosh", "atanh",
        "sqrt",     "erf",    "erfc",  "floor", "ceil",     "trunc",   "hypot", "fmod",  "fmin",  "fmax",
        "copysign", "lgamma", "isnan", "isinf", "isfinite", "signbit", "fma"}) {
    if (name == known) return true;
  }
  return false;
}

std::string literal(double real, int64_t integer, bool floating) {
  if (!floating) return fmt::format("{}", integer);
  if (real != real) return "NAN";
  if (std::isinf(real)) return real < 0 ? "-INFINITY" : "INFINITY";
  return fmt::format("{:.17g}", real);
}

// The value of one call, from its steps.
class CallSource {
 public:
  CallSource(const Nest& nest, const LoopCall& call)
      : nest_(nest), call_(call), type_(type_name(call.common, &call)), floating_(is_floating(call.common)) {}

  std::string run(const std::string& name, const std::string& indent) {
    const Expression* expression = expression_of(call_);
    const auto places = argument_places(call_);
    refuse(!expression || places.empty(), "whose arithmetic is not in the table");
    std::string lines;
    const std::span<const Step> steps = expression->steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      std::string text = value(steps[i], *expression, places);
      if (step_arity(steps[i].kind) > 0) {
        const std::string made = fmt::format("{}_{}", name, i);
        lines += fmt::format("{}const auto {} = {};\n", indent, made, text);
        text = made;
      }
      if (is_number(steps[i].kind)) numbers_.insert(text);
      values_.push_back(std::move(text));
    }
    return lines + fmt::format("{}const auto {} = static_cast<{}>({});\n", indent, name,
                               type_name(call_.result, &call_), values_.back());
  }

 private:
  void refuse(bool when, std::string_view why) const {
    SCONCE_CHECK_AS(not_implemented, !when, "C++ source: there is none for {}, {}", call_.op->qualified_name(), why);
  }

  // As a number of the type that is computed in, unless it is one already.
  std::string number(const std::string& text) const {
    return numbers_.count(text) != 0 ? text : fmt::format("static_cast<{}>({})", type_, text);
  }

  // Whether the text of a step has that type.
  bool is_number(StepKind kind) const {
    using enum StepKind;
    switch (kind) {
      case argument:
      case constant:
      case neg:
      case add:
      case sub:
      case mul:
      case div:
      case bit_and:
      case bit_or:
      case bit_xor:
      case where:
      case narrow:
      case to_float:
      case rsqrt:
      case sigmoid:
      case normal_cdf:
      case minimum:
      case maximum:
        return true;
      case exp:
      case log:
      case tanh:
      case sqrt:
      case fma:
      case pow:
      case abs:
      case round:
        return floating_;
      default:
        return false;
    }
  }

  std::string operand(const ArgumentPlace& place) const {
    refuse(place.kind == ArgumentPlace::none, "which reads an argument that loops do not have");
    if (place.kind == ArgumentPlace::param) {
      const Param& p = call_.params[place.number];
      return number(literal(p.real, p.integer, floating_));
    }
    const Source& from = call_.inputs[place.number];
    const DType given =
        from.kind == Source::buffer ? nest_.buffers[from.number].dtype : nest_.calls[from.number].result;
    const std::string text = fmt::format("{}{}", from.kind == Source::buffer ? "x" : "v", from.number);
    return given == call_.common ? text : number(text);
  }

  std::string value(const Step& step, const Expression& e, const SmallVector<ArgumentPlace, 16>& places) const {
    using enum StepKind;
    const auto at = [&](uint8_t i) { return values_.at(i); };
    const auto infix = [&](const char* sign) {
      return number(fmt::format("{} {} {}", number(at(step.a)), sign, number(at(step.b))));
    };
    const auto question = [&](const char* sign) {
      return fmt::format("{} {} {}", number(at(step.a)), sign, number(at(step.b)));
    };
    switch (step.kind) {
      case StepKind::argument:
        return operand(places[step.a]);
      case constant:
        return number(literal(e.constants[step.a].real, e.constants[step.a].integer, floating_));
      case neg:
        return number("-" + number(at(step.a)));
      case not_:
        return "!" + at(step.a);
      case add:
        return infix("+");
      case sub:
        return infix("-");
      case mul:
        return infix("*");
      case div:
        refuse(!floating_, "which divides integers");
        return infix("/");
      case bit_and:
        return infix("&");
      case bit_or:
        return infix("|");
      case bit_xor:
        return infix("^");
      case eq:
        return question("==");
      case ne:
        return question("!=");
      case lt:
        return question("<");
      case le:
        return question("<=");
      case gt:
        return question(">");
      case ge:
        return question(">=");
      case and_:
        return fmt::format("({}) && ({})", at(step.a), at(step.b));
      case or_:
        return fmt::format("({}) || ({})", at(step.a), at(step.b));
      case where:
        return fmt::format("({}) ? {} : {}", at(step.a), number(at(step.b)), number(at(step.c)));
      case narrow:  // to the dtype that is stored: 16-bit floats have no source
      case to_float:
        return number(at(step.a));
      case to_bool:
        return fmt::format("{} != 0", at(step.a));
      case abs:
        return floating_ ? fmt::format("std::fabs({})", number(at(step.a)))
                         : fmt::format("{0} < 0 ? {1} : {0}", number(at(step.a)), number("-" + at(step.a)));
      case round:
        return fmt::format("std::nearbyint({})", number(at(step.a)));
      case rsqrt:
        return number(fmt::format("1 / std::sqrt({})", number(at(step.a))));
      case sigmoid:
        return number(fmt::format("1 / (1 + std::exp(-{}))", number(at(step.a))));
      case normal_cdf:
        return number(fmt::format("0.5 * std::erfc(-{} * 0.70710678118654757)", number(at(step.a))));
      case sign:
        return fmt::format("({0} > 0) - ({0} < 0)", number(at(step.a)));
      case minimum:
        return fmt::format("minimum({}, {})", number(at(step.a)), number(at(step.b)));
      case maximum:
        return fmt::format("maximum({}, {})", number(at(step.a)), number(at(step.b)));
      case pow:
        refuse(!floating_, "a power of integers");
        return fmt::format("std::pow({}, {})", number(at(step.a)), number(at(step.b)));
      default:
        break;
    }
    const std::string_view name = step_name(step.kind);
    refuse(!floating_ || !is_standard(name), fmt::format("which calls {}", name));
    std::string text = fmt::format("std::{}({}", name, number(at(step.a)));
    if (step_arity(step.kind) > 1) text += ", " + number(at(step.b));
    if (step_arity(step.kind) > 2) text += ", " + number(at(step.c));
    return text + ")";
  }

  const Nest& nest_;
  const LoopCall& call_;
  const char* type_;
  bool floating_;
  std::vector<std::string> values_;
  std::unordered_set<std::string> numbers_;  // names of steps of that type
};

}  // namespace

std::string source_prelude() {
  return R"(#include <cmath>
#include <cstdint>

// Of two numbers, one of which may be NaN: then that.
template <class T>
inline T minimum(T a, T b) {
  return a != a || a < b ? a : b;
}
template <class T>
inline T maximum(T a, T b) {
  return a != a || a > b ? a : b;
}
)";
}

std::string to_source(const Nest& nest, const std::string& name) {
  check(nest);
  std::string text = "// ";
  const std::string listing = to_string(nest);
  for (const char c : listing.substr(0, listing.find_last_not_of('\n') + 1))
    text += c == '\n' ? "\n// " : std::string(1, c);
  text += fmt::format(
      "\n// strides: of each buffer, in elements\nextern \"C\" void {}(void* const* buffers, const int64_t* sizes, "
      "const int64_t* const* strides) {{\n",
      name);
  const size_t rank = nest.sizes.size();
  std::string indent = "  ";
  for (size_t d = 0; d < rank; ++d) {
    text += fmt::format("{0}for (int64_t i{1} = 0; i{1} < sizes[{1}]; ++i{1}) {{\n", indent, d);
    indent += "  ";
  }
  const auto place = [&](size_t b) {
    std::string index;
    for (size_t d = 0; d < rank; ++d) index += fmt::format("{}i{} * strides[{}][{}]", d ? " + " : "", d, b, d);
    return fmt::format("[{}]", index.empty() ? "0" : index);
  };
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    if (nest.buffers[b].written) continue;
    const char* type = type_name(nest.buffers[b].dtype, nullptr);
    text += fmt::format("{0}const {1} x{2} = static_cast<const {1}*>(buffers[{2}]){3};\n", indent, type, b, place(b));
  }
  for (size_t c = 0; c < nest.calls.size(); ++c) {
    const LoopCall& call = nest.calls[c];
    SCONCE_CHECK_AS(not_implemented, !call.is_row(), "C++ source: there is none for operators over rows");
    const std::string v = "v" + std::to_string(c);
    if (call.is_conversion()) {
      const Source& from = call.inputs[0];
      text += fmt::format("{}const auto {} = static_cast<{}>({}{});\n", indent, v, type_name(call.result, &call),
                          from.kind == Source::buffer ? "x" : "v", from.number);
    } else {
      text += CallSource(nest, call).run(v, indent);
    }
  }
  for (const Store& s : nest.stores) {
    const char* type = type_name(nest.buffers[s.buffer].dtype, nullptr);
    text += fmt::format("{}static_cast<{}*>(buffers[{}]){} = v{};\n", indent, type, s.buffer, place(s.buffer), s.call);
  }
  for (size_t d = 0; d < rank; ++d) {
    indent.resize(indent.size() - 2);
    text += indent + "}\n";
  }
  return text + "}\n";
}

}  // namespace sconce::loops
