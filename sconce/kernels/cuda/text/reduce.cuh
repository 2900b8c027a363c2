// Reductions. What stands above: In, Out0, Out1, RESULTS, load(In) -> V, State and what is done with it, and
//   rows      TX threads reduce the elements of an output, TY outputs a block: the elements are adjacent, or few outputs
//   columns   a thread reduces WIDTH outputs, 32 threads neighbouring ones; BY threads share the rows of an output
// WIDE: there may be 2^32 of something; compiling the divisions for it takes as long as the rest.
// Both cut the elements into splits at places that depend on their number alone, and the last block to arrive joins the
// parts in order: the bits are the same from run to run.
constexpr int kBatch = 4;  // packs that are in flight

HOT i64 offset_of(i64 index, int rank, const i64* size, const i64* stride) {
  i64 at = 0;
  for (int d = 0; d + 1 < rank; ++d) {
    i64 q;
    if (WIDE && index >> 32) q = index / size[d]; else q = u32(index) / u32(size[d]);
    at += (index - q * size[d]) * stride[d];
    index = q;
  }
  return rank > 0 ? at + index * stride[rank - 1] : 0;
}
HOT void store(const State& r, i64 output, const ReduceArguments& a, const Parameters& p) {
  static_cast<Out0*>(a.out[0])[offset_of(output, a.kept_rank, a.kept_size, a.kept_out[0])] = as<Out0>(result_of<0>(r, a, p));
  if constexpr (RESULTS == 2)
    static_cast<Out1*>(a.out[1])[offset_of(output, a.kept_rank, a.kept_size, a.kept_out[1])] = as<Out1>(result_of<1>(r, a, p));
}
// What another block wrote: past the L1 cache, which may be older.
HOT State read_partial(const State* p) {
  State r;
  u32 words[sizeof(State) / 4];
#pragma unroll
  for (int i = 0; i < int(sizeof(State) / 4); ++i) words[i] = __ldcg(reinterpret_cast<const u32*>(p) + i);
  memcpy(&r, words, sizeof(State));
  return r;
}

#ifdef ROWS
// The states of TX threads to one, in thread 0 of each row.
HOT State join_row(State r, State* shared, const Parameters& p) {
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) {
    const State other = exchanged(r, s);
    if (threadIdx.x & s) {
      State low = other;
      join(low, r, p);
      r = low;
    } else {
      join(r, other, p);
    }
  }
  if constexpr (TX == 32) return r;
  State* row = shared + threadIdx.y * (TX / 32);
  if (threadIdx.x % 32 == 0) row[threadIdx.x / 32] = r;
  __syncthreads();
  r = row[0];
  if (threadIdx.x == 0) {
    for (int w = 1; w < TX / 32; ++w) join(r, row[w], p);
  }
  __syncthreads();
  return r;
}
extern "C" __global__ void __launch_bounds__(TX* TY) rows(const __grid_constant__ ReduceArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * TY * (TX / 32)];
  State* shared = reinterpret_cast<State*>(room);
  const Parameters p(a);
  const i64 output = i64(blockIdx.x) * TY + threadIdx.y;
  State r = nothing();
  if (output < a.outputs) {
    const In* in = static_cast<const In*>(a.in) + offset_of(output, a.kept_rank, a.kept_size, a.kept_in);
    const i64 begin = i64(blockIdx.y) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
    constexpr i64 step = TX * WIDTH;
    i64 at = begin + threadIdx.x * WIDTH;
    if (a.reduced_rank == 1) {
      const i64 stride = a.reduced_in[0];
      for (; at + (kBatch - 1) * step + WIDTH <= end; at += kBatch * step) {
        Pack<In, WIDTH> packs[kBatch];
        V x[kBatch * WIDTH];
#pragma unroll
        for (int b = 0; b < kBatch; ++b) {
          if constexpr (WIDTH > 1) packs[b] = read<WIDTH>(in + at + b * step);
          else packs[b].v[0] = in[(at + b * step) * stride];
        }
#pragma unroll
        for (int i = 0; i < kBatch * WIDTH; ++i) x[i] = load(packs[i / WIDTH].v[i % WIDTH]);
        take<WIDTH>(r, x, kBatch * WIDTH, at, step, p);
      }
      for (; at < end; at += step) {
        V x[WIDTH];
        const int count = end - at < WIDTH ? int(end - at) : WIDTH;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) x[i] = load(in[(at + (i < count ? i : 0)) * stride]);
        take<WIDTH>(r, x, count, at, step, p);
      }
    } else {
      for (; at < end; at += step) {  // lines of the innermost dimension are whole packs, where WIDTH is not 1
        const i64 from = offset_of(at, a.reduced_rank, a.reduced_size, a.reduced_in);
        V x[WIDTH];
        const Pack<In, WIDTH> pack = read<WIDTH>(in + from);
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) x[i] = load(pack.v[i]);
        take<WIDTH>(r, x, WIDTH, at, step, p);
      }
    }
  }
  r = join_row(r, shared, p);
  if (a.splits == 1) {
    if (threadIdx.x == 0 && output < a.outputs) store(r, output, a, p);
    return;
  }
  State* partial = static_cast<State*>(a.partial);
  if (threadIdx.x == 0 && output < a.outputs) partial[i64(blockIdx.y) * a.outputs + output] = r;
  if (!is_last_block(a.counters + blockIdx.x, a.splits)) return;
  r = nothing();
  if (output < a.outputs) {
#pragma unroll 4
    for (u32 s = threadIdx.x; s < a.splits; s += TX) join(r, read_partial(partial + i64(s) * a.outputs + output), p);
  }
  r = join_row(r, shared, p);
  if (threadIdx.x == 0 && output < a.outputs) store(r, output, a, p);
}
#else
extern "C" __global__ void __launch_bounds__(32 * BY) columns(const __grid_constant__ ReduceArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * BY * 32 * WIDTH];
  State* shared = reinterpret_cast<State*>(room);
  const Parameters p(a);
  const i64 output = (i64(blockIdx.x) * 32 + threadIdx.x) * WIDTH;
  State r[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) r[i] = nothing();
  if (output < a.outputs) {
    const In* in = static_cast<const In*>(a.in) + offset_of(output, a.kept_rank, a.kept_size, a.kept_in);
    const i64 begin = i64(blockIdx.y) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
    i64 row = begin + threadIdx.y;
    for (; row + (kBatch - 1) * BY < end; row += kBatch * BY) {
      Pack<In, WIDTH> packs[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
        packs[b] = read<WIDTH>(in + offset_of(row + b * BY, a.reduced_rank, a.reduced_size, a.reduced_in));
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        V x[kBatch];
#pragma unroll
        for (int b = 0; b < kBatch; ++b) x[b] = load(packs[b].v[i]);
        take<1>(r[i], x, kBatch, row, BY, p);
      }
    }
    for (; row < end; row += BY) {
      const Pack<In, WIDTH> pack = read<WIDTH>(in + offset_of(row, a.reduced_rank, a.reduced_size, a.reduced_in));
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        const V x[1] = {load(pack.v[i])};
        take<1>(r[i], x, 1, row, BY, p);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) shared[(threadIdx.y * 32 + threadIdx.x) * WIDTH + i] = r[i];
  __syncthreads();
  State* partial = static_cast<State*>(a.partial);
  const i64 first = i64(blockIdx.x) * (32 * WIDTH);
  for (int c = threadIdx.y * 32 + threadIdx.x; c < 32 * WIDTH; c += 32 * BY) {
    if (first + c >= a.outputs) continue;
    State s = shared[c];
    for (int y = 1; y < BY; ++y) join(s, shared[y * 32 * WIDTH + c], p);
    if (a.splits == 1) store(s, first + c, a, p);
    else partial[i64(blockIdx.y) * a.outputs + first + c] = s;
  }
  if (a.splits == 1 || !is_last_block(a.counters + blockIdx.x, a.splits)) return;
  // Neighbouring splits belong to one thread, so that the order stays.
  const u32 each = (a.splits + BY - 1) / BY, begin = threadIdx.y * each, end = begin + each < a.splits ? begin + each : a.splits;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const int c = i * 32 + threadIdx.x;
    State s = nothing();
    if (first + c < a.outputs) {
#pragma unroll 4
      for (u32 y = begin; y < end; ++y) join(s, read_partial(partial + i64(y) * a.outputs + first + c), p);
    }
    shared[threadIdx.y * 32 * WIDTH + c] = s;
  }
  __syncthreads();
  for (int c = threadIdx.y * 32 + threadIdx.x; c < 32 * WIDTH; c += 32 * BY) {
    if (first + c >= a.outputs) continue;
    State s = shared[c];
    for (int y = 1; y < BY; ++y) join(s, shared[y * 32 * WIDTH + c], p);
    store(s, first + c, a, p);
  }
}
#endif
