#include "sconce/testing/compiled/lowered_call.h"

#include <cstring>
#include <map>

#include "sconce/api/deep_copy.h"
#include "sconce/api/rng_state.h"
#include "sconce/base/error.h"
#include "sconce/ir/function.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/element.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/types/type.h"

namespace sconce::testing {
namespace {

const lowering::Dialect& dialect_of(const std::string& name) {
  const lowering::Dialect* dialect = lowering::find_dialect(name);
  SCONCE_CHECK(dialect, "there is no dialect '{}'; there are {}", name, lowering::dialect_names());
  return *dialect;
}

Difference compare_bits(const Tensor& got, const Tensor& expected) {
  if (got.layout() != Layout::strided || is_quantized(got.dtype())) return compare_accumulated(got, expected);
  const bool same = visit_item_size(got.dtype(), [&]<class T>() {
    const std::vector<T> x = elements<T>(got), y = elements<T>(expected);
    return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
  });
  if (same) return {};
  // Two NaN may differ in bits that no program sees.
  if (const Difference d = compare_elements(got, expected, Closeness::exact)) return "other bits than eager: " + *d;
  return {};
}

Value in_tuple(std::vector<Value> values) { return make_ref<Tuple>(std::move(values)); }

// A function of its own for a lowered copy of the graph; kept by the unit of the original.
ir::Function& lowered_function(ir::Function& function, const lowering::Dialect& dialect, const Value* self = nullptr) {
  const std::shared_ptr<ir::Graph> graph = function.graph()->copy();
  dialect.lower(*graph, self);
  ir::verify(*graph);
  ir::CompilationUnit& unit = function.unit();
  ir::Function& made = unit.add_function(unit.unique_name("__torch__.lowered"));
  made.set_schema(function.schema());
  made.set_graph(graph);
  return made;
}

}  // namespace

ScriptCall lowered_call(ir::Function& function, const std::string& dialect) {
  if (dialect != "functional") {
    // For the module that the first call brings: a graph holds for that one.
    struct Made {
      ir::Function* function = nullptr;
      Value self;
    };
    const auto made = std::make_shared<Made>();
    return [&function, &to = dialect_of(dialect), made](std::vector<Value> args) {
      const Value self = function.self_type() && !args.empty() ? args[0] : Value();
      const bool other = self.is_object() && (!made->self.is_object() || &made->self.to_object() != &self.to_object());
      if (!made->function || other) {
        made->function = &lowered_function(function, to, self.is_object() ? &self : nullptr);
        made->self = self;
      }
      return runtime::run(*made->function, args);
    };
  }
  ir::Function& lowered = lowered_function(function, dialect_of(dialect));
  return [&function, &lowered](std::vector<Value> args) {
    Value copies;
    try {
      copies = jit::deep_copy(in_tuple(args));
    } catch (const Error&) {  // of a module that has recorded gradients: only the recording is compared
      return runtime::run(lowered, args);
    }
    const std::vector<uint8_t> seed = generator_state(default_generator());
    const std::vector<Value> given = args;  // a run takes its arguments
    const Value got = runtime::run(lowered, args);
    const std::vector<uint8_t> after = generator_state(default_generator());
    set_generator_state(default_generator(), seed);
    std::vector<Value> eager = copies.to_tuple().items;
    const Value expected = runtime::run(function, eager);
    SCONCE_CHECK(generator_state(default_generator()) == after, "lowered: other random numbers were drawn");
    if (const Difference d = compare_nested(got, expected, compare_bits)) SCONCE_CHECK(false, "lowered: {}", *d);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].is_object()) continue;
      const Difference d = compare_nested(given[i], copies.to_tuple().items[i], compare_bits);
      SCONCE_CHECK(!d, "lowered: argument {} after the call: {}", i, *d);
    }
    return got;
  };
}

std::vector<Value> invoke_lowered(const RecordedCall& call, const std::string& dialect) {
  static auto& unit = *new ir::CompilationUnit;
  static auto& known = *new std::map<std::pair<const Op*, std::string>, ir::Function*>;
  ir::Function*& function = known[{call.op, dialect}];
  const Schema& schema = call.op->schema();
  if (!function) {
    const auto graph = std::make_shared<ir::Graph>();
    std::vector<ir::Value*> inputs;
    for (const Argument& a : schema.arguments) inputs.push_back(graph->add_input(plain_type(a.type), a.name));
    ir::Node* node = graph->insert(graph->create(*call.op, inputs));
    if (schema.returns.size() == 1) {
      graph->add_output(node->output());
    } else {
      std::vector<TypePtr> types;
      for (const Argument& r : schema.returns) types.push_back(plain_type(r.type));
      ir::Node* tuple = graph->insert(graph->create(ir::kind::TupleConstruct, node->outputs()));
      graph->add_output(tuple->add_output(tuple_type(types)));
    }
    dialect_of(dialect).lower(*graph);
    ir::verify(*graph);
    Schema own = schema;
    own.name = "__torch__.lowered" + std::to_string(known.size());
    own.overload.clear();
    ir::Function& made = unit.add_function(own.name);
    made.set_schema(std::move(own));
    made.set_graph(graph);
    function = &made;
  }
  std::vector<Value> args = call.args;
  const Value result = runtime::run(*function, args);
  if (schema.returns.size() == 1) return {result};
  return result.to_tuple().items;
}

}  // namespace sconce::testing
