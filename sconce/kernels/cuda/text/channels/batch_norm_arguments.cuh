// The argument of batch norm's kernels, on both sides. Numbers of a channel are of the compute type V unless said otherwise.
struct BatchNormArguments {
  const void *grad, *input;
  const void *weight, *bias;                       // as parameters are (W), or null
  const void *mean, *invstd;                       // gradients: of the batch
  void *save_mean, *save_invstd, *scale, *shift;   // statistics: written
  void *running_mean, *running_var;                // statistics: (R), or null
  void *of_input, *of_weight, *of_bias;            // gradients: (T, W, W), or null
  void* factors;                                   // gradients: three numbers for each channel
  void* partial;                                   // two for each split and channel
  u32* counters;
  i64 rows, places, chunk;  // channels first: pictures, their places; last: both in rows. chunk: packs or rows of a split
  u32 channels, splits;
  f64 count, momentum, eps;
};
