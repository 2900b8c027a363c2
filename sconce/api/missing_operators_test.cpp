// Files whose code calls operators that do not exist: they run as far as they do without them.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/api/sconce.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::jit {
namespace {

using namespace std::string_literals;

void write_archive(const std::string& path, const std::string& methods) {
  FileWriter out(path);
  ZipWriter zip(out, "m");
  zip.add("data.pkl", "\x80\2c__torch__\nM\n)\x81}(X\x08\0\0\0training\x88ub."s);
  zip.add("code/__torch__.py", "class M(Module):\n  training : bool\n" + methods);
  zip.add("constants.pkl", "\x80\2)."s);
  zip.add("version", "3\n");
  zip.finish();
  out.commit();
}

constexpr const char* kBranches = R"(  def forward(self: __torch__.M,
    x: Tensor,
    n: int) -> Tensor:
    y = torch.relu(x)
    if torch.eq(n, 1):
      a, b, = ops.custom.pair(y)
      z = torch.cat([a, b], 0)
    elif torch.eq(n, 2):
      z = torch.no_such(y, 3)
    else:
      z = torch.add(y, y)
    for _0 in range(n):
      if torch.eq(n, 3):
        z1 = ops.custom.pair(z)
      else:
        z1 = z
      z = z1
    return torch.mul(z, 2)
  def other(self: __torch__.M) -> Tensor:
    if bool(ops.custom.test()):
      y = ops.custom.pair(ops.custom.never())
    else:
      y = torch.zeros([1])
    return y
)";

Tensor one() {
  Tensor x = empty_tensor({1}, DType::float32);
  x.data<float>()[0] = 1;
  return x;
}

TEST(MissingOperators, AreErrorsWhenTheyAreCalled) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.pt");
  write_archive(path, kBranches);
  std::vector<std::string> missing;
  const Module m = load(path, LoadSettings{false, nullptr, &missing});
  EXPECT_EQ(missing, (std::vector<std::string>{"custom::pair", "aten::no_such", "custom::test", "custom::never"}));
  EXPECT_EQ(m(one(), 0).repr(), "tensor([4.])");
  EXPECT_EQ(m(one(), 5).repr(), "tensor([4.])");
  const std::string all = "All that are missing (4): custom::pair, aten::no_such, custom::test, custom::never";
  EXPECT_ERROR(m(one(), 1), path + ": Unknown builtin op: custom::pair. " + all);
  EXPECT_ERROR(m(one(), 2), path + ": Unknown builtin op: aten::no_such. " + all);
  EXPECT_ERROR(m(one(), 3), path + ": Unknown builtin op: custom::pair. " + all);
  EXPECT_ERROR(m.call_method("other"), path + ": Unknown builtin op: custom::test. " + all);
}

TEST(MissingOperators, AreRefusedByStrictReaders) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.pt");
  write_archive(path, kBranches);
  EXPECT_ERROR(load(path, LoadSettings{true}), path + ": Unknown builtin ops (4):");
  sconce_module* out = nullptr;
  EXPECT_NE(sconce_load_strict(path.c_str(), &out), SCONCE_OK);
  EXPECT_NE(std::string(sconce_last_error()).find("Unknown builtin ops (4):"), std::string::npos);
  ASSERT_EQ(sconce_load(path.c_str(), &out), SCONCE_OK);
  sconce_module_free(out);
}

// The calls are not there any more, so that a file without them would be another program.
TEST(MissingOperators, CannotBeSaved) {
  const testing::TemporaryFolder folder;
  write_archive(folder.file("m.pt"), kBranches);
  const Module m = load(folder.file("m.pt"));
  EXPECT_ERROR(m.save(folder.file("again.pt")),
               "again.pt: cannot be saved: __torch__.M.forward calls custom::pair, which does not exist here");
  EXPECT_ERROR(m.save_lite(folder.file("again.ptl")), "which does not exist here");
}

}  // namespace
}  // namespace sconce::jit
