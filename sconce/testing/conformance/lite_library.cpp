#include "sconce/testing/conformance/lite_library.h"

#include <dlfcn.h>

#include <cstring>
#include <deque>

#include "sconce/base/error.h"
#include "sconce/lite/sconce_lite.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/tensor.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce::testing {
namespace {

// Values as plain data; `kept` has what they point to.
class Arguments {
 public:
  sconce_lite_value plain(const Value& v) {
    sconce_lite_value out{};
    switch (v.tag()) {
      case Tag::none:
        out.kind = SCONCE_LITE_NONE;
        return out;
      case Tag::boolean:
        out.kind = SCONCE_LITE_BOOLEAN;
        out.as.boolean = v.to_bool();
        return out;
      case Tag::integer:
        out.kind = SCONCE_LITE_INTEGER;
        out.as.integer = v.to_int();
        return out;
      case Tag::real:
        out.kind = SCONCE_LITE_REAL;
        out.as.real = v.to_double();
        return out;
      case Tag::complex:
        out.kind = SCONCE_LITE_COMPLEX;
        out.as.complex_parts[0] = v.to_complex().real();
        out.as.complex_parts[1] = v.to_complex().imag();
        return out;
      case Tag::string:
        out.kind = SCONCE_LITE_TEXT;
        out.as.text = {v.to_string_ref().c_str(), v.to_string_ref().size()};
        return out;
      case Tag::tensor:
        return tensor(v.to_tensor());
      case Tag::list:
        return items(SCONCE_LITE_LIST, v.to_list().values());
      case Tag::tuple:
        return items(SCONCE_LITE_TUPLE, v.to_tuple().items);
      case Tag::dict: {
        std::vector<Value> all;
        v.to_dict().for_each([&](const Value& key, const Value& value) {
          all.push_back(key);
          all.push_back(value);
        });
        return items(SCONCE_LITE_DICT, all);
      }
      default:
        fail_as(ErrorKind::not_implemented, "a {} cannot be given to a lite library", tag_name(v.tag()));
    }
  }

 private:
  static sconce_lite_value tensor(const Tensor& t) {
    sconce_lite_value out{};
    out.kind = SCONCE_LITE_TENSOR;
    out.as.tensor.dtype = static_cast<sconce_lite_dtype>(t.dtype());
    out.as.tensor.rank = static_cast<int>(t.dim());
    for (int64_t i = 0; i < t.dim(); ++i) {
      out.as.tensor.sizes[i] = t.size(i);
      out.as.tensor.strides[i] = t.strides()[static_cast<size_t>(i)];
    }
    out.as.tensor.data = t.numel() > 0 ? t.data() : nullptr;
    return out;
  }
  sconce_lite_value items(sconce_lite_kind kind, const std::vector<Value>& values) {
    std::vector<sconce_lite_value> made;
    made.reserve(values.size());
    for (const Value& v : values) {
      values_.push_back(v);
      made.push_back(plain(values_.back()));
    }
    const std::vector<sconce_lite_value>& kept = kept_.emplace_back(std::move(made));
    sconce_lite_value out{};
    out.kind = kind;
    out.as.list = {kept.data(), kept.size()};
    return out;
  }
  std::deque<std::vector<sconce_lite_value>> kept_;
  std::deque<Value> values_;
};

TypePtr common_type(const std::vector<Value>& items) {
  TypePtr type = nullptr;
  for (const Value& v : items) {
    if (type && v.type() != type) return any_type();
    type = v.type();
  }
  return type ? type : any_type();
}

Value value_of(const sconce_lite_value& v);
std::vector<Value> values_of(const sconce_lite_value& v, size_t from = 0, size_t step = 1) {
  std::vector<Value> items;
  for (size_t i = from; i < v.as.list.count; i += step) items.push_back(value_of(v.as.list.items[i]));
  return items;
}

Value value_of(const sconce_lite_value& v) {
  switch (v.kind) {
    case SCONCE_LITE_NONE:
      return {};
    case SCONCE_LITE_BOOLEAN:
      return v.as.boolean != 0;
    case SCONCE_LITE_INTEGER:
      return v.as.integer;
    case SCONCE_LITE_REAL:
      return v.as.real;
    case SCONCE_LITE_COMPLEX:
      return std::complex<double>(v.as.complex_parts[0], v.as.complex_parts[1]);
    case SCONCE_LITE_TEXT:
      return std::string_view(v.as.text.bytes, v.as.text.size);
    case SCONCE_LITE_TENSOR: {
      const sconce_lite_tensor& t = v.as.tensor;
      const auto rank = static_cast<size_t>(t.rank);
      const Tensor made =
          empty_strided_tensor(IntList(t.sizes, rank), IntList(t.strides, rank), static_cast<DType>(t.dtype));
      if (made.numel() > 0) std::memcpy(made.data(), t.data, made.storage()->nbytes);
      return made;
    }
    case SCONCE_LITE_LIST: {
      const std::vector<Value> items = values_of(v);
      auto list = make_ref<List>(common_type(items));
      for (const Value& item : items) list->append(item);
      return Value(std::move(list));
    }
    case SCONCE_LITE_TUPLE:
      return Value(make_ref<Tuple>(values_of(v)));
    case SCONCE_LITE_DICT: {
      const std::vector<Value> keys = values_of(v, 0, 2), values = values_of(v, 1, 2);
      auto dict = make_ref<Dict>(common_type(keys), common_type(values));
      for (size_t i = 0; i < keys.size(); ++i) dict->set(keys[i], values[i]);
      return Value(std::move(dict));
    }
    case SCONCE_LITE_OTHER:
      return std::string_view(v.as.text.bytes, v.as.text.size);
  }
  return {};
}

}  // namespace

struct LiteLibrary::Functions {
  decltype(&sconce_lite_load) load;
  decltype(&sconce_lite_run) run;
  decltype(&sconce_lite_free) free;
  decltype(&sconce_lite_find_method) find_method;
  decltype(&sconce_lite_last_error) last_error;
  decltype(&sconce_lite_last_exception) last_exception;
  sconce_lite_model* model = nullptr;
  void* library = nullptr;

  explicit Functions(const std::string& path) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    SCONCE_CHECK(library, "{}: {}", path, ::dlerror());
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      SCONCE_CHECK(function, "{}: has no {}", path, name);
    };
    find(load, "sconce_lite_load");
    find(run, "sconce_lite_run");
    find(free, "sconce_lite_free");
    find(find_method, "sconce_lite_find_method");
    find(last_error, "sconce_lite_last_error");
    find(last_exception, "sconce_lite_last_exception");
  }
};

LiteLibrary::LiteLibrary(const std::string& library, const std::string& model)
    : functions_(std::make_unique<Functions>(library)), bytes_(read_file(model)) {
  Functions& f = *functions_;
  SCONCE_CHECK(f.load(bytes_.data(), bytes_.size(), SCONCE_LITE_COPY, &f.model) == SCONCE_LITE_OK, "{}",
               f.last_error());
}

// Closed: a process has room for the thread-local variables of few libraries that it loads so.
LiteLibrary::~LiteLibrary() {
  functions_->free(functions_->model);
  ::dlclose(functions_->library);
}

Value LiteLibrary::call(const std::vector<Value>& args) {
  Functions& f = *functions_;
  Arguments arguments;
  std::vector<sconce_lite_value> plain;
  for (const Value& v : args) plain.push_back(arguments.plain(v));
  const sconce_lite_value* result = nullptr;
  const sconce_lite_status status =
      f.run(f.model, f.find_method(f.model, "forward"), plain.data(), plain.size(), &result);
  if (status == SCONCE_LITE_OK) return value_of(*result);
  const std::string message = f.last_error();
  const ErrorKind kind = status == SCONCE_LITE_INTERNAL_ERROR ? ErrorKind::internal : ErrorKind::runtime;
  throw runtime::ScriptError(kind, message, message, f.last_exception(), {});
}

}  // namespace sconce::testing
