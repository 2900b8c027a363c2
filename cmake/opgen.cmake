# The operator table's generated code, in <build>/generated.
#
# `python3 -m opgen --out DIR --list` names the files that would be written, one `<kind> <relative path>` a line, with
# the kinds `source` (compiled once), `simd` (compiled for every instruction-set level), `cuda` (for libsconce_cuda alone),
# `testing` (for the test support only) and `header`. The list depends on which ops/*.toml there are and is asked for while configuring; the files are
# written while building. opgen leaves a file alone whose text would not change, so only what depends on a real change is
# compiled again.
#
# Sets SCONCE_GENERATED_DIR, SCONCE_GENERATED_SOURCES, SCONCE_GENERATED_SIMD, SCONCE_GENERATED_CUDA,
# SCONCE_GENERATED_TESTING; defines the target sconce_generated.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

set(SCONCE_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
set(SCONCE_GENERATED_SOURCES)
set(SCONCE_GENERATED_SIMD)
set(SCONCE_GENERATED_TESTING)
set(SCONCE_GENERATED_CUDA)
file(MAKE_DIRECTORY "${SCONCE_GENERATED_DIR}")

file(GLOB op_tables CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ops/*.toml")
file(GLOB operator_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ops/overload_order.txt"
     "${PROJECT_SOURCE_DIR}/ops/autocast.txt")
set(operator_names "${PROJECT_SOURCE_DIR}/sconce/base/operators.def")
file(GLOB_RECURSE opgen_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/opgen/*.py")
list(FILTER opgen_sources EXCLUDE REGEX "_test\\.py$")
list(APPEND opgen_sources "${PROJECT_SOURCE_DIR}/sconce/tensor/key_set.h")  # opgen/devices.py reads the slots of kernels there

if(op_tables AND EXISTS "${PROJECT_SOURCE_DIR}/opgen/__main__.py")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${opgen_sources})
  set(opgen "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1
      "${Python3_EXECUTABLE}" -m opgen --out "${SCONCE_GENERATED_DIR}")

  execute_process(COMMAND ${opgen} --list WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE listing RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "opgen --list failed")
  endif()

  set(generated_files)
  string(REGEX MATCHALL "[^\n]+" listing "${listing}")
  foreach(line IN LISTS listing)
    if(NOT line MATCHES "^(source|simd|cuda|testing|header) ([^ ]+)$")
      message(FATAL_ERROR "opgen --list printed '${line}', expected '<source|simd|cuda|testing|header> <path>'")
    endif()
    set(kind "${CMAKE_MATCH_1}")
    set(path "${SCONCE_GENERATED_DIR}/${CMAKE_MATCH_2}")
    list(APPEND generated_files "${path}")
    if(kind STREQUAL "source")
      list(APPEND SCONCE_GENERATED_SOURCES "${path}")
    elseif(kind STREQUAL "simd")
      list(APPEND SCONCE_GENERATED_SIMD "${path}")
    elseif(kind STREQUAL "cuda")
      list(APPEND SCONCE_GENERATED_CUDA "${path}")
    elseif(kind STREQUAL "testing")
      list(APPEND SCONCE_GENERATED_TESTING "${path}")
    endif()
  endforeach()

  add_custom_command(OUTPUT ${generated_files} COMMAND ${opgen}
                     DEPENDS ${op_tables} ${operator_lists} ${operator_names} ${opgen_sources} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                     COMMENT "Generating operators" VERBATIM)
  add_custom_target(sconce_generated DEPENDS ${generated_files})
else()
  add_custom_target(sconce_generated)
endif()
