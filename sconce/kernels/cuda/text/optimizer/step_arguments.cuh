// The argument of a step of an optimiser over several parameters, on both sides: numbers differ from one to the next.
struct StepArguments {
  void* data[5][16];  // parameters, gradients, and what the optimiser keeps
  i64 size[16];
  u32 first_block[17];
  int count, maximize;
  f64 weight_decay;
  f64 number[16][8];
  const float *scale, *found_inf;  // of a gradient scaler; null where there is none
};
