// Windows of pictures [channels, size...]. What stands above: T in memory, V to compute in, I for the places of max pools (i32 where
// they fit, else i64), and one of
//   TO_COLUMNS     out [channels, kernel, out_size]: the elements of each window, 0 outside of the picture
//   FROM_COLUMNS   the sum of what the windows say about each element of the picture
//   MAX_POOL, MAX_POOL_BACKWARD, AVERAGE_POOL, AVERAGE_POOL_BACKWARD, ADAPTIVE_POOL, ADAPTIVE_POOL_BACKWARD
#define EACH_ELEMENT const i64 n = i64(blockIdx.x) * 256 + threadIdx.x; if (n >= a.elements) return; i64 left = n;
#define WINDOW_ENTRY(name) extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ WindowArguments a)
// Of numbers that are not negative: in 32 bits where they fit, a tenth of the instructions.
DEVICE i64 quotient(i64 n, i64 size) { return (n | size) >> 31 ? n / size : i64(u32(n) / u32(size)); }
DEVICE i32 quotient(i32 n, i32 size) { return i32(u32(n) / u32(size)); }
template <class N> DEVICE N take_digit(N& left, N size) {
  const N q = quotient(left, size);
  const N digit = left - q * size;
  left = q;
  return digit;
}

#ifdef TO_COLUMNS
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 o[3], k[3];
  for (int d = 2; d >= 0; --d) o[d] = take_digit(left, a.out_size[d]);
  for (int d = 2; d >= 0; --d) k[d] = take_digit(left, a.kernel[d]);
  i64 at = left;
  bool inside = true;
  for (int d = 0; d < 3; ++d) {
    const i64 i = o[d] * a.stride[d] - a.pad[d] + k[d] * a.dilation[d];
    inside &= i >= 0 && i < a.size[d];
    at = at * a.size[d] + i;
  }
  static_cast<T*>(a.out)[n] = inside ? static_cast<const T*>(a.in)[at] : as<T>(V(0));
}
#endif

#ifdef FROM_COLUMNS
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 i[3];
  for (int d = 2; d >= 0; --d) i[d] = take_digit(left, a.size[d]);
  const T* in = static_cast<const T*>(a.in) + left * (a.kernel[0] * a.kernel[1] * a.kernel[2] * a.out_size[0] * a.out_size[1] * a.out_size[2]);
  V sum = V(0);
  i64 o[3];
  for (i64 kd = 0; kd < a.kernel[0]; ++kd) {
    i64 from = i[0] + a.pad[0] - kd * a.dilation[0];
    if (from < 0 || from % a.stride[0] != 0 || (o[0] = from / a.stride[0]) >= a.out_size[0]) continue;
    for (i64 kh = 0; kh < a.kernel[1]; ++kh) {
      from = i[1] + a.pad[1] - kh * a.dilation[1];
      if (from < 0 || from % a.stride[1] != 0 || (o[1] = from / a.stride[1]) >= a.out_size[1]) continue;
      for (i64 kw = 0; kw < a.kernel[2]; ++kw) {
        from = i[2] + a.pad[2] - kw * a.dilation[2];
        if (from < 0 || from % a.stride[2] != 0 || (o[2] = from / a.stride[2]) >= a.out_size[2]) continue;
        const i64 k = (kd * a.kernel[1] + kh) * a.kernel[2] + kw;
        sum = sum + as<V>(in[((k * a.out_size[0] + o[0]) * a.out_size[1] + o[1]) * a.out_size[2] + o[2]]);
      }
    }
  }
  static_cast<T*>(a.out)[n] = as<T>(sum);
}
#endif

#ifdef MAX_POOL
// The largest of each window and its place in the picture; of equal ones the first, NaN over everything.
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  I rest = I(left), start[3], end[3];
  for (int d = 2; d >= 0; --d) {
    start[d] = take_digit(rest, I(a.out_size[d])) * I(a.stride[d]) - I(a.pad[d]);
    end[d] = start[d] + I(a.kernel[d] * a.dilation[d]);
    while (start[d] < 0) start[d] += I(a.dilation[d]);
    if (end[d] > I(a.size[d])) end[d] = I(a.size[d]);
  }
  const T* in = static_cast<const T*>(a.in) + rest * (a.size[0] * a.size[1] * a.size[2]);
  V best = V(0);
  I place = -1;
  for (I z = start[0]; z < end[0]; z += I(a.dilation[0]))
    for (I y = start[1]; y < end[1]; y += I(a.dilation[1]))
      for (I x = start[2]; x < end[2]; x += I(a.dilation[2])) {
        const I at = (z * I(a.size[1]) + y) * I(a.size[2]) + x;
        const V v = as<V>(in[at]);
        if (place < 0 || v > best || (v != v && best == best)) best = v, place = at;
      }
  static_cast<T*>(a.out)[n] = as<T>(best);
  static_cast<i64*>(a.index)[n] = place < 0 ? 0 : place;
}
#endif

#ifdef MAX_POOL_BACKWARD
// Sums what the windows that chose an element say: an element looks at the windows around it.
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  I rest = I(left), i[3], first[3], last[3];
  for (int d = 2; d >= 0; --d) {
    i[d] = take_digit(rest, I(a.size[d]));
    const I stride = I(a.stride[d]), far = i[d] + I(a.pad[d]), low = far - I((a.kernel[d] - 1) * a.dilation[d]);
    first[d] = low <= 0 ? 0 : quotient(low + stride - 1, stride);
    last[d] = quotient(far, stride);
    if (last[d] >= I(a.out_size[d])) last[d] = I(a.out_size[d]) - 1;
  }
  const I mine = (i[0] * I(a.size[1]) + i[1]) * I(a.size[2]) + i[2];
  const i64 base = rest * (a.out_size[0] * a.out_size[1] * a.out_size[2]);
  const i64* chosen = static_cast<const i64*>(a.index) + base;
  const T* grads = static_cast<const T*>(a.in) + base;
  V sum = 0;
  for (I z = first[0]; z <= last[0]; ++z)
    for (I y = first[1]; y <= last[1]; ++y)
      for (I x = first[2]; x <= last[2]; ++x) {
        const I at = (z * I(a.out_size[1]) + y) * I(a.out_size[2]) + x;
        if (chosen[at] == mine) sum += as<V>(grads[at]);
      }
  static_cast<T*>(a.out)[n] = as<T>(sum);
}
#endif

#if defined(AVERAGE_POOL) || defined(AVERAGE_POOL_BACKWARD)
// The part of window o that lies inside of the picture, and what its sum is divided by.
DEVICE V window_of(const WindowArguments& a, const i64 (&o)[3], i64 (&begin)[3], i64 (&end)[3]) {
  i64 padded = 1, inside = 1;
  for (int d = 0; d < 3; ++d) {
    begin[d] = o[d] * a.stride[d] - a.pad[d];
    end[d] = begin[d] + a.kernel[d] < a.size[d] + a.pad[d] ? begin[d] + a.kernel[d] : a.size[d] + a.pad[d];
    padded *= end[d] - begin[d];
    begin[d] = begin[d] < 0 ? 0 : begin[d];
    end[d] = end[d] < a.size[d] ? end[d] : a.size[d];
    inside *= end[d] > begin[d] ? end[d] - begin[d] : 0;
  }
  return V(a.divisor ? a.divisor : a.count_padding ? padded : inside);
}
#endif
#ifdef AVERAGE_POOL
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 o[3], begin[3], end[3];
  for (int d = 2; d >= 0; --d) o[d] = take_digit(left, a.out_size[d]);
  const V by = window_of(a, o, begin, end);
  const T* in = static_cast<const T*>(a.in) + left * (a.size[0] * a.size[1] * a.size[2]);
  V sum = 0;
  for (i64 z = begin[0]; z < end[0]; ++z)
    for (i64 y = begin[1]; y < end[1]; ++y)
      for (i64 x = begin[2]; x < end[2]; ++x) sum += as<V>(in[(z * a.size[1] + y) * a.size[2] + x]);
  static_cast<T*>(a.out)[n] = as<T>(sum / by);
}
#endif
#ifdef AVERAGE_POOL_BACKWARD
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 i[3], first[3], last[3];
  for (int d = 2; d >= 0; --d) i[d] = take_digit(left, a.size[d]);
  for (int d = 0; d < 3; ++d) {
    const i64 low = i[d] + a.pad[d] - a.kernel[d] + 1;
    first[d] = low <= 0 ? 0 : (low + a.stride[d] - 1) / a.stride[d];
    last[d] = (i[d] + a.pad[d]) / a.stride[d];
    if (last[d] >= a.out_size[d]) last[d] = a.out_size[d] - 1;
  }
  const T* in = static_cast<const T*>(a.in) + left * (a.out_size[0] * a.out_size[1] * a.out_size[2]);
  V sum = 0;
  for (i64 z = first[0]; z <= last[0]; ++z)
    for (i64 y = first[1]; y <= last[1]; ++y)
      for (i64 x = first[2]; x <= last[2]; ++x) {
        const i64 o[3] = {z, y, x};
        i64 begin[3], end[3];
        const V by = window_of(a, o, begin, end);
        sum += as<V>(in[(z * a.out_size[1] + y) * a.out_size[2] + x]) / by;
      }
  static_cast<T*>(a.out)[n] = as<T>(sum);
}
#endif

#if defined(ADAPTIVE_POOL) || defined(ADAPTIVE_POOL_BACKWARD)
DEVICE i64 first_of(i64 o, i64 size, i64 out) { return o * size / out; }
DEVICE i64 end_of(i64 o, i64 size, i64 out) { return ((o + 1) * size + out - 1) / out; }
#endif
#ifdef ADAPTIVE_POOL
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 begin[3], end[3], count = 1;
  for (int d = 2; d >= 0; --d) {
    const i64 o = take_digit(left, a.out_size[d]);
    begin[d] = first_of(o, a.size[d], a.out_size[d]);
    end[d] = end_of(o, a.size[d], a.out_size[d]);
    count *= end[d] - begin[d];
  }
  const T* in = static_cast<const T*>(a.in) + left * (a.size[0] * a.size[1] * a.size[2]);
  V sum = 0;
  for (i64 z = begin[0]; z < end[0]; ++z)
    for (i64 y = begin[1]; y < end[1]; ++y)
      for (i64 x = begin[2]; x < end[2]; ++x) sum += as<V>(in[(z * a.size[1] + y) * a.size[2] + x]);
  static_cast<T*>(a.out)[n] = as<T>(sum / V(count));
}
#endif
#ifdef ADAPTIVE_POOL_BACKWARD
WINDOW_ENTRY(windows) {
  EACH_ELEMENT
  i64 i[3], first[3], last[3];
  for (int d = 2; d >= 0; --d) i[d] = take_digit(left, a.size[d]);
  for (int d = 0; d < 3; ++d) {
    first[d] = i[d] * a.out_size[d] / a.size[d];
    while (first[d] > 0 && end_of(first[d] - 1, a.size[d], a.out_size[d]) > i[d]) --first[d];
    last[d] = first[d];
    while (last[d] + 1 < a.out_size[d] && first_of(last[d] + 1, a.size[d], a.out_size[d]) <= i[d]) ++last[d];
  }
  const T* in = static_cast<const T*>(a.in) + left * (a.out_size[0] * a.out_size[1] * a.out_size[2]);
  V sum = 0;
  for (i64 z = first[0]; z <= last[0]; ++z)
    for (i64 y = first[1]; y <= last[1]; ++y)
      for (i64 x = first[2]; x <= last[2]; ++x) {
        const i64 o[3] = {z, y, x};
        i64 count = 1;
        for (int d = 0; d < 3; ++d) count *= end_of(o[d], a.size[d], a.out_size[d]) - first_of(o[d], a.size[d], a.out_size[d]);
        sum += as<V>(in[(z * a.out_size[1] + y) * a.out_size[2] + x]) / V(count);
      }
  static_cast<T*>(a.out)[n] = as<T>(sum);
}
#endif
