// The argument of factorisations and solves, on both sides: batches of matrices stored by columns, one behind the other.
struct MatrixArguments {
  void *a, *b;     // m x n (square: n x n), and what is solved for or multiplied; eigen and singular values: a, and vectors
  void* tau;       // k factors of reflections; eigenvalues
  i32 *pivots, *info;
  void* room;      // eigenvalues: rotations of a step
  i64 m, n, k;     // of a
  i64 rows, columns;  // of b
  int upper, left, trans, unit;  // trans: 0 as it is, 1 transposed, 2 its conjugate, too
};
