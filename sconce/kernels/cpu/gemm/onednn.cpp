// The C interface of oneDNN as far as it is used here, versions 2.6 to 3.x. A memory descriptor is a struct
// of the caller in version 2 and a handle in version 3; both are passed as pointers, so one declaration
// serves both. Primitives are created once for every problem and kept. They are created with one OpenMP
// thread and run with it, so libgomp never starts another. Scratch memory is ours: the library's own belongs
// to the creating thread.
#include "sconce/kernels/cpu/gemm/onednn.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {
namespace {

constexpr int max_dims = 12, success = 0;
constexpr int any_format = 1, cpu_engine = 1, in_order = 1, user_scratchpad = 1;
constexpr int bf16_type = 2, f32_type = 3, forward_inference = 96, direct_convolution = 1;
constexpr int query_implementation = 8, query_weights = 131, query_scratchpad = 136;
constexpr int arg_src = 1, arg_dst = 17, arg_weights = 33, arg_bias = 41, arg_scratchpad = 80;

using Handle = void*;
using DnnlDims = std::array<int64_t, max_dims>;
struct Argument {
  int argument;
  Handle memory;
};
struct Version {
  int major, minor, patch;
};

// Functions of the library. Those of one major version only are null in the other.
struct Library {
  const Version* (*dnnl_version)();
  int (*dnnl_engine_create)(Handle*, int kind, size_t index);
  int (*dnnl_stream_create)(Handle*, Handle engine, unsigned flags);
  int (*dnnl_stream_wait)(Handle);
  int (*dnnl_memory_create)(Handle*, const void* description, Handle engine, void* data);
  int (*dnnl_memory_destroy)(Handle);
  size_t (*dnnl_memory_desc_get_size)(const void* description);
  int (*dnnl_primitive_attr_create)(Handle*);
  int (*dnnl_primitive_attr_set_scratchpad_mode)(Handle, int mode);
  int (*dnnl_primitive_desc_query)(const void*, int what, int index, void* result);
  const void* (*dnnl_primitive_desc_query_md)(const void*, int what, int index);
  int (*dnnl_primitive_desc_destroy)(Handle);
  int (*dnnl_primitive_create)(Handle*, const void* description);
  int (*dnnl_primitive_execute)(const void*, Handle stream, int count, const Argument*);
  int (*dnnl_reorder_primitive_desc_create)(Handle*, const void* from, Handle engine, const void* to, Handle engine_to,
                                            const void* attributes);
  // 2.x
  int (*dnnl_memory_desc_init_by_strides)(void*, int rank, const int64_t*, int type, const int64_t*);
  int (*dnnl_memory_desc_init_by_tag)(void*, int rank, const int64_t*, int type, int tag);
  int (*dnnl_dilated_convolution_forward_desc_init)(void*, int, int, const void*, const void*, const void*, const void*,
                                                    const int64_t*, const int64_t*, const int64_t*, const int64_t*);
  int (*dnnl_matmul_desc_init)(void*, const void*, const void*, const void*, const void*);
  int (*dnnl_primitive_desc_create)(Handle*, const void*, const void* attributes, Handle engine, const void* hint);
  // 3.x
  int (*dnnl_memory_desc_create_with_strides)(Handle*, int rank, const int64_t*, int type, const int64_t*);
  int (*dnnl_memory_desc_create_with_tag)(Handle*, int rank, const int64_t*, int type, int tag);
  int (*dnnl_memory_desc_destroy)(Handle);
  int (*dnnl_convolution_forward_primitive_desc_create)(Handle*, Handle engine, int, int, const void*, const void*,
                                                        const void*, const void*, const int64_t*, const int64_t*,
                                                        const int64_t*, const int64_t*, const void* attributes);
  int (*dnnl_matmul_primitive_desc_create)(Handle*, Handle engine, const void*, const void*, const void*, const void*,
                                           const void* attributes);
  // libgomp's, where the library is built with it
  int (*omp_get_max_threads)();
  void (*omp_set_num_threads)(int);

  Handle engine, attributes;
};

const Library* library = nullptr;  // set once, by load_onednn

Library* open_library() {
  Handle handle = nullptr;
  std::string reasons;
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"}) {
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle) break;
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  SCONCE_CHECK(handle, "oneDNN does not load: {}", reasons);
  auto result = std::make_unique<Library>();
  Library& lib = *result;
  const auto find = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    SCONCE_CHECK(function || !needed, "oneDNN does not load: it has no function '{}'", name);
  };
#define SCONCE_FIND(name, needed) find(lib.name, #name, needed)
  SCONCE_FIND(dnnl_version, true);
  const Version version = *lib.dnnl_version();
  const bool two = version.major == 2 && version.minor >= 6, three = version.major == 3;
  SCONCE_CHECK(two || three, "oneDNN {}.{} is not known here: expected 2.6 to 3.x", version.major, version.minor);
  SCONCE_FIND(dnnl_engine_create, true);
  SCONCE_FIND(dnnl_stream_create, true);
  SCONCE_FIND(dnnl_stream_wait, true);
  SCONCE_FIND(dnnl_memory_create, true);
  SCONCE_FIND(dnnl_memory_destroy, true);
  SCONCE_FIND(dnnl_memory_desc_get_size, true);
  SCONCE_FIND(dnnl_primitive_attr_create, true);
  SCONCE_FIND(dnnl_primitive_attr_set_scratchpad_mode, true);
  SCONCE_FIND(dnnl_primitive_desc_query, true);
  SCONCE_FIND(dnnl_primitive_desc_query_md, true);
  SCONCE_FIND(dnnl_primitive_desc_destroy, true);
  SCONCE_FIND(dnnl_primitive_create, true);
  SCONCE_FIND(dnnl_primitive_execute, true);
  SCONCE_FIND(dnnl_reorder_primitive_desc_create, true);
  SCONCE_FIND(dnnl_memory_desc_init_by_strides, two);
  SCONCE_FIND(dnnl_memory_desc_init_by_tag, two);
  SCONCE_FIND(dnnl_dilated_convolution_forward_desc_init, two);
  SCONCE_FIND(dnnl_matmul_desc_init, two);
  SCONCE_FIND(dnnl_primitive_desc_create, two);
  SCONCE_FIND(dnnl_memory_desc_create_with_strides, three);
  SCONCE_FIND(dnnl_memory_desc_create_with_tag, three);
  SCONCE_FIND(dnnl_memory_desc_destroy, three);
  SCONCE_FIND(dnnl_convolution_forward_primitive_desc_create, three);
  SCONCE_FIND(dnnl_matmul_primitive_desc_create, three);
  SCONCE_FIND(omp_get_max_threads, false);
  SCONCE_FIND(omp_set_num_threads, false);
#undef SCONCE_FIND
  if (three) lib.dnnl_primitive_desc_create = nullptr;
  SCONCE_CHECK(lib.dnnl_engine_create(&lib.engine, cpu_engine, 0) == success &&
                   lib.dnnl_primitive_attr_create(&lib.attributes) == success &&
                   lib.dnnl_primitive_attr_set_scratchpad_mode(lib.attributes, user_scratchpad) == success,
               "oneDNN does not load: it has no engine for the CPU");
  return result.release();
}

// A memory descriptor of either version.
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    if (handle_) library->dnnl_memory_desc_destroy(handle_);
  }

  // With these strides, or in the format that the library likes best (`strides` null).
  bool set(int rank, const DnnlDims& sizes, int type, const DnnlDims* strides) {
    if (library->dnnl_memory_desc_init_by_strides) {
      return (strides ? library->dnnl_memory_desc_init_by_strides(blob_, rank, sizes.data(), type, strides->data())
                      : library->dnnl_memory_desc_init_by_tag(blob_, rank, sizes.data(), type, any_format)) == success;
    }
    return (strides
                ? library->dnnl_memory_desc_create_with_strides(&handle_, rank, sizes.data(), type, strides->data())
                : library->dnnl_memory_desc_create_with_tag(&handle_, rank, sizes.data(), type, any_format)) == success;
  }
  const void* get() const { return handle_ ? handle_ : blob_; }

 private:
  alignas(16) std::byte blob_[1024] = {};  // 696 bytes in 2.6
  Handle handle_ = nullptr;
};

// The number of OpenMP threads is read when a primitive is created.
class OneOmpThread {
 public:
  OneOmpThread() : threads_(library->omp_get_max_threads ? library->omp_get_max_threads() : 1) { set(1); }
  ~OneOmpThread() { set(threads_); }
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  static void set(int threads) {
    if (library->omp_set_num_threads) library->omp_set_num_threads(threads);
  }
  int threads_;
};

}  // namespace

// A primitive, and a reorder of weights to the format that it wants where that is another. Both live as long
// as the program.
struct OnednnConv {
  Handle primitive = nullptr, description = nullptr, reorder = nullptr;
  Description src, weights, bias, dst;
  const void* wanted_weights = nullptr;  // the format that it wants
  size_t weight_bytes = 0, scratch_bytes = 0;
  const void* scratch = nullptr;
  bool serves = false;

  // Takes the description that `made` says was created.
  void finish(bool made) {
    if (!made) return;
    const char* name = nullptr;
    library->dnnl_primitive_desc_query(description, query_implementation, 0, static_cast<void*>(&name));
    if (!name || std::string_view(name).starts_with("ref")) return;
    if (library->dnnl_primitive_create(&primitive, description) != success) return;
    wanted_weights = library->dnnl_primitive_desc_query_md(description, query_weights, 0);
    weight_bytes = library->dnnl_memory_desc_get_size(wanted_weights);
    scratch = library->dnnl_primitive_desc_query_md(description, query_scratchpad, 0);
    scratch_bytes = scratch ? library->dnnl_memory_desc_get_size(scratch) : 0;
    Handle reorder_description = nullptr;
    if (library->dnnl_reorder_primitive_desc_create(&reorder_description, weights.get(), library->engine,
                                                    wanted_weights, library->engine, library->attributes) != success)
      return;
    serves = library->dnnl_primitive_create(&reorder, reorder_description) == success;
  }
};

namespace {

using Primitive = OnednnConv;

// Primitives by the problem they solve. Never emptied: programs have few different problems.
class Cache {
 public:
  template <class Make>
  const Primitive& get(std::vector<int64_t> key, Make&& make) {
    std::lock_guard lock(mutex_);
    auto& entry = entries_[std::move(key)];
    if (!entry) {
      entry = std::make_unique<Primitive>();
      OneOmpThread one;
      make(*entry);
    }
    return *entry;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::unique_ptr<Primitive>> entries_;
};
Cache& cache() {
  static auto* instance = new Cache;  // never destroyed: the library may be gone by then
  return *instance;
}

// The arguments of one execution, with the stream of this thread.
class Run {
 public:
  Run() {
    thread_local Handle own = nullptr;  // stays as long as the program: threads are few
    if (!own) check(library->dnnl_stream_create(&own, library->engine, in_order));
    stream_ = own;
  }
  ~Run() {
    for (const Argument& a : arguments_) library->dnnl_memory_destroy(a.memory);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void add(int argument, const void* description, const void* data) {
    Handle memory = nullptr;
    check(library->dnnl_memory_create(&memory, description, library->engine, const_cast<void*>(data)));
    arguments_.push_back({argument, memory});
  }
  void execute(const void* primitive) {
    check(library->dnnl_primitive_execute(primitive, stream_, static_cast<int>(arguments_.size()), arguments_.data()));
    check(library->dnnl_stream_wait(stream_));
  }

 private:
  static void check(int status) { SCONCE_CHECK(status == success, "oneDNN failed with status {}", status); }
  Handle stream_;
  std::vector<Argument> arguments_;
};

int type_of(DType dtype) { return dtype == DType::float32 ? f32_type : bf16_type; }

// Strides of dense channels_last memory for [batch, channels, spatial...].
DnnlDims channels_last(const DnnlDims& sizes, int rank) {
  DnnlDims strides{};
  strides[1] = 1;
  int64_t step = sizes[1];
  for (int d = rank - 1; d >= 2; d--) {
    strides[d] = step;
    step *= sizes[d];
  }
  strides[0] = step;
  return strides;
}

void make_convolution(const ConvShape& s, DType dtype, const int64_t* weight_strides, bool with_bias, Primitive& p) {
  const int type = type_of(dtype), rank = s.rank;
  DnnlDims x{1, s.in_channels}, y{1, s.out_channels}, bias{s.out_channels}, unit{1};
  DnnlDims weights{}, weight_steps{}, strides{}, dilations{}, before{}, after{};
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  int d = 0;
  if (s.groups > 1) {
    weights[0] = s.groups;
    weight_steps[0] = out * weight_strides[0];
    d = 1;
  }
  weights[d] = out;
  weights[d + 1] = in;
  weight_steps[d] = weight_strides[0];
  weight_steps[d + 1] = weight_strides[1];
  for (int i = 0; i < rank; i++) {
    x[2 + i] = s.in[i];
    y[2 + i] = s.out[i];
    weights[d + 2 + i] = s.kernel[i];
    weight_steps[d + 2 + i] = weight_strides[2 + i];
    strides[i] = s.stride[i];
    dilations[i] = s.dilation[i] - 1;
    before[i] = s.padding[i];
    const int64_t reach = s.dilation[i] * (s.kernel[i] - 1);  // fits: infer_output
    after[i] = (s.out[i] - 1) * s.stride[i] + reach + 1 - s.in[i] - s.padding[i];
  }
  const DnnlDims x_steps = channels_last(x, rank + 2), y_steps = channels_last(y, rank + 2);
  Description any_weights;
  if (!p.src.set(rank + 2, x, type, &x_steps) || !p.dst.set(rank + 2, y, type, &y_steps) ||
      !p.weights.set(rank + 2 + d, weights, type, &weight_steps) ||
      !any_weights.set(rank + 2 + d, weights, type, nullptr) || (with_bias && !p.bias.set(1, bias, type, &unit)))
    return;
  const void* bias_or_none = with_bias ? p.bias.get() : nullptr;
  if (library->dnnl_dilated_convolution_forward_desc_init) {
    alignas(16) std::byte operation[16384];  // 5976 bytes in 2.6
    p.finish(library->dnnl_dilated_convolution_forward_desc_init(
                 operation, forward_inference, direct_convolution, p.src.get(), any_weights.get(), bias_or_none,
                 p.dst.get(), strides.data(), dilations.data(), before.data(), after.data()) == success &&
             library->dnnl_primitive_desc_create(&p.description, operation, library->attributes, library->engine,
                                                 nullptr) == success);
    return;
  }
  p.finish(library->dnnl_convolution_forward_primitive_desc_create(
               &p.description, library->engine, forward_inference, direct_convolution, p.src.get(), any_weights.get(),
               bias_or_none, p.dst.get(), strides.data(), dilations.data(), before.data(), after.data(),
               library->attributes) == success);
}

void make_product(int type, int64_t m, int64_t n, int64_t k, const DnnlDims& a, const DnnlDims& b, const DnnlDims& c,
                  bool with_bias, Primitive& p) {
  const DnnlDims bias_sizes{1, n}, bias_steps{n, 1};
  if (!p.src.set(2, {m, k}, type, &a) || !p.weights.set(2, {k, n}, type, &b) || !p.dst.set(2, {m, n}, type, &c) ||
      (with_bias && !p.bias.set(2, bias_sizes, type, &bias_steps)))
    return;
  const void* bias = with_bias ? p.bias.get() : nullptr;
  if (library->dnnl_matmul_desc_init) {
    alignas(16) std::byte operation[16384];
    p.finish(library->dnnl_matmul_desc_init(operation, p.src.get(), p.weights.get(), bias, p.dst.get()) == success &&
             library->dnnl_primitive_desc_create(&p.description, operation, library->attributes, library->engine,
                                                 nullptr) == success);
    return;
  }
  p.finish(library->dnnl_matmul_primitive_desc_create(&p.description, library->engine, p.src.get(), p.weights.get(),
                                                      bias, p.dst.get(), library->attributes) == success);
}

}  // namespace

void load_onednn() {
  static Once once;
  once([] { library = open_library(); });
}

namespace {

const Primitive& find_convolution(const ConvShape& shape, DType dtype, const int64_t* weight_strides, bool with_bias) {
  std::vector<int64_t> key = {
      0, static_cast<int64_t>(dtype), with_bias, shape.in_channels, shape.out_channels, shape.groups, shape.rank};
  for (int i = 0; i < shape.rank; i++) {
    for (int64_t v : {shape.in[i], shape.out[i], shape.kernel[i], shape.stride[i], shape.padding[i], shape.dilation[i]})
      key.push_back(v);
  }
  for (int i = 0; i < shape.rank + 2; i++) key.push_back(weight_strides[i]);
  return cache().get(std::move(key),
                     [&](Primitive& made) { make_convolution(shape, dtype, weight_strides, with_bias, made); });
}

int64_t product(const int64_t* sizes, int rank) {
  int64_t result = 1;
  for (int i = 0; i < rank; i++) result *= sizes[i];
  return result;
}

bool may_serve(const ConvShape& shape, DType dtype) {
  return !shape.transposed && (dtype == DType::float32 || dtype == DType::bfloat16) &&
         product(shape.in, shape.rank) * product(shape.out, shape.rank) * shape.in_channels * shape.out_channels != 0;
}

void pack_weights(const Primitive& p, const void* weight, void* packed) {
  Run run;
  run.add(arg_src, p.weights.get(), weight);
  run.add(arg_dst, p.wanted_weights, packed);
  run.execute(p.reorder);
}

void run_images(const Primitive& p, const ConvShape& shape, DType dtype, const void* x, const void* packed,
                const void* bias, void* y) {
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  const int64_t in = product(shape.in, shape.rank) * shape.in_channels * bytes;
  const int64_t out = product(shape.out, shape.rank) * shape.out_channels * bytes;
  parallel_for(shape.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n++) {
      Scratch own;
      Run run;
      run.add(arg_src, p.src.get(), static_cast<const char*>(x) + n * in);
      run.add(arg_weights, p.wanted_weights, packed);
      if (bias) run.add(arg_bias, p.bias.get(), bias);
      run.add(arg_dst, p.dst.get(), static_cast<char*>(y) + n * out);
      if (p.scratch_bytes) run.add(arg_scratchpad, p.scratch, own.take_bytes(p.scratch_bytes));
      run.execute(p.primitive);
    }
  });
}

}  // namespace

bool onednn_convolution(const ConvShape& shape, DType dtype, const void* x, const void* weight,
                        const int64_t* weight_strides, const void* bias, void* y) {
  if (!may_serve(shape, dtype)) return false;
  const Primitive& p = find_convolution(shape, dtype, weight_strides, bias != nullptr);
  if (!p.serves) return false;
  Scratch scratch;
  void* packed = scratch.take_bytes(p.weight_bytes);
  pack_weights(p, weight, packed);
  run_images(p, shape, dtype, x, packed, bias, y);
  return true;
}

const OnednnConv* onednn_plan(const ConvShape& shape, DType dtype) {
  if (!may_serve(shape, dtype)) return nullptr;
  int64_t strides[max_conv_rank + 2], running = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    strides[2 + i] = running;
    running *= shape.kernel[i];
  }
  strides[1] = running;
  strides[0] = running * (shape.in_channels / shape.groups);
  const Primitive& p = find_convolution(shape, dtype, strides, true);
  return p.serves ? &p : nullptr;
}

size_t onednn_packed_bytes(const OnednnConv& plan) { return plan.weight_bytes; }

void onednn_pack(const OnednnConv& plan, const void* weight, void* packed) { pack_weights(plan, weight, packed); }

void onednn_run(const OnednnConv& plan, const ConvShape& shape, DType dtype, const void* x, const void* packed,
                const void* bias, void* y) {
  run_images(plan, shape, dtype, x, packed, bias, y);
}

bool onednn_gemm(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                 const Epilogue& epilogue) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (dtype != DType::float32 && dtype != DType::bfloat16) return false;
  if (epilogue.row_bias || epilogue.scale || epilogue.residual || epilogue.post || epilogue.accumulate ||
      epilogue.lo != -infinity || epilogue.hi != infinity)
    return false;
  // One stride of every matrix must be 1. That of a single row or column does not matter.
  const auto steps = [](int64_t rows, int64_t columns, int64_t row, int64_t column, DnnlDims& out) {
    if (columns == 1) column = 1;
    if (rows == 1) row = column == 1 ? columns : 1;
    if (columns == 1 && row != 1) row = std::max<int64_t>(row, 1);
    out = {row, column};
    return (column == 1 && row >= columns) || (row == 1 && column >= rows);
  };
  DnnlDims a_steps{}, b_steps{}, c_steps{};
  if (m * n * k == 0 || !steps(m, k, a.row_stride, a.column_stride, a_steps) ||
      !steps(k, n, b.row_stride, b.column_stride, b_steps) || !steps(m, n, c.row_stride, c.column_stride, c_steps) ||
      c_steps[1] != 1)
    return false;
  const Primitive& p =
      cache().get({1, static_cast<int64_t>(dtype), epilogue.bias != nullptr, m, n, k, a_steps[0], a_steps[1],
                   b_steps[0], b_steps[1], c_steps[0]},
                  [&](Primitive& made) {
                    make_product(type_of(dtype), m, n, k, a_steps, b_steps, c_steps, epilogue.bias != nullptr, made);
                  });
  if (!p.serves) return false;
  Scratch scratch;
  Run run;
  run.add(arg_src, p.src.get(), a.data);
  run.add(arg_weights, p.weights.get(), b.data);
  if (epilogue.bias) run.add(arg_bias, p.bias.get(), epilogue.bias);
  run.add(arg_dst, p.dst.get(), c.data);
  if (p.scratch_bytes) run.add(arg_scratchpad, p.scratch, scratch.take_bytes(p.scratch_bytes));
  run.execute(p.primitive);
  return true;
}

}  // namespace sconce
