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

if(test_sources)
  add_executable(sconce-tests ${test_sources})
  target_link_libraries(sconce-tests PRIVATE sconce_testing sconce_static GTest::gtest_main)
  # SCONCE_BUILDING: Tensor without the generated methods (see tensor.h), so that a new operator compiles no test again.
  target_compile_definitions(sconce-tests PRIVATE SCONCE_BUILDING)
  target_compile_options(sconce-tests PRIVATE -O1)  # tests are compiled more often than run: a third less time than -O2
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(sconce-tests PRIVATE -Wno-psabi)  # vectors of every level, passed inside one file only
  endif()
  target_precompile_headers(sconce-tests PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>" <gtest/gtest.h>)
  gtest_discover_tests(sconce-tests DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                       PROPERTIES TIMEOUT 300)
endif()

# sconce-cuda-tests: the same for device cuda, with its objects linked in. A machine without a GPU runs all that needs none.
if(cuda_test_sources)
  add_executable(sconce-cuda-tests ${cuda_test_sources} $<TARGET_OBJECTS:sconce_kernels_cuda>)
  target_link_libraries(sconce-cuda-tests PRIVATE sconce_testing sconce_static GTest::gtest_main)
  target_compile_definitions(sconce-cuda-tests PRIVATE SCONCE_BUILDING)
  target_compile_options(sconce-cuda-tests PRIVATE -O1)
  target_precompile_headers(sconce-cuda-tests PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>" <gtest/gtest.h>)
  gtest_discover_tests(sconce-cuda-tests DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                       TEST_PREFIX "cuda." PROPERTIES TIMEOUT 300 LABELS cuda)
endif()
