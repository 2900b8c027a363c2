// Behind matrix_elements.cuh: eigenvalues of general matrices, and L D L^T of symmetric ones, a block for each matrix. As the CPU's loops
// where no LAPACK is (cpu/linalg/spectral.cpp), in float64.
#define AT(x, r, c) x[(c) * a.n + (r)]
HOT R size_of(E x) { return word::abs(real_of(x)) + word::abs(imag_of(x)); }
HOT R length_of(E x) { return is_complex<E> ? ::hypot(double(real_of(x)), double(imag_of(x))) : word::abs(real_of(x)); }
HOT E number(R x) { return made_of<E>(x, 0); }
HOT bool is_zero(E x) { return real_of(x) == 0 && imag_of(x) == 0; }
HOT E phase_of(E x) {
  const R length = length_of(x);
  return length == 0 ? number(1) : scaled(x, 1 / length);
}
constexpr R kEpsilon = 2.220446049250313e-16;

#ifdef GENERAL
HOT E root_of(E x) {
  const R length = length_of(x), re = word::sqrt((length + word::abs(real_of(x))) / 2);
  if (re == 0) return number(0);
  const R im = imag_of(x) / (2 * re);
  if (real_of(x) >= 0) return made_of<E>(re, im);
  return made_of<E>(word::abs(im), imag_of(x) < 0 ? -re : re);
}
struct Rotation { E s; R c; };

// One QR step of rows and columns first .. last: H - shift = Q R, then R Q + shift.
HOT void qr_step(const MatrixArguments& a, E* h, E* z, Rotation* turns, i64 first, i64 last, E shift) {
  const i64 n = a.n;
  for (i64 k = first + threadIdx.x; k <= last; k += kThreads) AT(h, k, k) = minus(AT(h, k, k), shift);
  __syncthreads();
  for (i64 k = first; k < last; ++k) {
    const E x = AT(h, k, k), y = AT(h, k + 1, k);
    const R across = length_of(x), down = length_of(y), length = ::hypot(double(across), double(down));
    const R c = length == 0 ? R(1) : across / length;
    const E s = length == 0 ? number(0) : scaled(times(phase_of(x), turned(y)), 1 / length);
    __syncthreads();
    if (threadIdx.x == 0) turns[k] = {s, c};
    for (i64 j = k + threadIdx.x; j < n; j += kThreads) {
      const E p = AT(h, k, j), q = AT(h, k + 1, j);
      AT(h, k, j) = plus(scaled(p, c), times(s, q));
      AT(h, k + 1, j) = minus(scaled(q, c), times(turned(s), p));
    }
    __syncthreads();
  }
  // From the right, rows do not know of each other.
  for (i64 r = threadIdx.x; r < n; r += kThreads) {
    for (i64 k = first; k < last; ++k) {
      const Rotation t = turns[k];
      const E back = turned(t.s);
      if (r < k + 2 && r <= last) {
        const E x = AT(h, r, k), y = AT(h, r, k + 1);
        AT(h, r, k) = plus(scaled(x, t.c), times(back, y));
        AT(h, r, k + 1) = minus(scaled(y, t.c), times(t.s, x));
      }
      const E x = AT(z, r, k), y = AT(z, r, k + 1);
      AT(z, r, k) = plus(scaled(x, t.c), times(back, y));
      AT(z, r, k + 1) = minus(scaled(y, t.c), times(t.s, x));
    }
  }
  __syncthreads();
  for (i64 k = first + threadIdx.x; k <= last; k += kThreads) AT(h, k, k) = plus(AT(h, k, k), shift);
  __syncthreads();
}

// a: the matrix, then its vectors as columns; b: the identity; tau: its values; room: n + n n elements and n rotations each. `left`:
// vectors are wanted.
MATRIX(general) {
  __shared__ R shared[kWarps];
  __shared__ u32 is_not_real;
  const i64 n = a.n;
  E* h = static_cast<E*>(a.a) + i64(blockIdx.x) * n * n;
  E* z = static_cast<E*>(a.b) + i64(blockIdx.x) * n * n;
  E* values = static_cast<E*>(a.tau) + i64(blockIdx.x) * n;
  E* v = static_cast<E*>(a.room) + i64(blockIdx.x) * (n * n + 3 * n);
  E* y = v + n;
  Rotation* turns = reinterpret_cast<Rotation*>(y + n * n);
  if (threadIdx.x == 0) is_not_real = 0;
  R all = 0;
  __syncthreads();
  for (i64 i = threadIdx.x; i < n * n; i += kThreads) {
    all = all + square_of(h[i]);
    if (imag_of(h[i]) != 0) atomicOr(&is_not_real, 1u);
  }
  const R size = word::sqrt(block_sum(all, shared));
  // A = Z H Z^H, H with one diagonal below the main one, by reflections.
  for (i64 k = 0; k + 2 < n; ++k) {
    R below = 0;
    for (i64 r = k + 1 + threadIdx.x; r < n; r += kThreads) below = below + square_of(AT(h, r, k));
    const R length = word::sqrt(block_sum(below, shared));
    if (length == 0) continue;
    R square = 0;
    for (i64 r = k + 1 + threadIdx.x; r < n; r += kThreads) {
      const E x = AT(h, r, k), own = r == k + 1 ? plus(x, scaled(phase_of(x), length)) : x;
      v[r] = own;
      square = square + square_of(own);
    }
    const R by = 2 / block_sum(square, shared);
    for (i64 c = threadIdx.x / 32; c < n; c += kWarps) {
      E sum = number(0);
      for (i64 r = k + 1 + threadIdx.x % 32; r < n; r += 32) sum = plus(sum, times(turned(v[r]), AT(h, r, c)));
      const E along = scaled(warp_sum_of(sum), by);
      for (i64 r = k + 1 + threadIdx.x % 32; r < n; r += 32) AT(h, r, c) = minus(AT(h, r, c), times(along, v[r]));
    }
    __syncthreads();
    for (i64 i = threadIdx.x; i < 2 * n; i += kThreads) {
      E* x = i < n ? h : z;
      const i64 r = i < n ? i : i - n;
      E along = number(0);
      for (i64 c = k + 1; c < n; ++c) along = plus(along, times(AT(x, r, c), v[c]));
      along = scaled(along, by);
      for (i64 c = k + 1; c < n; ++c) AT(x, r, c) = minus(AT(x, r, c), times(along, turned(v[c])));
    }
    __syncthreads();
    for (i64 r = k + 2 + threadIdx.x; r < n; r += kThreads) AT(h, r, k) = number(0);
    __syncthreads();
  }
  // H becomes upper triangular.
  i64 last = n - 1;
  i32 info = 0;
  for (int steps = 0; last > 0;) {
    i64 first = last;
    for (; first > 0; --first) {
      const R beside = length_of(AT(h, first - 1, first - 1)) + length_of(AT(h, first, first));
      if (!(length_of(AT(h, first, first - 1)) > kEpsilon * beside)) break;
    }
    __syncthreads();
    if (threadIdx.x == 0 && first > 0) AT(h, first, first - 1) = number(0);
    __syncthreads();
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > 300) {
      info = i32(last + 1);
      break;
    }
    // The eigenvalue of the last two rows that is nearer to the last element; now and then another shift, for matrices that a
    // step leaves as they are.
    const E p = AT(h, last - 1, last - 1), q = AT(h, last - 1, last), r = AT(h, last, last - 1), d = AT(h, last, last);
    E shift = plus(d, number(length_of(r)));
    if (steps % 10 != 0) {
      const E half = scaled(minus(p, d), R(0.5)), off = times(q, r), root = root_of(plus(times(half, half), off));
      const E one = plus(half, root), other = minus(half, root), divisor = length_of(one) > length_of(other) ? one : other;
      shift = is_zero(divisor) ? d : minus(d, over(off, divisor));
    }
    __syncthreads();
    qr_step(a, h, z, turns, first, last, shift);
  }
  if (threadIdx.x == 0) a.info[blockIdx.x] = info;
  // Those of real matrices come in pairs; what is nearer to the real axis than rounding lets one see is on it.
  for (i64 k = threadIdx.x; k < n; k += kThreads) {
    const E value = AT(h, k, k);
    values[k] = is_not_real == 0 && word::abs(imag_of(value)) <= 8 * kEpsilon * size ? number(real_of(value)) : value;
  }
  if (!a.left || info != 0) return;
  for (i64 k = threadIdx.x; k < n; k += kThreads) {
    AT(y, k, k) = number(1);
    for (i64 i = k; i-- > 0;) {
      E sum = number(0), divisor = minus(AT(h, i, i), AT(h, k, k));
      for (i64 j = i + 1; j <= k; ++j) sum = plus(sum, times(AT(h, i, j), AT(y, j, k)));
      if (length_of(divisor) < kEpsilon * size) divisor = number(kEpsilon * size);
      AT(y, i, k) = over(minus(number(0), sum), divisor);
    }
  }
  __syncthreads();
  for (i64 i = threadIdx.x; i < n * n; i += kThreads) {
    const i64 r = i % n, k = i / n;
    E sum = number(0);
    for (i64 j = 0; j <= k; ++j) sum = plus(sum, times(AT(z, r, j), AT(y, j, k)));
    h[i] = sum;
  }
  __syncthreads();
  for (i64 k = threadIdx.x; k < n; k += kThreads) {
    E largest = number(0);
    R square = 0;
    for (i64 r = 0; r < n; ++r) {
      const E x = AT(h, r, k);
      square = square + square_of(x);
      if (square_of(x) > square_of(largest)) largest = x;
    }
    const E by = over(number(1), scaled(phase_of(largest), word::sqrt(square)));
    for (i64 r = 0; r < n; ++r) AT(h, r, k) = times(AT(h, r, k), by);
  }
}
#else

HOT E mirrored(const MatrixArguments& a, E x) { return a.trans ? turned(x) : x; }
HOT E diagonal_at(const MatrixArguments& a, const E* x, i64 i) { return a.trans ? number(real_of(AT(x, i, i))) : AT(x, i, i); }
HOT void swap(E& x, E& y) {
  const E t = x;
  x = y;
  y = t;
}

// Bunch and Kaufman's pivoting of the lower triangle of a; `trans`: it is Hermitian.
MATRIX(ldl) {
  __shared__ i64 pair;
  __shared__ bool is_nothing;
  const i64 n = a.n;
  E* x = static_cast<E*>(a.a) + i64(blockIdx.x) * n * n;
  i32* pivots = a.pivots + i64(blockIdx.x) * n;
  i32 info = 0;
  for (i64 k = 0; k < n;) {
    if (threadIdx.x == 0) {
      const R alpha = (1 + word::sqrt(R(17))) / 8;
      AT(x, k, k) = diagonal_at(a, x, k);
      const R own = size_of(AT(x, k, k));
      R below = 0;
      i64 largest = k, other = k, step = 1;
      for (i64 i = k + 1; i < n; ++i)
        if (size_of(AT(x, i, k)) > below) below = size_of(AT(x, i, k)), largest = i;
      is_nothing = own == 0 && below == 0;
      if (!is_nothing && own < alpha * below) {
        R row = 0;
        for (i64 j = k; j < largest; ++j) row = row < size_of(AT(x, largest, j)) ? size_of(AT(x, largest, j)) : row;
        for (i64 i = largest + 1; i < n; ++i) row = row < size_of(AT(x, i, largest)) ? size_of(AT(x, i, largest)) : row;
        if (!(own >= alpha * below * (below / row))) {
          other = largest;
          if (!(size_of(diagonal_at(a, x, largest)) >= alpha * row)) step = 2;
        }
      }
      const i64 at = k + step - 1;
      if (other != at) {
        for (i64 i = other + 1; i < n; ++i) swap(AT(x, i, at), AT(x, i, other));
        for (i64 j = at + 1; j < other; ++j) {
          const E t = mirrored(a, AT(x, j, at));
          AT(x, j, at) = mirrored(a, AT(x, other, j));
          AT(x, other, j) = t;
        }
        AT(x, other, at) = mirrored(a, AT(x, other, at));
        swap(AT(x, at, at), AT(x, other, other));
        AT(x, at, at) = diagonal_at(a, x, at);
        AT(x, other, other) = diagonal_at(a, x, other);
        if (step == 2) swap(AT(x, k + 1, k), AT(x, other, k));
      }
      if (step == 2) AT(x, k + 1, k + 1) = diagonal_at(a, x, k + 1);
      pivots[k] = i32(step == 1 ? other + 1 : -(other + 1));
      if (step == 2) pivots[k + 1] = i32(-(other + 1));
      pair = step;
    }
    __syncthreads();
    const i64 step = pair, begin = k + step, rest = n - begin;
    const bool nothing = is_nothing;
    if (nothing && info == 0) info = i32(k + 1);
    const E d0 = AT(x, k, k), d1 = step == 2 ? AT(x, k + 1, k + 1) : number(1), e = step == 2 ? AT(x, k + 1, k) : number(0);
    const E determinant = minus(times(d0, d1), times(e, mirrored(a, e)));
    // Row j of L: one or two columns.
    const auto factor = [&](i64 j, E& l0, E& l1) {
      if (step == 1) {
        l0 = over(AT(x, j, k), d0);
        l1 = number(0);
      } else {
        const E p = AT(x, j, k), q = AT(x, j, k + 1);
        l0 = over(minus(times(d1, p), times(e, q)), determinant);
        l1 = over(minus(times(d0, q), times(mirrored(a, e), p)), determinant);
      }
    };
    if (!nothing) {
      for (i64 i = threadIdx.x; i < rest * rest; i += kThreads) {
        const i64 r = begin + i % rest, c = begin + i / rest;
        if (r < c) continue;
        E l0, l1;
        factor(c, l0, l1);
        E less = times(AT(x, r, k), mirrored(a, l0));
        if (step == 2) less = plus(less, times(AT(x, r, k + 1), mirrored(a, l1)));
        const E made = minus(AT(x, r, c), less);
        AT(x, r, c) = r == c && a.trans ? number(real_of(made)) : made;
      }
      __syncthreads();
      for (i64 j = begin + threadIdx.x; j < n; j += kThreads) {
        E l0, l1;
        factor(j, l0, l1);
        AT(x, j, k) = l0;
        if (step == 2) AT(x, j, k + 1) = l1;
      }
    }
    __syncthreads();
    k += step;
  }
  if (threadIdx.x == 0) a.info[blockIdx.x] = info;
}

// b := a^-1 b for the factors in a, a thread for each column.
MATRIX(ldl_solve) {
  const i64 n = a.n;
  const E* x = static_cast<const E*>(a.a) + i64(blockIdx.x) * n * n;
  const i32* pivots = a.pivots + i64(blockIdx.x) * n;
  for (i64 column = threadIdx.x; column < a.columns; column += kThreads) {
    E* b = static_cast<E*>(a.b) + (i64(blockIdx.x) * a.columns + column) * n;
    for (i64 k = 0; k < n;) {
      const bool pair = pivots[k] < 0;
      const i64 other = (pair ? -pivots[k] : pivots[k]) - 1;
      swap(b[pair ? k + 1 : k], b[other]);
      if (!pair) {
        for (i64 i = k + 1; i < n; ++i) b[i] = minus(b[i], times(AT(x, i, k), b[k]));
        b[k] = over(b[k], diagonal_at(a, x, k));
        k += 1;
      } else {
        for (i64 i = k + 2; i < n; ++i) b[i] = minus(b[i], plus(times(AT(x, i, k), b[k]), times(AT(x, i, k + 1), b[k + 1])));
        const E d0 = AT(x, k, k), d1 = AT(x, k + 1, k + 1), e = AT(x, k + 1, k), p = b[k], q = b[k + 1];
        const E determinant = minus(times(d0, d1), times(e, mirrored(a, e)));
        b[k] = over(minus(times(d1, p), times(mirrored(a, e), q)), determinant);
        b[k + 1] = over(minus(times(d0, q), times(e, p)), determinant);
        k += 2;
      }
    }
    for (i64 k = n; k > 0;) {
      const i64 at = k - 1;
      const bool pair = pivots[at] < 0;
      const i64 other = (pair ? -pivots[at] : pivots[at]) - 1;
      for (i64 c = at; c >= (pair ? at - 1 : at); --c)
        for (i64 i = k; i < n; ++i) b[c] = minus(b[c], times(mirrored(a, AT(x, i, c)), b[i]));
      swap(b[at], b[other]);
      k -= pair ? 2 : 1;
    }
  }
}
#endif
#undef AT
