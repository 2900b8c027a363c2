#include "sconce/testing/compiled/planned_calls.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include "sconce/api/deep_copy.h"
#include "sconce/autograd/variable.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/testing/conformance/script_call.h"
#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

std::atomic<bool> compares{false};

constexpr int kCalls = 4;  // interpreted, recorded, planned, and planned in a used frame

struct Seen {
  Value result;
  std::vector<Value> args;
  std::string error;
};

Seen call(ir::Function& function, std::vector<Value> args) {
  Seen seen;
  seen.args.assign(args.begin(), args.end());
  try {
    seen.result = runtime::run(function, args);
  } catch (const std::exception& e) {
    seen.error = e.what();
  }
  return seen;
}

template <class T>
bool same_numbers(const T* a, const T* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what has to be equal
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0) return false;
  }
  return true;
}

// An object whose attributes hold what recorded gradients, as calls of a module leave it in its buffers: its tensors
// are cut from the history as long as this lives, since only leaves can be copied.
class WithoutHistory {
 public:
  explicit WithoutHistory(const Value& v) { look(v); }
  WithoutHistory(const WithoutHistory&) = delete;
  WithoutHistory& operator=(const WithoutHistory&) = delete;
  ~WithoutHistory() {
    for (const Cut& cut : cuts_) cut.object.to_object().set_slot(cut.slot, cut.was);
  }

 private:
  struct Cut {
    Value object;
    size_t slot;
    Value was;
  };
  void look(const Value& v) {
    if (v.tag() != Tag::object || !seen_.insert(v.counted()).second) return;
    Object& object = v.to_object();
    for (size_t i = 0; i < object.type()->class_info()->attributes.size(); ++i) {
      const Value held = object.slot(i);
      look(held);
      if (!held.is_tensor() || autograd::is_leaf(held.to_tensor())) continue;
      cuts_.push_back({v, i, held});
      object.set_slot(i, Value(detach(held.to_tensor())));
    }
  }

  std::vector<Cut> cuts_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

void compare_plans(bool on) { compares = on; }
bool plans_are_compared() { return compares; }

Difference compare_same_bits(const Tensor& got, const Tensor& expected) {
  if (!(got.strides() == expected.strides())) return "other strides";
  if (got.keys() != expected.keys()) return "another kind of tensor";
  if (got.layout() != Layout::strided || got.keys().has(Key::quantized)) return compare_accumulated(got, expected);
  Tensor a = contiguous(resolved_math_bits(got), MemoryFormat::contiguous);
  Tensor b = contiguous(resolved_math_bits(expected), MemoryFormat::contiguous);
  const auto bytes = static_cast<size_t>(a.numel()) * a.item_size();
  if (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0) return {};
  if (is_complex(a.dtype())) {
    a = view_as_real(a);
    b = view_as_real(b);
  }
  const bool same = a.dtype() == DType::float32   ? same_numbers(a.data<float>(), b.data<float>(), a.numel())
                    : a.dtype() == DType::float64 ? same_numbers(a.data<double>(), b.data<double>(), a.numel())
                    : is_floating(a.dtype())      ? same_numbers(to(a, DType::float64).data<double>(),
                                                                 to(b, DType::float64).data<double>(), a.numel())
                                                  : false;
  if (same) return {};
  return "other bits: " + compare_elements(got, expected, Closeness::exact).value_or("in zeros");
}

Difference compare_planned_calls(ir::Function& function, const std::optional<Value>& self,
                                 const std::function<std::vector<Value>(const std::optional<Value>& self)>& arguments) {
  const NoGrad without_gradients;
  std::optional<Value> selves[2];
  if (self) {
    const WithoutHistory leaves(*self);
    for (auto& copy : selves) copy = jit::deep_copy(*self);
  }
  std::vector<Seen> seen[2];
  for (const bool planned : {false, true}) {
    executor::set_plans_enabled(planned);
    for (int i = 0; i < kCalls; ++i) seen[planned].push_back(call(function, arguments(selves[planned])));
  }
  executor::set_plans_enabled(true);
  for (int i = 0; i < kCalls; ++i) {
    const Seen &a = seen[1][static_cast<size_t>(i)], &b = seen[0][static_cast<size_t>(i)];
    if (a.error != b.error)
      return fmt::format("call {}: planned raises '{}', interpreted '{}'", i + 1, a.error, b.error);
    Difference d = compare_nested(a.result, b.result, compare_same_bits);
    for (size_t k = self ? 1 : 0; k < a.args.size() && !d; ++k) {
      if (a.args[k].is_tensor()) d = compare_nested(a.args[k], b.args[k], compare_same_bits);
    }
    if (d) return fmt::format("call {}, planned against interpreted: {}", i + 1, *d);
  }
  return {};
}

}  // namespace sconce::testing
