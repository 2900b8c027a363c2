// Prims are those of PyTorch, by schema, and check their arguments by the column `same`.
#include "sconce/kernels/any/prims_same.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

TEST(Prims, HavePytorchsSchemas) {
  const std::set<std::string> left_out = {"prims::_make_token", "prims::_sink_tokens", "prims::xor_sum"};
  std::ifstream lines(testing::source_path("tests/conformance/facts/prims.txt"));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string name = line.substr(0, line.find('('));
    const Op* op = find_op(name);
    EXPECT_EQ(op == nullptr, left_out.contains(name)) << name;
    if (op) {
      EXPECT_EQ(op->schema_text(), line);
    }
  }
  EXPECT_EQ(count, 126u);
}

TEST(Prims, RefuseWhatIsNotTheSame) {
  const Tensor a = empty_tensor({2, 3}, DType::float32), b = empty_tensor({3}, DType::float32);
  const Tensor zero = empty_tensor({}, DType::float64), number = wrapped_number(1.5);
  EXPECT_EQ(testing::error_of([&] { check_prims_sizes({&a, &zero, &b}); }),
            "Shape torch.Size([3]) is not the expected shape torch.Size([2, 3])!");
  EXPECT_EQ(testing::error_of([&] { check_prims_dtypes({&a, &b, &zero}); }),
            "Tensor with dtype torch.float64 is not the expected dtype of torch.float32!");
  check_prims_dtypes({&number, &a, &b});
  const Tensor elsewhere = empty_tensor({2, 3}, DType::float32, Device(DeviceType::meta));
  EXPECT_EQ(testing::error_of([&] { check_prims_sizes({&a, &elsewhere}); }),
            "Tensor on device meta is not on the expected device cpu!");
}

}  // namespace
}  // namespace sconce
