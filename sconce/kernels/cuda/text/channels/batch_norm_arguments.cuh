// The argument of batch norm's kernels, on both sides.
struct BatchNormArguments {
  const void *grad, *input;
  void* out;                            // the result, or the gradient of the input
  const void *weight, *bias;            // as parameters are (W), or null
  void *mean, *invstd;                  // of the batch (S): statistics write them, others read
  void *running_mean, *running_var;     // statistics: (R), or null
  void *of_weight, *of_bias;            // gradients: (W), or null
  void* factors;                        // gradients: three numbers (V) for each channel
  void* partial;                        // two (V) for each split and channel
  u32* counters;
  i64 rows, places, chunk;  // channels first: pictures, their places; last: both in rows. chunk: packs or rows of a split
  u32 channels, splits;
  f64 count, momentum, eps;
};
