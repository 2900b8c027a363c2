// Loads examples/squareplus as a user's program would: through libsconce.so and dlopen.
#include <gtest/gtest.h>

#include <filesystem>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

const std::string kLibrary = SCONCE_LIBRARY_DIR "/squareplus.so";

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Tensor filled(IntList sizes, float value) {
  Tensor t = empty_tensor(sizes, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = value;
  return t;
}

TEST(CustomLibrary, is_loaded_called_and_loaded_again) {
  load_library(kLibrary);
  load_library(kLibrary);
  const Tensor y = call_op("example::squareplus", {filled({2, 3}, 1.5f)})[0].to_tensor();
  EXPECT_EQ(y.sizes(), IntList({2, 3}));
  EXPECT_FLOAT_EQ(y.data<float>()[5], 2.0f);
  EXPECT_FLOAT_EQ(call_op("example::huber_gap", {filled({1}, 4), filled({1}, 1)})[0].to_tensor().data<float>()[0],
                  2.5f);
  const Tensor meta = empty_tensor({7}, DType::float64, Device(DeviceType::meta));
  EXPECT_EQ(call_op("example::squareplus", {meta})[0].to_tensor().dtype(), DType::float64);
  EXPECT_EQ(error_of([] { call_op("example::squareplus", {filled({1}, 0), 0.0}); }),
            "example::squareplus: b must be > 0, got 0 (called with self: float32[1], b=0.0)");
}

TEST(CustomLibrary, has_operators_that_are_differentiable) {
  load_library(kLibrary);
  const Tensor x = filled({2}, 1.5f);
  autograd::set_requires_grad(x, true);
  const Tensor y = call_op("example::squareplus", {x})[0].to_tensor();
  autograd::backward({y}, {filled({2}, 1)}, {.retain_graph = true});
  EXPECT_FLOAT_EQ(autograd::grad(x).data<float>()[1], 2 / 2.5f);
  // Its derivative is made of operators, so it has one too: b / sqrt(x^2 + b)^3 / 2.
  autograd::GradOptions options;
  options.create_graph = true;
  const Tensor g = autograd::grad({y}, {x}, {filled({2}, 1)}, options)[0];
  EXPECT_FLOAT_EQ(autograd::grad({g}, {x}, {filled({2}, 1)})[0].data<float>()[0], 4 / 15.625f / 2);
  // A body needs no derivative.
  const Tensor gap = call_op("example::huber_gap", {x, filled({2}, 0)})[0].to_tensor();
  EXPECT_FLOAT_EQ(autograd::grad({gap}, {x}, {filled({2}, 3)})[0].data<float>()[0], 3);
}

TEST(CustomLibrary, that_fails_to_register_is_unloaded) {
  load_library(kLibrary);
  const size_t before = all_ops().size();
  // Another file with the same operators.
  const std::filesystem::path copy = std::filesystem::temp_directory_path() / "sconce_squareplus_copy.so";
  std::filesystem::copy_file(kLibrary, copy, std::filesystem::copy_options::overwrite_existing);
  const std::string expected =
      "library '" + copy.string() + "': namespace 'example' is taken: use SCONCE_LIBRARY_FRAGMENT to add to it";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { load_library(copy.string()); }), expected);
  }
  std::filesystem::remove(copy);
  EXPECT_EQ(all_ops().size(), before);
  EXPECT_FLOAT_EQ(call_op("example::squareplus", {filled({1}, 0)})[0].to_tensor().data<float>()[0], 1.0f);
}

TEST(CustomLibrary, that_does_not_exist_is_named) {
  EXPECT_EQ(error_of([] { load_library("no_such_library.so"); }).find("cannot load library 'no_such_library.so': "),
            0u);
}

}  // namespace
}  // namespace sconce
