// The tables of the reductions that simd/reduce_index.cpp holds.
#include "sconce/kernels/reduce.h"

namespace sconce {

SCONCE_AT_EACH_LEVEL(extern const ReduceKernels argmax_f32, argmax_f64, argmax_i64, argmin_f32, argmin_f64, argmin_i64,
                     max_index_f32, max_index_f64, max_index_i64, min_index_f32, min_index_f64, min_index_i64;)

namespace cpu {

#define SCONCE_LEVEL(level, name) {&level::name##_f32, &level::name##_f64, nullptr, &level::name##_i64}
#define SCONCE_LEVELS(name) \
  {SCONCE_LEVEL(v2, name), SCONCE_FROM_LEVEL_3(SCONCE_LEVEL(v3, name), ) SCONCE_FROM_LEVEL_4(SCONCE_LEVEL(v4, name), )}
const ReduceLoops reduce_argmax = {"argmax", 2, 1, 0, true, 1, SCONCE_LEVELS(argmax)};
const ReduceLoops reduce_argmin = {"argmin", 2, 1, 0, true, 1, SCONCE_LEVELS(argmin)};
const ReduceLoops reduce_max_index = {"max", 2, 2, 0, true, 2, SCONCE_LEVELS(max_index)};
const ReduceLoops reduce_min_index = {"min", 2, 2, 0, true, 2, SCONCE_LEVELS(min_index)};
#undef SCONCE_LEVELS
#undef SCONCE_LEVEL

}  // namespace cpu
}  // namespace sconce
