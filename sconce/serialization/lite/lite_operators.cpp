// The operators that bytecode names, as we have them: their arguments, and those that meant something else once.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/registry.h"
#include "sconce/serialization/lite/lite_upgraders.h"
#include "sconce/serialization/lite/lite_verifier.h"

namespace sconce::lite {
namespace {

bool is_out(const Argument& a) { return a.keyword_only && a.alias && a.alias->write; }

// How many of the schema's arguments are out= arguments; they stand last, and are pushed last.
size_t out_arguments(const Schema& schema) {
  return static_cast<size_t>(std::count_if(schema.arguments.begin(), schema.arguments.end(), is_out));
}

// Why an operator cannot be called with so many arguments; empty when it can.
std::string misfit(const Schema& schema, size_t pushed, size_t out) {
  const size_t all = schema.arguments.size();
  if (pushed > all || pushed < out) {
    return "takes " + std::to_string(all) + " arguments, not " + std::to_string(pushed);
  }
  for (size_t i = pushed - out; i < all - out; ++i) {
    if (!schema.arguments[i].default_value) return "has no default for '" + schema.arguments[i].name + "'";
  }
  return {};
}

// Is this an operator that meant something else in archives of this version?
bool is_upgraded(const Op& op, int version) {
  std::string signature = " " + std::string(op.info.name);
  char before = '(';
  for (const Argument& a : op.schema().arguments) (signature += std::exchange(before, ',')) += a.name;
  return version <= upgraded_until(signature + ')');
}

class Finder {
 public:
  Finder(int version, std::vector<std::string>* missing) : version_(version), missing_(missing) {}

  Operator find(const OperatorRow& row) {
    const std::string name = row.qualified_name();
    Operator o;
    if (name == "prim::TupleUnpack") {
      o.kind = Operator::Kind::tuple_unpack;
    } else if (name == "prim::Uninitialized") {
      o.kind = Operator::Kind::uninitialized;
    } else if (name == "prim::RaiseException") {
      o.kind = Operator::Kind::raise;
    } else {
      find_op_of(row, o);
    }
    return o;
  }

  // The operator that an instruction stands for.
  void need(std::string_view name) {
    if (name.empty() || (!needed_.empty() && needed_.back() == name) || find_op(name)) return;
    needed_.emplace_back(name);
    complain({std::string(name), "", {}}, "does not exist");
  }

  // All that was wrong, each once, in order.
  std::vector<std::string> wrong;

 private:
  void find_op_of(const OperatorRow& row, Operator& o) {
    o.op = find_op(row.name, row.overload);
    if (!o.op && missing_) {
      o.kind = Operator::Kind::missing;
      const std::string name = row.qualified_name();
      if (std::find(missing_->begin(), missing_->end(), name) == missing_->end()) missing_->push_back(name);
      return;
    }
    if (!o.op) return complain(row, "does not exist");
    if (is_hidden(*o.op)) return complain(row, kHidden);
    o.schema = &o.op->schema();
    if (o.schema->is_varret) return complain(row, "has any number of results");
    if (!find_upgrader && is_upgraded(*o.op, version_)) {
      return complain(row, "meant something else in archives of version " + std::to_string(version_) +
                               ": sconce convert OLD NEW writes it as it is today");
    }
    o.upgrader = find_upgrader ? find_upgrader(*o.op, version_) : nullptr;
    if (o.upgrader) {
      o.kind = Operator::Kind::upgrader;
      o.schema = &o.upgrader->schema();
    }
    o.pushed = row.specified && !o.schema->is_vararg ? static_cast<size_t>(*row.specified) : o.schema->arguments.size();
    o.out = out_arguments(o.op->schema());
    if (const std::string why = misfit(*o.schema, o.pushed, o.out); !why.empty()) complain(row, why);
  }
  void complain(const OperatorRow& row, const std::string& why) {
    const std::string text = row.qualified_name() + " (" + why + ")";
    if (std::find(wrong.begin(), wrong.end(), text) == wrong.end()) wrong.push_back(text);
  }

  const int version_;
  std::vector<std::string> needed_;
  std::vector<std::string>* const missing_;
};

}  // namespace

std::vector<std::vector<Operator>> find_operators(const Tables& tables, int archive_version, const std::string& file,
                                                  std::vector<std::string>* missing) {
  constexpr size_t kShown = 1000;
  Finder finder(archive_version, missing);
  std::vector<std::vector<Operator>> all;
  for (const Method& m : tables.methods) {
    std::vector<Operator>& operators = all.emplace_back();
    for (const OperatorRow& row : m.operators) {
      operators.push_back(finder.find(row));
      if (finder.wrong.size() >= kShown) break;
    }
    for (const Instruction& i : m.instructions) finder.need(opcode_operator(i.op));
    if (finder.wrong.size() >= kShown) break;
  }
  if (finder.wrong.empty()) return all;
  std::string list;
  for (const std::string& name : finder.wrong) list += (list.empty() ? "" : ", ") + name;
  fail_as(ErrorKind::not_implemented, "{}: bytecode.pkl: operators that it needs are missing: {}", file, list);
}

}  // namespace sconce::lite
