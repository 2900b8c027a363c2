// Exported programs saved as archives keep their checks, in operators that PyTorch has.
#include "sconce/serialization/archive/portable_checks.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/code/code_printer.h"
#include "sconce/serialization/lite/lite_compile.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

jit::Module exported(const std::string& name) {
  return jit::load(testing::source_path("tests/conformance/exported/" + name));
}

jit::Module saved_and_loaded(const std::string& name) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.pt");
  jit::save(exported(name), path);
  return jit::load(path);
}

Tensor zeros(IntList sizes) {
  return jit::compile("def f(s: List[int]):\n    return torch.zeros(s)\n").function("f")(Value(sizes)).to_tensor();
}

TEST(PortableChecks, TextHasNoOperatorOfOurs) {
  for (const char* name :
       {"Ranges.pt2", "Derived.pt2", "Structures.pt2", "Containers.pt2", "Mixed.pt2", "Numbers.pt2"}) {
    const jit::Module module = exported(name);
    const std::string text = print_function(module.get_method("forward").function());
    EXPECT_EQ(text.find("ops.sconce"), std::string::npos) << name << text;
    EXPECT_NE(text.find("RaiseException"), std::string::npos) << name << text;
  }
}

TEST(PortableChecks, ArchivesRefuseWhatTheProgramRefused) {
  const jit::Module ranges = saved_and_loaded("Ranges.pt2");
  EXPECT_EQ(ranges(zeros({3, 4})).to_tensor().size(0), 3);
  EXPECT_EQ(ranges(zeros({1, 4})).to_tensor().size(0), 1);
  EXPECT_ERROR(ranges(zeros({65, 4})), "input 'x': dimension 0 is 65, the program was exported for at most 64");
  EXPECT_ERROR(ranges(zeros({3, 5})), "input 'x': dimension 1 is 5, the program was exported for 4");
  EXPECT_ERROR(ranges(zeros({4})), "input 'x': has 1 dimensions, the program was exported for 2");
  const jit::Module derived = saved_and_loaded("Derived.pt2");
  EXPECT_ERROR(derived(zeros({5, 3}), zeros({10})),
               "input 'y': dimension 0 is 10, the program was exported for 2*x.size(0) + 1 = 11");
  const jit::Module numbers = saved_and_loaded("Numbers.pt2");
  EXPECT_ERROR(numbers(zeros({6, 3}), 1), "the program was exported for inputs with");
  const jit::Module containers = saved_and_loaded("Containers.pt2");
  const std::vector<Tensor> one{zeros({3})};
  EXPECT_ERROR(containers(one, std::map<std::string, Tensor>{}, std::tuple(zeros({3}), zeros({4}))),
               "input 'items': has 1 items, the program was exported for 2");
}

TEST(PortableChecks, BytecodeHasNoOperatorOfOurs) {
  for (const char* name :
       {"Ranges.pt2", "Derived.pt2", "Structures.pt2", "Containers.pt2", "Numbers.pt2", "Variadic.pt2"}) {
    const jit::Module module = exported(name);
    lite::Compiled compiled;
    for (const lite::OperatorRow& row :
         lite::compile_method(module.get_method("forward").function(), compiled).operators) {
      EXPECT_FALSE(row.name.starts_with("sconce::")) << name << ": " << row.name;
    }
  }
}

TEST(PortableChecks, LiteArchivesRefuseWhatTheProgramRefused) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("m.ptl");
  exported("Ranges.pt2").save_lite(path);
  const jit::Module ranges = jit::load(path);
  EXPECT_EQ(ranges(zeros({3, 4})).to_tensor().size(0), 3);
  EXPECT_ERROR(ranges(zeros({65, 4})), "input 'x': dimension 0 is 65, the program was exported for at most 64");
  EXPECT_ERROR(ranges(zeros({3, 5})), "input 'x': dimension 1 is 5, the program was exported for 4");
}

}  // namespace
}  // namespace sconce
