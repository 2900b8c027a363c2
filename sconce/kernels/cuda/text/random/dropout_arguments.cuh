// The argument of dropout, on both sides: dense tensors of one order.
struct DropoutArguments {
  const void* in;
  void* out;
  void* mask;  // b8
  i64 count;
  float keeps;  // probability
  u64 seed, counter;
};
