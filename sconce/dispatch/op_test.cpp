#include "sconce/dispatch/op.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/dispatch/box.h"
#include "sconce/dispatch/registry.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

// Kernels that say who they are.
template <int kAnswer>
void answer(const Op&, KeySet, Value*, Value* returns) {
  returns[0] = kAnswer;
}

int64_t call(const Op& op, std::vector<Value> args) {
  Value result;
  op.call_boxed(args.data(), &result);
  return result.to_int();
}

TEST(Op, runs_the_kernel_of_the_tensors_keys) {
  Op& op = define_op("op_test::where_am_i(Tensor? a, Tensor?[] list, Device? device=None) -> int");
  op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(answer<1>));
  op.set_kernel(Key::meta, SCONCE_BOXED_KERNEL(answer<2>));
  const Tensor cpu = empty_tensor({2}, DType::float32);
  const Tensor meta = empty_tensor({2}, DType::float32, Device(DeviceType::meta));
  const Value none, list(std::vector<Tensor>{Tensor(), meta}), empty(std::vector<Tensor>{});
  EXPECT_EQ(call(op, {cpu, empty, none}), 1);
  EXPECT_EQ(call(op, {meta, empty, none}), 2);
  EXPECT_EQ(call(op, {none, list, none}), 2);
  EXPECT_EQ(call(op, {none, empty, none}), 1);
  EXPECT_EQ(call(op, {none, empty, Device(DeviceType::meta)}), 1);
  EXPECT_EQ(call(op, {cpu, empty, Device(DeviceType::meta)}), 1);
  Op& makes = define_op("op_test::make_here(Tensor? a, Device? device=None) -> Tensor");
  makes.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(answer<1>));
  makes.set_kernel(Key::meta, SCONCE_BOXED_KERNEL(answer<2>));
  EXPECT_EQ(call(makes, {none, none}), 1);
  EXPECT_EQ(call(makes, {none, Device(DeviceType::meta)}), 2);
  EXPECT_EQ(call(makes, {cpu, Device(DeviceType::meta)}), 1);
}

TEST(Op, asks_the_modes_of_the_thread) {
  Op& op = define_op("op_test::modes(Tensor a) -> int");
  op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(answer<1>));
  const Tensor t = empty_tensor({2}, DType::float32);
  const ModeGuard tracing(Key::tracer, KeySet());
  EXPECT_EQ(call(op, {t}), 1);  // no kernel for the tracer: costs nothing
  EXPECT_EQ(op.set_kernel(Key::tracer, SCONCE_BOXED_KERNEL(answer<9>)), nullptr);
  EXPECT_EQ(call(op, {t}), 9);
  {
    const ModeGuard below(KeySet(), Key::tracer);
    EXPECT_EQ(call(op, {t}), 1);
  }
  EXPECT_EQ(op.set_kernel(Key::tracer, nullptr), SCONCE_BOXED_KERNEL(answer<9>));
  EXPECT_EQ(call(op, {t}), 1);
}

int64_t typed_rank(KeySet, const Tensor& self, int64_t more) {
  SCONCE_CHECK(more >= 0, "more must be >= 0, got {}", more);
  return self.dim() + more;
}

TEST(Op, boxes_a_typed_kernel_and_names_the_call_that_failed) {
  Op& op = define_op("op_test::rank.of(Tensor self, int more, str? word=None) -> int");
  op.box = box_call<int64_t(const Tensor&, int64_t)>;
  op.set_kernel(Key::cpu, SCONCE_TYPED_KERNEL(&typed_rank));
  const Tensor t = empty_tensor({3, 4}, DType::float32);
  EXPECT_EQ(call(op, {t, 1, Value()}), 3);
  EXPECT_EQ(error_of([&] { call(op, {t, -1, "a"}); }),
            "op_test::rank.of: more must be >= 0, got -1 (called with self: float32[3, 4], more=-1, word='a')");
}

TEST(Op, says_which_kernels_there_are) {
  Op& op = define_op("op_test::nothing(Tensor a) -> Tensor");
  const Tensor meta = empty_tensor({2}, DType::float32, Device(DeviceType::meta));
  EXPECT_EQ(error_of([&] { call(op, {meta}); }), "op_test::nothing: has no kernel at all");
  op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(answer<1>));
  op.set_kernel(Key::cuda, SCONCE_BOXED_KERNEL(answer<1>));
  EXPECT_EQ(error_of([&] { call(op, {meta}); }),
            "op_test::nothing: no kernel for Meta; there are kernels for CPU, CUDA");
}

TEST(Op, parses_its_schema_once_for_all_threads) {
  static Op op{.info = {.name = "op_test::lazy",
                        .overload = "",
                        .schema = "op_test::lazy(int a) -> int",
                        .texts = {},
                        .entry = nullptr,
                        .traits = 0},
               .box = nullptr};
  std::vector<const Schema*> seen(4);
  std::vector<std::thread> threads;
  for (const Schema*& s : seen) threads.emplace_back([&s] { s = &op.schema(); });
  for (std::thread& thread : threads) thread.join();
  for (const Schema* s : seen) EXPECT_EQ(s, &op.schema());
  delete op.parsed;
  op.parsed = nullptr;
}

// A device among the arguments chooses the kernel of what makes a tensor there, and of nothing else.
TEST(Op, ValuesOfAnyDeviceAreWorkForTheCpu) {
  const Value cuda(Device(DeviceType::cuda, 1));
  EXPECT_EQ(call_op("aten::hash", {cuda})[0].to_int(), call_op("aten::hash", {cuda})[0].to_int());
  EXPECT_TRUE(call_op("aten::eq", {cuda, cuda})[0].to_bool());
  EXPECT_THROW(call_op("aten::zeros", {Value(IntList{2})}, {{"device", cuda}}), Error);
}

}  // namespace
}  // namespace sconce
