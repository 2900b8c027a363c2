// Operators with Trait::keeps_floats make floating tensors of their arguments' dtype, which selections of dtypes for
// small libraries rely on.
#include <algorithm>
#include <set>
#include <string>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/gradients/sample.h"

#include <gtest/gtest.h>

namespace sconce::testing {
namespace {

void collect(const Value& v, std::set<DType>& dtypes) {
  if (v.is_tensor() && v.to_tensor().defined()) dtypes.insert(v.to_tensor().dtype());
  if (!v.is_list()) return;
  for (const Value& item : v.to_list().values()) collect(item, dtypes);
}

TEST(KeepsFloats, ResultsHaveTheDtypesOfArguments) {
  size_t calls = 0;
  for (const OpSamples& samples : op_samples()) {
    const Op& op = *find_op(samples.op);
    if (!op.has(Trait::keeps_floats)) continue;
    for (const char* text : samples.texts) {
      SCOPED_TRACE(std::string(samples.op) + ": " + text);
      Sample sample = read_sample(op, text);
      std::set<DType> given, made;
      bool names_dtype = false;
      for (size_t i = 0; i < sample.args.size(); ++i) {
        collect(sample.args[i], given);
        names_dtype |= op.schema().arguments[i].name == "dtype" && !sample.args[i].is_none();
      }
      const bool floats = std::all_of(given.begin(), given.end(), [](DType t) { return is_floating(t); });
      if (names_dtype || given.empty() || !floats) continue;
      std::vector<Value> results(op.schema().returns.size());
      op.call_boxed(sample.args.data(), results.data());
      for (const Value& result : results) collect(result, made);
      EXPECT_TRUE(std::includes(given.begin(), given.end(), made.begin(), made.end()));
      ++calls;
    }
  }
  EXPECT_GT(calls, 200u);
}

}  // namespace
}  // namespace sconce::testing
