// Builtin names: the values of int, print, list, ValueError, torch, ... The names
// are in names_table.def.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// int(x), float(x), complex(x), str(x), bool(x): a magic method of a class, the value itself when it has the type
// already, or the operator. A list, dict or str is true when it holds something.
class CastFunction : public SugaredValue {
 public:
  CastFunction(TypePtr type, std::string_view magic, std::string_view op) : to(type), magic_(magic), op_(op) {}
  std::string kind() const override { return std::string(magic_); }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  const TypePtr to;

 private:
  const std::string_view magic_, op_;
};

// abs(x), round(x), hash(x): a magic method of a class, else the operator.
class MagicFunction : public SugaredValue {
 public:
  MagicFunction(std::string_view magic, std::string_view op) : magic_(magic), op_(op) {}
  std::string kind() const override { return "builtin"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;

 private:
  const std::string_view magic_, op_;
};

// len(x), print(...), list(...), tuple(...), dict(...): a function of ours.
class LanguageFunction : public SugaredValue {
 public:
  using Call = SugaredPtr (*)(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
  LanguageFunction(std::string_view name, Call call) : name_(name), call_(call) {}
  std::string kind() const override { return std::string(name_); }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override {
    return call_(e, at, args, hint);
  }

 private:
  const std::string_view name_;
  const Call call_;
};
SugaredPtr call_len(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
SugaredPtr call_print(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
SugaredPtr call_list(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
SugaredPtr call_tuple(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);
SugaredPtr call_dict(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint);

// The result of print(...): nothing that could be used.
class NoResult : public SugaredValue {
 public:
  std::string kind() const override { return "None"; }
};

// Names that the emitter treats itself, since it needs their arguments unevaluated: isinstance, hasattr, getattr,
// annotate, fork, ... `form` is one of these.
class SpecialForm : public SugaredValue {
 public:
  explicit SpecialForm(std::string_view form) : form(form) {}
  std::string kind() const override { return form; }
  const std::string form;
};

// A function whose result is known while compiling, for all arguments: torch.jit.is_scripting(),
// torch.overrides.has_torch_function(x).
class ConstantFunction : public SugaredValue {
 public:
  explicit ConstantFunction(sconce::Value result) : result_(std::move(result)) {}
  std::string kind() const override { return "function"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;

 private:
  const sconce::Value result_;
};

// torch.FloatTensor([1, 2]): aten::tensor with the dtype filled in.
class LegacyConstructor : public SugaredValue {
 public:
  LegacyConstructor(std::string_view name, DType dtype) : name_(name), dtype_(dtype) {}
  std::string kind() const override { return std::string(name_); }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;

 private:
  const std::string_view name_;
  const DType dtype_;
};

// A function with two bodies, chosen by a bool that must be known while compiling:
// max_pool2d(..., return_indices=True).
class ChosenFunction : public SugaredValue {
 public:
  // `index`: the place of the argument among positional ones.
  ChosenFunction(std::string_view argument, size_t index, bool default_value, SugaredPtr when_true,
                 SugaredPtr when_false)
      : argument_(argument),
        index_(index),
        default_(default_value),
        true_(std::move(when_true)),
        false_(std::move(when_false)) {}
  std::string kind() const override { return "function"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;

 private:
  const std::string argument_;
  const size_t index_;
  const bool default_;
  const SugaredPtr true_, false_;
};

// An exception class; called, or raised as it is, it gives the input of prim::RaiseException.
class ExceptionMessage : public SugaredValue {
 public:
  ExceptionMessage(ir::Value* message, std::string class_name) : message(message), class_name(std::move(class_name)) {}
  std::string kind() const override { return "exception message"; }
  ir::Value* const message;      // a str; null: without message
  const std::string class_name;  // "builtins.ValueError"
};
class ExceptionClass : public SugaredValue {
 public:
  explicit ExceptionClass(std::string class_name) : class_name(std::move(class_name)) {}
  std::string kind() const override { return "exception"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args,
                  TypePtr hint) override;  // an ExceptionMessage
  const std::string class_name;
};

}  // namespace sconce::script
