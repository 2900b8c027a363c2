// The graphs that PyTorch printed for the recorded programs, run by our interpreter.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sconce/runtime/test_program.h"
#include "sconce/testing/compare/compare.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/source_tree.h"

namespace sconce::runtime {
namespace {

using testing::CaseFile;
using testing::Json;

// Programs of modules and classes need their definitions, which the graph does not have.
bool is_complete(const std::string& graph) {
  return graph.find("__torch__") == std::string::npos && graph.find("prim::CallFunction") == std::string::npos;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string difference(const Value& got, const Value& expected) {
  if (got.is_tensor() && expected.is_tensor()) {
    auto d = testing::compare_geometry(got.to_tensor(), expected.to_tensor(), false);
    if (!d) d = testing::compare_elements(got.to_tensor(), expected.to_tensor(), testing::Closeness::accumulated);
    return d.value_or("");
  }
  const auto items = [](const Value& v) {
    return v.is_list() ? v.to_list().values() : v.is_tuple() ? v.to_tuple().items : std::vector<Value>();
  };
  if ((got.is_list() || got.is_tuple()) && (expected.is_list() || expected.is_tuple())) {
    const std::vector<Value> a = items(got), b = items(expected);
    if (a.size() != b.size()) return "sizes differ: " + got.repr() + " and " + expected.repr();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string d = difference(a[i], b[i]); !d.empty()) return d;
    }
    return {};
  }
  if (got.is_dict() && expected.is_dict()) {
    for (const auto& [key, value] : expected.to_dict().items()) {
      const Value* found = got.to_dict().find(key);
      if (!found) return "no key " + key.repr();
      if (std::string d = difference(*found, value); !d.empty()) return d;
    }
    return got.to_dict().size() == expected.to_dict().size() ? "" : "sizes differ";
  }
  return testing::compare_plain(got, expected).value_or("");
}

// Returns how many calls were checked.
size_t check_file(const std::string& path) {
  const CaseFile file = CaseFile::open(path);
  const Json* graph = testing::find_member(file.at(0), "graph");
  if (!graph || !graph->is_string() || !is_complete(graph->get<std::string>())) return 0;
  size_t checked = 0;
  for (size_t i = 1; i < file.size(); ++i) {
    SCOPED_TRACE(path + " call " + std::to_string(i));
    try {
      Program program;
      ir::Function& f = program.add("f", graph->get<std::string>());
      std::vector<Value> args;
      const Json& inputs = file.at(i)["inputs"];
      for (size_t k = 0; k < inputs.size(); ++k) {
        args.push_back(testing::read_value(inputs[k], file.tensors(), f.schema().arguments.at(k).type));
      }
      std::vector<Value> bound = bind_call(f, std::move(args));
      const Json* error = testing::find_member(file.at(i), "error");
      const bool fails = error && error->is_string();
      ++checked;
      try {
        const Value got = run(f, bound);
        if (fails) {
          ADD_FAILURE() << "no error, expected " << *error;
          continue;
        }
        const Value expected = testing::read_value(file.at(i)["out"], file.tensors(), f.schema().returns.at(0).type);
        EXPECT_EQ(difference(got, expected), "");
      } catch (const ScriptError& e) {
        if (fails)
          EXPECT_EQ(last_line(e.what()), last_line(error->get<std::string>()));
        else
          ADD_FAILURE() << e.what();
      }
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
  return checked;
}

TEST(RecordedPrograms, GraphsGiveTheRecordedResults) {
  size_t calls = 0;
  const char* other = std::getenv("SCONCE_PROGRAMS");
  const std::string folder = other ? other : testing::source_path("tests/conformance/programs");
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) calls += check_file(path);
  RecordProperty("calls", static_cast<int>(calls));
  EXPECT_GE(calls, 78u);
}

}  // namespace
}  // namespace sconce::runtime
