// Random programs for tests of plans: views, writes, branches, loops, lists and many dtypes.
#pragma once

#include <string>
#include <string_view>

#include "sconce/testing/random_program.h"

namespace sconce::executor {

// $t is a tensor of size [k, k], $n an integer, $d a digit.
inline constexpr const char* kStatements[] = {
    "$t = $t + $t",
    "$t = $t * $t * 0.5",
    "$t = torch.relu($t) - 0.$d",
    "$t = torch.sigmoid($t) * $t",
    "$t = torch.tanh($t * 0.$d)",
    "$t = $t.matmul($t) * 0.3",
    "$t = $t + $t[$n % $t.size(0)]",
    "$t = $t - $t[:, 0:1]",
    "$t = $t * $t.sum(1, True) * 0.1",
    "$t = $t.t() + 0.$d",
    "$t = torch.cat([$t, $t], 0)[0:$t.size(0)]",
    "$t = torch.where($t > $t, $t, $t * 2)",
    "$t = ($t / ($t * $t + 1)).softmax(1)",
    "$t = $t.clone()",
    "$t = $t.reshape(-1).reshape($t.size(0), -1)",
    "$t, e = torch.stack([$t, $t]).unbind(0)",
    "$t = torch.clamp($t, -0.$d, 1.$d)",
    "$t = $t.to(torch.float64).mul(0.$d).to(torch.float32)",
    "$t = $t.to(torch.bfloat16).add($t.to(torch.bfloat16)).to(torch.float32)",
    "$t = ($t * 3).to(torch.int64).add($n).to(torch.float32)",
    "$t = $t.masked_fill($t > 0.$d, -1.0)",
    "$t = torch.maximum($t, $t) + torch.minimum($t, $t)",
    "$t = $t.clone().mul_($t)",
    "$t = $t.contiguous()",
    "$t = written($t, 0.$d)",
    "$t = first_row_written($t, 0.$d)",
    "$t = column_written($t)",
    "$t = transpose_written($t, 0.$d)",
    "$t = copied($t)",
    "$t.add_(0.$d)",
    "$t = torch.zeros_like($t).add_($t)",
    "$t = $t + torch.ones([$t.size(1)]) * $n",
    "l.append($t)",
    "$t = l[$n % len(l)]",
    "$n = ($n * $d + 1) % 7",
    "$n = $n + $t.dim() + $t.size(0)",
    "$t = $t.index_select(0, torch.arange($t.size(0)))",
    "$t = F.dropout($t, 0.5, True) * 0.5",
};

inline constexpr const char* kConditions[] = {"if $n % $d == 1:", "if $t.size(0) > $d:"};

inline constexpr const char* kHelpers = R"(
def written(t: Tensor, x: float) -> Tensor:
  return t.clone().add_(x).relu_()

def first_row_written(t: Tensor, x: float) -> Tensor:
  m = t.clone()
  if m.size(0) > 0:
    m[0] = x
  return m + t

def column_written(t: Tensor) -> Tensor:
  m = t.clone()
  v = m[:, 0:1]
  v.add_(1)
  return m * t

def transpose_written(t: Tensor, x: float) -> Tensor:
  m = t.clone()
  v = m.t()
  v.mul_(x)
  return v + m

def copied(t: Tensor) -> Tensor:
  m = t.clone()
  m.copy_(t.t())
  return m

)";

// f(a: Tensor, b: Tensor, n: int), of two square matrices. `dtype` stands where statements convert to float32.
inline std::string random_program(unsigned seed, std::string_view dtype = "torch.float32") {
  std::string body = sconce::testing::random_body({kStatements, kConditions, "if $n > 4:"}, seed);
  const std::string_view plain = "torch.float32";
  for (size_t at = 0; (at = body.find(plain, at)) != body.npos; at += dtype.size())
    body.replace(at, plain.size(), dtype);
  std::string text = kHelpers;
  text += "def f(a: Tensor, b: Tensor, n: int):\n  c = a * b\n  i = n\n  j = 2\n  l = [a.clone(), c]\n";
  text += "  k = [b.clone(), c]\n" + body;
  text += "  return a * c, b + c, l[len(l) - 1] * 2, i\n";
  return text;
}

}  // namespace sconce::executor
