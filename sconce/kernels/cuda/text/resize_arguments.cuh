// The argument of resized pictures, on both sides: three dimensions, the first ones of size 1 where a picture has fewer.
struct ResizeArguments {
  const void* in;
  void* out;
  i64 elements;
  i64 size[3], out_size[3];  // of the picture, and of the resized one
  f64 scale[3];              // pixels of the picture for each of the resized one
  int align_corners;
};
