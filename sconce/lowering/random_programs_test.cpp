// Functionalisation keeps what programs do: random programs full of views, writes through them, lists, branches and
// loops are run as they are and without writes. Results, what is left in the arguments and in the module, and errors
// must be the same, bit for bit, for arguments that are apart, equal, and that overlap.
//
// SCONCE_RANDOM_PROGRAMS=20000 tries more than 300. A program that fails is made as small as it goes and printed:
// random_programs.test keeps such programs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/function.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/effects/guarded.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/random_program.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/class_info.h"

namespace sconce::lowering {
namespace {

// $t is a tensor of four integers, $n a number, $l a list of tensors, $d a digit; u, v, w are views of some of them.
constexpr const char* kStatements[] = {
    "$t = $t + $t",
    "$t = $t.clone()",
    "$t = $t",
    "$t = $t[:]",
    "$t = $t.view(2, 2).view(4)",
    "$t = $t.view(2, 2).t().reshape(4)",
    "$t = $t.reshape(2, 2).reshape(4)",
    "$t = $t.view(2, 2).t().contiguous().view(4)",
    "$t = $t.detach()",
    "$t = torch.stack([$t, $t])[1]",
    "$t = torch.cat([$t, $t]).chunk(2)[0]",
    "$t.add_($t)",
    "$t += $n",
    "$t *= $t",
    "$t.remainder_(97)",
    "$t.copy_($t.clone())",
    "$t.copy_($t)",
    "$t.fill_($d)",
    "$t[1:3].mul_(2)",
    "$t[$n % 4] = $n % 50",
    "$t[0] = $t[3]",
    "$t[0:2] += $t[2:4]",
    "$t[0:3] += $t[1:4]",
    "$t[$t > $d] = $n",
    "$t.masked_fill_($t > $d, $n)",
    "u = $t.view(2, 2)",
    "u = u.t()",
    "u = u[:, [1, 0]]",
    "u[0].add_($n)",
    "u.t().mul_($d)",
    "u[1] = u[0]",
    "u.diagonal().fill_($d)",
    "v = u[$n % 2]",
    "v = $t[1:3]",
    "v.sub_(1)",
    "v.unsqueeze(0).transpose(0, 1).add_(v.max())",
    "w = $t.expand(2, 4)",
    "w = torch.stack([$t, w[0]])",
    "w[0].add_(1)",
    "$t = w.sum(0)",
    "p, q2 = $t.chunk(2)\np.add_(q2)",
    "p, q2 = $t.split([1, 3])\nq2.mul_(p)",
    "$t.narrow(0, 1, 2).add_($d)",
    "$t = $t.view_as($t)",
    "$t = torch.add($t, $t, out=$t.clone())",
    "z = torch.empty([0], dtype=torch.int64)\ntorch.mul($t, $d, out=z)\n$t = z",
    "$t.unsqueeze_(0).squeeze_(0)",
    "self.buf.add_($t)",
    "$t = self.buf",
    "$t = self.buf + self.other",
    "self.other.copy_($t)",
    "self.other = $t",
    "$l.append($t)",
    "if len($l) > 0:\n  $l[0] = $t",
    "if len(l) > 0:\n  $t = l[$n % len(l)]",
    "if len(k) > 1:\n  $t = k.pop()",
    "$t = torch.cat($l + $l)[0:4]",
    "$l = $l[0:3]",
    "$n = ($n + $n) % 31",
    "$n = ($n * $d + 1) % 17",
    "$n = int($t.sum()) % 13",
    "$n = $t.size(0) + u.size(1)",
};

constexpr const char* kPrelude = R"(
class M(nn.Module):
  def __init__(self):
    super().__init__()
    self.register_buffer("buf", torch.ones([4], dtype=torch.int64))
    self.register_buffer("other", torch.ones([4], dtype=torch.int64))

  def forward(self, a: Tensor, b: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, List[Tensor], List[Tensor], int]:
    c = a + b
    i = n
    j = 3
    l = [a, c]
    k = [b]
    u = c.view(2, 2)
    v = a[1:3]
    w = b.expand(2, 4)
)";
constexpr const char* kEnd = "    return a, b, c, u, v, l, k, i + j\n";
constexpr const char* kConditions[] = {"if $n % $d == 1:", "if int($t[1]) % 2 == 0:"};

std::string random_program(unsigned seed) {
  std::istringstream body(sconce::testing::random_body({kStatements, kConditions, "if $n > 9:"}, seed));
  std::string text = kPrelude;
  for (std::string line; std::getline(body, line);) text += "  " + line + "\n";
  return text + kEnd;
}

// ---- runs ----

std::string shown(const Value& v) {
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    std::string out = t.sizes() == IntList{} ? "" : "[";
    const Tensor dense = contiguous(to(t, DType::int64));
    for (int64_t i = 0; i < dense.numel(); ++i) out += std::to_string(dense.data<int64_t>()[i]) + " ";
    return out + std::to_string(t.dim()) + "d " + std::string(dtype_name(t.dtype())) + "]";
  }
  std::string out = "(";
  if (v.is_list()) {
    for (const Value& item : v.to_list().values()) out += shown(item) + ", ";
  } else if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) out += shown(item) + ", ";
  } else {
    out += v.repr();
  }
  return out + ")";
}

Tensor counted(int64_t n, int64_t first) {
  const Tensor t = empty_tensor({n}, DType::int64);
  for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = first + i;
  return t;
}

// The arguments a and b: apart, one tensor, or parts of one that overlap.
std::vector<Tensor> arguments(int kind) {
  if (kind == 0) return {counted(4, 1), counted(4, 5)};
  const Tensor all = counted(8, 1);
  if (kind == 1) return {slice(all, 0, 0, 4), slice(all, 0, 0, 4)};
  return {slice(all, 0, 0, 4), slice(all, 0, 2, 6)};
}

// The last line without the operator that says it: that is another one without writes.
std::string reason_of(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  text = text.substr(0, text.find(" (called with"));
  const size_t name = text.find(": ", text.find(": ") + 1);
  return name == text.npos ? text : text.substr(name + 2);
}

// Everything that can be seen of one call, or the error.
std::string seen(ir::Function& function, script::Program& program, int kind, int64_t n) {
  const Value module = program.build_module("M");
  const std::vector<Tensor> given = arguments(kind);
  std::vector<Value> args{module, given[0], given[1], n};
  std::string text;
  try {
    const Value result = runtime::run(function, args);
    text = shown(result);
    // Who is whose view shows when something is written.
    const std::vector<Value>& items = result.to_tuple().items;
    for (size_t i = 0; i < 5; ++i) {
      if (i == 4 || items[i].to_tensor().dim() == 1) add_(items[i].to_tensor(), static_cast<int64_t>(1000 << i));
    }
    text += " then " + shown(result);
  } catch (const Error& error) {
    return "error: " + reason_of(error.what());
  }
  for (const Tensor& t : given) text += " given " + shown(t);
  const Object& object = module.to_object();
  for (const char* name : {"buf", "other"}) text += std::string(" ") + name + shown(object.attr(name));
  return text;
}

// Whether inputs are taken to be apart where that helps, and checked (effects/guarded.h).
bool guarded = false;

// What differs, or nothing.
std::string difference(const std::string& source, std::string* lowered = nullptr) {
  script::Program program(source);
  const Value module = program.build_module("M");
  ir::Function& f = *ir::find_method(module.to_object().type(), "forward");
  const std::shared_ptr<ir::Graph> graph = f.graph()->copy();
  passes::run_pipeline(*graph);
  if (guarded) {
    lower_guarded(*graph, [](ir::Graph& each, bool apart) { functionalize(each, {.apart = apart}); });
  } else {
    functionalize(*graph);
  }
  if (lowered) *lowered = graph->to_string(false);
  ir::verify(*graph);
  ir::Function& functional = program.unit().add_function("__torch__.functional");
  functional.set_schema(f.schema());
  functional.set_graph(graph);
  for (const int kind : {0, 1, 2}) {
    for (const int64_t n : {0, 3, 8}) {
      const std::string expected = seen(f, program, kind, n), got = seen(functional, program, kind, n);
      // A guard refuses what it was not lowered for, before anything is written.
      if (guarded && kind != 0 && got.find("was lowered for tensors that do not") != got.npos) continue;
      // Operands from outside that overlap in part are not refused without writes.
      if (expected.starts_with("error: ") && expected.find("single memory location") != expected.npos) continue;
      if (expected != got)
        return "kind " + std::to_string(kind) + ", n " + std::to_string(n) + "\n  expected " + expected +
               "\n  got      " + got;
    }
  }
  return "";
}

std::string failure(const std::string& source) {
  try {
    return difference(source);
  } catch (const Error& error) {
    return error.what();
  }
}

bool compiles(const std::string& source) {
  try {
    script::Program program(source);
    const Value module = program.build_module("M");
    ir::find_method(module.to_object().type(), "forward")->graph();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The program without lines that do not matter, blocks first.
std::string shrunk(std::string source) {
  const std::string end = kEnd;
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  for (size_t width : {16, 8, 4, 2, 1, 2, 1}) {
    for (size_t at = lines_of(kPrelude).size(); at < lines_of(source).size() - 1;) {
      const std::vector<std::string> lines = lines_of(source);
      std::string shorter;
      for (size_t i = 0; i < lines.size(); ++i) {
        if (i < at || i >= at + width || i + 1 == lines.size()) shorter += lines[i] + "\n";
      }
      if (shorter != source && compiles(shorter) && !failure(shorter).empty()) {
        source = shorter;
      } else {
        ++at;
      }
    }
  }
  return source;
}

size_t program_count() {
  const char* text = std::getenv("SCONCE_RANDOM_PROGRAMS");
  return text ? std::strtoul(text, nullptr, 10) : 300;
}

void check(const std::string& source, const std::string& title) {
  const std::string what = failure(source);
  if (what.empty()) return;
  const std::string small = shrunk(source);
  std::string lowered;
  try {
    difference(small, &lowered);
  } catch (const Error&) {
  }
  ADD_FAILURE() << title << ": " << failure(small) << "\n" << small << lowered;
}

class RandomPrograms : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SCONCE_PASS_LIMIT", "0", 1); }  // graphs run as they are
  void TearDown() override {
    unsetenv("SCONCE_PASS_LIMIT");
    guarded = false;
  }
};

TEST_F(RandomPrograms, DoTheSameWithoutWrites) {
  size_t failures = 0;
  for (unsigned seed = 0; seed < program_count() && failures < 3; ++seed) {
    const std::string source = random_program(seed);
    check(source, "seed " + std::to_string(seed));
    failures += HasFailure();
  }
}

TEST_F(RandomPrograms, DoTheSameWithInputsToldApart) {
  guarded = true;
  size_t failures = 0;
  for (unsigned seed = 0; seed < program_count() && failures < 3; ++seed) {
    check(random_program(seed), "seed " + std::to_string(seed));
    failures += HasFailure();
  }
}

TEST_F(RandomPrograms, DoTheSameThatOnceDidNot) {
  const std::string path = testing::source_path("sconce/lowering/random_programs.test");
  for (const bool apart : {false, true}) {
    guarded = apart;
    for (const auto& [title, source] : testing::golden_sources(path)) check(kPrelude + source + kEnd, title);
  }
}

}  // namespace
}  // namespace sconce::lowering
