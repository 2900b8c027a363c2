// Copies of bytes between places that do not overlap: block y makes copy y with as many blocks as there are along x.
extern "C" __global__ void __launch_bounds__(256) copies(const __grid_constant__ CopyArguments a) {
  DEPENDENT_START
  const u8* from = static_cast<const u8*>(a.from[blockIdx.y]);
  u8* to = static_cast<u8*>(a.to[blockIdx.y]);
  const i64 bytes = a.bytes[blockIdx.y], step = i64(gridDim.x) * 256;
  i64 done = 0;
  if ((u64(from) | u64(to)) % 16 == 0) {
    const i64 packs = bytes / 16;
    for (i64 at = i64(blockIdx.x) * 256 + threadIdx.x; at < packs; at += step)
      reinterpret_cast<u128*>(to)[at] = reinterpret_cast<const u128*>(from)[at];
    done = packs * 16;
  }
  for (i64 at = done + i64(blockIdx.x) * 256 + threadIdx.x; at < bytes; at += step) to[at] = from[at];
}
