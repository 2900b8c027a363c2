#include "sconce/frontend/script/names/archive_names.h"

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/names/namespaces.h"
#include "sconce/frontend/script/names/upgraders.h"

namespace sconce::script {
namespace {

// torch.div of an old archive: its upgrader, else the operator.
class UpgradedFunction final : public BuiltinFunction {
 public:
  UpgradedFunction(ir::Symbol name, std::vector<ir::Function*> upgraders)
      : BuiltinFunction(name), upgraders_(std::move(upgraders)) {}
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override {
    for (const bool conversions : {false, true}) {
      for (ir::Function* f : upgraders_) {
        if (try_match(e, at, f->schema(), args, {}, conversions, nullptr)) return call_function(e, at, {f}, args);
      }
    }
    return BuiltinFunction::call(e, at, args, hint);
  }

 private:
  const std::vector<ir::Function*> upgraders_;
};

class ArchiveTorch final : public NamespaceValue {
 public:
  ArchiveTorch(int version, const MissingMessage& missing)
      : NamespaceValue("torch"), version_(version), missing_(missing) {}
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    const std::string op = "aten::" + name;
    std::vector<ir::Function*> upgraders = find_upgraders(name, version_);
    if (!upgraders.empty()) return std::make_shared<UpgradedFunction>(ir::Symbol(op), std::move(upgraders));
    if (is_builtin(op)) return std::make_shared<BuiltinFunction>(ir::Symbol(op));
    if (missing_ && !NamespaceValue::has_attr(e, at, name)) throw MissingOperatorUse{op, at, missing_(op)};
    return NamespaceValue::attr(e, at, name);
  }

 private:
  const int version_;
  const MissingMessage& missing_;
};

}  // namespace

SugaredPtr archive_name(const std::string& name, int version, const MissingMessage& missing) {
  if (name == "torch") return std::make_shared<ArchiveTorch>(version, missing);
  if (name == "ops") return std::make_shared<OpsValue>("", &missing);
  return nullptr;
}

int first_version_of(const Op& op) {
  const ir::Symbol name(op.info.name);
  if (name.space() != "aten") return kOldestArchiveVersion;
  const std::vector<Argument>& arguments = op.schema().arguments;
  for (const int last : upgraded_versions()) {
    for (ir::Function* f : upgraders_of(last, name.name())) {
      // Overloads for numbers alone never changed.
      if (!arguments.empty() && plain_type(arguments[0].type) == f->schema().arguments[0].type) return last + 1;
    }
  }
  return kOldestArchiveVersion;
}

}  // namespace sconce::script
