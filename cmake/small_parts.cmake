# Parts of small libraries (docs/small.md): everything that any selection of operators may need, compiled once and for
# size, each function in a section of its own. cmake/small.cmake links a library from them for one selection.
#
#   lib/small/libsconce_parts.a     runtime, readers, kernels, glue
#   lib/small/libsconce_v3.a, ...   vector code of an instruction-set level; libsconce_loops_v3.a: its generated loops
#
# Where a lite library does without something, a source of sconce/lite stands in for that of the whole (see there).
set(small_dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/small")

# Glue and typed functions, from the table.
execute_process(COMMAND ${opgen} --small --list WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\\.(cpp|h)" small_generated "${listing}")
list(TRANSFORM small_generated PREPEND "${SCONCE_GENERATED_DIR}/")
set(small_sources ${small_generated})
list(FILTER small_sources INCLUDE REGEX "\\.cpp$")
add_custom_command(OUTPUT ${small_generated} COMMAND ${opgen} --small
                   DEPENDS ${op_tables} ${operator_lists} ${operator_names} ${opgen_sources} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                   COMMENT "Generating operators of small libraries" VERBATIM)
add_custom_target(sconce_small_generated DEPENDS ${small_generated})

# Tables for unwinding that are right at calls: cmake/unwinding/as.
set(small_tables)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND EXISTS /usr/bin/as)
  set(small_tables "-B${PROJECT_SOURCE_DIR}/cmake/unwinding/")
endif()

# small_objects(NAME SOURCE...): the object library sconce_small_<name>.
function(small_objects name)
  set(target sconce_small_${name})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE sconce_common)
  target_include_directories(${target} SYSTEM PRIVATE "${FMT_INCLUDE_DIR}")
  target_compile_definitions(${target} PRIVATE SCONCE_BUILDING SCONCE_SMALL)
  target_compile_options(${target} PRIVATE ${SCONCE_LIBRARY_FLAGS} -Os ${small_tables})
  if(NOT name STREQUAL "operators")
    target_compile_options(${target} PRIVATE -fno-asynchronous-unwind-tables)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND name MATCHES "^(base|tensors|values|programs)$")  # they ask no object for its type
    target_compile_options(${target} PRIVATE -fno-rtti)
  endif()
  add_dependencies(${target} sconce_generated sconce_small_generated)
endfunction()

include(cmake/small_sources.cmake)
small_objects(base ${small_base_sources})
target_precompile_headers(sconce_small_base PRIVATE <sconce/base/pch.h> <sconce/base/text/shared_strings.h>)
small_objects(tensors ${small_tensors_sources})
target_precompile_headers(sconce_small_tensors PRIVATE <sconce/base/pch.h> <sconce/base/text/shared_strings.h> <sconce/tensor/tensor.h>)
small_objects(values ${small_values_sources})
target_precompile_headers(sconce_small_values PRIVATE <sconce/base/pch.h> <sconce/base/text/shared_strings.h> <sconce/dispatch/op.h>)
small_objects(programs ${small_programs_sources})
target_precompile_headers(sconce_small_programs PRIVATE <sconce/base/pch.h> <sconce/base/text/shared_strings.h> <sconce/ir/function.h>)
small_objects(operators ${small_sources})
target_precompile_headers(sconce_small_operators PRIVATE <sconce/base/pch.h> ${precompiled_operators} <sconce/dispatch/direct.h>)
# Kernels that most models need are compiled again, for size: they become a third smaller, and their loops are vector code, which
# is not compiled again. The others are those of the whole library.
option(SCONCE_SMALL_KERNELS "Compiles all kernels for small libraries again, for size" OFF)
set(small_folders cpu/engine cpu/gemm cpu/conv cpu/pool cpu/norm cpu/index)
list(TRANSFORM small_folders PREPEND "kernels/" OUTPUT_VARIABLE folders)
if(SCONCE_SMALL_KERNELS)
  set(folders kernels)
endif()
small_sources(kernels "/engine/cpu_backend\\.cpp|/gemm/(onednn|provider)\\.cpp" ${folders})
# Those that call the CPU's engines without its table of functions (SCONCE_SMALL).
foreach(seam pointwise reduce draw)
  list(APPEND small_kernels_sources "${PROJECT_SOURCE_DIR}/sconce/kernels/${seam}.cpp")
endforeach()
list(REMOVE_DUPLICATES small_kernels_sources)
small_objects(kernels ${small_kernels_sources})
target_precompile_headers(sconce_small_kernels PRIVATE <sconce/base/pch.h> <sconce/base/error.h> <sconce/tensor/tensor.h>)
list(JOIN small_folders "|" folders)
set(fast_kernels $<TARGET_OBJECTS:sconce_autograd> $<TARGET_OBJECTS:sconce_autograd_size>)
if(NOT SCONCE_SMALL_KERNELS)
  foreach(kernels kernels kernels_size)
    list(APPEND fast_kernels "$<FILTER:$<TARGET_OBJECTS:sconce_${kernels}>,EXCLUDE,/kernels/(pointwise|reduce|draw)[.]cpp|/kernels/(${folders})/>")
  endforeach()
endif()

sconce_objects_of(small_part_objects small_base small_tensors small_values small_programs small_operators small_kernels)
add_library(sconce_parts STATIC EXCLUDE_FROM_ALL ${small_part_objects} ${fast_kernels})
set_target_properties(sconce_parts PROPERTIES LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY "${small_dir}")
set(small_archives sconce_parts)
foreach(level IN LISTS simd_levels)
  string(REPLACE "simd_" "" name "${level}")
  add_library(sconce_${name} STATIC EXCLUDE_FROM_ALL "$<FILTER:$<TARGET_OBJECTS:sconce_${level}>,EXCLUDE,/generated/>")
  add_library(sconce_loops_${name} STATIC EXCLUDE_FROM_ALL "$<FILTER:$<TARGET_OBJECTS:sconce_${level}>,INCLUDE,/generated/>")
  set_target_properties(sconce_${name} sconce_loops_${name} PROPERTIES LINKER_LANGUAGE CXX
    ARCHIVE_OUTPUT_DIRECTORY "${small_dir}")
  list(APPEND small_archives sconce_${name} sconce_loops_${name})
endforeach()
# What stands in for code of dtypes that a selection leaves out: lib/small/libsconce_without_<name>.a of sconce/lite/without/<name>.cpp.
file(GLOB without_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/lite/without/*.cpp")
foreach(source IN LISTS without_sources)
  get_filename_component(name "${source}" NAME_WE)
  small_objects(without_${name} "${source}")
  add_library(sconce_without_${name} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sconce_small_without_${name}>)
  set_target_properties(sconce_without_${name} PROPERTIES LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY "${small_dir}")
  list(APPEND small_without sconce_without_${name})
endforeach()
add_custom_target(small_parts DEPENDS ${small_archives} ${small_without})
