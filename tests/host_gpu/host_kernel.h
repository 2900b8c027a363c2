// What stands before a kernel's text when it is compiled as C++ (host_compiler.cpp): CUDA's words, threads that are fibers of
// the stand-in for the driver, and the C library's functions under the names that CUDA has. No standard header is included:
// texts define parts of namespace std themselves.
#define SCONCE_ON_HOST
#define __device__
#define __forceinline__ inline
#define __global__ __attribute__((visibility("default")))
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

struct HostIndex {
  unsigned x, y, z;
};
struct HostThreads {
  HostIndex thread, block, block_size, grid;
  unsigned lane;                                // of the warp
  void (*barrier)();                            // of the block
  const unsigned* (*exchange)(unsigned value);  // what each of the 32 lanes gave
  unsigned (*live_lanes)();
};
extern "C" {
__attribute__((visibility("default"))) HostThreads* sconce_host_threads;
}
#define threadIdx (sconce_host_threads->thread)
#define blockIdx (sconce_host_threads->block)
#define blockDim (sconce_host_threads->block_size)
#define gridDim (sconce_host_threads->grid)

inline void __syncthreads() { sconce_host_threads->barrier(); }
inline void __syncwarp(unsigned = 0) { sconce_host_threads->exchange(0); }
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __threadfence_block() {}
template <class T>
T host_shuffle(T x, unsigned lane) {
  static_assert(sizeof(T) == 4, "shuffles of the stand-in are of words");
  unsigned word;
  __builtin_memcpy(&word, &x, 4);
  word = sconce_host_threads->exchange(word)[lane & 31];
  __builtin_memcpy(&x, &word, 4);
  return x;
}
template <class T>
T __shfl_xor_sync(unsigned, T x, int lanes) {
  return host_shuffle(x, sconce_host_threads->lane ^ unsigned(lanes));
}
template <class T>
T __shfl_sync(unsigned, T x, int lane) {
  return host_shuffle(x, unsigned(lane));
}
template <class T>
T __shfl_up_sync(unsigned, T x, unsigned by) {
  const unsigned lane = sconce_host_threads->lane;
  return host_shuffle(x, lane < by ? lane : lane - by);
}
template <class T>
T __shfl_down_sync(unsigned, T x, unsigned by) {
  const unsigned lane = sconce_host_threads->lane;
  return host_shuffle(x, lane + by > 31 ? lane : lane + by);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  const unsigned* all = sconce_host_threads->exchange(predicate != 0);
  const unsigned live = sconce_host_threads->live_lanes();
  unsigned mask = 0;
  for (int i = 0; i < 32; ++i) mask |= (live >> i & 1 & unsigned(all[i] != 0)) << i;
  return mask;
}
inline int __any_sync(unsigned m, int predicate) { return __ballot_sync(m, predicate) != 0; }
inline int __all_sync(unsigned m, int predicate) { return __ballot_sync(m, !predicate) == 0; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }

// Blocks run one after the other, fibers of a block in turn: nothing happens at the same time.
template <class T>
T host_exchange(T* at, T value) {
  const T old = *at;
  *at = value;
  return old;
}
template <class T, class S>
T atomicAdd(T* at, S x) {
  return host_exchange(at, T(*at + T(x)));
}
template <class T, class S>
T atomicMax(T* at, S x) {
  return host_exchange(at, *at < T(x) ? T(x) : *at);
}
template <class T, class S>
T atomicMin(T* at, S x) {
  return host_exchange(at, T(x) < *at ? T(x) : *at);
}
template <class T, class S>
T atomicOr(T* at, S x) {
  return host_exchange(at, T(*at | T(x)));
}
template <class T, class S>
T atomicExch(T* at, S x) {
  return host_exchange(at, T(x));
}
template <class T, class C, class S>
T atomicCAS(T* at, C compare, S x) {
  return host_exchange(at, *at == T(compare) ? T(x) : *at);
}
template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}

extern "C" {
void* memcpy(void*, const void*, unsigned long);
void* memset(void*, int, unsigned long);
int printf(const char*, ...);
#define HOST_1(name)   \
  double name(double); \
  float name##f(float);
HOST_1(exp)
// clang-format off
HOST_1(exp2) HOST_1(expm1) HOST_1(log) HOST_1(log2) HOST_1(log10) HOST_1(log1p) HOST_1(sqrt) HOST_1(sin) HOST_1(cos)
HOST_1(tan) HOST_1(asin) HOST_1(acos) HOST_1(atan) HOST_1(sinh) HOST_1(cosh) HOST_1(tanh) HOST_1(asinh)
HOST_1(acosh) HOST_1(atanh) HOST_1(erf) HOST_1(erfc) HOST_1(floor) HOST_1(ceil) HOST_1(trunc) HOST_1(rint)
HOST_1(fabs) HOST_1(lgamma) HOST_1(tgamma) HOST_1(cbrt)
// clang-format on
#define HOST_2(name)           \
  double name(double, double); \
  float name##f(float, float);
    // clang-format off
HOST_2(atan2) HOST_2(hypot) HOST_2(pow) HOST_2(fmod) HOST_2(copysign) HOST_2(fmin)
HOST_2(fmax) double fma(double, double, double);
// clang-format on
float fmaf(float, float, float);
double frexp(double, int*);
float frexpf(float, int*);
}
#define HOST_FLOAT(name) \
  inline float name(float x) { return name##f(x); }
HOST_FLOAT(exp)
// clang-format off
HOST_FLOAT(log) HOST_FLOAT(sqrt) HOST_FLOAT(sin) HOST_FLOAT(cos) HOST_FLOAT(tan) HOST_FLOAT(floor) HOST_FLOAT(ceil)
HOST_FLOAT(trunc) HOST_FLOAT(fabs) HOST_FLOAT(cosh) HOST_FLOAT(sinh) HOST_FLOAT(acosh) HOST_FLOAT(acos)
HOST_FLOAT(expm1) HOST_FLOAT(log1p) HOST_FLOAT(erfc)
HOST_FLOAT(tgamma) inline float copysign(float x, float y) {
  // clang-format on
  return copysignf(x, y);
}
inline float pow(float x, float y) { return powf(x, y); }
inline float fmod(float x, float y) { return fmodf(x, y); }
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float fmin(float x, float y) { return fminf(x, y); }
inline float fmax(float x, float y) { return fmaxf(x, y); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float __fdividef(float x, float y) { return x / y; }
using size_t = decltype(sizeof(0));
using int64_t = long;
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
