// Factorisations and solves, behind matrix_elements.cuh.
// P L U with the largest element of each column as its pivot.
MATRIX(lu) {
  __shared__ R sizes[kThreads];
  __shared__ i32 places[kThreads];
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * a.m * a.n;
  i32 info = 0;
  for (i64 j = 0; j < a.k; ++j) {
    i64 best = j;
    if (a.left) {  // with pivots
      R most = -1;
      i32 at = i32(j);
      for (i64 r = j + threadIdx.x; r < a.m; r += kThreads) {
        const R size = word::abs(real_of(x[j * a.m + r])) + word::abs(imag_of(x[j * a.m + r]));
        if (size > most) most = size, at = i32(r);
      }
      sizes[threadIdx.x] = most;
      places[threadIdx.x] = at;
      __syncthreads();
      for (int s = kThreads / 2; s > 0; s >>= 1) {
        if (int(threadIdx.x) < s) {
          const R other = sizes[threadIdx.x + s];
          if (other > sizes[threadIdx.x] || (other == sizes[threadIdx.x] && places[threadIdx.x + s] < places[threadIdx.x])) {
            sizes[threadIdx.x] = other;
            places[threadIdx.x] = places[threadIdx.x + s];
          }
        }
        __syncthreads();
      }
      best = places[0];
      __syncthreads();
    }
    if (threadIdx.x == 0 && a.pivots) a.pivots[i64(blockIdx.x) * a.k + j] = i32(best + 1);
    if (best != j) {
      for (i64 c = threadIdx.x; c < a.n; c += kThreads) {
        const E t = x[c * a.m + j];
        x[c * a.m + j] = x[c * a.m + best];
        x[c * a.m + best] = t;
      }
      __syncthreads();
    }
    const E pivot = x[j * a.m + j];
    if (real_of(pivot) == 0 && imag_of(pivot) == 0) {
      if (info == 0) info = i32(j + 1);
    } else {
      for (i64 r = j + 1 + threadIdx.x; r < a.m; r += kThreads) x[j * a.m + r] = over(x[j * a.m + r], pivot);
    }
    __syncthreads();
    const i64 rows = a.m - j - 1, columns = a.n - j - 1;
    for (i64 i = threadIdx.x; i < rows * columns; i += kThreads) {
      const i64 r = j + 1 + i % rows, c = j + 1 + i / rows;
      x[c * a.m + r] = minus(x[c * a.m + r], times(x[j * a.m + r], x[c * a.m + j]));
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) a.info[blockIdx.x] = info;
}

// Rows of b exchanged as the pivots say, or back.
MATRIX(exchange) {
  E* b = static_cast<E*>(a.b) + i64(blockIdx.x) * a.rows * a.columns;
  const i32* pivots = a.pivots + i64(blockIdx.x) * a.k;
  for (i64 c = threadIdx.x; c < a.columns; c += kThreads) {
    E* column = b + c * a.rows;
    for (i64 n = 0; n < a.k; ++n) {
      const i64 i = a.trans ? a.k - 1 - n : n, other = pivots[i] - 1;
      if (other == i || other < 0 || other >= a.rows) continue;
      const E t = column[i];
      column[i] = column[other];
      column[other] = t;
    }
  }
}

// b := op(a)^-1 b, or b op(a)^-1; a is a triangle of order n.
MATRIX(triangle) {
  const E* x = static_cast<const E*>(a.a) + i64(blockIdx.x) * a.n * a.n;
  E* b = static_cast<E*>(a.b) + i64(blockIdx.x) * a.rows * a.columns;
  const bool upper = (a.upper != 0) != (a.trans != 0);  // of op(a)
  const bool forward = a.left ? !upper : upper;
#define AT(r, c) (a.trans == 0 ? x[(c) * a.n + (r)] : a.trans == 1 ? x[(r) * a.n + (c)] : turned(x[(r) * a.n + (c)]))
  for (i64 step = 0; step < a.n; ++step) {
    const i64 i = forward ? step : a.n - 1 - step, first = forward ? i + 1 : 0, rest = a.n - 1 - step;
    if (a.left) {
      if (!a.unit)
        for (i64 c = threadIdx.x; c < a.columns; c += kThreads) b[c * a.rows + i] = over(b[c * a.rows + i], AT(i, i));
      __syncthreads();
      for (i64 n = threadIdx.x; n < rest * a.columns; n += kThreads) {
        const i64 r = first + n % rest, c = n / rest;
        b[c * a.rows + r] = minus(b[c * a.rows + r], times(AT(r, i), b[c * a.rows + i]));
      }
    } else {
      if (!a.unit)
        for (i64 r = threadIdx.x; r < a.rows; r += kThreads) b[i * a.rows + r] = over(b[i * a.rows + r], AT(i, i));
      __syncthreads();
      for (i64 n = threadIdx.x; n < rest * a.rows; n += kThreads) {
        const i64 r = n % a.rows, c = first + n / a.rows;
        b[c * a.rows + r] = minus(b[c * a.rows + r], times(b[i * a.rows + r], AT(i, c)));
      }
    }
    __syncthreads();
  }
#undef AT
}

// The lower triangle L of L L^H; what is above it stays.
MATRIX(cholesky) {
  __shared__ i32 info;
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * a.n * a.n;
  if (threadIdx.x == 0) info = 0;
  __syncthreads();
  for (i64 j = 0; j < a.n; ++j) {
    const R d = real_of(x[j * a.n + j]);
    if (!(d > 0)) {
      if (threadIdx.x == 0) info = i32(j + 1);
      break;
    }
    const R root = word::sqrt(d);
    __syncthreads();
    if (threadIdx.x == 0) x[j * a.n + j] = made_of<E>(root, 0);
    for (i64 r = j + 1 + threadIdx.x; r < a.n; r += kThreads) x[j * a.n + r] = scaled(x[j * a.n + r], 1 / root);
    __syncthreads();
    const i64 rest = a.n - j - 1;
    for (i64 i = threadIdx.x; i < rest * rest; i += kThreads) {
      const i64 r = j + 1 + i % rest, c = j + 1 + i / rest;
      if (r >= c) x[c * a.n + r] = minus(x[c * a.n + r], times(x[j * a.n + r], turned(x[j * a.n + c])));
    }
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) a.info[blockIdx.x] = info;
}

// Householder's reflections: R above the diagonal, the vectors below it, as LAPACK has them.
MATRIX(reflections) {
  __shared__ R shared[kWarps];
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * a.m * a.n;
  E* taus = static_cast<E*>(a.tau) + i64(blockIdx.x) * a.k;
  for (i64 j = 0; j < a.k; ++j) {
    E* column = x + j * a.m;
    R most = 0;
    for (i64 r = j + 1 + threadIdx.x; r < a.m; r += kThreads) most = most + square_of(column[r]);
    const R below = block_sum(most, shared);
    const E alpha = column[j];
    E tau = made_of<E>(0, 0);
    __syncthreads();
    if (below != 0 || imag_of(alpha) != 0) {
      const R norm = word::sqrt(square_of(alpha) + below), beta = real_of(alpha) >= 0 ? -norm : norm;
      tau = made_of<E>((beta - real_of(alpha)) / beta, -imag_of(alpha) / beta);
      const E by = over(made_of<E>(1, 0), minus(alpha, made_of<E>(beta, 0)));
      for (i64 r = j + 1 + threadIdx.x; r < a.m; r += kThreads) column[r] = times(column[r], by);
      if (threadIdx.x == 0) column[j] = made_of<E>(beta, 0);
    }
    if (threadIdx.x == 0) taus[j] = tau;
    __syncthreads();
    const E back = turned(tau);
    for (i64 c = j + 1 + threadIdx.x / 32; c < a.n; c += kWarps) {
      E* other = x + c * a.m;
      E sum = threadIdx.x % 32 == 0 ? other[j] : made_of<E>(0, 0);
      for (i64 r = j + 1 + threadIdx.x % 32; r < a.m; r += 32) sum = plus(sum, times(turned(column[r]), other[r]));
      const E w = times(back, warp_sum_of(sum));
      if (threadIdx.x % 32 == 0) other[j] = minus(other[j], w);
      for (i64 r = j + 1 + threadIdx.x % 32; r < a.m; r += 32) other[r] = minus(other[r], times(column[r], w));
    }
    __syncthreads();
  }
}

// b := op(Q) b or b op(Q), Q the product of k reflections whose vectors stand in a (m rows).
MATRIX(reflect) {
  const E* x = static_cast<const E*>(a.a) + i64(blockIdx.x) * a.m * a.n;
  const E* taus = static_cast<const E*>(a.tau) + i64(blockIdx.x) * a.k;
  E* b = static_cast<E*>(a.b) + i64(blockIdx.x) * a.rows * a.columns;
  const bool first_to_last = (a.left != 0) == (a.trans != 0);
  for (i64 n = 0; n < a.k; ++n) {
    const i64 j = first_to_last ? n : a.k - 1 - n;
    const E* v = x + j * a.m;
    const E tau = a.trans ? turned(taus[j]) : taus[j];
    const i64 lines = a.left ? a.columns : a.rows;
    for (i64 l = threadIdx.x / 32; l < lines; l += kWarps) {
      E* line = a.left ? b + l * a.rows : b + l;
      const i64 step = a.left ? 1 : a.rows;
      E sum = made_of<E>(0, 0);
      for (i64 r = j + threadIdx.x % 32; r < a.m; r += 32) {
        const E u = r == j ? made_of<E>(1, 0) : v[r];
        sum = plus(sum, times(a.left ? turned(u) : u, line[r * step]));
      }
      const E w = times(tau, warp_sum_of(sum));
      for (i64 r = j + threadIdx.x % 32; r < a.m; r += 32) {
        const E u = r == j ? made_of<E>(1, 0) : v[r];
        line[r * step] = minus(line[r * step], times(a.left ? u : turned(u), w));
      }
    }
    __syncthreads();
  }
}

// Pair number i of a step of a tournament of `players` (an even number): everybody meets everybody in players - 1 steps.
HOT void pair_of(i64 i, i64 step, i64 players, i64& p, i64& q) {
  const i64 ring = players - 1;
  p = i == 0 ? ring : (step + i) % ring;
  q = (step + ring - i) % ring;
  if (p > q) { const i64 t = p; p = q; q = t; }
}
// |x|, also where its square has no bits left: elements that converge become as small as that.
HOT R size_of(E x) {
  const R re = word::abs(real_of(x)), im = word::abs(imag_of(x)), large = re > im ? re : im, ratio = (re > im ? im : re) / large;
  return large == 0 ? R(0) : large * word::sqrt(1 + ratio * ratio);
}
// The rotation that makes the element `off` between two diagonal ones 0: columns become c p - s f q and s p + c f q.
struct Turn { R c, s; E f; };
HOT Turn turn_of(R at_p, R at_q, E off) {
  const R size = size_of(off);
  if (size == 0) return {R(1), R(0), made_of<E>(1, 0)};
  const R tau = (at_q - at_p) / (2 * size), t = (tau >= 0 ? R(1) : R(-1)) / (word::abs(tau) + word::sqrt(1 + tau * tau));
  const R c = 1 / word::sqrt(1 + t * t);
  return {c, t * c, made_of<E>(real_of(off) / size, -imag_of(off) / size)};
}
HOT void rotate(E& x, E& y, const Turn& t) {
  const E turned_y = times(t.f, y), p = minus(scaled(x, t.c), scaled(turned_y, t.s)), q = plus(scaled(x, t.s), scaled(turned_y, t.c));
  x = p;
  y = q;
}
constexpr int kSweeps = 40;
HOT R smallest() { return same<R, float> ? R(1.2e-7) : R(2.3e-16); }

// Eigenvalues to the diagonal of the Hermitian a, their vectors to the columns of b (Jacobi); in no order.
MATRIX(eigen) {
  __shared__ R shared[kWarps];
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * a.n * a.n;
  E* v = static_cast<E*>(a.b) + i64(blockIdx.x) * a.n * a.n;
  Turn* turns = static_cast<Turn*>(a.room) + i64(blockIdx.x) * ((a.n + 1) / 2);
  const i64 players = a.n + a.n % 2, pairs = players / 2;
  for (int sweep = 0; sweep < kSweeps && a.n > 1; ++sweep) {
    R off = 0, all = 0;
    for (i64 i = threadIdx.x; i < a.n * a.n; i += kThreads) {
      const R size = square_of(x[i]);
      all = all + size;
      if (i % a.n != i / a.n) off = off + size;
    }
    off = block_sum(off, shared);
    all = block_sum(all, shared);
    if (!(off > smallest() * smallest() * all)) break;
    for (i64 step = 0; step < players - 1; ++step) {
      for (i64 i = threadIdx.x; i < pairs; i += kThreads) {
        i64 p, q;
        pair_of(i, step, players, p, q);
        if (q < a.n) turns[i] = turn_of(real_of(x[p * a.n + p]), real_of(x[q * a.n + q]), x[q * a.n + p]);
      }
      __syncthreads();
      for (i64 n = threadIdx.x; n < pairs * a.n; n += kThreads) {
        i64 p, q;
        const i64 i = n / a.n, r = n % a.n;
        pair_of(i, step, players, p, q);
        if (q >= a.n) continue;
        rotate(x[p * a.n + r], x[q * a.n + r], turns[i]);
        rotate(v[p * a.n + r], v[q * a.n + r], turns[i]);
      }
      __syncthreads();
      for (i64 n = threadIdx.x; n < pairs * a.n; n += kThreads) {
        i64 p, q;
        const i64 i = n / a.n, c = n % a.n;
        pair_of(i, step, players, p, q);
        if (q >= a.n) continue;
        E left = turned(x[c * a.n + p]), right = turned(x[c * a.n + q]);
        rotate(left, right, turns[i]);
        // Both elements between p and q are 0 but for roundings, which would keep the sum above its bound.
        x[c * a.n + p] = c == q ? made_of<E>(0, 0) : turned(left);
        x[c * a.n + q] = c == p ? made_of<E>(0, 0) : turned(right);
      }
      __syncthreads();
    }
  }
}

// Makes the columns of a (m x n, m >= n) orthogonal to each other by rotations, which are gathered in b (Hestenes).
MATRIX(orthogonal) {
  __shared__ u32 turned_some;
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * a.m * a.n;
  E* v = static_cast<E*>(a.b) + i64(blockIdx.x) * a.n * a.n;
  const i64 players = a.n + a.n % 2, pairs = players / 2;
  const int lane = threadIdx.x % 32;
  for (int sweep = 0; sweep < kSweeps && a.n > 1; ++sweep) {
    __syncthreads();
    if (threadIdx.x == 0) turned_some = 0;
    __syncthreads();
    for (i64 step = 0; step < players - 1; ++step) {
      for (i64 i = threadIdx.x / 32; i < pairs; i += kWarps) {
        i64 p, q;
        pair_of(i, step, players, p, q);
        if (q >= a.n) continue;
        E *left = x + p * a.m, *right = x + q * a.m;
        R at_p = 0, at_q = 0;
        E off = made_of<E>(0, 0);
        for (i64 r = lane; r < a.m; r += 32) {
          at_p = at_p + square_of(left[r]);
          at_q = at_q + square_of(right[r]);
          off = plus(off, times(turned(left[r]), right[r]));
        }
        at_p = warp_sum(at_p);
        at_q = warp_sum(at_q);
        off = warp_sum_of(off);
        if (!(square_of(off) > smallest() * smallest() * at_p * at_q)) continue;
        const Turn t = turn_of(at_p, at_q, off);
        for (i64 r = lane; r < a.m; r += 32) rotate(left[r], right[r], t);
        for (i64 r = lane; r < a.n; r += 32) rotate(v[p * a.n + r], v[q * a.n + r], t);
        if (lane == 0) atomicOr(&turned_some, 1u);
      }
      __syncthreads();
    }
    if (turned_some == 0) break;
  }
}
