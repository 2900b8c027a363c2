# Benchmarks: bench/<name>.cpp is bench-<name>, a Google Benchmark program; bench/rows/*.cpp is sconce-bench-rows, our
# half of the comparison that bench/compare.py drives.
find_package(benchmark QUIET)

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
if(benchmark_FOUND)
  foreach(source IN LISTS bench_sources)
    get_filename_component(name "${source}" NAME_WE)
    sconce_program(bench-${name} "${source}")
    target_link_libraries(bench-${name} PRIVATE benchmark::benchmark_main)
  endforeach()
endif()

file(GLOB row_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/rows/*.cpp")
if(row_sources)
  sconce_program(sconce-bench-rows ${row_sources})
endif()
