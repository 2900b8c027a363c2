// Files of torch.package, as tools/record_packages.py makes them.
#include "sconce/serialization/archive/package.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/archive/verify.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

std::string file(const std::string& name) { return testing::source_path("tests/conformance/packages/" + name); }

jit::Module module_of(const Archive& archive) { return jit::Module(archive.unit, archive.module); }

TEST(Package, RunsTheOneTorchScriptModule) {
  const Tensor x = scalar_tensor_of(2.0, DType::float32);
  EXPECT_EQ(jit::load(file("one.pt"))(x).to_tensor().data<float>()[0], 7);
}

TEST(Package, SeveralModulesHaveNames) {
  const FileBytesPtr bytes = FileBytes::map(file("several.pt"));
  const Tensor x = scalar_tensor_of(2.0, DType::float32);
  EXPECT_EQ(module_of(load_package(bytes, "models/a.pkl"))(x).to_tensor().data<float>()[0], 7);
  EXPECT_EQ(module_of(load_package(bytes, "models/b.pkl"))(x).to_tensor().data<float>()[0], 9);
  EXPECT_ERROR(load_package(bytes), "has 2 TorchScript modules, choose one of 'models/a.pkl', 'models/b.pkl'");
  EXPECT_ERROR(load_package(bytes, "c"), "has no TorchScript module 'c', but 'models/a.pkl', 'models/b.pkl'");
}

TEST(Package, ListsWhatItHolds) {
  const Records records(FileBytes::map(file("several.pt")));
  const PackageContent content = read_package(records);
  EXPECT_EQ(content.pickles, (std::vector<std::string>{"models/a.pkl", "models/b.pkl"}));
  EXPECT_EQ(content.python, std::vector<std::string>{"helper.py"});
  EXPECT_EQ(content.resources, (std::vector<std::string>{"res/readme.txt", "res/data.bin"}));
  const TensorFile tensors = read_tensors(file("several.pt"));
  ASSERT_EQ(tensors.tensors.size(), 3u);
  EXPECT_EQ(tensors.tensors[2].first, "models/b.pkl.w");
}

TEST(Package, PythonSourceIsNeverRun) {
  EXPECT_ERROR(jit::load(file("python.pt")),
               "is a torch.package without a TorchScript module; the Python source in it is never run");
  const TensorFile tensors = read_tensors(file("python.pt"));
  ASSERT_EQ(tensors.tensors.size(), 1u);
  EXPECT_EQ(tensors.tensors[0].first, "p/net.pkl._parameters.weight");
  ASSERT_FALSE(tensors.opaque.empty());
  EXPECT_EQ(tensors.opaque[0], (std::pair<std::string, std::string>("p/net.pkl", "torch.nn.modules.linear.Linear")));
  EXPECT_EQ(verify_file(file("several.pt")).outcome(), Outcome::ok);
}

}  // namespace
}  // namespace sconce
