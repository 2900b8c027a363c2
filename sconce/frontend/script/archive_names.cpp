#include "sconce/frontend/script/archive_names.h"

#include "sconce/frontend/script/calls.h"
#include "sconce/frontend/script/library.h"
#include "sconce/frontend/script/namespaces.h"

namespace sconce::script {
namespace {

// The last format versions in which some operator meant something else, the newest first.
constexpr int kUpgraded[] = {8, 7, 4, 3};

// torch.div of an old archive: the function that does what it did, else the operator.
class UpgradedFunction final : public BuiltinFunction {
 public:
  UpgradedFunction(ir::Symbol name, std::vector<ir::Function*> upgraders)
      : BuiltinFunction(name), upgraders_(std::move(upgraders)) {}
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override {
    for (ir::Function* f : upgraders_) {
      if (try_match(e, at, f->schema(), args, {}, true, nullptr)) return call_function(e, at, {f}, args);
    }
    return BuiltinFunction::call(e, at, args, hint);
  }

 private:
  const std::vector<ir::Function*> upgraders_;
};

class ArchiveTorch final : public NamespaceValue {
 public:
  explicit ArchiveTorch(int version) : NamespaceValue("torch"), version_(version) {}
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    const ir::Symbol op("aten::" + name);
    for (const int last : kUpgraded) {
      if (version_ > last) continue;
      const std::string file = "builtins/upgraders/v" + std::to_string(last) + ".py";
      std::vector<ir::Function*> upgraders = library_functions(file, name);
      if (!upgraders.empty()) return std::make_shared<UpgradedFunction>(op, std::move(upgraders));
    }
    if (is_builtin(op)) return std::make_shared<BuiltinFunction>(op);
    return NamespaceValue::attr(e, at, name);
  }

 private:
  const int version_;
};

}  // namespace

SugaredPtr archive_name(const std::string& name, int version) {
  if (name == "torch") return std::make_shared<ArchiveTorch>(version);
  if (name == "ops") return std::make_shared<OpsValue>("");
  return nullptr;
}

}  // namespace sconce::script
