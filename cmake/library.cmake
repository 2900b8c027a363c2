# libsconce: one set of objects, linked as a shared and as a static library.
# Programs link `sconce` (shared); unit tests link `sconce_static`, which also shows them what is not exported.

# {fmt}, compiled into whoever needs it (see fmt.cpp).
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
add_library(sconce_fmt STATIC cmake/fmt.cpp)
target_include_directories(sconce_fmt SYSTEM PUBLIC "${FMT_INCLUDE_DIR}")

# Flags and include folders that everything of ours shares.
add_library(sconce_common INTERFACE)
target_include_directories(sconce_common INTERFACE "${PROJECT_SOURCE_DIR}" "${SCONCE_GENERATED_DIR}")
find_package(ZLIB REQUIRED)
target_link_libraries(sconce_common INTERFACE Threads::Threads ZLIB::ZLIB ${CMAKE_DL_LIBS})
add_dependencies(sconce_common sconce_generated)

# Folders that are parts of their own, loaded on use, and not of libsconce.
set(separate_parts codegen/llvm codegen/cuda kernels/cuda python)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/*.cpp")
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
list(FILTER sources EXCLUDE REGEX "/sconce/kernels/cpu/simd/")
foreach(part IN LISTS separate_parts)
  list(FILTER sources EXCLUDE REGEX "/sconce/${part}/")
endforeach()

# What tests and the conformance runner share is a library of its own, so that nobody ships it.
set(testing_sources ${sources})
list(FILTER testing_sources INCLUDE REGEX "/sconce/testing/")
list(FILTER sources EXCLUDE REGEX "/sconce/testing/")

# The generated operators are many and only lead to kernels: they are optimised for size.
add_library(sconce_objects OBJECT ${sources} ${SCONCE_SCRIPT_SOURCES})
add_library(sconce_operators OBJECT ${SCONCE_GENERATED_SOURCES})
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(sconce_operators PRIVATE -Os)
endif()
set(object_libraries sconce_objects sconce_operators)
foreach(target IN LISTS object_libraries)
  target_link_libraries(${target} PRIVATE sconce_common)
  target_include_directories(${target} SYSTEM PRIVATE "${FMT_INCLUDE_DIR}")
  target_compile_definitions(${target} PRIVATE SCONCE_BUILDING)
  # The library's calls of its own exported functions are direct, and may be inlined: nobody replaces them at run time.
  target_compile_options(${target} PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>")
  add_dependencies(${target} sconce_generated)
endforeach()

set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/api/c_api_process.cpp" PROPERTIES
  COMPILE_DEFINITIONS "SCONCE_VERSION=\"${PROJECT_VERSION}\"")

# Vector loops: the same sources once per instruction-set level, each in a namespace of its own (v2, v3, v4), chosen at
# run time. They hold no inline functions of the standard library: the linker keeps one copy of such a function for the
# whole program, and it might keep the one that needs AVX-512. Hence no precompiled header, and -O2 even when debugging.
file(GLOB_RECURSE simd_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/simd/*.cpp")
list(FILTER simd_sources EXCLUDE REGEX "_test\\.cpp$")
list(APPEND simd_sources ${SCONCE_GENERATED_SIMD})
if(simd_sources)
  foreach(level 2 3 4)
    set(target sconce_simd_v${level})
    add_library(${target} OBJECT ${simd_sources})
    target_link_libraries(${target} PRIVATE sconce_common)
    target_compile_definitions(${target} PRIVATE SCONCE_BUILDING SCONCE_ISA=${level}
                               SCONCE_ISA_NAMESPACE=v${level})
    target_compile_options(${target} PRIVATE -march=x86-64-v${level} -O2 -fno-math-errno -fno-trapping-math -fwrapv)
    add_dependencies(${target} sconce_generated)
    list(APPEND object_libraries ${target})
  endforeach()
endif()

set(objects)
foreach(library IN LISTS object_libraries)
  list(APPEND objects "$<TARGET_OBJECTS:${library}>")
endforeach()

add_library(sconce SHARED ${objects})
target_link_libraries(sconce PUBLIC sconce_common PRIVATE sconce_fmt)
target_link_options(sconce PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions)
set_target_properties(sconce PROPERTIES LINKER_LANGUAGE CXX)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT SCONCE_SANITIZE)
  target_link_options(sconce PRIVATE -Wl,-O1 -Wl,-z,defs)
  # The tables of operators are pointers: packed, their relocations take 10 KB instead of 650.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs linker_packs_relocations)
  if(linker_packs_relocations)
    target_link_options(sconce PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endif()

# Whole: operators register themselves from objects that nothing else refers to.
add_library(sconce_static STATIC ${objects})
target_link_libraries(sconce_static PUBLIC sconce_common sconce_fmt)
set_target_properties(sconce_static PROPERTIES OUTPUT_NAME sconce LINKER_LANGUAGE CXX)

if(testing_sources)
  add_library(sconce_testing STATIC ${testing_sources} ${SCONCE_GENERATED_TESTING})
  target_link_libraries(sconce_testing PUBLIC sconce_common)
  target_compile_definitions(sconce_testing PRIVATE SCONCE_BUILDING)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/testing/source_tree.cpp" PROPERTIES
    COMPILE_DEFINITIONS "SCONCE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  target_include_directories(sconce_testing SYSTEM PRIVATE "${FMT_INCLUDE_DIR}")
  target_precompile_headers(sconce_testing PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/sconce/base/pch.h>")
else()
  add_library(sconce_testing INTERFACE)
endif()
add_dependencies(sconce_testing sconce_generated)
