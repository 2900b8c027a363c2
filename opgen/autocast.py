"""ops/autocast.txt: what autocast does to the arguments of operators on the CPU.

One operator a line, `aten::conv1d.padding lower`; the policies are those of sconce/dispatch/binding/autocast.h. Operators that are
not in the table are allowed: the file is PyTorch's list."""

from .table import TableError

FILE = "ops/autocast.txt"
POLICIES = ("lower", "full", "widest")


def load(root):
    """{operator: policy}, checked."""
    path = root / FILE
    policies = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line or line.startswith("#"):
            continue
        name, _, policy = line.partition(" ")
        if policy not in POLICIES:
            raise TableError(f"{FILE}:{number}: '{policy}' is none of {', '.join(POLICIES)}")
        if name in policies:
            raise TableError(f"{FILE}:{number}: '{name}' has a line already")
        policies[name] = policy
    return policies


def files(policies):
    rows = "".join(f'    {{"{name}", AutocastPolicy::{policies[name]}}},\n' for name in sorted(policies))
    text = f"""// Generated from {FILE} by opgen. Do not edit.
#include "sconce/dispatch/binding/autocast.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sconce {{
namespace {{

constexpr std::array<std::pair<std::string_view, AutocastPolicy>, {len(policies)}> kPolicies{{{{
{rows}}}}};

}}  // namespace

AutocastPolicy autocast_policy(std::string_view operator_name) {{
  const auto* found = std::lower_bound(kPolicies.begin(), kPolicies.end(), operator_name,
                                       [](const auto& row, std::string_view name) {{ return row.first < name; }});
  const bool listed = found != kPolicies.end() && found->first == operator_name;
  return listed ? found->second : AutocastPolicy::none;
}}

}}  // namespace sconce
"""
    return [("sconce/generated/autocast.cpp", "source", text)]
