# sconce-tests: every *_test.cpp beside the code, and a replay of what fuzzers found, in one program. ctest knows each
# case by its name.
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/sconce/*_test.cpp" "${PROJECT_SOURCE_DIR}/cli/*_test.cpp"
     "${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp")
list(FILTER test_sources EXCLUDE REGEX "/fuzz/(driver|.*_mutator)\\.cpp$")
foreach(part IN LISTS separate_parts)
  list(FILTER test_sources EXCLUDE REGEX "/sconce/${part}/")
endforeach()

# Tests are compiled more often than run, so without optimisation; those of kernels compute what they expect in loops of
# their own. Seconds of a core for five files: 11.3 with -O1 and without headers of our own in the precompiled one, 9.2 with
# these, 6.9 without optimisation.
function(unit_test_options target level)
  target_link_libraries(${target} PRIVATE sconce_testing sconce_static GTest::gtest)
  # SCONCE_BUILDING: Tensor without the generated methods (see tensor.h), so that a new operator compiles no test again.
  target_compile_definitions(${target} PRIVATE SCONCE_BUILDING)
  target_compile_options(${target} PRIVATE ${level})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-psabi)  # vectors of every level, passed inside one file only
  endif()
  target_precompile_headers(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>" <gtest/gtest.h> <sconce/dispatch/op.h>)
endfunction()

if(test_sources)
  set(kernel_tests ${test_sources})
  list(FILTER kernel_tests INCLUDE REGEX "/sconce/kernels/")
  list(FILTER test_sources EXCLUDE REGEX "/sconce/kernels/")
  add_library(sconce_kernel_tests OBJECT ${kernel_tests})
  unit_test_options(sconce_kernel_tests -O1)
  add_executable(sconce-tests ${test_sources} $<TARGET_OBJECTS:sconce_kernel_tests>)
  unit_test_options(sconce-tests -O0)
  target_link_libraries(sconce-tests PRIVATE GTest::gtest_main)
  gtest_discover_tests(sconce-tests DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                       PROPERTIES TIMEOUT 300)
endif()

# sconce-cuda-tests: the same for device cuda, with its objects linked in. A machine without a GPU runs all that needs none.
if(cuda_test_sources)
  add_executable(sconce-cuda-tests ${cuda_test_sources} $<TARGET_OBJECTS:sconce_kernels_cuda>)
  unit_test_options(sconce-cuda-tests -O1)
  target_link_libraries(sconce-cuda-tests PRIVATE GTest::gtest_main)
  gtest_discover_tests(sconce-cuda-tests DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                       TEST_PREFIX "cuda." PROPERTIES TIMEOUT 300 LABELS cuda)
endif()
