#include "sconce/dispatch/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "sconce/dispatch/class_builder.h"
#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/custom_op.h"
#include "sconce/dispatch/custom/derivative.h"
#include "sconce/dispatch/custom/interpreted_formulas.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// Kernels of libraries for operators that are not CustomOps.
struct NativeKernels {
  std::shared_mutex mutex;
  std::map<std::pair<const Op*, int>, const LibraryKernel*> kernels;
};
NativeKernels& native_kernels() {
  static NativeKernels& table = *new NativeKernels;
  return table;
}

const LibraryKernel& library_kernel(const Op& op, int key) {
  if (is_custom(op)) {
    return *__atomic_load_n(&static_cast<const CustomOp&>(op).library_kernels[key], __ATOMIC_ACQUIRE);
  }
  NativeKernels& table = native_kernels();
  const std::shared_lock lock(table.mutex);
  return *table.kernels.at({&op, key});
}

template <int kKey>
void run_library_kernel(const Op& op, KeySet keys, Value* args, Value* returns) {
  const LibraryKernel& kernel = library_kernel(op, kKey);
  kernel.thunk(kernel.function, kernel.optional, keys, args, returns);
  for (size_t i = 0; i < kernel.returned.size(); ++i) returns[i] = args[kernel.returned[i]];
}

template <size_t... kKey>
constexpr std::array<BoxedKernel, kKeys> runners(std::index_sequence<kKey...>) {
  return {run_library_kernel<static_cast<int>(kKey)>...};
}
constexpr std::array<BoxedKernel, kKeys> kRunners = runners(std::make_index_sequence<kKeys>());

void install(Op& op, Key key, const LibraryKernel* kernel) {
  const int slot = static_cast<int>(key);
  if (is_custom(op)) {
    __atomic_store_n(&static_cast<CustomOp&>(op).library_kernels[slot], kernel, __ATOMIC_RELEASE);
  } else {
    NativeKernels& table = native_kernels();
    const std::unique_lock lock(table.mutex);
    table.kernels[{&op, slot}] = kernel;
  }
  op.set_kernel(key, mark_boxed(kRunners[static_cast<size_t>(slot)]));
}

// May a C++ type, in the words of schemas, stand for a schema's type?
bool stands_for(const std::string& word, TypePtr type) {
  if (word == "*") return true;
  const TypePtr given = parse_type(word, [](std::string_view name) { return class_type(name); });
  const TypePtr plain = plain_type(type);
  if (given == type) return true;
  if (given == plain) return true;  // int64_t for a ScalarType
  if (given == tensor_type() || given == generator_type()) return plain == optional_type(given);
  return given == list_type(tensor_type()) && plain == list_type(optional_type(tensor_type()));
}

std::unique_ptr<LibraryKernel> checked_kernel(const Op& op, Key key, const library::Function& f) {
  const Schema& schema = op.schema();
  const std::string who = op.qualified_name() + ": the kernel for " + std::string(key_name(key));
  const auto check = [&](bool fits, const std::string& what) {
    SCONCE_CHECK_AS(type, fits, "{} {}; the schema is {}", who, what, schema.to_string());
  };
  const size_t count = schema.arguments.size();
  check(count <= 64, "cannot have more than 64 arguments");
  check(f.arguments.size() == count, "has " + std::to_string(f.arguments.size()) + " parameters, the schema has " +
                                         std::to_string(count) + " arguments");
  auto kernel = std::make_unique<LibraryKernel>();
  kernel->function = f.function;
  kernel->thunk = f.thunk;
  kernel->optional = 0;
  for (size_t i = 0; i < count; ++i) {
    const Argument& argument = schema.arguments[i];
    check(stands_for(f.arguments[i], argument.type),
          "takes " + f.arguments[i] + " where the schema says " + argument.type->to_string() + " " + argument.name);
    if (argument.type->is(TypeKind::optional)) kernel->optional |= uint64_t{1} << i;
  }
  if (f.returns.empty()) {
    for (const Argument& result : schema.returns) {
      size_t i = 0;
      while (i < count && !(result.alias && result.alias->write && schema.arguments[i].alias == result.alias)) ++i;
      check(i < count, "returns nothing");
      kernel->returned.push_back(static_cast<uint32_t>(i));
    }
    return kernel;
  }
  check(f.returns.size() == schema.returns.size(), "returns " + std::to_string(f.returns.size()) +
                                                       " values, the schema says " +
                                                       std::to_string(schema.returns.size()));
  for (size_t i = 0; i < f.returns.size(); ++i) {
    const TypePtr type = schema.returns[i].type;
    check(stands_for(f.returns[i], type), "returns " + f.returns[i] + ", the schema says " + type->to_string());
  }
  return kernel;
}

// Where nobody can read it now, whoever runs it says what is wrong.
void check_body(const Schema& schema, std::string_view text) {
  std::optional<std::vector<std::string>> names;
  try {
    if (BodyRunner* runner = body_runner()) names = runner->free_names(text, 1, 1);
  } catch (const Error& e) {
    fail_as(e.kind(), "{}: body: {}", schema.qualified_name(), e.message());
  }
  if (!names) return;
  for (const std::string& name : *names) {
    SCONCE_CHECK_AS(value, schema.find_argument(name), "{}: body: '{}' is neither an argument nor set in the body",
                    schema.qualified_name(), name);
  }
}

// Namespaces that a SCONCE_LIBRARY block has opened.
std::mutex commit_mutex;
std::set<std::string, std::less<>>& open_spaces() {
  static auto& spaces = *new std::set<std::string, std::less<>>{"aten", "prim"};
  return spaces;
}

}  // namespace

struct Library::Pending {
  struct Kernel {
    std::string name;
    Key key;
    library::Function function;
    BoxedKernel boxed;  // instead of a function
  };
  struct Derivative {
    std::string name;
    std::string formulas;
  };
  struct Fallback {
    Key key;
    BoxedKernel kernel;
  };

  std::string space;
  bool fragment;
  std::string origin;
  std::vector<std::unique_ptr<CustomOp>> ops;
  std::vector<Kernel> kernels;
  std::vector<Derivative> derivatives;
  std::vector<Fallback> fallbacks;
  std::deque<ClassDefinition> classes;

  std::string qualified(std::string_view name) const {
    return name.find("::") == std::string_view::npos ? space + "::" + std::string(name) : std::string(name);
  }
  CustomOp& define(std::string_view schema, std::string_view doc) {
    std::string text(schema.substr(std::min(schema.find_first_not_of(" \n\t"), schema.size())));
    const size_t colons = text.find("::");
    if (colons == std::string::npos || colons > text.find('(')) text = space + "::" + text;
    SCONCE_CHECK_AS(value, text.starts_with(space + "::"), "schema '{}' is not of the namespace '{}'", text, space);
    OpInfo info{};
    info.texts.origin = origin.c_str();
    const std::string kept_doc(doc);
    if (!doc.empty()) info.texts.doc = kept_doc.c_str();
    ops.push_back(std::make_unique<CustomOp>(text, info));
    return *ops.back();
  }
};

Library::Library(std::string_view space, bool fragment, std::string_view origin)
    : pending_(new Pending{std::string(space), fragment, std::string(origin), {}, {}, {}, {}, {}}) {}
Library::Library(Library&&) noexcept = default;
Library::~Library() = default;

void Library::def(std::string_view schema, std::string_view doc) { pending_->define(schema, doc); }

void Library::impl_function(std::string_view name, Key key, library::Function function) {
  pending_->kernels.push_back({pending_->qualified(name), key, std::move(function), nullptr});
}

void Library::impl_boxed(std::string_view name, Key key, BoxedKernel kernel) {
  pending_->kernels.push_back({pending_->qualified(name), key, {}, kernel});
}

void Library::derivative(std::string_view name, std::string_view formulas) {
  pending_->derivatives.push_back({pending_->qualified(name), std::string(formulas)});
}

void Library::compound(std::string_view schema, std::string_view body, std::string_view doc) {
  CustomOp& op = pending_->define(schema, doc);
  check_body(op.schema(), body);
  op.set_text(&OpTexts::body, body);
  op.info.traits |= static_cast<uint32_t>(Trait::compound);
  for (const Key key : kBackendKeys) op.set_kernel(key, SCONCE_BOXED_KERNEL(run_body));
}

ClassDefinition& Library::add_class(std::string_view name) {
  return pending_->classes.emplace_back(pending_->space + "." + std::string(name), pending_->origin);
}

void Library::fallback(Key key, BoxedKernel kernel) { pending_->fallbacks.push_back({key, kernel}); }

void commit(std::vector<Library>& libraries) {
  struct Install {
    Op* op;
    Key key;
    std::unique_ptr<LibraryKernel> kernel;
    BoxedKernel boxed;
    bool exists;  // the operator is in use already
  };
  const std::lock_guard lock(commit_mutex);

  std::set<std::string, std::less<>> spaces = open_spaces();
  std::vector<std::unique_ptr<CustomOp>*> ops;
  for (Library& library : libraries) {
    const Library::Pending& p = *library.pending_;
    SCONCE_CHECK_AS(value, p.fragment || spaces.insert(p.space).second,
                    "namespace '{}' is taken: use SCONCE_LIBRARY_FRAGMENT to add to it", p.space);
    for (std::unique_ptr<CustomOp>& op : library.pending_->ops) ops.push_back(&op);
  }
  const auto find_new = [&](const std::string& name) -> CustomOp* {
    for (const std::unique_ptr<CustomOp>* op : ops) {
      if ((*op)->qualified_name() == name) return op->get();
    }
    return nullptr;
  };

  std::vector<Install> installs;
  std::vector<std::pair<CustomOp*, std::string>> texts;
  for (Library& library : libraries) {
    for (Library::Pending::Kernel& k : library.pending_->kernels) {
      Op* op = find_new(k.name);
      const bool exists = !op;
      if (exists) op = const_cast<Op*>(find_op(k.name));
      SCONCE_CHECK_AS(value, op, "there is no operator '{}' to add a kernel to", k.name);
      installs.push_back({op, k.key, k.boxed ? nullptr : checked_kernel(*op, k.key, k.function), k.boxed, exists});
    }
    for (const Library::Pending::Derivative& d : library.pending_->derivatives) {
      CustomOp* op = find_new(d.name);
      SCONCE_CHECK_AS(value, op, "a derivative needs an operator that the same library defines, '{}' is none", d.name);
      check_derivatives(op->schema(), d.formulas);
      texts.emplace_back(op, d.formulas);
    }
  }

  std::vector<ClassDefinition> classes;
  for (Library& library : libraries) {
    for (ClassDefinition& c : library.pending_->classes) classes.push_back(std::move(c));
  }

  // Operators that are not visible yet get everything first; from register_classes on nothing can fail.
  const auto apply = [](const Install& i) {
    if (i.kernel) {
      install(*i.op, i.key, i.kernel.get());
    } else {
      i.op->set_kernel(i.key, mark_boxed(i.boxed));
    }
  };
  std::vector<std::unique_ptr<CustomOp>> made;
  for (std::unique_ptr<CustomOp>* op : ops) made.push_back(std::move(*op));
  for (const auto& [op, formulas] : texts) {
    const std::string before = op->info.texts.derivatives ? std::string(op->info.texts.derivatives) + "\n" : "";
    op->set_text(&OpTexts::derivatives, before + formulas);
  }
  for (const Install& i : installs) {
    if (!i.exists) apply(i);
  }
  for (const std::unique_ptr<CustomOp>& op : made) make_differentiable(*op);
  check_new_classes(classes);
  add_custom_ops(made);
  register_classes(std::move(classes));
  // Kernels live for ever: a call may still be in one that was replaced.
  static auto& kept = *new std::vector<std::unique_ptr<LibraryKernel>>;
  for (Install& i : installs) {
    if (i.exists) apply(i);
    kept.push_back(std::move(i.kernel));
  }
  for (Library& library : libraries) {
    for (const Library::Pending::Fallback& f : library.pending_->fallbacks) set_fallback(f.key, f.kernel);
  }
  open_spaces() = std::move(spaces);
}

std::string library::method_schema(std::string_view text, const std::vector<std::string>& arguments,
                                   const std::string& result) {
  const size_t open = text.find('(');
  if (open == text.npos) {
    std::string made = std::string(text) + "(";
    for (size_t i = 0; i < arguments.size(); ++i) made += (i ? ", " : "") + arguments[i] + " _" + std::to_string(i);
    return made + ") -> " + (result.starts_with('(') && result != "()" ? "(" + result + ")" : result);
  }
  const Schema schema = parse_schema("method::" + std::string(text));
  const auto check = [&](bool fits, const std::string& what) {
    SCONCE_CHECK_AS(type, fits, "{}: the C++ function {}", text, what);
  };
  check(schema.arguments.size() == arguments.size(), "has " + std::to_string(arguments.size()) + " parameters");
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TypePtr type = schema.arguments[i].type;
    const bool takes_none = arguments[i] == "*" || arguments[i].ends_with('?') || !type->is(TypeKind::optional);
    check(takes_none && stands_for(arguments[i], type), "takes " + arguments[i] + " for " + schema.arguments[i].name);
  }
  std::vector<TypePtr> types;
  for (const Argument& r : schema.returns) types.push_back(r.type);
  const TypePtr returned = types.size() == 1 ? types[0] : tuple_type(types);
  check(stands_for(result, returned), "returns " + result);
  return std::string(text);
}

namespace {

// A load_library in progress on this thread.
struct Loader {
  std::vector<Library> libraries;
  bool failed = false;
  ErrorKind kind = ErrorKind::runtime;
  std::string message;
  Loader* outer;
};
thread_local Loader* current_loader = nullptr;

}  // namespace

library::Registration::Registration(const char* space, bool fragment, const char* file, void (*block)(Library&)) {
  Loader* loader = current_loader;
  if (!loader) {
    std::vector<Library> one;
    one.emplace_back(space, fragment, file);
    block(one[0]);
    commit(one);
    return;
  }
  // Exceptions cannot pass through the dynamic loader, and their types may be unloaded with the library: keep the text.
  if (loader->failed) return;
  loader->failed = true;
  try {
    loader->libraries.emplace_back(space, fragment, file);
    block(loader->libraries.back());
    loader->failed = false;
  } catch (const Error& e) {
    loader->kind = e.kind();
    loader->message = e.message();
  } catch (const std::exception& e) {
    loader->message = e.what();
  } catch (...) {
    loader->message = "an exception of an unknown type";
  }
}

void load_library(const std::string& path) {
  Loader loader{{}, false, ErrorKind::runtime, {}, current_loader};
  current_loader = &loader;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  current_loader = loader.outer;
  if (!handle) {
    const char* reason = dlerror();
    fail("cannot load library '{}': {}", path, reason ? reason : "unknown reason");
  }
  if (!loader.failed) {
    try {
      commit(loader.libraries);
      return;
    } catch (const Error& e) {
      loader.kind = e.kind();
      loader.message = e.message();
    }
  }
  loader.libraries.clear();
  dlclose(handle);
  fail_as(loader.kind, "library '{}': {}", path, loader.message);
}

}  // namespace sconce
