// One pointwise operator over strided operands. What stands above, written by the host for each text:
//   INPUTS(X)     X(0) X(1) ...            In0, In1, ... the types of the operands in memory, Out that of the result
//   element(x0, x1, ..., a)                the result of one element
//   WIDTH         elements of a pack       UNROLL   packs of a thread       Index   u32, or u64 for huge tensors
//   WHOLE         no pack has fewer than WIDTH elements
//   TILE, ACROSS(X), ALONG(X)              for `across`: inputs that run across the lines of the result, and the others
//   DENSE         for `dense`
constexpr int kThreads = 256;

#ifdef DENSE
// Dense operands of one order: a tile is UNROLL packs of each thread, all read before the first is written.
#define DECLARE(k) Pack<In##k, WIDTH> x##k[UNROLL];
#define READ(k) x##k[u] = read<WIDTH>(static_cast<const In##k*>(a.data[k + 1]) + at);
#define ELEMENT(k) x##k[u].v[i],
#define SINGLE(k) static_cast<const In##k*>(a.data[k + 1])[i],
extern "C" __global__ void __launch_bounds__(kThreads) dense(const __grid_constant__ DenseArguments a) {
  DEPENDENT_START
  constexpr i64 kTile = i64(kThreads) * UNROLL * WIDTH;
  const i64 tile = i64(blockIdx.x) * kTile;
  Out* out = static_cast<Out*>(a.data[0]);
  if (tile + kTile <= a.elements) {
    INPUTS(DECLARE)
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const i64 at = tile + i64(u * kThreads + threadIdx.x) * WIDTH;
      INPUTS(READ)
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      Pack<Out, WIDTH> r;
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) r.v[i] = element(INPUTS(ELEMENT) a);
      write<WIDTH>(out + tile + i64(u * kThreads + threadIdx.x) * WIDTH, r);
    }
  } else {
    for (i64 i = tile + threadIdx.x; i < a.elements; i += kThreads) out[i] = element(INPUTS(SINGLE) a);
  }
}
#else

template <class T> HOT void gather(Pack<T, WIDTH>& x, const void* data, i64 at, i64 stride, int count) {
  const T* p = static_cast<const T*>(data) + at;
  if (stride == 1 && count == WIDTH) {
    x = read<WIDTH>(p);
  } else if (stride == 0) {
    const T e = *p;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x.v[i] = e;
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      if (i < count) x.v[i] = p[i * stride];
  }
}
template <class T> HOT void repeat(Pack<T, WIDTH>& x, const u8* element) {
  const T e = *reinterpret_cast<const T*>(element);
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) x.v[i] = e;
}
HOT Index quotient(const PointwiseArguments& a, Index n, int d) {
  if constexpr (sizeof(Index) == 4) return (__umulhi(n, a.magic[d]) + n) >> a.shift[d];
  return n / a.size[d];
}

#define DECLARE(k) Pack<In##k, WIDTH> x##k[UNROLL];
#define START(k) i64 at##k = 0;
#define STEP(k) at##k += digit * a.stride[k + 1][d];
#define GATHER(k) \
  if (a.on_host >> k & 1) repeat(x##k[u], a.element[k]); \
  else gather(x##k[u], a.data[k + 1], at##k, a.stride[k + 1][0], count);
#define ELEMENT(k) x##k[u].v[i],

// A thread computes WIDTH elements of one line, UNROLL times: all are read before the first is written. An input's pack is
// one load (inner stride 1), one element (0), or WIDTH of them.
#ifndef TILE
extern "C" __global__ void __launch_bounds__(kThreads) pointwise(const __grid_constant__ PointwiseArguments a) {
  const Index first = Index(blockIdx.x) * (kThreads * UNROLL) + threadIdx.x;
  INPUTS(DECLARE)
  i64 at[UNROLL];
  int counts[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    // Packs that are not there read the last one: without branches all reads are on their way at once.
    const Index wanted = first + u * kThreads, last = Index(a.packs) - 1, p = WHOLE && wanted > last ? last : wanted;
    counts[u] = 0;
    if (!WHOLE && p > last) continue;
    const i64 rest = a.elements - i64(p) * WIDTH;
    const int count = WHOLE || rest >= WIDTH ? WIDTH : int(rest);
    Index left = p;
    i64 at_out = 0;
    INPUTS(START)
    for (int d = 0; d < a.rank; ++d) {
      const Index q = d + 1 == a.rank ? 0 : quotient(a, left, d);
      const i64 digit = i64(left - q * a.size[d]) * (d == 0 ? WIDTH : 1);
      left = q;
      at_out += digit * a.stride[0][d];
      INPUTS(STEP)
    }
    INPUTS(GATHER)
    at[u] = at_out;
    counts[u] = wanted > last ? 0 : count;
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    if (counts[u] == 0) continue;
    Out* out = static_cast<Out*>(a.data[0]) + at[u];
    Pack<Out, WIDTH> r;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      if (WHOLE || i < counts[u]) r.v[i] = element(INPUTS(ELEMENT) a);
    if (a.stride[0][0] == 1 && (WHOLE || counts[u] == WIDTH)) {
      write<WIDTH>(out, r);
    } else {
#pragma unroll
      for (int i = 0; i < WIDTH; ++i)
        if (WHOLE || i < counts[u]) out[i * a.stride[0][0]] = r.v[i];
    }
  }
}
#else
// Inputs whose unit stride is dimension 1, where the result's is dimension 0: tiles of both dimensions go through shared
// memory, so that reads and writes are lines. WIDTH is 4 here.
template <class T> struct Tile { T v[TILE][TILE + 1]; };
#define SHARED(k) __shared__ Tile<In##k> tile##k;
#define OUTER(k) at##k += i64(digit) * a.stride[k + 1][d];
#define FILL_PACK(k) { \
  const Pack<In##k, 4> b = read<4>(static_cast<const In##k*>(a.data[k + 1]) + at##k + i64(c0 + y + n) * a.stride[k + 1][0] + r0 + x); \
  _Pragma("unroll") for (int i = 0; i < 4; ++i) tile##k.v[y + n][x + i] = b.v[i]; }
#define FILL_ONE(k) if (r0 + tx < a.rows && c0 + ty < a.columns) \
  tile##k.v[ty][tx] = static_cast<const In##k*>(a.data[k + 1])[at##k + i64(c0 + ty) * a.stride[k + 1][0] + i64(r0 + tx) * a.stride[k + 1][1]];
#define ALONG_PACK(k) Pack<In##k, WIDTH> along##k; \
  if (a.on_host >> k & 1) repeat(along##k, a.element[k]); \
  else gather(along##k, a.data[k + 1], at##k + i64(r0 + y + n) * a.stride[k + 1][1] + i64(c0 + x) * a.stride[k + 1][0], a.stride[k + 1][0], 4);
#define ACROSS_PACK(k) Pack<In##k, WIDTH> along##k; _Pragma("unroll") for (int i = 0; i < 4; ++i) along##k.v[i] = tile##k.v[x + i][y + n];
#define ALONG_ONE(k) const In##k one##k = a.on_host >> k & 1 ? *reinterpret_cast<const In##k*>(a.element[k]) \
  : static_cast<const In##k*>(a.data[k + 1])[at##k + i64(r0 + ty) * a.stride[k + 1][1] + i64(c0 + tx) * a.stride[k + 1][0]];
#define ACROSS_ONE(k) const In##k one##k = tile##k.v[tx][ty];
#define OF_PACK(k) along##k.v[i],
#define OF_ONE(k) one##k,
extern "C" __global__ void __launch_bounds__(kThreads) across(const __grid_constant__ PointwiseArguments a) {
  ACROSS(SHARED)
  u32 left = blockIdx.x;
  const u32 c0 = left % a.column_tiles * TILE;
  left /= a.column_tiles;
  const u32 r0 = left % a.row_tiles * TILE;
  left /= a.row_tiles;
  i64 at_out = 0;
  INPUTS(START)
  for (int d = 2; d < a.rank; ++d) {
    const u32 q = left / a.size[d], digit = left - q * a.size[d];
    left = q;
    at_out += i64(digit) * a.stride[0][d];
    INPUTS(OUTER)
  }
  Out* out = static_cast<Out*>(a.data[0]) + at_out;
  if (a.packed && c0 + TILE <= a.columns && r0 + TILE <= a.rows) {
    constexpr int kAcross = TILE / 4, kDown = kThreads / kAcross;
    const u32 x = threadIdx.x % kAcross * 4, y = threadIdx.x / kAcross;
#pragma unroll
    for (int n = 0; n < TILE; n += kDown) { ACROSS(FILL_PACK) }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < TILE; n += kDown) {
      ALONG(ALONG_PACK)
      ACROSS(ACROSS_PACK)
      Pack<Out, WIDTH> r;
#pragma unroll
      for (int i = 0; i < 4; ++i) r.v[i] = element(INPUTS(OF_PACK) a);
      write<4>(out + i64(r0 + y + n) * a.stride[0][1] + c0 + x, r);
    }
    return;
  }
  for (u32 t = threadIdx.x; t < TILE * TILE; t += kThreads) {
    const u32 tx = t % TILE, ty = t / TILE;
    ACROSS(FILL_ONE)
  }
  __syncthreads();
  for (u32 t = threadIdx.x; t < TILE * TILE; t += kThreads) {
    const u32 tx = t % TILE, ty = t / TILE;
    if (c0 + tx >= a.columns || r0 + ty >= a.rows) continue;
    ALONG(ALONG_ONE)
    ACROSS(ACROSS_ONE)
    out[i64(r0 + ty) * a.stride[0][1] + i64(c0 + tx) * a.stride[0][0]] = element(INPUTS(OF_ONE) a);
  }
}
#endif
#endif
