// Products of a warp on tensor cores (mma.sync m16n8k16), matrices of 8 x 8 from shared memory to its registers (ldmatrix), and
// copies to shared memory that do not wait (cp.async). T is f16 or bf16. On the host, lanes exchange what they have.
#ifdef SCONCE_ON_HOST
#define SHARED_ROOM(name, bytes) alignas(16) static char name[bytes]
inline void cp_async(void* to, const void* from, bool there) {
  if (there) memcpy(to, from, 16); else memset(to, 0, 16);
}
inline void cp_commit() {}
template <int left> inline void cp_wait() {}
template <bool transposed> inline void load_matrices(u32 (&r)[4], const void* row) {
  const u64 address = reinterpret_cast<u64>(row);
  u64 rows[32];
  const unsigned* low = sconce_host_threads->exchange(u32(address));
  for (int i = 0; i < 32; ++i) rows[i] = low[i];
  const unsigned* high = sconce_host_threads->exchange(u32(address >> 32));
  for (int i = 0; i < 32; ++i) rows[i] |= u64(high[i]) << 32;
  const unsigned lane = sconce_host_threads->lane;
  for (int m = 0; m < 4; ++m) {
    u16 pair[2];
    for (int e = 0; e < 2; ++e) {
      const unsigned at_row = transposed ? lane % 4 * 2 + e : lane / 4, at_column = transposed ? lane / 4 : lane % 4 * 2 + e;
      pair[e] = reinterpret_cast<const u16*>(rows[m * 8 + at_row])[at_column];
    }
    r[m] = pair[0] | u32(pair[1]) << 16;
  }
}
inline float host_element(u32 word, int which) { T x; x.bits = u16(word >> (16 * which)); return widen(x); }
inline void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  u32 as[4][32], bs[2][32];
  for (int i = 0; i < 4; ++i) { const unsigned* all = sconce_host_threads->exchange(a[i]); for (int l = 0; l < 32; ++l) as[i][l] = all[l]; }
  for (int i = 0; i < 2; ++i) { const unsigned* all = sconce_host_threads->exchange(i ? b1 : b0); for (int l = 0; l < 32; ++l) bs[i][l] = all[l]; }
  const unsigned lane = sconce_host_threads->lane;
  for (int i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + i % 2;
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k) {
      const u32 x = as[(i / 2) + (k / 8) * 2][row * 4 + k % 8 / 2], y = bs[k / 8][column * 4 + k % 8 / 2];
      sum += host_element(x, k % 2) * host_element(y, k % 2);
    }
    c[i] += sum;
  }
}
using SharedAt = const char*;
inline SharedAt shared_at(const void* p) { return static_cast<const char*>(p); }
template <bool transposed> inline void load_at(u32 (&r)[4], SharedAt row) { load_matrices<transposed>(r, row); }
#else
#define SHARED_ROOM(name, bytes) extern __shared__ char name[]
HOT u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }
// A place in shared memory in one register: constants added to it cost nothing.
using SharedAt = u32;
HOT SharedAt shared_at(const void* p) { return shared_address(p); }
template <bool transposed> HOT void load_at(u32 (&r)[4], SharedAt row) {
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}
HOT void cp_async(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0));
}
HOT void cp_commit() { asm volatile("cp.async.commit_group;"); }
template <int left> HOT void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(left)); }
template <bool transposed> HOT void load_matrices(u32 (&r)[4], const void* row) { load_at<transposed>(r, shared_at(row)); }
HOT void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (same<T, bf16>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif
#ifdef SCONCE_ON_HOST
inline u32 packed(float low, float high) { return u32(as<T>(low).bits) | u32(as<T>(high).bits) << 16; }
inline float power_of_two(float x) { return exp2f(x); }
#else
HOT u32 packed(float low, float high) {
  u32 r;
  if constexpr (same<T, bf16>) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
HOT float power_of_two(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
#endif
