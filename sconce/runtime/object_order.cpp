// sorted() and sort() of instances: by their class's __lt__.
#include "sconce/runtime/execute.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::runtime {

bool object_less(const Value& a, const Value& b) {
  const TypePtr type = a.to_object().type();
  ir::Function* method = ir::find_method(type, "__lt__");
  const Schema* schema = method ? &method->schema() : nullptr;
  const bool fits = schema && schema->arguments.size() == 2 &&
                    is_subtype(b.to_object().type(), schema->arguments[1].type) && schema->returns.size() == 1 &&
                    schema->returns[0].type->is(TypeKind::bool_);
  SCONCE_CHECK(fits,
               "To sort a list of {} it must define a __lt__ method with two inputs of type {} that returns a bool",
               type->annotation(), type->annotation());
  std::vector<Value> args{a, b};
  return run(*method, args).to_bool();
}

}  // namespace sconce::runtime
