// The coordinates of each element that is not 0, behind those of the elements before it.
extern "C" __global__ void __launch_bounds__(256) places(const __grid_constant__ PlacesArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.elements || static_cast<const u8*>(a.mask)[n] == 0) return;
  const i64 at = a.sums[n] - 1;
  i64 left = n;
  for (int d = 0; d < a.rank; ++d) {
    const i64 q = left / a.size[d];
    a.out[(a.rank - 1 - d) * a.count + at] = left - q * a.size[d];
    left = q;
  }
}
