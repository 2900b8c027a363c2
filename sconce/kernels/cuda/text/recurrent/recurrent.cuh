// One step of a recurrent layer, a thread for each hidden unit of a row; the products are done before. What stands above: V = T,
// one of RELU, TANH, LSTM, GRU, PROJECTS where another product follows the cell, BACKWARD for its gradient.
#if defined(LSTM)
constexpr int kGates = 4;
#elif defined(GRU)
constexpr int kGates = 3;
#else
constexpr int kGates = 1;
#endif
HOT V logistic(V x) { return 1 / (1 + word::exp(-x)); }

#ifndef BACKWARD
extern "C" __global__ void __launch_bounds__(256) recurrent(const __grid_constant__ RecurrentArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.rows * a.hidden) return;
  const i64 row = n / a.hidden, unit = n % a.hidden;
  V* gates = static_cast<V*>(a.gates) + row * kGates * a.hidden + unit;
  const V* state = static_cast<const V*>(a.state) + row * kGates * a.hidden + unit;
  V* running = static_cast<V*>(a.running);
  V out;
#if defined(LSTM)
  const V i = logistic(gates[0] + state[0]), f = logistic(gates[a.hidden] + state[a.hidden]);
  const V g = word::tanh(gates[2 * a.hidden] + state[2 * a.hidden]), o = logistic(gates[3 * a.hidden] + state[3 * a.hidden]);
  V* cells = static_cast<V*>(a.cells);
  const V c = f * cells[n] + i * g;
  cells[n] = c;
  static_cast<V*>(a.kept)[n] = c;
  gates[0] = i;
  gates[a.hidden] = f;
  gates[2 * a.hidden] = g;
  gates[3 * a.hidden] = o;
  out = o * word::tanh(c);
#elif defined(GRU)
  const V r = logistic(gates[0] + state[0]), z = logistic(gates[a.hidden] + state[a.hidden]), part = state[2 * a.hidden];
  const V c = word::tanh(gates[2 * a.hidden] + r * part);
  static_cast<V*>(a.kept)[n] = part;
  gates[0] = r;
  gates[a.hidden] = z;
  gates[2 * a.hidden] = c;
  out = (running[n] - c) * z + c;
#elif defined(TANH)
  out = gates[0] = word::tanh(gates[0] + state[0]);
#else
  const V sum = gates[0] + state[0];
  out = gates[0] = sum > 0 || sum != sum ? sum : V(0);
#endif
  static_cast<V*>(a.out)[n] = out;
  if constexpr (!PROJECTS) running[n] = out;
}
#else
extern "C" __global__ void __launch_bounds__(256) recurrent_backward(const __grid_constant__ RecurrentArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.rows * a.hidden) return;
  const i64 row = n / a.hidden, unit = n % a.hidden, at = row * kGates * a.hidden + unit;
  const V* gates = static_cast<const V*>(a.gates) + at;
  V* of_input = static_cast<V*>(a.of_input) + at;
  V* running = static_cast<V*>(a.running);
  const V grad = running[n] + (a.grad_out ? static_cast<const V*>(a.grad_out)[n] : V(0));
#if defined(LSTM)
  const V i = gates[0], f = gates[a.hidden], g = gates[2 * a.hidden], o = gates[3 * a.hidden];
  const V top = word::tanh(static_cast<const V*>(a.kept)[n]);
  V* cells = static_cast<V*>(a.cells);
  const V c = cells[n] + grad * o * (1 - top * top);
  of_input[0] = c * g * i * (1 - i);
  of_input[a.hidden] = c * static_cast<const V*>(a.before)[n] * f * (1 - f);
  of_input[2 * a.hidden] = c * i * (1 - g * g);
  of_input[3 * a.hidden] = grad * top * o * (1 - o);
  cells[n] = c * f;
  if constexpr (PROJECTS) static_cast<V*>(a.out)[n] = o * top;  // what was projected
#elif defined(GRU)
  V* of_state = static_cast<V*>(a.of_state) + at;
  const V r = gates[0], z = gates[a.hidden], c = gates[2 * a.hidden], before = static_cast<const V*>(a.before)[n];
  const V of_c = grad * (1 - z) * (1 - c * c), of_r = of_c * static_cast<const V*>(a.kept)[n] * r * (1 - r);
  of_input[0] = of_state[0] = of_r;
  of_input[a.hidden] = of_state[a.hidden] = grad * (before - c) * z * (1 - z);
  of_input[2 * a.hidden] = of_c;
  of_state[2 * a.hidden] = of_c * r;
  running[n] = grad * z;
#elif defined(TANH)
  of_input[0] = grad * (1 - gates[0] * gates[0]);
#else
  of_input[0] = gates[0] > 0 ? grad : V(0);
#endif
}
#endif
