// The C interface of lite libraries: plain data to Values and back, and the barrier that no exception crosses.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sconce/base/error.h"
#include "sconce/base/error_class.h"
#include "sconce/base/function_ref.h"
#include "sconce/base/thread_exit.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/lite/host.h"
#include "sconce/lite/lite_model.h"
#include "sconce/lite/model_bytes.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/sconce_lite.h"
#include "sconce/lite/selected.h"
#include "sconce/types/containers.h"

struct sconce_lite_model {
  sconce::lite::ModelBytes file;
  sconce::lite::Model model;
  std::unique_ptr<sconce_lite_value[]> result;  // the tree, the root first
  size_t result_room = 0;
  std::vector<sconce::Value> texts;  // of kind other

  sconce_lite_model(std::span<std::byte> bytes, unsigned flags)
      : file(bytes, flags & SCONCE_LITE_COPY), model(file.pointer(), flags & SCONCE_LITE_TRUST) {}
};

namespace sconce::lite {

namespace {

constexpr int kMostNested = 64;  // values in values

// Kept by the thread until its next failure. Not in the thread's own memory, of which a library that is loaded late
// gets little.
struct LastError {
  char message[4096];
  char exception[128];
};
struct {
  LastError* text;
  ThreadExit exit;
} thread_local constinit last_error{nullptr, {[]() noexcept { std::free(std::exchange(last_error.text, nullptr)); }}};
// The text's end where there is no room for all of it: there stands the reason. Returns the place of the 0 behind it.
char* keep(char* to, size_t room, std::string_view text) noexcept {
  if (text.size() >= room) {
    constexpr std::string_view kCut = "... ";
    std::memcpy(to, kCut.data(), kCut.size());
    to += kCut.size();
    room -= kCut.size();
    text.remove_prefix(text.size() - (room - 1));
  }
  std::memcpy(to, text.data(), text.size());
  to += text.size();
  *to = 0;
  return to;
}

constexpr size_t kAdvice = 512;  // room for advice, with all dtypes that there are

// `advice` is text, dtypes, text behind the message. Takes no memory but for the texts themselves: there may be none.
sconce_lite_status failed(sconce_lite_status status, std::string_view message,
                          const char* const (&advice)[3] = {"", "", ""}, const char* module = "",
                          const char* exception = "") noexcept {
  LastError*& last = last_error.text;
  if (!last) {
    last = static_cast<LastError*>(std::malloc(sizeof(LastError)));
    if (!last) return status;
    try_at_thread_exit(last_error.exit);
  }
  char* const end = keep(last->message, sizeof last->message - kAdvice, message);
  std::snprintf(end, kAdvice, "%s%s%s", advice[0], advice[1], advice[2]);
  std::snprintf(last->exception, sizeof last->exception, "%s%s", module, exception);
  return status;
}

void need(const void* pointer, const char* name) {
  if (!pointer) refuse("%s is null", name);
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// With what a program can do about an operator or a dtype that is not there.
sconce_lite_status failed(sconce_lite_status status, const Error& e, const char* module,
                          const char* exception) noexcept {
  const std::string_view message = e.message();
  if (e.kind() == ErrorKind::internal) status = SCONCE_LITE_INTERNAL_ERROR;
  if (e.kind() == ErrorKind::not_implemented) {
    if (contains(message, "operators that it needs are missing: "))
      return failed(status == SCONCE_LITE_BAD_MODEL ? SCONCE_LITE_NOT_SELECTED : status, message,
                    {"; sconce select MODEL --with SELECTION -o SELECTION adds them, and cmake "
                     "-DSCONCE_SELECT=SELECTION builds the library with them",
                     "", ""},
                    module, exception);
    if (*selected_dtypes && contains(message, "not implemented for"))
      return failed(
          status, message,
          {" (this library was built for ", selected_dtypes, "; sconce select --dtypes adds others to its selection)"},
          module, exception);
  }
  return failed(status, message, {"", "", ""}, module, exception);
}

// Until `body` says what an error means from there on, it is one of the arguments.
sconce_lite_status guarded(FunctionRef<void(sconce_lite_status& error)> body) noexcept {
  sconce_lite_status error = SCONCE_LITE_INVALID_ARGUMENT;
  try {
    body(error);
    return SCONCE_LITE_OK;
  } catch (const MethodError& e) {
    return failed(SCONCE_LITE_ERROR, e, "", e.exception_class.c_str());
  } catch (const Error& e) {
    const bool is_of_run = error == SCONCE_LITE_ERROR;
    return failed(error, e, is_of_run ? "builtins." : "", is_of_run ? python_class(e.kind()) : "");
  } catch (const std::bad_alloc&) {
    return failed(SCONCE_LITE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return failed(SCONCE_LITE_INTERNAL_ERROR, e.what());
  } catch (...) {
    return failed(SCONCE_LITE_INTERNAL_ERROR, "an exception of the program");
  }
}

// ---- arguments ----

Tensor tensor_from(const sconce_lite_tensor& t) {
  const DType dtype = dtype_from_number(t.dtype);
  if (is_quantized(dtype)) refuse("%d is no dtype of arguments", static_cast<int>(t.dtype));
  if (t.rank < 0 || t.rank > SCONCE_LITE_MAX_RANK) refuse("a tensor has %d dimensions", t.rank);
  int64_t bytes = 1;  // elements, at first
  bool overflow = false, is_empty = false;
  for (int i = 0; i < t.rank; ++i) {
    if (t.sizes[i] < 0 || t.strides[i] < 0)
      refuse("a tensor has size %" PRId64 " and stride %" PRId64, t.sizes[i], t.strides[i]);
    is_empty |= t.sizes[i] == 0;
    int64_t step = 0;
    overflow |=
        __builtin_mul_overflow(t.sizes[i] - 1, t.strides[i], &step) || __builtin_add_overflow(bytes, step, &bytes);
  }
  const auto item = static_cast<int64_t>(item_size(dtype));
  overflow |= __builtin_mul_overflow(bytes, item, &bytes);
  if (is_empty)
    bytes = 0;
  else if (overflow)
    refuse("a tensor is too large");
  else
    need(t.data, "data");
  if (reinterpret_cast<uintptr_t>(t.data) % item_size(dtype) % alignof(std::max_align_t) != 0)
    refuse("data is not aligned for elements of %" PRId64 " bytes", item);
  const auto rank = static_cast<size_t>(t.rank);
  return make_tensor(wrap_storage(t.data, static_cast<size_t>(bytes), nullptr, nullptr), dtype, IntList(t.sizes, rank),
                     IntList(t.strides, rank), 0);
}

Value value_from(const sconce_lite_value& v, int depth);

// A tuple of the items of a container, behind `free` Nones.
Value items_from(const sconce_lite_value* items, size_t count, size_t free, int depth) {
  if (depth > kMostNested) refuse("values are nested more than %d deep", kMostNested);
  if (count > 0) need(items, "items");
  Value tuple = new_tuple(free + count);
  std::vector<Value>& values = tuple.to_tuple().items;
  for (size_t i = 0; i < count; ++i) values[free + i] = value_from(items[i], depth + 1);
  return tuple;
}

// The type of all of them, or Any: what a method takes is fitted to its arguments later.
TypePtr common_type(std::span<const Value> items, size_t from, size_t step) {
  TypePtr type = nullptr;
  for (size_t i = from; i < items.size(); i += step) {
    const TypePtr next = items[i].type();
    if (type && type != next) return any_type();
    type = next;
  }
  return type ? type : any_type();
}

Value container_from(const sconce_lite_value& v, int depth) {
  Value tuple = items_from(v.as.list.items, v.as.list.count, 0, depth);
  if (v.kind == SCONCE_LITE_TUPLE) return tuple;
  const std::span<Value> items = tuple.to_tuple().items;
  if (v.kind == SCONCE_LITE_LIST) return list_of(common_type(items, 0, 1), items);
  if (items.size() % 2 != 0) refuse("a dict has %zu keys and values", items.size());
  return dict_of(common_type(items, 0, 2), common_type(items, 1, 2), items);
}

Value value_from(const sconce_lite_value& v, int depth) {
  switch (v.kind) {
    case SCONCE_LITE_NONE:
      return {};
    case SCONCE_LITE_TENSOR:
      return tensor_from(v.as.tensor);
    case SCONCE_LITE_BOOLEAN:
      return v.as.boolean != 0;
    case SCONCE_LITE_INTEGER:
      return v.as.integer;
    case SCONCE_LITE_REAL:
      return v.as.real;
    case SCONCE_LITE_COMPLEX:
      return std::complex<double>(v.as.complex_parts[0], v.as.complex_parts[1]);
    case SCONCE_LITE_TEXT:
      if (v.as.text.size > 0) need(v.as.text.bytes, "bytes");
      return std::string_view(v.as.text.bytes, v.as.text.size);
    case SCONCE_LITE_TUPLE:
    case SCONCE_LITE_LIST:
    case SCONCE_LITE_DICT:
      return container_from(v, depth);
    case SCONCE_LITE_OTHER:
      break;
  }
  refuse("%d is no kind of arguments", static_cast<int>(v.kind));
}

// ---- results ----

// Writes a value at the first node, and what it holds behind it. A first walk, without nodes, counts them.
class ResultWriter {
 public:
  explicit ResultWriter(sconce_lite_model& model) : model_(model) {}

  void write(const Value& v) {
    put(v, 0, 0);
    if (model_.result_room < count_) {
      model_.result_room = 0;
      model_.result.reset(new sconce_lite_value[count_]);
      model_.result_room = count_;
    }
    model_.texts.clear();
    nodes_ = model_.result.get();
    count_ = 1;
    put(v, 0, 0);
  }

 private:
  void put(const Value& v, size_t at, int depth) {
    if (depth > kMostNested) refuse("a result is nested more than %d deep", kMostNested);
    sconce_lite_value unused;
    sconce_lite_value& to = nodes_ ? nodes_[at] : unused;
    switch (v.tag()) {
      case Tag::none:
        to.kind = SCONCE_LITE_NONE;
        return;
      case Tag::boolean:
        to.kind = SCONCE_LITE_BOOLEAN;
        to.as.boolean = v.to_bool();
        return;
      case Tag::integer:
        to.kind = SCONCE_LITE_INTEGER;
        to.as.integer = v.to_int();
        return;
      case Tag::real:
        to.kind = SCONCE_LITE_REAL;
        to.as.real = v.to_double();
        return;
      case Tag::complex:
        to.kind = SCONCE_LITE_COMPLEX;
        return put_complex(v.to_complex(), to);
      case Tag::string:
        return put_text(v, SCONCE_LITE_TEXT, to);
      case Tag::tensor:
        return put_tensor(v.to_tensor(), to);
      case Tag::list: {
        List& list = v.to_list();
        size_t next = begin(SCONCE_LITE_LIST, list.size(), to);
        if (!nodes_ && !list.value_items()) return;  // nothing holds more
        for (size_t i = 0; i < list.size(); ++i) put(list.get(i), next++, depth + 1);
        return;
      }
      case Tag::tuple: {
        size_t next = begin(SCONCE_LITE_TUPLE, v.to_tuple().items.size(), to);
        for (const Value& item : v.to_tuple().items) put(item, next++, depth + 1);
        return;
      }
      case Tag::dict: {
        size_t next = begin(SCONCE_LITE_DICT, 2 * v.to_dict().size(), to);
        v.to_dict().for_each([&](const Value& key, const Value& value) {
          put(key, next++, depth + 1);
          put(value, next++, depth + 1);
        });
        return;
      }
      default:
        if (!nodes_) return;
        model_.texts.push_back(Value(v.is_device() ? to_string(v.to_device()) : v.type()->annotation()));
        return put_text(model_.texts.back(), SCONCE_LITE_OTHER, to);
    }
  }
  static void put_complex(std::complex<double> z, sconce_lite_value& to) {
    to.as.complex_parts[0] = z.real();
    to.as.complex_parts[1] = z.imag();
  }
  static void put_text(const Value& v, sconce_lite_kind kind, sconce_lite_value& to) {
    const std::string& text = v.to_string_ref();
    to.kind = kind;
    to.as.text = {text.c_str(), text.size()};
  }
  static void put_tensor(const Tensor& t, sconce_lite_value& to) {
    if (t.dim() > SCONCE_LITE_MAX_RANK) refuse("a result has %d dimensions", static_cast<int>(t.dim()));
    if (t.is_meta() || t.layout() != Layout::strided) refuse("a result is a tensor without memory of its own");
    to.kind = SCONCE_LITE_TENSOR;
    to.as.tensor.dtype = static_cast<sconce_lite_dtype>(t.dtype());
    to.as.tensor.rank = static_cast<int>(t.dim());
    const IntList sizes = t.sizes(), strides = t.strides();
    std::copy(sizes.begin(), sizes.end(), to.as.tensor.sizes);
    std::copy(strides.begin(), strides.end(), to.as.tensor.strides);
    to.as.tensor.data = t.numel() > 0 ? t.data() : nullptr;
  }
  // The place of the first of the items that a container has.
  size_t begin(sconce_lite_kind kind, size_t count, sconce_lite_value& to) {
    const size_t first = count_;
    count_ += count;
    to.kind = kind;
    to.as.list = {nodes_ + (nodes_ ? first : 0), count};
    return first;
  }

  sconce_lite_model& model_;
  sconce_lite_value* nodes_ = nullptr;
  size_t count_ = 1;
};

void check_processor() {
  if (cpu_level() < lowest_level)
    refuse("this library was built for processors of level x86-64-v%d and above, this one has x86-64-v%d", lowest_level,
           cpu_level());
}

}  // namespace
}  // namespace sconce::lite

using namespace sconce;
using namespace sconce::lite;

const char* sconce_lite_last_error(void) { return last_error.text ? last_error.text->message : ""; }
const char* sconce_lite_last_exception(void) { return last_error.text ? last_error.text->exception : ""; }

sconce_lite_status sconce_lite_start(const sconce_lite_host* host) {
  return guarded([&](sconce_lite_status&) {
    need(host, "host");
    if (!host->allocate != !host->release) refuse("allocate and release belong together");
    if (host->parallel && host->threads < 1) refuse("threads is %d", host->threads);
    if (!set_host(*host)) refuse("sconce_lite_start comes before all others");
  });
}

sconce_lite_status sconce_lite_load(const void* bytes, size_t size, unsigned flags, sconce_lite_model** out) {
  return guarded([&](sconce_lite_status& error) {
    need(bytes, "bytes");
    need(out, "out");
    if (flags & ~unsigned{SCONCE_LITE_COPY | SCONCE_LITE_TRUST}) refuse("there are no flags %u of loads", flags);
    error = SCONCE_LITE_BAD_MODEL;
    check_processor();
    take_small_blocks();
    *out = new sconce_lite_model({static_cast<std::byte*>(const_cast<void*>(bytes)), size}, flags);
  });
}

void sconce_lite_free(sconce_lite_model* model) { delete model; }

size_t sconce_lite_method_count(const sconce_lite_model* model) { return model ? model->model.methods.size() : 0; }
const char* sconce_lite_method_name(const sconce_lite_model* model, size_t method) {
  return method < sconce_lite_method_count(model) ? model->model.methods[method].name.data() : nullptr;
}
const char* sconce_lite_method_signature(const sconce_lite_model* model, size_t method) {
  return method < sconce_lite_method_count(model) ? model->model.methods[method].signature.data() : nullptr;
}
size_t sconce_lite_find_method(const sconce_lite_model* model, const char* name) {
  if (!name) return SIZE_MAX;
  const std::string_view wanted = name;
  for (size_t i = 0; i < sconce_lite_method_count(model); ++i) {
    if (model->model.methods[i].name == wanted) return i;
  }
  return SIZE_MAX;
}

sconce_lite_status sconce_lite_run(sconce_lite_model* model, size_t method, const sconce_lite_value* arguments,
                                   size_t count, const sconce_lite_value** result) {
  return guarded([&](sconce_lite_status& error) {
    need(model, "model");
    need(result, "result");
    if (method >= model->model.methods.size()) refuse("the model has no method %zu", method);
    if (count > 0) need(arguments, "arguments");
    const RunBlocks blocks;
    Value args = items_from(arguments, count, 1, 0);
    error = SCONCE_LITE_ERROR;
    ResultWriter(*model).write(model->model.run(model->model.methods[method], args.to_tuple().items));
    *result = model->result.get();
  });
}

sconce_lite_status sconce_lite_limit(sconce_lite_model* model, uint64_t steps, uint64_t bytes) {
  return guarded([&](sconce_lite_status&) {
    need(model, "model");
    model->model.steps = steps;
    model->model.bytes = bytes;
  });
}

sconce_lite_memory sconce_lite_memory_of(const sconce_lite_model* model) {
  if (!model) return {0, 0};
  return {model->model.arena_bytes(), model->model.outside()};
}

const char* sconce_lite_selection(void) { return selection_text; }
