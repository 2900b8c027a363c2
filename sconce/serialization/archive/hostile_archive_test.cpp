// Archives that try to hurt: code that does not fit its data, __setstate__ without end, classes without values.
#include <gtest/gtest.h>

#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/archive/verify.h"
#include "sconce/serialization/code/source_map.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/hostile/zip_bytes.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

using namespace std::string_literals;

std::string text(const std::string& t) {
  return "X"s + static_cast<char>(t.size() & 0xff) + static_cast<char>(t.size() >> 8) + "\0\0"s + t;
}

FileBytesPtr archive_of(const std::string& code, const std::string& state, const std::string& constants = ")") {
  const std::string bytes = testing::pack_zip({{"m/data.pkl", "\x80\x02"s + "c__torch__\nM\n)\x81" + state + "b."},
                                               {"m/code/__torch__.py", code},
                                               {"m/constants.pkl", "\x80\x02" + constants + "."},
                                               {"m/version", "3\n"}});
  return FileBytes::copy(std::as_bytes(std::span(bytes)), "f");
}

std::string refusal(const std::string& code, const std::string& state, const std::string& constants = ")") {
  return testing::error_of([&] { load_archive(archive_of(code, state, constants)); });
}

std::string module_with(const std::string& attribute) {
  return "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  " + attribute + "\n";
}
std::string attribute(const std::string& name, const std::string& value) { return "}" + text(name) + value + "s"; }

#define EXPECT_SAYS(message, part)                                    \
  do {                                                                \
    const std::string said = message;                                 \
    EXPECT_NE(said.find(part), std::string::npos) << "got: " << said; \
  } while (false)

TEST(HostileArchive, AttributesHaveTheirTypes) {
  EXPECT_EQ(refusal(module_with("x : int"), attribute("x", "K\1")), "no error");
  const auto wrong = [](const std::string& type, const std::string& value) {
    return refusal(module_with("x : " + type), attribute("x", value));
  };
  EXPECT_SAYS(wrong("int", text("s")), "f: __torch__.M.x: a value of type str stands where int belongs");
  EXPECT_SAYS(wrong("Tensor", "K\1"), "a value of type int stands where Tensor belongs");
  EXPECT_SAYS(wrong("Tensor", "N"), "stands where Tensor belongs");
  EXPECT_SAYS(wrong("float", "K\1"), "stands where float belongs");
  EXPECT_SAYS(wrong("List[int]", "](NK\1e"), "stands where int belongs");
  EXPECT_SAYS(wrong("List[str]", "](K\1e"), "stands where str belongs");
  EXPECT_SAYS(wrong("List[int]", ")"), "stands where List[int] belongs");
  EXPECT_SAYS(wrong("Dict[str, int]", "}" + text("a") + "Ns"), "stands where int belongs");
  EXPECT_SAYS(wrong("Tuple[int, int]", "K\1\x85"), "a tuple has 1 items where Tuple[int, int] has 2");
  EXPECT_SAYS(wrong("Optional[int]", text("s")), "stands where int belongs");
  EXPECT_SAYS(wrong("Union[int, str]", "N"), "stands where Union");
  EXPECT_EQ(wrong("Optional[int]", "N"), "no error");
  EXPECT_EQ(wrong("List[Tuple[int, str]]", "](K\1" + text("s") + "\x86\x65"), "no error");
  EXPECT_SAYS(refusal(module_with("x : int"), "}"), "has no attribute 'x'");
  EXPECT_SAYS(refusal(module_with("x : int"), "K\1"), "has no dict of attributes");
}

TEST(HostileArchive, ObjectsAreOfTheirClass) {
  const std::string code =
      "class K:\n  n : int\nclass L:\n  n : int\nclass M(Module):\n  __parameters__ = []\n  k : __torch__.K\n";
  const auto object = [](const std::string& name) { return "c__torch__\n" + name + "\n)\x81}" + text("n") + "K\1sb"; };
  EXPECT_EQ(refusal(code, attribute("k", object("K"))), "no error");
  EXPECT_SAYS(refusal(code, attribute("k", object("L"))), "__torch__.M.k: a value of type __torch__.L stands where");
  EXPECT_SAYS(refusal(code, attribute("k", object("Z"))), "there is no class '__torch__.Z'");
}

TEST(HostileArchive, SetStateHasAnEnd) {
  const auto code = [](const std::string& body) {
    return "class M(Module):\n  __parameters__ = []\n  n : int\n  def __getstate__(self: __torch__.M) -> int:\n    "
           "return 1\n"
           "  def __setstate__(self: __torch__.M, s: int) -> NoneType:\n" +
           body;
  };
  EXPECT_EQ(refusal(code("    self.n = s\n    return None\n"), "K\1"), "no error");
  EXPECT_SAYS(
      refusal(code("    _0 = True\n    while _0:\n      self.n = s\n      _0 = True\n    return None\n"), "K\1"),
      "loading f: the step limit of 200000");
  EXPECT_SAYS(refusal(code("    return (self).__setstate__(s, )\n"), "K\1"), "called recursively");
  EXPECT_SAYS(refusal(code("    return None\n"), "K\1"), "f: __torch__.M.n: a value of type NoneType stands where int");
  EXPECT_SAYS(refusal(code("    self.n = s\n    return None\n"), text("s")), "M.__setstate__: a value of type str");
}

TEST(HostileArchive, SetStateTakesLittleMemory) {
  const auto state = [](const std::string& body) {
    return refusal(
        "class M(Module):\n  __parameters__ = []\n  n : int\n"
        "  def __getstate__(self: __torch__.M) -> int:\n    return 1\n"
        "  def __setstate__(self: __torch__.M, s: int) -> NoneType:\n" +
            body + "    return None\n",
        "K\1");
  };
  const char* why = "loading f: the memory limit of 671";
  EXPECT_SAYS(state("    self.n = torch.len(torch.mul([1], 1000000000000))\n"), why);
  EXPECT_SAYS(state("    x = [1, 2]\n    for i in range(60):\n      x = torch.add(x, x)\n    self.n = torch.len(x)\n"),
              why);
  EXPECT_SAYS(state("    x = \"ab\"\n    for i in range(60):\n      x = torch.add(x, x)\n    self.n = torch.len(x)\n"),
              why);
  EXPECT_SAYS(state("    self.n = torch.len(torch.ones([20000000]))\n"), why);
  EXPECT_EQ(state("    self.n = torch.len(torch.mul([1], 1000))\n"), "no error");
}

// What `body` of __setstate__ makes of the load; `functions` stand behind the class.
std::string setstate(const std::string& body, const LoadOptions& options = {}, const std::string& functions = "") {
  const FileBytesPtr file = archive_of(
      "class M(Module):\n  __parameters__ = []\n  n : int\n"
      "  def __getstate__(self: __torch__.M) -> int:\n    return 1\n"
      "  def __setstate__(self: __torch__.M, s: int) -> NoneType:\n" +
          body + "    return None\n" + functions,
      "K\1");
  return testing::error_of([&] { load_archive(file, options); });
}

TEST(HostileArchive, SetStateCallsWhatIsFitForLoading) {
  EXPECT_EQ(setstate("    x = torch.clone(torch.slice(torch.zeros([8]), 0, 1, 5))\n    self.n = torch.len(x)\n"),
            "no error");
  EXPECT_EQ(setstate("    x = torch.quantize_per_tensor(torch.zeros([8]), 0.5, 0, 12)\n    self.n = torch.len(x)\n"),
            "no error");
  EXPECT_EQ(setstate("    x = {\"a\": [1, 2]}\n    torch.append(x[\"a\"], s)\n    self.n = torch.len(x[\"a\"])\n"),
            "no error");
  const std::string softmax =
      "    x = torch._softmax_backward_data(torch.ones([1000, 1000]), torch.ones([1]), 1, 6)\n    self.n = "
      "torch.len(x)\n";
  EXPECT_SAYS(setstate(softmax), "aten::_softmax_backward_data may not be called while a file is loaded");
  LoadOptions trust;
  trust.trust = true;
  EXPECT_SAYS(setstate(softmax, trust), "grad_output");  // its own refusal
  const std::string sum = "    self.n = int(torch.sum(torch.ones([4])))\n";
  EXPECT_SAYS(setstate(sum), "aten::sum may not be called while a file is loaded");
  EXPECT_EQ(setstate(sum, trust), "no error");
  EXPECT_SAYS(setstate("    self.n = __torch__.g(s)\n", {},
                       "def g(s: int) -> int:\n  return int(torch.sum(torch.ones([4])))\n"),
              "aten::sum may not be called");
}

TEST(HostileArchive, OperatorsOfSetStatePayBeforeTheyBegin) {
  LoadOptions trust;
  trust.trust = true;
  const std::string huge = "torch.expand(torch.ones([1]), [1000000000000])";
  EXPECT_SAYS(setstate("    self.n = int(torch.sum(" + huge + "))\n", trust), "loading f: the work limit");
  EXPECT_SAYS(setstate("    self.n = torch.len(torch.clone(" + huge + "))\n"), "loading f: the work limit");
  EXPECT_SAYS(setstate("    x = torch.special_legendre_polynomial_p(torch.ones([1]), 1000000000000000000)\n"
                       "    self.n = torch.len(x)\n",
                       trust),
              "loading f: the work limit");
  EXPECT_SAYS(setstate("    self.n = torch.len(torch.tensor_split(torch.ones([4]), 1125899906842624))\n"),
              "loading f: the work limit");
  EXPECT_SAYS(setstate("    x = torch.zeros([1000000])\n    for i in range(100000):\n      x = torch.fill_(x, 1)\n"
                       "    self.n = torch.len(x)\n"),
              "loading f: the work limit");
  LoadOptions more;
  more.limits.work = 10'000'000;
  EXPECT_SAYS(setstate("    x = torch.zeros([1000000])\n    for i in range(20):\n      x = torch.fill_(x, 1)\n"
                       "    self.n = torch.len(x)\n",
                       more),
              "the work limit of 10000000 elements");
}

// A loop of few steps with a long body, functions that double with each call.
TEST(HostileArchive, StepsCountWhatTheyRun) {
  std::string body = "    y = s\n    for i in range(200000):\n";
  for (int i = 0; i < 2000; ++i) body += "      y = torch.add(torch.mul(y, " + std::to_string(i) + "), i)\n";
  EXPECT_SAYS(setstate(body + "    self.n = y\n"), "the step limit");
  std::string functions = "def f0(x: int) -> int:\n  return x\n";
  for (int i = 1; i <= 60; ++i) {
    const std::string call = "__torch__.f" + std::to_string(i - 1) + "(x)";
    functions += "def f" + std::to_string(i) + "(x: int) -> int:\n  return torch.add(" + call + ", " + call + ")\n";
  }
  EXPECT_SAYS(setstate("    self.n = __torch__.f60(s)\n", {}, functions), "the step limit");
}

TEST(HostileArchive, OperatorsOfOurOwnHaveNoName) {
  const std::string message = "is an operator of Sconce itself, which programs and files cannot name";
  EXPECT_SAYS(setstate("    x = ops.sconce.cdist_direct(torch.ones([2, 2]), torch.ones([2, 2]), 1.)\n"
                       "    self.n = torch.len(x)\n"),
              message);
  EXPECT_EQ(setstate("    self.n = ops.sconce.inference_mode_state()\n"), "no error");  // torch.inference_mode() has it
}

TEST(HostileArchive, ChainsOfClassesHaveAnEnd) {
  const auto chain = [](int n) {
    std::string code = module_with("a : __torch__.K0");
    for (int i = 0; i < n; ++i) {
      code += "class K" + std::to_string(i) + ":\n  a : __torch__.K" + std::to_string(i + 1) + "\n";
    }
    return code + "class K" + std::to_string(n) + ":\n  a : int\n";
  };
  EXPECT_SAYS(refusal(chain(20000), "}"), "too long a chain of classes");
  EXPECT_SAYS(refusal(chain(100), "}"), "has no attribute 'a'");
  EXPECT_SAYS(refusal(module_with("a : __torch__.K") + "class K(NamedTuple):\n  a : __torch__.K\n", "}"),
              "contains itself");
}

TEST(HostileArchive, ConstantsHaveValues) {
  EXPECT_SAYS(refusal(module_with("x : Final[int]"), "}"), "the constant 'x' has no value");
  EXPECT_SAYS(refusal(module_with("x : Final[int] = CONSTANTS.c9"), "}"), "f");
  EXPECT_SAYS(refusal(module_with("x : int"), attribute("x", "K\1"), "]"), "constants.pkl is not a tuple");
}

TEST(HostileArchive, RecordsElsewhereAreNotLookedAt) {
  const std::string bytes = testing::pack_zip(
      {{"m/data.pkl",
        "\x80\x02"
        "c__torch__\nM\n)\x81}b."},
       {"m/code/__torch__.py",
        "class M(Module):\n  __parameters__ = []\n  def f(self) -> int:\n    return torch.nothing(1)\n"},
       {"m/constants.pkl", "\x80\x02)."},
       {"m/version", "3\n"},
       {"x", "elsewhere"},
       {"m/code/a.b.py", "not the code of a.b"}});
  LoadOptions options;
  options.strict = true;
  EXPECT_ERROR(load_archive(FileBytes::copy(std::as_bytes(std::span(bytes)), "f"), options), "nothing");
}

TEST(HostileArchive, DebugRecordsAreChecked) {
  const std::string head = "(" + text("FORMAT_WITH_STRING_TABLE"), zero = "K\0"s;
  const auto check = [](const std::string& body) {
    return testing::error_of([&] { read_debug_ranges("\x80\x02" + body + ".", "f"); });
  };
  // One record: ((lines, file, first line), begin, end) from byte 0 of the code on.
  const auto record = [&](const std::string& lines, const std::string& table) {
    const std::string source = "(ctorch.jit._pickle\nbuild_intlist\n](" + lines + "e\x85R" + zero + "K\1t";
    return head + "(" + table + "t(" + zero + "(" + source + zero + "K\1tK\7t\x85t";
  };
  EXPECT_EQ(check(head + "))t"), "no error");
  EXPECT_EQ(check(record(zero, text("a"))), "no error");
  EXPECT_SAYS(check("K\1"), "f: a tuple of 0 items was expected");
  EXPECT_SAYS(check(head + ")t"), "f: a tuple of 3 items was expected");
  EXPECT_SAYS(check("(" + text("other") + "))t"), "f: has an unknown format");
  EXPECT_SAYS(check(head + ")K\1\x85t"), "f: a tuple of 2 items was expected");
  EXPECT_SAYS(check(record("K\5", text("a"))), "f: there is no text 5");
  std::string many;
  for (int i = 0; i < 2000; ++i) many += zero;
  const std::string long_text = "X\0\x10\0\0"s + std::string(4096, 'x');
  EXPECT_SAYS(check(record(many, long_text)), "f: its texts are too long");
}

TEST(HostileArchive, OlderDebugRecordsAreChecked) {
  const std::string zero = "K\0"s;
  const auto record = [&](const std::string& source) { return "\x80\x02" + zero + "(" + source + "K\1K\3t\x86\x85."; };
  const auto check = [](const std::string& bytes) { return testing::error_of([&] { read_debug_ranges(bytes, "f"); }); };
  EXPECT_EQ(check(record("(" + text("abcdef") + "NK\2t")), "no error");
  EXPECT_SAYS(check(record("(K\1NK\2t")), "f: a text and the name of a file were expected");
  EXPECT_SAYS(check(record("(" + text("a") + "K\1K\2t")), "f: a text and the name of a file were expected");
  EXPECT_SAYS(check(record("(" + text("a") + "NJ\xff\xff\xff\xfft")), "f: there is no line -1");
  EXPECT_SAYS(check(record(text("a") + "\x85")), "f: a tuple of 3 items was expected");
  // The text once, in many sources.
  std::string many = "\x80\x02" + text(std::string(60'000, 'x')) + "q\0000("s;
  for (int i = 0; i < 4000; ++i) many += zero + "h\0NK\1\x87"s + zero + zero + "\x87\x86";
  EXPECT_SAYS(check(many + "t."), "f: its texts are too long");
}

TEST(Verify, SaysWhatWasChecked) {
  const Verification good = verify_file(archive_of(module_with("x : int"), attribute("x", "K\1")));
  EXPECT_EQ(good.kind, FileKind::torchscript);
  std::string checks;
  for (const Check& c : good.checks) checks += c.what + ": " + c.detail + "\n";
  EXPECT_EQ(checks,
            "zip directory: 4 records\nchecksums: 103 bytes\nversion: format version 3\ndata.pkl: 0 tensors\n"
            "debug records: 0 records\noperators: 0 operators\ncode: 0 functions\n");
  EXPECT_EQ(good.outcome(), Outcome::ok) << checks;
}

TEST(Verify, FindsWhatIsWrong) {
  const auto failed = [](const FileBytesPtr& file) {
    std::string all;
    for (const Check& c : verify_file(file).checks) {
      if (c.outcome == Outcome::invalid) all += c.what + ": " + c.detail + "\n";
    }
    return all;
  };
  EXPECT_SAYS(failed(archive_of(module_with("x : int"), attribute("x", "N"))), "code: __torch__.M.x: a value of type");
  testing::ZipPart part{"a/x", "hello"};
  part.crc = 1;
  const std::string sums = testing::pack_zip({part});
  EXPECT_SAYS(failed(FileBytes::copy(std::as_bytes(std::span(sums)), "f")),
              "checksums: record 'a/x' has a wrong checksum");
  const std::string junk = "junk";
  EXPECT_SAYS(failed(FileBytes::copy(std::as_bytes(std::span(junk)), "f")),
              "kind: a file of kind 'text' cannot be verified");
}

TEST(Verify, TellsLimitsFromDamage) {
  const Verification v = verify_file(archive_of(
      module_with("x : int") + "  def f(self) -> int:\n    return torch.nothing(1)\n", attribute("x", "K\1")));
  EXPECT_EQ(v.outcome(), Outcome::limits);
  ASSERT_FALSE(v.limits.empty());
  EXPECT_EQ(v.limits[0].kind, "operators");
  EXPECT_EQ(v.limits[0].text, "runs, unless it comes to what is not known: aten::nothing");
  EXPECT_EQ(v.limits[0].names, std::vector<std::string>{"aten::nothing"});

  // PyTorch looks at debug records when an error is shown: a program runs without them.
  const std::string bytes = testing::pack_zip({{"m/data.pkl",
                                                "\x80\x02"
                                                "c__torch__\nM\n)\x81}b."},
                                               {"m/code/__torch__.py", "class M(Module):\n  __parameters__ = []\n"},
                                               {"m/code/__torch__.py.debug_pkl", "\x80\x02K\1."},
                                               {"m/constants.pkl", "\x80\x02)."},
                                               {"m/version", "3\n"}});
  const Verification places = verify_file(FileBytes::copy(std::as_bytes(std::span(bytes)), "f"));
  EXPECT_EQ(places.outcome(), Outcome::limits);
  ASSERT_EQ(places.limits.size(), 1u);
  EXPECT_EQ(places.limits[0].kind, "debug records");
  EXPECT_EQ(places.limits[0].names, std::vector<std::string>{"m/code/__torch__.py.debug_pkl"});
}

TEST(Verify, ChecksBytecode) {
  const Verification v = verify_file(testing::source_path("tests/conformance/formats/MLP.ptl"));
  std::string checks;
  for (const Check& c : v.checks) checks += c.what + ": " + c.detail + "\n";
  EXPECT_EQ(v.outcome(), Outcome::ok) << checks;
  EXPECT_NE(checks.find("bytecode: "), std::string::npos) << checks;
}

// Unused code is compiled, too, and __setstate__ is not run.
TEST(Verify, CompilesAllAndRunsNothing) {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  n : int\n  def __getstate__(self: __torch__.M) -> int:\n    return "
      "1\n"
      "  def __setstate__(self: __torch__.M, s: int) -> NoneType:\n    _0 = True\n    while _0:\n      _0 = True\n    "
      "return None\n";
  EXPECT_EQ(verify_file(archive_of(code, "K\1")).outcome(), Outcome::ok);
  const std::string unused = "def unused(x: int) -> str:\n  return x\n";
  EXPECT_EQ(verify_file(archive_of(module_with("x : int") + unused, attribute("x", "K\1"))).outcome(),
            Outcome::invalid);
}

}  // namespace
}  // namespace sconce
