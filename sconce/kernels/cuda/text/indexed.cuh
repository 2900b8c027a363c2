// Elements by index: gather, index_select, index (READ), and scatter, index_add, index_put. What stands above: T the type of an
// element, I that of an index, INDICES their number, WRAPS whether negative ones count from the end; Join for what combines.
extern "C" __global__ void __launch_bounds__(256) indexed(const __grid_constant__ IndexedArguments a) {
  for (i64 n = i64(blockIdx.x) * 256 + threadIdx.x; n < a.elements; n += i64(gridDim.x) * 256) {
    i64 left = n, value_at = 0, self_at = 0, index_at[INDICES];
#pragma unroll
    for (int k = 0; k < INDICES; ++k) index_at[k] = 0;
    for (int d = 0; d < a.rank; ++d) {
      i64 q;
      if (d + 1 == a.rank) q = 0;
      else if (left >> 31) q = left / a.size[d];
      else q = (__umulhi(u32(left), a.magic[d]) + u32(left)) >> a.shift[d];
      const i64 digit = left - q * a.size[d];
      left = q;
      value_at += digit * a.value_stride[d];
      self_at += digit * a.self_stride[d];
#pragma unroll
      for (int k = 0; k < INDICES; ++k) index_at[k] += digit * a.index_stride[k][d];
    }
#pragma unroll
    for (int k = 0; k < INDICES; ++k) {
      const i64 i = static_cast<const I*>(a.index[k])[index_at[k]];
      self_at += checked_index(i, a.extent[k], WRAPS, a.word, a.number) * a.extent_stride[k];
    }
#ifdef READ
    static_cast<T*>(a.values)[value_at] = static_cast<const T*>(a.self)[self_at];
#else
    const T value = a.on_host ? *reinterpret_cast<const T*>(a.element) : static_cast<const T*>(a.values)[value_at];
#ifdef ASSIGN
    static_cast<T*>(a.self)[self_at] = value;
#else
    atomic_combine<Join>(static_cast<T*>(a.self) + self_at, value);
#endif
#endif
  }
}
