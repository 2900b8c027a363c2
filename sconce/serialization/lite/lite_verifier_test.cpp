#include "sconce/serialization/lite/lite_verifier.h"

#include <gtest/gtest.h>

#include "sconce/serialization/lite/lite_test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::lite {
namespace {

void refuses(const ProgramText& p, const std::string& why) {
  TestFile file;
  EXPECT_ERROR(file.define({method_of(p)}), why);
}

TEST(LiteVerifier, NamesFileMethodAndInstruction) {
  refuses({"DROP\nLOADC 3\nRET"},
          "test.ptl: bytecode.pkl: method '__torch__.M.forward': instruction 1: LOADC: there is no constant 3: the "
          "method has 0");
}

TEST(LiteVerifier, OperandsMustExist) {
  refuses({"LOADC -1\nRET"}, "there is no constant -1");
  refuses({"LOAD 5\nRET"}, "there is no register 5: the method has 4");
  refuses({"LOAD 0\nRET"}, "there is no register 0");
  refuses({"STOREN 4 2\nRET"}, "there is no register 5");
  refuses({"OP 0\nRET"}, "there is no operator 0");
  refuses({"LIST_CONSTRUCT 0 0\nRET"}, "there is no type 0");
  refuses({"ISINSTANCE 0 2\nRET", {}, {}, {"int"}}, "there is no type 1");
  refuses({"GET_ATTR -1\nRET"}, "slot -1 is not in 0 to 4095");
  refuses({"JMP 7\nRET"}, "it jumps to 7, which is no instruction: there are 2");
  refuses({"JMP -1\nRET"}, "it jumps to -1");
  refuses({"LOOP 1 1\nRET"}, "N is 1, a loop keeps at least two values");
  refuses({"DICT_CONSTRUCT 0 3\nRET", {}, {}, {"Dict[str, int]"}}, "3 values are no pairs");
  refuses({"INTERFACE_CALL 0 1\nRET", {}, {Value(int64_t{1})}}, "constant 0 is no method's name");
  refuses({"INTERFACE_CALL 0 0\nRET", {}, {Value("f")}}, "a call without the object");
  refuses({"FORMAT 0\nRET"}, "a format without its text");
}

TEST(LiteVerifier, TheStackIsFollowedOnEveryPath) {
  refuses({"DROP\nDROP\nRET"}, "it takes 1 values from a stack of 0");
  refuses({"RET", {}, {}, {}, 0, 2}, "it returns one value, the stack has 2");
  refuses({"DROP\nRET"}, "it takes 1 values from a stack of 0");
  refuses({"DROP"}, "the code ends without RET");
  refuses({"", {}, {}, {}}, "has no instructions");
  refuses({"JF 2\nLOADC 0\nLOADC 0\nRET", {}, {Value(true)}}, "for instruction 2, which others reach with 0");
  refuses({"LOADC 0\nJMP -1\nRET", {}, {Value(true)}}, "it leaves 2 values on the stack for instruction 0");
  refuses({"LOOP 1 2\nRET"}, "it takes 3 values from a stack of 1");
}

TEST(LiteVerifier, OperatorsMustExistAndTakeTheArguments) {
  refuses({"OP 0\nRET", {"aten::nonsense.x 1", "prim::never 2", "aten::nonsense.x 1"}},
          "operators that it needs are missing: aten::nonsense.x (does not exist), prim::never (does not exist)");
  refuses({"OP 0\nRET", {"sconce::cdist_direct 3"}},
          "sconce::cdist_direct (is an operator of Sconce itself, which programs and files cannot name)");
  refuses({"OP 0\nRET", {"aten::add.Tensor 5"}}, "aten::add.Tensor (takes 3 arguments, not 5)");
  refuses({"OP 0\nRET", {"aten::add.Tensor 1"}}, "aten::add.Tensor (has no default for 'other')");
  refuses({"OP 0\nRET", {"aten::add.out 0"}}, "aten::add.out (takes 4 arguments, not 0)");
  refuses({"OPN 0 3\nRET", {"aten::add.Tensor 2"}}, "takes 2 arguments here, got 3");
  refuses({"OPN 0 0\nRET", {"aten::format"}}, "takes at least 1 arguments, got 0");
}

TEST(LiteVerifier, TypesMustFit) {
  refuses({"LIST_CONSTRUCT 0 1\nRET", {}, {}, {"int"}}, "type 'int' is no list");
  refuses({"LIST_CONSTRUCT 0 1\nRET", {}, {}, {"List[int"}}, "instruction 0: LIST_CONSTRUCT");
  refuses({"NAMED_TUPLE_CONSTRUCT 0 1\nRET", {}, {}, {"__torch__.P[NamedTuple, [[a, int],[b, int]]]"}},
          "a __torch__.P has 2 fields, not 1");
  refuses({"DROP\nCREATE_OBJECT 0\nRET", {}, {}, {"__torch__.K"}}, "script classes are not supported in lite archives");
  refuses({"DROP\nLIST_CONSTRUCT 0 0\nRET", {}, {}, {"List[__torch__.torch.classes.a.B]"}},
          "needs the class '__torch__.torch.classes.a.B', which is not registered");
}

TEST(LiteVerifier, TheStackIsBounded) {
  ProgramText deep{"", {}, {Value()}};
  for (int64_t i = 0; i < kMaxStack + 1; ++i) deep.instructions += "LOADC 0\n";
  refuses(deep, "more than 8000 values are on the stack");
  refuses({"LIST_UNPACK 8001\nRET"}, "the count 8001 is not in 0 to 8000");
  refuses({"TUPLE_SLICE 0 8001\nRET"}, "the count 8001 is not in 0 to 8000");
  refuses({"GET_ATTR 4096\nRET"}, "slot 4096 is not in 0 to 4095");
}

TEST(LiteVerifier, TranslatedCodeIsBounded) {
  ProgramText p;
  p.registers = 7'000;
  for (int i = 0; i < 200; ++i) p.instructions += "LIST_UNPACK 7000\nSTOREN 1 7000\nLOAD 1\n";
  p.instructions += "RET";
  refuses(p, "the method is too large: it becomes more than 4000000 instructions");
}

TEST(LiteVerifier, RegistersAreBounded) {
  ProgramText p{"RET"};
  for (int64_t i = 0; i < 20'000; ++i) {
    p.instructions = "LOADC " + std::to_string(i) + "\nDROP\n" + p.instructions;
    p.constants.push_back(i);
  }
  p.registers = kMaxRegisters;
  refuses(p, "is too large: it needs 40004 registers, 32767 are possible");
}

}  // namespace
}  // namespace sconce::lite
