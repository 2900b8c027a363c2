// The first place of a sorted line whose element is not below a value (RIGHT: is above it). NaN stand behind all numbers.
HOT bool is_below(V a, V b) { return (a < b) | ((b != b) & (a == a)); }
extern "C" __global__ void __launch_bounds__(256) search(const __grid_constant__ SearchArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.elements) return;
  const i64 first = a.values_of_line ? n / a.values_of_line * a.count : 0;
  const V value = as<V>(static_cast<const Value*>(a.values)[n]);
  i64 low = 0, high = a.count;
  while (low < high) {
    const i64 middle = (low + high) / 2;
    const V x = as<V>(static_cast<const Sorted*>(a.sorted)[first + (a.order ? a.order[first + middle] : middle)]);
    if (a.right ? !is_below(value, x) : is_below(x, value)) low = middle + 1; else high = middle;
  }
  static_cast<Out*>(a.out)[n] = Out(low);
}
