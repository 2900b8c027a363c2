// Models of lite archives: methods as bytecode.
#include "sconce/lite/lite_model.h"
#include "sconce/lite/selected.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

class Bytecode final : public MethodBody {
 public:
  Bytecode(const Model& model, ir::Function& function) : model_(model), function_(function) {}
  Value run(std::vector<Value> args) override {
    args.insert(args.begin(), model_.archive.module);
    std::vector<Value> bound = runtime::bind_call(function_, std::move(args));
    return runtime::run(function_, bound);
  }

 private:
  const Model& model_;
  ir::Function& function_;
};

}  // namespace

void read_lite_archive(Model& model, const FileBytesPtr& file, bool trust) {
  LoadOptions options;
  options.strict = !allows_missing;
  options.trust = trust;
  model.archive = load_lite_archive(file, options);
  const TypePtr type = model.archive.module.to_object().type();
  const auto add = [&](ir::Function& f) {
    Schema schema = f.schema();
    schema.arguments.erase(schema.arguments.begin());  // self
    model.add(std::string(f.short_name()), std::move(schema), std::make_unique<Bytecode>(model, f));
  };
  ir::Function* forward = ir::find_method(type, "forward");
  if (forward) add(*forward);
  for (const auto& [name, function] : type->class_info()->methods) {
    if (function != forward && name != "__setstate__" && name != "__getstate__") add(*function);
  }
}

}  // namespace sconce::lite
