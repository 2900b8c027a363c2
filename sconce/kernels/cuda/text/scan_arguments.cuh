// The argument of cumulative kernels, on both sides: `rows` lines of `count` adjacent elements.
struct ScanArguments {
  const void* in;
  void* out;
  void* index;    // cummax, cummin: where the element stands
  void* partial;  // State[rows][chunks]
  i64 count, chunk;
  u32 chunks;
};
