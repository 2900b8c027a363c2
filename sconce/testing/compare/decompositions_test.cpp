// Decompositions of the table over its samples, and how much of the table can be written out in Core ATen.
// `sconce-conformance --decomposed` runs them over recorded calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compare/compare_rules.h"
#include "sconce/testing/compare/core_closure.h"
#include "sconce/testing/compare/decomposed_call.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/gradients/sample.h"
#include "sconce/testing/source_tree.h"

namespace sconce::testing {
namespace {

// Kernels may look whether a gradient is asked for, texts cannot.
Value without_grad(const Value& v) {
  if (v.is_tensor() && v.to_tensor().defined()) return detach(v.to_tensor());
  if (!v.is_list() || !v.to_list().is_tensors()) return v;
  auto list = make_ref<List>(v.to_list().element_type());
  for (const Value& item : v.to_list().values()) list->append(without_grad(item));
  return list;
}

std::vector<Value> sample_args(const Op& op, const char* text) {
  std::vector<Value> args = read_sample(op, text).args;
  for (Value& v : args) v = without_grad(v);
  return args;
}

bool is_decomposed(const Op& op) { return why_not_decomposed(op).empty(); }

TEST(Decompositions, BecomeGraphs) {
  for (const Op* op : all_ops()) {
    if (is_decomposed(*op)) {
      EXPECT_NE(passes::op_graphs()->decomposition(*op), nullptr) << op->schema_text();
    }
  }
}

TEST(Decompositions, AreTheOperatorForEverySample) {
  const NoGrad no_grad;
  size_t calls = 0;
  for (const OpSamples& samples : op_samples()) {
    const Op& op = *find_op(samples.op);
    if (!is_decomposed(op)) continue;
    for (const char* text : samples.texts) {
      SCOPED_TRACE(std::string(samples.op) + ": " + text);
      const std::vector<Value> args = sample_args(op, text);
      std::vector<Value> given = sample_args(op, text), returns(op.schema().returns.size());
      manual_seed(0);
      op.call_boxed(given.data(), returns.data());
      manual_seed(0);
      const std::vector<Value> got = flatten(invoke_decomposed(op, args));
      const Rule rule = rule_for(op.schema().name, args);
      const Difference d = compare_outputs(rule, args, got, flatten(returns), false);
      EXPECT_FALSE(d) << *d;
      ++calls;
    }
  }
  EXPECT_GT(calls, 180u);
}

// All pairs of these as complex numbers, and the two parts.
struct Parts {
  Tensor whole, real, imag;
};
Parts special_numbers() {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {0.f, -0.f, 1.5f, -2.f, 3e38f, 1e-40f, kInf, -kInf, kNan};
  const auto n = static_cast<int64_t>(std::size(numbers));
  const Tensor pairs = empty({n * n, 2});
  for (int64_t i = 0; i < n * n; ++i) {
    pairs.data<float>()[2 * i] = numbers[i / n];
    pairs.data<float>()[2 * i + 1] = numbers[i % n];
  }
  return {view_as_complex(pairs), contiguous(select(pairs, 1, 0)), contiguous(select(pairs, 1, 1))};
}

// Infinities, NaN and signs of zeros too.
TEST(Decompositions, TakeComplexNumbersApartToTheBit) {
  const NoGrad no_grad;
  const Parts parts = special_numbers();
  const auto check = [&](const char* name, std::vector<Value> args) {
    const Op& op = *find_op(name);
    const Tensor got = invoke_decomposed(op, args).at(0).to_tensor();
    Value returns[1];
    op.call_boxed(args.data(), returns);
    const auto floats = [](const Tensor& t) {
      return is_complex(t.dtype()) ? contiguous(view_as_real(t)) : contiguous(t);
    };
    const Tensor a = floats(got), b = floats(returns[0].to_tensor());
    ASSERT_EQ(a.sizes(), b.sizes()) << name;
    for (int64_t i = 0; i < a.numel(); ++i) {
      const float x = a.data<float>()[i], y = b.data<float>()[i];
      const bool same = std::isnan(y) ? std::isnan(x) : x == y && std::signbit(x) == std::signbit(y);
      EXPECT_TRUE(same) << name << " " << i << ": " << x << ", expected " << y;
    }
  };
  check("aten::view_as_real", {parts.whole});
  check("aten::complex", {parts.real, parts.imag});
  check("aten::_conj_physical", {parts.whole});
  check("aten::view_as_complex", {contiguous(view_as_real(parts.whole))});
}

// What cannot be written out in Core ATen, by the beginning of the operator's name.
struct Reason {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view kFactors = "a factorisation", kDraws = "draws numbers", kSparse = "sparse tensors",
                           kQuantised = "quantised tensors", kMemory = "is about memory, not values";
constexpr Reason kOutside[] = {
    {"aten::_linalg_eig", kFactors},
    {"aten::_linalg_svd", kFactors},
    {"aten::linalg_householder_product", kFactors},
    {"aten::linalg_ldl", kFactors},
    {"aten::linalg_matrix_exp", kFactors},
    {"aten::linalg_matrix_rank", kFactors},
    {"aten::linalg_pinv", kFactors},
    {"aten::linalg_qr", kFactors},
    {"aten::pinverse", kFactors},
    {"aten::bernoulli", kDraws},
    {"aten::cauchy", kDraws},
    {"aten::exponential", kDraws},
    {"aten::geometric", kDraws},
    {"aten::log_normal", kDraws},
    {"aten::normal", kDraws},
    {"aten::random", kDraws},
    {"aten::uniform", kDraws},
    {"aten::rrelu_with_noise", kDraws},
    {"aten::logcumsumexp", "a scan that Core ATen lacks"},
    {"aten::_histogramdd", "counts in bins"},
    {"aten::sparse_", kSparse},
    {"aten::_sparse", kSparse},
    {"aten::_to_sparse", kSparse},
    {"aten::smm", kSparse},
    {"aten::to_dense", kSparse},
    {"aten::copy_sparse", kSparse},
    {"aten::coalesce", kSparse},
    {"aten::values", kSparse},
    {"aten::indices", kSparse},
    {"aten::to_padded_tensor", "nested tensors"},
    {"aten::_upsample_bi", "resizing with filters of different lengths"},
    {"aten::_upsample_lanczos2d_aa", "resizing with filters of different lengths"},
    {"aten::_convolution_double_backward", "results that may be absent, in a body that was not written for graphs"},
    {"aten::cov", "weights that may be absent, in a body that was not written for graphs"},
    {"sconce::cdist_direct_backward", "gradients of distances, of which Core ATen has the forward direction alone"},
    {"aten::copy_.", "a write that has no functional twin"},
    {"aten::_index_put_impl_.hacked_twin", "a write that has no functional twin"},
    {"aten::_batch_norm_with_update.out", "a write that has no functional twin"},
    {"aten::_native_batch_norm_legit.out", "a write that has no functional twin"},
    {"aten::dequantize", kQuantised},
    {"aten::resize_as", kMemory},
    {"aten::set_", kMemory},
    {"aten::_pin_memory", kMemory},
};

std::string_view reason_for(const Op& op) {
  const std::string name = op.qualified_name();
  for (const Reason& r : kOutside) {
    if (name.starts_with(r.name)) return r.reason;
  }
  return {};
}

std::vector<std::string> names_of_list() {
  std::ifstream list(source_path("tests/conformance/facts/core_aten_decompositions.txt"));
  std::vector<std::string> names;
  for (std::string line; std::getline(list, line);) {
    if (!line.starts_with("aten.")) continue;
    line.replace(0, 5, "aten::");
    if (line.ends_with(".default")) line.resize(line.size() - 8);
    names.push_back(line);
  }
  return names;
}

// Core ATen's own list of what has a decomposition: every leaf of the table in it has a text, or stands above.
TEST(Decompositions, CoverTheLeavesOfTheList) {
  CoreClosure closure;
  size_t leaves = 0, closed = 0;
  for (const std::string& name : names_of_list()) {
    const Op* op = find_op(name);
    if (!op || op->info.texts.body || op->has(Trait::core) || has_expressions(*op) || !gives_tensors(*op)) continue;
    const std::string_view reason = reason_for(*op);
    const bool ends = closure.outside(*op).empty();
    closed += ends;
    leaves += ends || reason.empty();
    EXPECT_NE(ends, !reason.empty()) << op->schema_text() << " ends in Core ATen: " << ends
                                     << ", reason not to: " << reason;
  }
  std::printf("leaves of the list, of plain tensors: %zu, of which %zu end in Core ATen\n", leaves, closed);
  EXPECT_EQ(closed, leaves);
  EXPECT_GE(closed, 131u);
}

TEST(Decompositions, LetCompoundsEndInCore) {
  CoreClosure closure;
  size_t compounds = 0, closed = 0;
  std::set<std::string> entries;
  std::map<std::string, std::vector<std::string>> blocked;  // by the operator that remains
  for (const Op* op : all_ops()) {
    const std::string origin = op->origin();  // other tests define operators
    if (!op->info.texts.body || !origin.starts_with("ops/") || !has_tensors(*op)) continue;
    if (!entries.insert(origin).second) continue;  // a form of an entry
    ++compounds;
    const std::set<const Op*>& outside = closure.outside(*op);
    closed += outside.empty();
    for (const Op* o : outside) blocked[o->qualified_name()].push_back(op->qualified_name());
  }
  std::printf("compound operators: %zu, of which %zu end in Core ATen\n", compounds, closed);
  for (const auto& [name, ops] : blocked) {
    const std::string_view reason = reason_for(*find_op(name));
    std::printf("  %s keeps %zu (%s, ...): %.*s\n", name.c_str(), ops.size(), ops[0].c_str(),
                static_cast<int>(reason.size()), reason.data());
    EXPECT_FALSE(reason.empty()) << name << " keeps " << ops[0] << " from ending in Core ATen";
  }
  EXPECT_GE(closed, 540u);
  // The list of reasons shrinks: each keeps a compound, or a leaf of Core ATen's own list, outside.
  for (const std::string& name : names_of_list()) {
    const Op* op = find_op(name);
    if (op && !op->info.texts.body && !closure.outside(*op).empty()) blocked[name];
  }
  for (const Reason& r : kOutside) {
    const bool used = std::ranges::any_of(blocked, [&](const auto& each) { return each.first.starts_with(r.name); });
    EXPECT_TRUE(used) << r.name << " keeps nothing outside: it has no place in the list";
  }
}

}  // namespace
}  // namespace sconce::testing
