# How programs are made: linked to libsconce.so, which they find beside them.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# The precompiled header that programs share: of the standard library, what most of them include. Seconds of a core for
# seven sources of the command line: 8.9 with base/pch.h alone, 6.9 so, and no less with {fmt}, JSON or headers of our own,
# whose inline functions are instantiated in every source then.
set(program_headers chrono complex condition_variable deque map numeric set sstream unordered_set variant)
list(TRANSFORM program_headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
add_library(sconce_program_pch OBJECT "${CMAKE_CURRENT_BINARY_DIR}/pch.cpp")
target_precompile_headers(sconce_program_pch PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>" ${program_headers})
set_target_properties(sconce_program_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(sconce_program_pch PRIVATE -fPIE)  # as for every program: the flags have to be the same
target_link_libraries(sconce_program_pch PRIVATE Threads::Threads)

# sconce_program(NAME SOURCE...): a program in bin/ that finds the library in ../lib, wherever the two are moved.
function(sconce_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE sconce sconce_fmt)
  target_precompile_headers(${name} REUSE_FROM sconce_program_pch)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")
endfunction()
