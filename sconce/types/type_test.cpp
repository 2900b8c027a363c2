#include "sconce/types/type.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/base/error.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

TEST(Type, is_interned) {
  EXPECT_EQ(list_type(int_type()), list_type(int_type()));
  EXPECT_EQ(dict_type(string_type(), tensor_type()), dict_type(string_type(), tensor_type()));
  EXPECT_NE(list_type(int_type()), list_type(float_type()));
  EXPECT_EQ(tuple_type({int_type(), tensor_type()}), tuple_type({int_type(), tensor_type()}));
  EXPECT_NE(future_type(int_type()), rref_type(int_type()));
  EXPECT_EQ(class_type("__torch__.Interned"), class_type("__torch__.Interned"));
}

TEST(Type, is_interned_by_many_threads_at_once) {
  std::vector<TypePtr> made(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < made.size(); ++t) {
    threads.emplace_back([&, t] {
      TypePtr type = string_type();
      for (int i = 0; i < 50; ++i) type = i % 2 ? list_type(type) : dict_type(int_type(), type);
      made[t] = type;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (TypePtr type : made) EXPECT_EQ(type, made[0]);
}

Ref<TypeScope> new_scope() { return Ref<TypeScope>::adopt(new TypeScope); }
TypePtr class_in(TypeScope& scope) {
  const TypePtr type = make_class_type("__torch__.K");
  scope.adopt(type);
  return type;
}

TEST(Type, over_a_class_is_bound_to_its_scope) {
  const Ref<TypeScope> scope = new_scope();
  const TypePtr k = class_in(*scope);
  for (TypePtr type : {k, list_type(k), optional_type(k), dict_type(string_type(), list_type(k)),
                       tuple_type({int_type(), optional_type(k)}), named_tuple_type("N", {k}, {"k"}),
                       union_type({int_type(), string_type(), k}), future_type(k)}) {
    EXPECT_TRUE(type->is_bound()) << type->to_string();
  }
  EXPECT_EQ(list_type(k), list_type(k));
  EXPECT_EQ(tuple_type({k, k}), tuple_type({k, k}));
  EXPECT_FALSE(list_type(int_type())->is_bound() || make_class_type("__torch__.K")->is_bound());
  scope->adopt(k);  // once is enough
  const TypePtr shared = class_type("__torch__.Interned");
  scope->adopt(shared);
  EXPECT_FALSE(shared->is_bound());
}

TEST(Type, lives_as_long_as_a_value_of_it) {
  Ref<TypeScope> scope = new_scope();
  const TypePtr k = class_in(*scope);
  const TypePtr red = make_enum_type("__torch__.Color", int_type());
  scope->adopt(red);
  k->class_info()->attributes.push_back({"x", int_type(), {}});
  EXPECT_EQ(scope->count.owners(), 1u);
  std::vector<Value> values{make_ref<Object>(k),
                            make_ref<List>(k),
                            make_ref<Dict>(string_type(), optional_type(k)),
                            make_ref<Tuple>(std::vector<Value>{}, named_tuple_type("E", {k}, {"k"})),
                            make_ref<EnumValue>(red, "RED", Value(1)),
                            make_ref<Future>(list_type(k))};
  EXPECT_EQ(scope->count.owners(), 7u);
  make_ref<List>(int_type());
  make_ref<Tuple>(std::vector<Value>{1, 2});
  EXPECT_EQ(scope->count.owners(), 7u);
  // What the class itself holds does not keep it once its program is gone.
  k->class_info()->constants.emplace_back("color", values[4]);
  red->enum_info()->members.emplace_back("RED", values[4]);
  scope->close();
  scope = nullptr;
  EXPECT_EQ(values[0].to_object().type()->name(), "__torch__.K");
  EXPECT_EQ(values[1].type()->annotation(), "List[__torch__.K]");
  values.erase(values.begin() + 2, values.end());
  values.erase(values.begin());
  EXPECT_EQ(values[0].to_list().element_type()->class_info()->find("x"), 0);
}

TEST(Type, over_classes_of_two_scopes) {
  Ref<TypeScope> a = new_scope(), b = new_scope();
  const TypePtr in_a = class_in(*a), in_b = class_in(*b);
  const TypePtr both = tuple_type({in_a, list_type(in_b)});
  Value list = make_ref<List>(both);
  EXPECT_EQ(a->count.owners() + b->count.owners(), 4u);
  a = nullptr;
  EXPECT_EQ(list.to_list().element_type(), both);
  list = Value();  // and `a` with it
  EXPECT_EQ(b->count.owners(), 1u);
  EXPECT_EQ(list_type(in_b)->element(), in_b);
}

TEST(Type, of_scopes_that_come_and_go_on_many_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        Ref<TypeScope> scope = new_scope();
        const TypePtr k = class_in(*scope), pair = tuple_type({k, list_type(optional_type(k))});
        const Value kept = make_ref<List>(dict_type(int_type(), pair));
        scope = nullptr;
        EXPECT_EQ(kept.to_list().element_type(), dict_type(int_type(), tuple_type({k, list_type(optional_type(k))})));
        EXPECT_EQ(list_type(int_type())->element(), int_type());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Type, prints_and_parses_both_spellings) {
  const TypePtr color = make_enum_type("__torch__.Color", int_type());
  const FindType find = [&](std::string_view name) { return name == color->name() ? color : nullptr; };
  struct Case {
    const char* ir;
    const char* python;
  };
  const Case cases[] = {
      {"Tensor", "Tensor"},
      {"int[]", "List[int]"},
      {"int?", "Optional[int]"},
      {"Tensor?[]", "List[Optional[Tensor]]"},
      {"float[]?", "Optional[List[float]]"},
      {"Dict(str, Tensor)", "Dict[str, Tensor]"},
      {"(int, Tensor)", "Tuple[int, Tensor]"},
      {"()", "Tuple[()]"},
      {"(int, str[])[]", "List[Tuple[int, List[str]]]"},
      {"NoneType", "NoneType"},
      {"Scalar", "number"},
      {"Future[int]", "Future[int]"},
      {"RRef(Tensor)", "RRef[Tensor]"},
      {"Await(int)", "Await[int]"},
      {"Union(int, str)", "Union[int, str]"},
      {"Union(int, NoneType, str)", "Union[int, NoneType, str]"},
      {"Device", "Device"},
      {"Any", "Any"},
      {"Generator?", "Optional[Generator]"},
      {"__torch__.foo.Bar", "__torch__.foo.Bar"},
      {"Enum<__torch__.Color>", "__torch__.Color"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.ir);
    const TypePtr type = parse_type(c.ir, find);
    EXPECT_EQ(type->to_string(), c.ir);
    EXPECT_EQ(type->annotation(), c.python);
    EXPECT_EQ(parse_type(c.python, find), type);
  }
}

TEST(Type, parses_other_names_of_the_same) {
  EXPECT_EQ(parse_type("None"), none_type());
  EXPECT_EQ(parse_type("torch.Tensor"), tensor_type());
  EXPECT_EQ(parse_type("torch.device"), device_type());
  EXPECT_EQ(parse_type("torch.dtype"), int_type());
  EXPECT_EQ(parse_type("typing.List[ int ]"), list_type(int_type()));
  EXPECT_EQ(parse_type("Union[int, None]"), optional_type(int_type()));
  EXPECT_EQ(parse_type("Optional[Optional[int]]"), optional_type(int_type()));
  EXPECT_EQ(parse_type("Optional[None]"), none_type());
  EXPECT_EQ(parse_type("NamedTuple(a : int, b : Tensor)")->to_string(), "NamedTuple(a : int, b : Tensor)");
}

TEST(Type, errors_show_the_place) {
  const auto error = [](const char* text) -> std::string {
    try {
      parse_type(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("List[int"), "type 'List[int': column 9: expected ']', got the end");
  EXPECT_EQ(error("List[Foo]"), "type 'List[Foo]': column 6: unknown type 'Foo'");
  EXPECT_EQ(error("Dict[int]"), "type 'Dict[int]': column 9: expected 2 parameters, got 1");
  EXPECT_EQ(error("int int"), "type 'int int': column 5: expected the end of the type, got 'i'");
  EXPECT_EQ(error(""), "type '': column 1: expected a type, got the end");
  EXPECT_EQ(error("Enum<__torch__.Missing>"), "type 'Enum<__torch__.Missing>': there is no enum '__torch__.Missing'");
  EXPECT_EQ(error(std::string(1000, '(').c_str()), "type '" + std::string(1000, '(') + "': nested more than 64 times");
}

TEST(Type, subtypes) {
  const auto sub = [](const char* a, const char* b) { return is_subtype(parse_type(a), parse_type(b)); };
  EXPECT_TRUE(sub("int", "int"));
  EXPECT_TRUE(sub("int", "Any"));
  EXPECT_TRUE(sub("int", "int?"));
  EXPECT_TRUE(sub("None", "int?"));
  EXPECT_FALSE(sub("int?", "int"));
  EXPECT_TRUE(sub("int", "Scalar"));
  EXPECT_TRUE(sub("complex", "Scalar"));
  EXPECT_FALSE(sub("bool", "Scalar"));
  EXPECT_TRUE(sub("int?", "Scalar?"));
  EXPECT_FALSE(sub("int[]", "Scalar[]"));
  EXPECT_FALSE(sub("int[]", "int?[]"));
  EXPECT_TRUE(sub("(int, str)", "(Scalar, Any)"));
  EXPECT_FALSE(sub("(int, str)", "(int, str, int)"));
  EXPECT_TRUE(sub("int", "Union(int, str)"));
  EXPECT_TRUE(sub("Union(int, str)", "Union(int, str, NoneType)"));
  EXPECT_TRUE(sub("int?", "Union(int, str, NoneType)"));
  EXPECT_FALSE(sub("Union(int, str)", "int"));
  EXPECT_TRUE(sub("ScalarType", "int"));
  EXPECT_TRUE(sub("SymInt[]", "int[]"));
  EXPECT_TRUE(sub("SymInt", "Scalar"));
  EXPECT_TRUE(sub("int[]", "list"));
  EXPECT_TRUE(sub("(int, int)", "tuple"));
  EXPECT_TRUE(sub("Future(int)", "Future(Scalar)"));
  EXPECT_TRUE(sub("NamedTuple(a : int)", "(int)"));
  EXPECT_FALSE(sub("(int)", "NamedTuple(a : int)"));
  EXPECT_FALSE(sub("int", "float"));
}

TEST(Type, unions_are_flat_and_hold_no_subtypes) {
  EXPECT_EQ(union_type({int_type(), int_type()}), int_type());
  EXPECT_EQ(union_type({int_type(), complex_type(), float_type()}), number_type());
  EXPECT_EQ(union_type({int_type(), number_type(), string_type()})->to_string(), "Union(Scalar, str)");
  EXPECT_EQ(union_type({union_type({int_type(), string_type()}), optional_type(float_type())})->to_string(),
            "Union(float, int, NoneType, str)");
}

TEST(Type, classes_of_programs_are_equal_to_themselves_alone) {
  const TypePtr a = make_class_type("__torch__.Net"), b = make_class_type("__torch__.Net");
  EXPECT_NE(a, b);
  EXPECT_FALSE(is_subtype(a, b));
  EXPECT_EQ(parse_type("List[__torch__.Net]", [&](std::string_view) { return b; }), list_type(b));
  EXPECT_EQ(class_type("__torch__.Shared"), class_type("__torch__.Shared"));
  EXPECT_EQ(find_class_type("__torch__.Shared"), class_type("__torch__.Shared"));
  EXPECT_EQ(find_class_type("__torch__.Free"), nullptr);
  EXPECT_EQ(parse_type("__torch__.Point"), class_type("__torch__.Point"));
}

TEST(Type, equal_named_tuples_are_one_type) {
  const TypePtr pair = named_tuple_type("__torch__.Pair", {int_type(), int_type()}, {"x", "y"});
  EXPECT_EQ(pair, named_tuple_type("__torch__.Pair", {int_type(), int_type()}, {"x", "y"}));
  EXPECT_NE(pair, named_tuple_type("__torch__.Pair", {int_type(), int_type()}, {"x", "z"}));
}

}  // namespace
}  // namespace sconce
