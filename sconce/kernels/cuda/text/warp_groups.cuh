// Products of a warp group on Hopper's tensor cores (wgmma): 64 rows by 128 columns (or 64) by 16, of matrices in shared memory;
// the first may be in registers. They run beside what follows them, until they are waited for. A group is 4 warps, each with 16
// of the rows; results lie as those of mma do. T is f16 or bf16. Needs sm_90a. On the host a warp multiplies at once.
//
// Matrices in shared memory are made of blocks of 8 lines of 128 bytes, whose chunks of 16 bytes are exchanged by the line's number
// (chunk ^ line % 8); the room begins at a multiple of 1,024 bytes. Lines may be those of the sum (64 of its elements) or, for the second
// matrix, of the result's columns.
constexpr int kLineBytes = 128, kBlockBytes = 8 * kLineBytes;
HOT char* swizzled(char* matrix, int line, int chunk) { return matrix + line * kLineBytes + (chunk ^ (line & 7)) * 16; }
#ifdef SCONCE_ON_HOST
#define GROUP_ROOM(name, bytes) alignas(1024) static char name[bytes]
struct MatrixAt { const char* start; int beside; };
// `beside`: bytes from one set of 64 columns to the next.
inline MatrixAt matrix_at(const void* start, int beside = 0) { return {static_cast<const char*>(start), beside}; }
inline MatrixAt moved(MatrixAt m, int bytes) { return {m.start + bytes, m.beside}; }
inline float matrix_element(MatrixAt m, bool by_columns, int outer, int k) {
  u64 at = reinterpret_cast<u64>(m.start);
  at += by_columns ? outer / 64 * m.beside + k / 8 * kBlockBytes + k % 8 * kLineBytes + outer % 64 * 2 : outer / 8 * kBlockBytes + outer % 8 * kLineBytes + k * 2;
  at ^= (at >> 7 & 7) << 4;
  return widen(*reinterpret_cast<const T*>(at));
}
inline void group_fence() {}
inline void group_commit() {}
inline void shared_fence() {}
template <int left, int N> inline void group_wait(float (&)[N][4]) {}
template <int N> inline void group_multiply(float (&c)[N][4], MatrixAt a, MatrixAt b, bool adds) {
  const int lane = int(sconce_host_threads->lane), warp = int(threadIdx.x) / 32 % 4;
  for (int n = 0; n < N; ++n)
    for (int i = 0; i < 4; ++i) {
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += matrix_element(a, false, warp * 16 + lane / 4 + i / 2 * 8, k) * matrix_element(b, false, n * 8 + lane % 4 * 2 + i % 2, k);
      c[n][i] = adds ? c[n][i] + sum : sum;
    }
}
template <int N> inline void group_multiply_columns(float (&c)[N][4], const u32 (&a)[4], MatrixAt b) {
  u32 as[4][32];
  for (int i = 0; i < 4; ++i) { const unsigned* all = sconce_host_threads->exchange(a[i]); for (int l = 0; l < 32; ++l) as[i][l] = all[l]; }
  const int lane = int(sconce_host_threads->lane);
  for (int n = 0; n < N; ++n)
    for (int i = 0; i < 4; ++i) {
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += host_element(as[i / 2 + k / 8 * 2][lane / 4 * 4 + k % 8 / 2], k % 2) * matrix_element(b, true, n * 8 + lane % 4 * 2 + i % 2, k);
      c[n][i] += sum;
    }
}
#else
#define GROUP_ROOM(name, bytes) alignas(1024) extern __shared__ char name[]
using MatrixAt = u64;  // a matrix descriptor
HOT MatrixAt matrix_at(const void* start, int beside = 0) {
  return u64(shared_address(start) >> 4 & 0x3fff) | u64(beside >> 4) << 16 | u64(kBlockBytes >> 4) << 32 | 1ull << 62;
}
HOT MatrixAt moved(MatrixAt m, int bytes) { return m + (bytes >> 4); }
// Registers that were written are ready for the products that follow.
HOT void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
HOT void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// What this thread wrote to shared memory can be seen by products after the next barrier.
HOT void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// All commits but the last `left` are done, those of c among them.
template <int left, int N> HOT void group_wait(float (&c)[N][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[n][i])::"memory");
}
#define GROUP_4(n) "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
#define GROUP_32 GROUP_4(0), GROUP_4(1), GROUP_4(2), GROUP_4(3), GROUP_4(4), GROUP_4(5), GROUP_4(6), GROUP_4(7)
#define GROUP_64 GROUP_32, GROUP_4(8), GROUP_4(9), GROUP_4(10), GROUP_4(11), GROUP_4(12), GROUP_4(13), GROUP_4(14), GROUP_4(15)
#define NAMES_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_64 NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// c = a b, or c += a b: N times 8 columns.
#define GROUP_PRODUCT(type) \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;}" \
               : GROUP_64 : "l"(a), "l"(b), "r"(int(adds)))
HOT void group_multiply(float (&c)[16][4], MatrixAt a, MatrixAt b, bool adds) {
  if constexpr (same<T, bf16>) GROUP_PRODUCT("bf16"); else GROUP_PRODUCT("f16");
}
#undef GROUP_PRODUCT
// c += a b, where the lines of b are the result's columns.
#define GROUP_PRODUCT(type, width, names, results, a0, a1, a2, a3, at) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" width "k16.f32." type "." type " {" names "}, {" a0 "," a1 "," a2 "," a3 "}, " at ", 1, 1, 1, 1;" \
               : results : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define GROUP_WIDE(type) GROUP_PRODUCT(type, "128", NAMES_64, GROUP_64, "%64", "%65", "%66", "%67", "%68")
#define GROUP_NARROW(type) GROUP_PRODUCT(type, "64", NAMES_32, GROUP_32, "%32", "%33", "%34", "%35", "%36")
template <int N> HOT void group_multiply_columns(float (&c)[N][4], const u32 (&a)[4], MatrixAt b) {
  if constexpr (N == 16) {
    if constexpr (same<T, bf16>) GROUP_WIDE("bf16"); else GROUP_WIDE("f16");
  } else {
    if constexpr (same<T, bf16>) GROUP_NARROW("bf16"); else GROUP_NARROW("f16");
  }
}
#endif
