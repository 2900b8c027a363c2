// What holds for every operator of the table, whoever wrote it.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/derivative.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

// Not those that other tests define.
std::vector<const Op*> table_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (op->origin().starts_with("ops/")) ops.push_back(op);
  }
  return ops;
}

TEST(Table, schemas_are_unique_and_print_back) {
  EXPECT_GT(table_ops().size(), 500u);
  std::set<std::string> names;
  for (const Op* op : table_ops()) {
    SCOPED_TRACE(op->schema_text());
    EXPECT_TRUE(names.insert(op->qualified_name()).second);
    EXPECT_EQ(op->schema().to_string(), op->schema_text());
    EXPECT_EQ(op->schema().qualified_name(), op->qualified_name());
    EXPECT_EQ(find_op(op->qualified_name()), op);
  }
}

// The front end can read what the generator translates to C++.
TEST(Table, bodies_parse_and_use_their_arguments) {
  for (const Op* op : table_ops()) {
    if (!op->info.texts.body) continue;
    SCOPED_TRACE(op->schema_text());
    const std::optional<std::vector<std::string>> names = body_runner()->free_names(op->texts().body, 1, 1);
    ASSERT_TRUE(names);
    for (const std::string& name : *names) {
      EXPECT_TRUE(op->schema().find_argument(name)) << name << " is neither an argument nor set in the body";
    }
  }
}

TEST(Table, derivatives_parse_and_use_what_there_is) {
  for (const Op* op : table_ops()) {
    if (!op->info.texts.derivatives) continue;
    EXPECT_NO_THROW(check_derivatives(op->schema(), op->texts().derivatives)) << op->texts().derivatives;
  }
}

// Trait `core` says what PyTorch says.
TEST(Table, core_operators_are_those_of_core_aten) {
  std::set<std::string> want, got;
  std::ifstream facts(testing::source_path("tests/conformance/facts/core_aten.txt"));
  for (std::string line; std::getline(facts, line);) want.insert(line.substr(0, line.find('(')));
  EXPECT_EQ(want.size(), 193u);
  for (const Op* op : table_ops()) {
    if (op->has(Trait::core)) got.insert(op->qualified_name());
  }
  EXPECT_EQ(got, want);
}

// Steps name earlier steps, arguments that there are, and constants; every case has an expression for each class.
TEST(Table, expressions_are_well_formed) {
  const auto check = [](const Op& op, const Expression& e) {
    ASSERT_FALSE(e.steps().empty());
    for (size_t i = 0; i < e.steps().size(); ++i) {
      const Step& s = e.steps()[i];
      const uint8_t operands[] = {s.a, s.b, s.c};
      for (int k = 0; k < step_arity(s.kind); ++k) EXPECT_LT(operands[k], i);
      if (s.kind == StepKind::argument) {
        EXPECT_LT(s.a, op.schema().arguments.size());
      }
      if (s.kind == StepKind::constant) {
        EXPECT_NE(e.constants, nullptr);
      }
    }
  };
  size_t pointwise = 0, reductions = 0;
  for (const Op* op : table_ops()) {
    SCOPED_TRACE(op->schema_text());
    const OpEntry* entry = op->info.entry;
    EXPECT_EQ(op->has(Trait::pointwise), entry && !entry->pointwise().empty());
    EXPECT_EQ(op->has(Trait::reduction), entry && !entry->reductions().empty());
    if (!entry) continue;
    if (entry->number) check(*op, *entry->number);
    for (const PointwiseCase& c : entry->pointwise()) {
      uint8_t classes = 0;
      for (const Expression& e : c.expressions()) {
        check(*op, e);
        EXPECT_EQ(classes & e.classes, 0);
        classes |= e.classes;
      }
      EXPECT_EQ(classes, c.classes);
      ++pointwise;
    }
    for (const ReduceCase& c : entry->reductions()) {
      EXPECT_NE(c.expressions().empty(), c.loops == nullptr);
      for (const Expression& e : c.expressions()) check(*op, e);
      ++reductions;
    }
  }
  EXPECT_GT(pointwise, 260u);
  EXPECT_GT(reductions, 32u);
}

// In-place and out= forms know what gives their values as new tensors.
TEST(Table, forms_have_a_functional_twin) {
  std::set<std::string> without;
  for (const Op* op : table_ops()) {
    const Op* twin = functional_twin(*op);
    if (twin) {
      SCOPED_TRACE(op->schema_text());
      EXPECT_FALSE(twin->has(Trait::inplace) || twin->has(Trait::out));
      EXPECT_FALSE(twin->schema().is_mutable());
      EXPECT_EQ(op->schema().is_mutable(), true);
    } else if (op->has(Trait::inplace) || op->has(Trait::out)) {
      without.insert(op->qualified_name());
    }
  }
  // What writes no values, writes lists, or draws into a second argument; and in-place only ones with a body or one
  // kernel of their own.
  EXPECT_EQ(without,
            (std::set<std::string>{"aten::requires_grad_", "aten::set_.source_Tensor_storage_offset", "aten::mul_.t",
                                   "aten::rrelu_with_noise_", "aten::copy_.Tensor", "aten::copy_.int",
                                   "aten::copy_.float", "aten::fill_diagonal_", "aten::_index_put_impl_.hacked_twin",
                                   "aten::_no_grad_zero_", "aten::_no_grad_fill_", "aten::_no_grad_uniform_",
                                   "aten::_no_grad_normal_", "aten::_coalesced_", "aten::copy_sparse_to_sparse_",
                                   "aten::sparse_resize_", "aten::sparse_resize_and_clear_"}));
  EXPECT_EQ(functional_twin(*find_op("aten::add_.Tensor")), find_op("aten::add.Tensor"));
  EXPECT_EQ(functional_twin(*find_op("aten::add.Tensor")), nullptr);
}

// Sizes follow from the table's text. Numbers have none, and those of `nonzero` depend on values.
TEST(Table, core_operators_have_a_shape_rule) {
  std::set<std::string> without;
  for (const Op* op : table_ops()) {
    const bool has_rule = op->info.entry && op->info.entry->shape;
    if (op->has(Trait::core) && !has_rule) without.insert(op->qualified_name());
  }
  EXPECT_EQ(without, (std::set<std::string>{"aten::_local_scalar_dense", "aten::nonzero", "aten::sym_is_contiguous",
                                            "aten::sym_numel", "aten::sym_size.int", "aten::sym_storage_offset",
                                            "aten::sym_stride.int"}));
}

}  // namespace
}  // namespace sconce
