// The argument of kernels over windows of pictures, on both sides. Three dimensions, the first ones of size 1 where a picture
// has fewer.
struct WindowArguments {
  const void* in;
  void* out;
  void* index;  // pools: i64
  i64 elements;
  i64 channels;  // of all pictures: batch times channels
  i64 size[3], out_size[3], kernel[3], stride[3], pad[3], dilation[3];
  i64 divisor;  // average: 0 counts elements
  int count_padding;
};
