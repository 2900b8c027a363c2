#include "sconce/dispatch/registry.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

void one(const Op&, KeySet, Value*, Value* returns) { returns[0] = 1; }
void two(const Op&, KeySet, Value*, Value* returns) { returns[0] = 2; }

TEST(Registry, finds_what_was_defined) {
  Op& plain = define_op("registry_test::f(int a) -> int");
  Op& named = define_op("registry_test::f.other(str a) -> int");
  EXPECT_EQ(find_op("registry_test::f", ""), &plain);
  EXPECT_EQ(find_op("registry_test::f"), &plain);
  EXPECT_EQ(find_op("registry_test::f.other"), &named);
  EXPECT_EQ(find_op("registry_test::f", "none"), nullptr);
  EXPECT_EQ(find_op("registry_test::g"), nullptr);
  EXPECT_EQ(find_overloads("registry_test::f"), (std::vector<const Op*>{&plain, &named}));
  EXPECT_EQ(named.qualified_name(), "registry_test::f.other");
  EXPECT_EQ(error_of([] { define_op("registry_test::f.other(int b) -> int"); }),
            "operator 'registry_test::f.other' is already defined");
  EXPECT_EQ(error_of([] { define_op("f(int b) -> int"); }), "schema 'f(int b) -> int' has no namespace");
  EXPECT_EQ(error_of([] { define_op("registry_test::h(int b, int b) -> int"); }),
            "schema 'registry_test::h(int b, int b) -> int' has two arguments called 'b'");
}

TEST(Registry, keeps_the_texts_of_an_operator) {
  std::string body = "return a";
  OpInfo info{};
  info.texts.body = body.c_str();
  info.traits = static_cast<uint32_t>(Trait::compound);
  Op& op = define_op("registry_test::texts(int a) -> int", info);
  body = "changed!";
  EXPECT_STREQ(op.texts().body, "return a");
  EXPECT_EQ(op.texts().doc, nullptr);
  EXPECT_TRUE(op.has(Trait::compound));
}

TEST(Registry, fallbacks_serve_operators_without_their_own_kernel) {
  Op& own = define_op("registry_test::own(int a) -> int");
  own.set_kernel(Key::observe, SCONCE_BOXED_KERNEL(one));
  Op& bare = define_op("registry_test::bare(int a) -> int");
  set_fallback(Key::observe, two);
  Op& later = define_op("registry_test::later(int a) -> int");
  const ModeGuard observe(Key::observe, KeySet());
  const auto call = [](const char* name) { return call_op(name, {0})[0].to_int(); };
  EXPECT_EQ(call("registry_test::own"), 1);
  EXPECT_EQ(call("registry_test::bare"), 2);
  EXPECT_EQ(call("registry_test::later"), 2);
  bare.set_kernel(Key::observe, SCONCE_BOXED_KERNEL(one));
  EXPECT_EQ(call("registry_test::bare"), 1);
  bare.set_kernel(Key::observe, nullptr);
  EXPECT_EQ(call("registry_test::bare"), 2);
  set_fallback(Key::observe, nullptr);
  EXPECT_TRUE(own.has_kernel(Key::observe));
  EXPECT_FALSE(bare.has_kernel(Key::observe));
  EXPECT_FALSE(later.has_kernel(Key::observe));
}

}  // namespace

TEST(Registry, OverloadsComeInTheOrderInWhichTheyAreTried) {
  const auto names = [](std::string_view name) {
    std::string out;
    for (const Op* op : find_overloads(name)) out += std::string(out.empty() ? "" : " ") + op->info.overload;
    return out;
  };
  EXPECT_EQ(names("aten::sum"), "dim_IntList  IntList_out out int float complex bool");
  EXPECT_TRUE(names("aten::add").starts_with("Tensor Scalar out Scalar_out t str int complex float int_complex"));
}

}  // namespace sconce
