// The argument of draws whose parameters are tensors, on both sides.
struct SamplingArguments {
  void* out;
  const void *a, *b;  // parameters: rates, counts and probabilities, or sorted keys
  i64 count;          // elements
  i64 categories, samples;
  u64 seed, counter;  // of Philox
  u64 mask;
};
