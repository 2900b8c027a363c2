// The argument of a step of an optimiser over several parameters, on both sides.
struct OptimizerArguments {
  void* data[5][24];  // parameters, gradients, and what the optimiser keeps
  const float* step[24];  // null where the host has it
  f64 step_number[24];
  i64 size[24];
  u32 first_block[25];
  int count;
  int maximize, decoupled, nesterov, has_buffer, first;
  f64 lr, beta1, beta2, eps, weight_decay, momentum, dampening;
  const float *scale, *found_inf;  // of a gradient scaler; null where there is none
};
