// Compiled files that try to hurt: every claim of theirs is checked before anything runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sconce/dispatch/registry.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/compiled/program_reader.h"
#include "sconce/serialization/compiled/program_values.h"
#include "sconce/serialization/compiled/program_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/hostile/mutate_archive.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"
#include "tests/fuzz/targets.h"

namespace sconce::compiled {
namespace {

using testing::error_of;

// The bytes of f(Tensor x) -> Tensor, put together by hand: x is float32 [2, 3], there is one constant w of the same
// geometry (tensor 1), and one call, whose result is returned.
struct HandMade {
  std::string name = "f", op = "aten::add.Tensor";
  std::vector<int64_t> sizes{2, 3}, strides{3, 1};  // of x
  std::vector<int64_t> constant_sizes{2, 3}, constant_strides{3, 1};
  int64_t constant_offset = 0;
  uint8_t dtype = 6;
  uint32_t op_number = 0, first = 0, second = 1, output = 2;
  std::vector<int64_t> result_sizes{2, 3}, result_strides{3, 1};
  std::optional<Value> last = Value(int64_t{1});  // none: the operator has two arguments
  std::string behind = "";
  DeviceType device = DeviceType::cpu;                      // of the file
  uint8_t flags = 0, constant_flags = 0, result_flags = 0;  // 2: on that device

  static void geometry(ByteWriter& out, uint8_t dtype, const std::vector<int64_t>& sizes,
                       const std::vector<int64_t>& strides, uint8_t flags = 0) {
    out.byte(dtype);
    out.byte(flags);
    out.byte(static_cast<uint8_t>(sizes.size()));
    for (const int64_t v : sizes) out.integer(v);
    for (const int64_t v : strides) out.integer(v);
  }
  std::string bytes() const {
    ByteWriter out(device);
    out.text(name);
    out.number(1);
    out.text("x");
    write_type(out, tensor_type());
    out.byte(0);
    write_type(out, tensor_type());
    out.number(1);
    out.text("w");
    out.number(0);
    out.integer(constant_offset);
    geometry(out, 6, constant_sizes, constant_strides, constant_flags);
    out.number(1);
    out.text(op);
    out.number(1);  // programs
    out.number(1);  // inputs
    geometry(out, dtype, sizes, strides, flags);
    out.byte(0);
    out.number(0);
    out.number(1);  // calls
    out.number(op_number);
    for (const uint32_t v : {first, second}) {
      out.byte(1);
      out.number(v);
    }
    if (last) {
      out.byte(0);
      write_value(out, *last);
    }
    geometry(out, 6, result_sizes, result_strides, result_flags);
    out.byte(0);
    out.number(output);
    return out.bytes() + behind;
  }
  std::string refusal() const {
    const std::string text = bytes();
    return error_of([&] {
      ByteReader in(text, "f", device);
      const Ref<Storage> memory = make_storage(24, {});
      read_function(in, [&](uint32_t, DType d, IntList s, IntList t, int64_t offset) {
        return make_tensor(memory, d, s, t, offset);
      });
    });
  }
};

#define EXPECT_SAYS(message, part)                                    \
  do {                                                                \
    const std::string said = message;                                 \
    EXPECT_NE(said.find(part), std::string::npos) << "got: " << said; \
  } while (false)

TEST(HostileCompiled, EveryClaimIsChecked) {
  EXPECT_EQ(HandMade().refusal(), "no error");
  EXPECT_SAYS(HandMade{.name = "f g"}.refusal(), "f: a name is 'f g', which is none");
  EXPECT_SAYS(HandMade{.op = "aten::nothing"}.refusal(), "f: operators that it needs are missing: aten::nothing");
  EXPECT_SAYS(HandMade{.op = "sconce::with_strides"}.refusal(), "is an operator of Sconce itself");
  EXPECT_SAYS(HandMade{.op = "aten::size"}.refusal(), "aten::size does not make tensors alone");
  EXPECT_SAYS(HandMade{.op = "aten::is_leaf"}.refusal(), "does not make tensors alone");
  EXPECT_SAYS(HandMade{.op_number = 1}.refusal(), "f: call 0: operator 1 of 1");
  EXPECT_SAYS(HandMade{.first = 2}.refusal(), "f: call 0: tensor 2 is used, and 2 are there by then");
  EXPECT_SAYS(HandMade{.output = 3}.refusal(), "f: call 1: tensor 3 is used, and 3 are there by then");
  EXPECT_SAYS((HandMade{.sizes = {2, 4}, .strides = {4, 1}}.refusal()), "f: call 0: ");
  EXPECT_SAYS((HandMade{.sizes = {2, -3}}.refusal()), "f: a tensor has size -3 and stride 1");
  EXPECT_SAYS((HandMade{.strides = {-3, 1}}.refusal()), "f: a tensor has size 2 and stride -3");
  EXPECT_SAYS((HandMade{.sizes = {int64_t{1} << 40, int64_t{1} << 40}}.refusal()), "");
  EXPECT_SAYS((HandMade{.strides = {int64_t{1} << 62, 1}}.refusal()), "do not fit");
  EXPECT_SAYS((HandMade{.sizes = {int64_t{1} << 30, int64_t{1} << 20}, .strides = {1 << 20, 1}}.refusal()),
              "tensors of more than 70368744177664 bytes");
  EXPECT_SAYS(HandMade{.dtype = 99}.refusal(), "99");
  EXPECT_SAYS(HandMade{.dtype = 13}.refusal(), "tensors of quint8 cannot be in compiled files");
  EXPECT_SAYS((HandMade{.result_sizes = {3, 2}, .result_strides = {2, 1}}.refusal()),
              "f: call 0: aten::add.Tensor gives [2, 3] float32, and the file says [3, 2] float32");
  EXPECT_SAYS(HandMade{.last = Value("text")}.refusal(), "f: call 0: argument 'alpha' of aten::add.Tensor: ");
  EXPECT_SAYS(HandMade{.last = Value()}.refusal(), "f: call 0: argument 'alpha' of aten::add.Tensor is a value");
  EXPECT_SAYS(HandMade{.behind = "x"}.refusal(), "f: goes on behind its end");
  EXPECT_SAYS(HandMade{.op = "aten::add_.Tensor"}.refusal(),
              "f: call 0: aten::add_.Tensor writes to an argument of the function or to a constant");
  EXPECT_SAYS((HandMade{.op = "aten::mul.Scalar", .last = {}}.refusal()),
              "argument 'other' of aten::mul.Scalar is a tensor, expected number");
}

TEST(HostileCompiled, TensorsAreWhereTheirArgumentsAre) {
  constexpr DeviceType kCuda = DeviceType::cuda;
  EXPECT_EQ(HandMade{.device = kCuda}.refusal(), "no error");
  EXPECT_EQ((HandMade{.device = kCuda, .flags = 2, .constant_flags = 2, .result_flags = 2}.refusal()), "no error");
  EXPECT_EQ((HandMade{.device = kCuda, .constant_flags = 2, .result_flags = 2}.refusal()), "no error");
  EXPECT_SAYS(HandMade{.flags = 2}.refusal(), "is 2, expected 0 or 1");
  EXPECT_SAYS((HandMade{.device = kCuda, .flags = 4}.refusal()), "is 4, expected 0 to 3");
  EXPECT_SAYS((HandMade{.device = kCuda, .flags = 2}.refusal()),
              "f: call 0: aten::add.Tensor gives a tensor of cuda, and the file says cpu");
  EXPECT_SAYS((HandMade{.device = kCuda, .result_flags = 2}.refusal()),
              "f: call 0: aten::add.Tensor gives a tensor of cpu, and the file says cuda");
  // A device as a number: the file's own or the CPU.
  ByteWriter out(kCuda);
  write_value(out, Value(Device{kCuda, 3}));
  ByteReader there(out.bytes(), "f", kCuda), here(out.bytes(), "f");
  EXPECT_EQ(read_value(there).to_device(), Device{kCuda});
  EXPECT_SAYS(error_of([&] { read_value(here); }), "f: there is no kind 10 of values");
  ByteWriter host;
  EXPECT_SAYS(error_of([&] { write_value(host, Value(Device{kCuda, 3})); }),
              "the compiled file is for cpu, and a call names the device");
}

TEST(HostileCompiled, ConstantsLieInTheirRecords) {
  EXPECT_SAYS((HandMade{.constant_sizes = {2, 4}, .constant_strides = {4, 1}}.refusal()), "");
  EXPECT_NE((HandMade{.constant_sizes = {3, 3}, .constant_strides = {3, 1}}.refusal()), "no error");
  EXPECT_NE(HandMade{.constant_offset = 1}.refusal(), "no error");
  EXPECT_NE(HandMade{.constant_offset = -1}.refusal(), "no error");
  EXPECT_NE((HandMade{.constant_strides = {int64_t{1} << 61, 1}}.refusal()), "no error");
}

TEST(HostileCompiled, CountsHaveLimits) {
  // f() -> Tensor up to one of its counts, then much more of the file.
  const auto refusal = [](std::initializer_list<uint32_t> counts) {
    ByteWriter out;
    out.text("f");
    out.number(0);
    write_type(out, tensor_type());
    for (const uint32_t n : counts) out.number(n);
    const std::string bytes = out.bytes() + std::string(1 << 20, '\0');
    return error_of([&] {
      ByteReader in(bytes, "f");
      read_function(in, [](uint32_t, DType, IntList, IntList, int64_t) { return Tensor(); });
    });
  };
  EXPECT_SAYS(refusal({kMaxConstants + 1}), "f: 16385 constants, which is more than the limit of 16384");
  EXPECT_SAYS(refusal({0, kMaxOperators + 1}), "f: 4097 operators, which is more than the limit of 4096");
  EXPECT_SAYS(refusal({0, 0, 0}), "f: has no program");
  EXPECT_SAYS(refusal({0, 0, kMaxPrograms + 1}), "f: 65 programs, which is more than the limit of 64");
  EXPECT_SAYS(refusal({0, 0, 1, kMaxInputs + 1}), "f: 4097 inputs, which is more than the limit of 4096");
  EXPECT_SAYS(refusal({0, 0, 1, 1u << 31}), "inputs, which is more than");
  EXPECT_SAYS(refusal({0, 0, 1, 0, kMaxCalls + 1}), "f: 32769 calls, which is more than the limit of 32768");
}

TEST(HostileCompiled, ResultsHaveLimits) {
  ByteWriter out;
  out.text("f");
  out.number(1);
  out.text("x");
  write_type(out, tensor_type());
  out.byte(0);
  write_type(out, tensor_type());
  out.number(0);  // constants
  out.number(1);
  out.text("aten::unbind.int");
  out.number(1);
  out.number(1);
  HandMade::geometry(out, 6, {200'000}, {1});
  out.byte(0);
  out.number(0);
  out.number(1);
  out.number(0);
  out.byte(1);
  out.number(0);
  out.byte(0);
  write_value(out, Value(int64_t{0}));
  for (int i = 0; i < 200'000; ++i) HandMade::geometry(out, 6, {}, {});
  EXPECT_SAYS(error_of([&] {
                ByteReader in(out.bytes(), "f");
                read_function(in, [](uint32_t, DType, IntList, IntList, int64_t) { return Tensor(); });
              }),
              "f: call 0: more than 131072 tensors");
}

TEST(HostileCompiled, EveryTruncationIsRefused) {
  const std::string whole = HandMade().bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    ByteReader in(std::string_view(whole).substr(0, n), "f");
    const std::string said = error_of([&] {
      const Ref<Storage> memory = make_storage(24, {});
      read_function(in, [&](uint32_t, DType d, IntList s, IntList t, int64_t offset) {
        return make_tensor(memory, d, s, t, offset);
      });
    });
    EXPECT_NE(said, "no error") << n;
  }
}

// tests/fuzz has the long form; SCONCE_MUTATIONS=50000 SCONCE_SEED=1 is that of a build that is under sanitizers as a
// whole. What is accepted runs: see tests/fuzz/compiled.cpp.
TEST(HostileCompiled, MutatedFilesDoNoHarm) {
  const auto number = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  };
  testing::Random random(static_cast<unsigned>(number("SCONCE_SEED", 17)));
  const int mutations = number("SCONCE_MUTATIONS", 150);
  for (const char* name : {"images.scx", "trees.scx", "text.scx", "packed.scx"}) {
    const std::string bytes = testing::read_file(testing::source_path("tests/fuzz/corpus/compiled/") + name);
    const testing::ArchiveMutator mutator(bytes);
    for (int i = 0; i < mutations; ++i) fuzz::compiled(mutator.mutate(random));
    for (size_t n = 0; n < bytes.size(); n += 199) fuzz::compiled(std::string_view(bytes).substr(0, n));
  }
}

}  // namespace
}  // namespace sconce::compiled
