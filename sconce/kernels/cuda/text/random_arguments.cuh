// The argument of random kernels, on both sides.
struct RandomArguments {
  void* out;         // dense, `count` elements
  const void* each;  // a probability for every element, or null
  void* word;        // ErrorWord, for probabilities that are not in [0, 1]
  int number;        // of the operator, for it
  u64 count;
  u64 seed, counter;  // of Philox
  f64 a, b;           // parameters of the distribution: struct Draw
  i64 base;           // integers: base + word mod range; range 0 is 2^64
  u64 range;
};
