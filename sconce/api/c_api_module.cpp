// The C interface: modules.
#include "sconce/api/asks_for_gradients.h"
#include "sconce/api/c_api.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ir/function.h"
#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::c_api {
namespace {

sconce_module::Method describe(const jit::Function& function) {
  Schema schema = function.schema();
  schema.name = function.name();
  schema.arguments.erase(schema.arguments.begin());  // self
  sconce_module::Method method{function.name(), schema.to_string(), {}};
  for (const Argument& a : schema.arguments) method.arguments.push_back({a.name, a.type->annotation()});
  return method;
}

jit::LoadSettings settings_of(unsigned flags) {
  constexpr unsigned kFlags = SCONCE_LOAD_STRICT | SCONCE_LOAD_TRUST | SCONCE_LOAD_COPY;
  if (flags & ~kFlags) invalid("there are no flags {} of loads", flags & ~kFlags);
  jit::LoadSettings settings;
  settings.strict = flags & SCONCE_LOAD_STRICT;
  settings.trust = flags & SCONCE_LOAD_TRUST;
  settings.mmap = !(flags & SCONCE_LOAD_COPY);
  settings.limits = limits_of_loads();
  return settings;
}

const sconce_module::Method* find(const sconce_module* module, size_t method) {
  return module && method < module->methods.size() ? &module->methods[method] : nullptr;
}
const sconce_module::Argument* find(const sconce_module* module, size_t method, size_t argument) {
  const sconce_module::Method* m = find(module, method);
  return m && argument < m->arguments.size() ? &m->arguments[argument] : nullptr;
}

}  // namespace

sconce_module* new_module(jit::Module module) {
  auto handle = std::make_unique<sconce_module>(sconce_module{std::move(module), {}, {}, false});
  for (const std::string& name : handle->module.method_names()) {
    const jit::Function method = handle->module.method(name);
    handle->methods.push_back(describe(method));
    handle->asks_for_gradients |= jit::asks_for_gradients(method);
  }
  for (const auto& [name, tensor] : handle->module.state_dict()) handle->state.push_back(name);
  return handle.release();
}

}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

sconce_status sconce_load(const char* path, sconce_module** out) { return sconce_load_with(path, 0, out); }

sconce_status sconce_load_strict(const char* path, sconce_module** out) {
  return sconce_load_with(path, SCONCE_LOAD_STRICT, out);
}

sconce_status sconce_load_with(const char* path, unsigned flags, sconce_module** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_module(jit::load(std::string(&need(path, "path")), settings_of(flags)));
  });
}

sconce_status sconce_load_memory(const void* data, size_t bytes, sconce_module** out) {
  return sconce_load_memory_with(data, bytes, 0, out);
}

sconce_status sconce_load_memory_with(const void* data, size_t bytes, unsigned flags, sconce_module** out) {
  return guarded([&] {
    need(out, "out");
    const auto* begin = &need(static_cast<const std::byte*>(data), "data");
    *out = new_module(jit::load(FileBytes::copy(std::span(begin, bytes), "<memory>"), settings_of(flags)));
  });
}

sconce_status sconce_load_borrowed(void* data, size_t bytes, void (*release)(void* context), void* context,
                                   sconce_module** out) {
  return guarded([&] {
    need(out, "out");
    auto* begin = &need(static_cast<std::byte*>(data), "data");
    // The memory stays until the module is there.
    struct Loan {
      void (*release)(void* context);
      void* context;
      bool taken = false;
      ~Loan() {
        if (taken && release) release(context);
      }
    };
    auto loan = std::make_shared<Loan>(Loan{release, context});
    *out = new_module(jit::load(FileBytes::borrow(std::span(begin, bytes), "<memory>", loan), settings_of(0)));
    loan->taken = true;
  });
}

sconce_status sconce_save(const sconce_module* module, const char* path) {
  return guarded([&] { jit::save(need(module, "module").module, std::string(&need(path, "path"))); });
}

void sconce_module_free(sconce_module* module) { delete module; }

size_t sconce_method_count(const sconce_module* module) { return module ? module->methods.size() : 0; }
const char* sconce_method_name(const sconce_module* module, size_t method) {
  const sconce_module::Method* m = find(module, method);
  return m ? m->name.c_str() : nullptr;
}
const char* sconce_method_signature(const sconce_module* module, size_t method) {
  const sconce_module::Method* m = find(module, method);
  return m ? m->signature.c_str() : nullptr;
}
size_t sconce_argument_count(const sconce_module* module, size_t method) {
  const sconce_module::Method* m = find(module, method);
  return m ? m->arguments.size() : 0;
}
const char* sconce_argument_name(const sconce_module* module, size_t method, size_t argument) {
  const sconce_module::Argument* a = find(module, method, argument);
  return a ? a->name.c_str() : nullptr;
}
const char* sconce_argument_type(const sconce_module* module, size_t method, size_t argument) {
  const sconce_module::Argument* a = find(module, method, argument);
  return a ? a->type.c_str() : nullptr;
}

size_t sconce_state_count(const sconce_module* module) { return module ? module->state.size() : 0; }
const char* sconce_state_name(const sconce_module* module, size_t index) {
  return module && index < module->state.size() ? module->state[index].c_str() : nullptr;
}
sconce_status sconce_state_tensor(const sconce_module* module, const char* name, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const std::string wanted(&need(name, "name"));
    for (const auto& [found, tensor] : need(module, "module").module.state_dict()) {
      if (found != wanted) continue;
      *out = new_value(tensor);
      return;
    }
    fail_as(ErrorKind::key, "the module has no parameter or buffer '{}'", wanted);
  });
}

sconce_status sconce_set_training(sconce_module* module, int on) {
  return guarded([&] { need(module, "module").module.train(on != 0); });
}

sconce_status sconce_call(const sconce_module* module, const char* method, sconce_value* const* arguments, size_t count,
                          sconce_value** out) {
  return sconce_call_named(module, method, arguments, count, nullptr, nullptr, 0, out);
}

sconce_status sconce_call_named(const sconce_module* module, const char* method, sconce_value* const* arguments,
                                size_t count, const char* const* names, sconce_value* const* named, size_t named_count,
                                sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const jit::Module& m = need(module, "module").module;
    const std::string name(&need(method, "method"));
    std::vector<Value> args = values_of(arguments, count, "arguments"), values = values_of(named, named_count, "named");
    jit::NamedValues kwargs;
    for (size_t i = 0; i < named_count; ++i) {
      need(names, "names");
      if (!names[i]) invalid("names[{}] is null", i);
      kwargs.emplace_back(names[i], std::move(values[i]));
    }
    const GradMode mode(sconce_grad_enabled() != 0 || module->asks_for_gradients);
    // forward runs the module's hooks.
    *out = new_value(name == "forward" ? m.call(std::move(args), std::move(kwargs))
                                       : m.method(name).call(std::move(args), std::move(kwargs)));
  });
}
