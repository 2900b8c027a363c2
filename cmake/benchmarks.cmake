# Benchmarks. bench/rows/ holds what is timed; sconce-bench-rows is our half of the comparison that bench/compare.py
# drives, and every bench/<name>.cpp is a Google Benchmark program, bench-<name>.
find_package(benchmark QUIET)

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
file(GLOB row_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/rows/*.cpp")
list(FILTER row_sources EXCLUDE REGEX "/worker\\.cpp$")

if(row_sources AND TARGET sconce_generated AND SCONCE_GENERATED_SOURCES)
  add_library(sconce_bench_rows STATIC ${row_sources})
  target_link_libraries(sconce_bench_rows PUBLIC sconce PRIVATE sconce_testing)
  target_compile_definitions(sconce_bench_rows PRIVATE SCONCE_BENCH_DIR="${PROJECT_SOURCE_DIR}/bench")
  sconce_program(sconce-bench-rows bench/rows/worker.cpp)
  target_link_libraries(sconce-bench-rows PRIVATE sconce_bench_rows)
  target_compile_definitions(sconce-bench-rows PRIVATE SCONCE_VERSION="${PROJECT_VERSION}")
  if(benchmark_FOUND)
    foreach(source IN LISTS bench_sources)
      get_filename_component(name "${source}" NAME_WE)
      sconce_program(bench-${name} "${source}")
      target_link_libraries(bench-${name} PRIVATE sconce_bench_rows benchmark::benchmark)
    endforeach()
  endif()
endif()
