// programs/*.py: each text is compiled; the comments at its end call it.
//   #> f(1)        an expression; the comment after it is its value
//   # 2
//   #> f("a")      or, after "!", a part of the message that it is refused with
//   # ! Expected a value of type 'int'
// Texts in programs/refused/ do not compile: their first comments are "# refused at line N" and the reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sconce/api/jit.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/syntax/parser.h"
#include "sconce/testing/source_tree.h"

namespace sconce::script {
namespace {

using namespace syntax;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Evaluates calls with compiled code; what holds no call of the program is a constant.
class Caller {
 public:
  explicit Caller(Program& program) : program_(program) {}

  Value value(ExprPtr e) {
    if (const auto* compare = as<Compare>(e)) return Value(equal(*compare));
    const auto* call = as<Call>(e);
    if (!call) return program_.evaluate(e);
    std::vector<Value> args;
    jit::NamedValues kwargs;
    const auto evaluate_arguments = [&] {
      for (ExprPtr a : call->args) args.push_back(value(a));
      for (const Keyword& k : call->keywords) kwargs.emplace_back(k.name, value(k.value));
    };
    if (const auto* name = as<Name>(call->callee)) {
      if (ir::Function* f = program_.find_function(name->id)) {
        evaluate_arguments();
        return jit::Function(program_.shared_unit(), f).call(args, kwargs);
      }
      const TypePtr type = program_.find_class(name->id);
      if (program_.is_module_class(name->id)) {
        evaluate_arguments();
        return program_.build_module(name->id, args, kwargs);
      }
      if (type && type->is(TypeKind::class_)) {
        evaluate_arguments();
        const jit::Object made(program_.shared_unit(), Value(make_ref<Object>(type)));
        made.method("__init__").call(args, kwargs);
        return made.value();
      }
      return program_.evaluate(e);
    }
    if (const auto* method = as<Attribute>(call->callee); method && as<Call>(method->value)) {
      const jit::Object object(program_.shared_unit(), value(method->value));
      evaluate_arguments();
      return object.method(method->attr).call(args, kwargs);
    }
    if (as<Call>(call->callee)) {
      const jit::Module module(program_.shared_unit(), value(call->callee));
      evaluate_arguments();
      return module.call(args, kwargs);
    }
    return program_.evaluate(e);
  }

 private:
  bool equal(const Compare& c) {
    const jit::Object left(program_.shared_unit(), value(c.left));
    return left.call_method("__eq__", value(c.right)).to_bool();
  }
  Program& program_;
};

struct Example {
  std::string expression, expected;
  int line;
};

std::vector<Example> examples_of(const std::string& text) {
  std::vector<Example> examples;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with("#> ")) {
      examples.push_back({line.substr(3), {}, number});
    } else if (!examples.empty() && line.starts_with("# ")) {
      examples.back().expected += (examples.back().expected.empty() ? "" : "\n") + line.substr(2);
    }
  }
  return examples;
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_path(folder))) {
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Programs, Run) {
  for (const auto& path : files_in("sconce/frontend/script/program/programs")) {
    SCOPED_TRACE(path.filename().string());
    const std::string text = read(path);
    try {
      Program program(text, {.name = path.filename().string()});
      const std::vector<Example> examples = examples_of(text);
      EXPECT_FALSE(examples.empty());
      for (const Example& example : examples) {
        SCOPED_TRACE(example.expression);
        std::string got;
        const bool refused = example.expected.starts_with("! ");
        try {
          const auto parsed = parse_expression(std::make_shared<Source>("<call>", example.expression));
          got = Caller(program).value(parsed.expr).repr();
        } catch (const Error& error) {
          got = error.what();
          if (refused && got.find(example.expected.substr(2)) != got.npos) got = example.expected;
        }
        EXPECT_EQ(got, example.expected);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Programs, AreRefused) {
  for (const auto& path : files_in("sconce/frontend/script/program/programs/refused")) {
    SCOPED_TRACE(path.filename().string());
    const std::string text = read(path);
    std::istringstream lines(text);
    std::string first, reason;
    std::getline(lines, first);
    std::getline(lines, reason);
    const std::string mark = "# refused at line ";
    ASSERT_TRUE(first.starts_with(mark) && reason.starts_with("# "));
    try {
      Program program(text, {.name = path.filename().string()});
      for (const Example& example : examples_of(text)) {
        const auto parsed = parse_expression(std::make_shared<Source>("<call>", example.expression));
        Caller(program).value(parsed.expr);
      }
      ADD_FAILURE() << "it compiles";
    } catch (const CompileError& error) {
      EXPECT_EQ(error.reason(), reason.substr(2));
      EXPECT_EQ(error.at().line(), std::stoi(first.substr(mark.size()))) << error.what();
    }
  }
}

}  // namespace
}  // namespace sconce::script
