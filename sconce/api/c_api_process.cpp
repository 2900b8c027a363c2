// The C interface: errors, and what concerns the whole process.
#include <new>

#include "sconce/api/c_api.h"
#include "sconce/base/error_class.h"
#include "sconce/base/parallel.h"
#include "sconce/base/source.h"
#include "sconce/base/thread_exit.h"
#include "sconce/dispatch/library.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/memory/allocator.h"
#include "sconce/tensor/memory/memory_source.h"

namespace sconce::c_api {
namespace {

constexpr const char* kNoMemory = "not enough memory";

// The texts are in `kept`, or constants: to say that there is no memory takes none.
struct LastError {
  const char* message = "";
  const char* exception = "";
  struct Texts {
    std::string message, exception;
  }* kept = nullptr;
};
thread_local constinit LastError last_error;
thread_local constinit ThreadExit free_last_error{[]() noexcept {
  delete last_error.kept;
  last_error = {};
}};

sconce_status keep_constant(sconce_status status, const char* message) noexcept {
  last_error.message = message;
  last_error.exception = "";
  return status;
}

sconce_status keep(sconce_status status, std::string_view message, std::string_view exception = {}) noexcept {
  try {
    if (!last_error.kept) {
      at_thread_exit(free_last_error);
      last_error.kept = new LastError::Texts;
    }
    last_error.kept->message = message;
    last_error.kept->exception = exception;
    last_error.message = last_error.kept->message.c_str();
    last_error.exception = last_error.kept->exception.c_str();
    return status;
  } catch (...) {
    return keep_constant(status, "not enough memory to say what was wrong");
  }
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

sconce_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime:
      return SCONCE_RUNTIME_ERROR;
    case ErrorKind::type:
      return SCONCE_TYPE_ERROR;
    case ErrorKind::value:
      return SCONCE_VALUE_ERROR;
    case ErrorKind::index:
      return SCONCE_INDEX_ERROR;
    case ErrorKind::key:
      return SCONCE_KEY_ERROR;
    case ErrorKind::not_implemented:
      return SCONCE_NOT_IMPLEMENTED;
    case ErrorKind::zero_division:
      return SCONCE_ZERO_DIVISION;
    case ErrorKind::overflow:
      return SCONCE_OVERFLOW;
    case ErrorKind::internal:
      return SCONCE_INTERNAL_ERROR;
  }
  return SCONCE_INTERNAL_ERROR;
}

sconce_status status_of_current_exception() {
  try {
    throw;
  } catch (const InvalidArgument& error) {
    return keep(SCONCE_INVALID_ARGUMENT, error.message);
  } catch (const runtime::ScriptError& error) {
    const bool raised = !error.exception_class().empty();  // else an operator failed
    return keep(SCONCE_SCRIPT_ERROR, without_line_end(error.message()),
                raised ? error.exception_class() : std::string("builtins.") + python_class(error.kind()));
  } catch (const CompileError& error) {
    return keep(SCONCE_COMPILE_ERROR, without_line_end(error.message()));
  } catch (const Error& error) {
    return keep(status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return keep_constant(SCONCE_OUT_OF_MEMORY, kNoMemory);
  } catch (const std::exception& error) {
    return keep(SCONCE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return keep(SCONCE_INTERNAL_ERROR, "an exception of an unknown type");
  }
}

}  // namespace

FreshError::FreshError() noexcept
    : message_(std::exchange(last_error.message, "")), exception_(std::exchange(last_error.exception, "")) {}
FreshError::~FreshError() {
  if (*last_error.message != 0) return;
  last_error.message = message_;
  last_error.exception = exception_;
}

sconce_status status_of_exception() noexcept {
  try {
    return status_of_current_exception();
  } catch (...) {  // the text could not be made
    return keep_constant(SCONCE_OUT_OF_MEMORY, kNoMemory);
  }
}

std::vector<Value> values_of(sconce_value* const* items, size_t count, const char* name) {
  std::vector<Value> values;
  if (count == 0) return values;
  need(items, name);
  for (size_t i = 0; i < count; ++i) {
    if (!items[i]) invalid("{}[{}] is null", name, i);
    values.push_back(items[i]->v);
  }
  return values;
}

}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

const char* sconce_last_error(void) { return last_error.message; }
sconce_status sconce_fail(sconce_status status, const char* message) { return keep(status, message ? message : ""); }
const char* sconce_last_exception(void) { return last_error.exception; }

const char* sconce_status_name(sconce_status status) {
  switch (status) {
    case SCONCE_OK:
      return "SCONCE_OK";
    case SCONCE_INVALID_ARGUMENT:
      return "SCONCE_INVALID_ARGUMENT";
    case SCONCE_OUT_OF_MEMORY:
      return "SCONCE_OUT_OF_MEMORY";
    case SCONCE_INTERNAL_ERROR:
      return "SCONCE_INTERNAL_ERROR";
    case SCONCE_RUNTIME_ERROR:
      return "SCONCE_RUNTIME_ERROR";
    case SCONCE_TYPE_ERROR:
      return "SCONCE_TYPE_ERROR";
    case SCONCE_VALUE_ERROR:
      return "SCONCE_VALUE_ERROR";
    case SCONCE_INDEX_ERROR:
      return "SCONCE_INDEX_ERROR";
    case SCONCE_KEY_ERROR:
      return "SCONCE_KEY_ERROR";
    case SCONCE_NOT_IMPLEMENTED:
      return "SCONCE_NOT_IMPLEMENTED";
    case SCONCE_ZERO_DIVISION:
      return "SCONCE_ZERO_DIVISION";
    case SCONCE_OVERFLOW:
      return "SCONCE_OVERFLOW";
    case SCONCE_COMPILE_ERROR:
      return "SCONCE_COMPILE_ERROR";
    case SCONCE_SCRIPT_ERROR:
      return "SCONCE_SCRIPT_ERROR";
    case SCONCE_LIMIT_REACHED:
      return "SCONCE_LIMIT_REACHED";
  }
  return "unknown status";
}

const char* sconce_version(void) { return SCONCE_VERSION; }
int sconce_api_version(void) { return SCONCE_API_VERSION; }

sconce_status sconce_set_num_threads(int count) {
  return guarded([&] { set_num_threads(count); });
}
int sconce_num_threads(void) { return num_threads(); }
sconce_status sconce_set_deterministic(int on) {
  return guarded([&] { set_deterministic(on != 0); });
}
int sconce_is_deterministic(void) { return is_deterministic() ? 1 : 0; }

sconce_status sconce_manual_seed(uint64_t seed) {
  return guarded([&] { manual_seed(seed); });
}

sconce_status sconce_load_library(const char* path) {
  return guarded([&] { load_library(&need(path, "path")); });
}

sconce_status sconce_set_allocator(sconce_allocate_function allocate, sconce_free_function release, void* context) {
  return guarded([&] {
    if (!allocate || !release) invalid("{} is null", allocate ? "release" : "allocate");
    if (!set_memory_source({allocate, release, context})) {
      invalid("the allocator must be set before the first tensor is made");
    }
  });
}

void sconce_release_memory(void) {
  guarded([] { release_cached_memory(); });
}
