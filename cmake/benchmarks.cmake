# Benchmarks. bench/rows/ holds what is timed; sconce-bench-rows is our half of the comparison that bench/compare.py
# drives, and every bench/<name>.cpp is a Google Benchmark program, bench-<name>. `make bench` builds them (the target
# `benchmarks`), and nothing else does.
find_package(benchmark QUIET)
add_custom_target(benchmarks)

# Rows of device cuda.
sconce_program(sconce-bench-cuda bench/cuda/kernels.cpp)
sconce_program(sconce-bench-cuda-plans bench/cuda/plans.cpp)
set_target_properties(sconce-bench-cuda sconce-bench-cuda-plans PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(benchmarks sconce-bench-cuda sconce-bench-cuda-plans)

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
file(GLOB row_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/rows/*.cpp")
list(FILTER row_sources EXCLUDE REGEX "/worker\\.cpp$")
# The loops by hand are as those of the library: simd_sources in library.cmake.
set_source_files_properties("${PROJECT_SOURCE_DIR}/bench/fusion.cpp" PROPERTIES
  COMPILE_OPTIONS "-O3;-march=x86-64-v3;-fno-math-errno;-fno-trapping-math;-fwrapv")

if(row_sources AND TARGET sconce_generated AND SCONCE_GENERATED_SOURCES)
  add_library(sconce_bench_rows STATIC EXCLUDE_FROM_ALL ${row_sources})
  target_link_libraries(sconce_bench_rows PUBLIC sconce PRIVATE sconce_testing)
  target_compile_definitions(sconce_bench_rows PRIVATE SCONCE_BENCH_DIR="${PROJECT_SOURCE_DIR}/bench")
  sconce_program(sconce-bench-rows bench/rows/worker.cpp)
  target_link_libraries(sconce-bench-rows PRIVATE sconce_bench_rows)
  target_compile_definitions(sconce-bench-rows PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
  set_target_properties(sconce-bench-rows PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks sconce-bench-rows)
  if(benchmark_FOUND)
    foreach(source IN LISTS bench_sources)
      get_filename_component(name "${source}" NAME_WE)
      sconce_program(bench-${name} "${source}")
      target_link_libraries(bench-${name} PRIVATE sconce_bench_rows benchmark::benchmark)
      set_target_properties(bench-${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      add_dependencies(benchmarks bench-${name})
    endforeach()
  endif()
endif()
