#include "sconce/codegen/joined/loop_emitter.h"

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include "sconce/codegen/joined/machine_code.h"
#include "sconce/codegen/tiles/tile_graph.h"
#include "sconce/loops/test_nest.h"

namespace sconce::codegen {
namespace {

// An instruction decoder for the kinds that loops are made of: lengths, and whether one is of AVX-512 (EVEX).
class Decoder {
 public:
  explicit Decoder(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  // False when something is not known. Ends behind the ret; what follows are constants.
  bool run() {
    while (at_ < bytes_.size()) {
      ++count;
      const uint8_t first = bytes_[at_];
      if (first == 0xc3) return true;
      bool known = false;
      if (first == 0x62) {
        ++evex;
        known = evex_instruction();
      } else if (first == 0xc5 || first == 0xc4) {
        known = vex_instruction();
      } else {
        known = plain_instruction();
      }
      if (!known) return false;
    }
    return false;
  }
  int count = 0, evex = 0;
  size_t place() const { return at_; }

 private:
  uint8_t byte(size_t k) const { return at_ + k < bytes_.size() ? bytes_[at_ + k] : uint8_t{0}; }

  // The bytes of ModRM, SIB and displacement; a displacement of EVEX is scaled, and as long.
  static size_t operand_length(uint8_t modrm, uint8_t sib) {
    const int mod = modrm >> 6, rm = modrm & 7;
    size_t length = 1;
    if (mod == 3) return length;
    if (rm == 4) {
      ++length;
      if (mod == 0 && (sib & 7) == 5) length += 4;
    }
    if (mod == 0 && rm == 5) length += 4;
    return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
  }

  bool vector_instruction(size_t prefix, int map) {
    const uint8_t opcode = byte(prefix);
    if (map < 1 || map > 3) return false;
    size_t length = prefix + 1;
    if (map == 1 && opcode == 0x77) {  // vzeroupper
      at_ += length;
      return true;
    }
    length += operand_length(byte(length), byte(length + 1));
    const bool shift = map == 1 && (opcode == 0x71 || opcode == 0x72 || opcode == 0x73);
    if (map == 3 || (map == 1 && (opcode == 0xc2 || opcode == 0xc6 || opcode == 0x70)) || shift) ++length;
    at_ += length;
    return true;
  }
  bool vex_instruction() { return byte(0) == 0xc5 ? vector_instruction(2, 1) : vector_instruction(3, byte(1) & 0x1f); }
  bool evex_instruction() { return vector_instruction(4, byte(1) & 7); }

  bool plain_instruction() {
    size_t k = 0;
    while (byte(k) == 0x66) ++k;
    if ((byte(k) & 0xf0) == 0x40) ++k;
    const uint8_t opcode = byte(k++);
    if ((opcode & 0xf0) == 0x50 || opcode == 0x90) {  // push, pop, nop
      at_ += k;
    } else if (opcode == 0x0f && byte(k) == 0x1f) {  // longer nops
      at_ += k + 1 + operand_length(byte(k + 1), byte(k + 2));
    } else if (opcode == 0x0f && byte(k) == 0x82) {  // jb
      at_ += k + 5;
    } else if (opcode == 0x89 || opcode == 0x8b || opcode == 0x31 || opcode == 0x33 || opcode == 0x39 ||
               opcode == 0x3b) {
      at_ += k + operand_length(byte(k), byte(k + 1));
    } else if (opcode == 0x81 || opcode == 0x83) {
      at_ += k + operand_length(byte(k), byte(k + 1)) + (opcode == 0x81 ? 4 : 1);
    } else {
      return false;
    }
    return true;
  }

  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
};

Body body_of(const std::string& text, int width) {
  const loops::Nest nest = loops::NestText(text).nest;
  const TileGraph graph = lower(nest, 0);
  std::vector<uint16_t> values, outputs, loads;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].kind == TileValue::buffer) continue;
    EXPECT_TRUE(is_joinable(nest, graph, static_cast<uint16_t>(v), width)) << v << " of\n" << text;
    values.push_back(static_cast<uint16_t>(v));
  }
  for (const TileStore& s : graph.stores) outputs.push_back(s.value);
  return build_body(nest, graph, values, outputs, width, loads);
}

const std::pair<int, std::string> kNests[] = {
    {4,
     "nest [64]\n  b0 f32 (1)\n  b1 bf16 (1)\n  b2 f16 (1)\n  b3 i8 (1)\n  b4 f32 (1) written\n  b5 bf16 (1) written\n"
     "  b6 f16 (1) written\n  b7 bool (1) written\n  b8 i16 (1) written\n"
     "  %0 : f32 = maximum(b0, b1)\n  %1 : f32 = fmin(%0, b2)\n  %2 : f32 = div.Tensor(%1, b0)\n"
     "  %3 : f32 = rsqrt(%2)\n  %4 : f32 = floor(%3)\n  %5 : bf16 = convert(%4)\n  %6 : f16 = convert(%3)\n"
     "  %7 : bool = gt.Tensor<f32>(%4, b3)\n  %8 : i16 = convert(%4)\n  %9 : f32 = addcmul(b0, b0, %4, 0.5)\n"
     "  %10 : f32 = where.self(%7, %9, %3)\n  %11 : f32 = sign(%10)\n"
     "  b4 = %11\n  b5 = %5\n  b6 = %6\n  b7 = %7\n  b8 = %8\n"},
    {4,
     "nest [64]\n  b0 i32 (1)\n  b1 u8 (1)\n  b2 i32 (1) written\n  b3 u8 (1) written\n"
     "  %0 : i32 = mul.Tensor(b0, b1)\n  %1 : i32 = abs(%0)\n  %2 : i32 = minimum(%1, b0)\n"
     "  %3 : bool = le.Tensor<i32>(%2, %0)\n  %4 : i32 = bitwise_xor.Tensor(%2, %3)\n  %5 : u8 = convert(%4)\n"
     "  b2 = %4\n  b3 = %5\n"},
    {8,
     "nest [64]\n  b0 i64 (1)\n  b1 bool (1)\n  b2 i64 (1) written\n  b3 bool (1) written\n"
     "  %0 : i64 = mul.Tensor(b0, b1)\n  %1 : i64 = abs(%0)\n  %2 : i64 = maximum(%1, b0)\n"
     "  %3 : bool = ge.Tensor<i64>(%2, %0)\n  %4 : i64 = where.self(%3, %2, b0)\n  b2 = %4\n  b3 = %3\n"},
    {8,
     "nest [64]\n  b0 f64 (1)\n  b1 f32 (1)\n  b2 f64 (1) written\n"
     "  %0 : f64 = add.Tensor(b0, b1, 3)\n  %1 : f64 = sqrt(%0)\n  %2 : f64 = fmax(%1, b0)\n  %3 : f64 = trunc(%2)\n"
     "  b2 = %3\n"},
};

TEST(Emitter, LoopsOfLevel3HoldNoInstructionOfLevel4) {
  for (const auto& [width, text] : kNests) {
    const std::vector<uint8_t> code = emit_loop(body_of(text, width), 3);
    Decoder decoder(code);
    ASSERT_TRUE(decoder.run()) << "byte " << decoder.place() << " of\n" << text;
    EXPECT_EQ(decoder.evex, 0) << text;
    EXPECT_GT(decoder.count, 20);
  }
}

TEST(Emitter, LoopsOfLevel4HaveWideVectors) {
  for (const auto& [width, text] : kNests) {
    const std::vector<uint8_t> code = emit_loop(body_of(text, width), 4);
    Decoder decoder(code);
    ASSERT_TRUE(decoder.run()) << "byte " << decoder.place() << " of\n" << text;
    EXPECT_GT(decoder.evex, 5) << text;
  }
}

TEST(Emitter, EqualBodiesShareTheirCode) {
  const Body body = body_of(kNests[3].second, 8);
  const auto first = machine_code(body, 3), second = machine_code(body, 3);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, machine_code(body_of(kNests[2].second, 8), 3));
  EXPECT_EQ(machine_code(body, 2), nullptr);
}

// More values at once than there are registers: some wait on the stack.
TEST(Emitter, MoreValuesThanRegistersAreSpilled) {
  std::string text = "nest [64]\n  b0 f32 (1)\n  b1 f32 (1) written\n";
  for (int k = 0; k < 30; ++k)
    text += "  %" + std::to_string(k) + " : f32 = mul.Scalar(b0, " + std::to_string(k + 2) + ".5)\n";
  text += "  %30 : f32 = add.Tensor(%0, %1, 1)\n";
  for (int k = 31; k < 59; ++k) {
    text += "  %" + std::to_string(k) + " : f32 = add.Tensor(%" + std::to_string(k - 1) + ", %" +
            std::to_string(k - 29) + ", 1)\n";
  }
  text += "  b1 = %58\n";
  for (const int level : {3, 4}) {
    const std::vector<uint8_t> code = emit_loop(body_of(text, 4), level);
    Decoder decoder(code);
    ASSERT_TRUE(decoder.run());
  }
}

}  // namespace
}  // namespace sconce::codegen

#endif
