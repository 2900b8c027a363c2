# A small library: libsconce_lite.so, with the operators of one selection and nothing else (docs/small.md).
#
#   cmake -S . -B DIR -DSCONCE_SELECT=selection.txt [-DSCONCE_PARTS=BUILD] && cmake --build DIR
#
# SCONCE_PARTS is a build folder whose target small_parts was built: then two generated sources are compiled, and the library
# is linked. Without, the parts are compiled here first (cmake/small_parts.cmake).
set(CMAKE_EXE_LINKER_FLAGS "")
if(SCONCE_PARTS)
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  get_filename_component(SCONCE_PARTS "${SCONCE_PARTS}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
  set(SCONCE_GENERATED_DIR "${SCONCE_PARTS}/generated")
  set(small_dir "${SCONCE_PARTS}/lib/small")
  if(NOT EXISTS "${small_dir}/libsconce_parts.a")
    message(FATAL_ERROR "${SCONCE_PARTS} has no parts of small libraries: build its target small_parts")
  endif()
  file(GLOB level_archives "${small_dir}/libsconce_*v?.a")
  set(parts_archive "${small_dir}/libsconce_parts.a")
else()
  set(level_archives)
  foreach(archive IN LISTS small_archives)
    list(APPEND level_archives "$<TARGET_FILE:${archive}>")
  endforeach()
  list(POP_FRONT level_archives parts_archive)
endif()

get_filename_component(selection "${SCONCE_SELECT}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
if(NOT EXISTS "${selection}")
  message(FATAL_ERROR "SCONCE_SELECT names ${selection}, which is not there: `sconce select MODEL -o FILE` writes one")
endif()
set(selected_dir "${PROJECT_BINARY_DIR}/selected")
set(selected_sources "${selected_dir}/sconce/selected/operators.cpp" "${selected_dir}/sconce/selected/loops.cpp")
file(GLOB_RECURSE selecting "${PROJECT_SOURCE_DIR}/opgen/*.py" "${PROJECT_SOURCE_DIR}/ops/*.toml")
add_custom_command(OUTPUT ${selected_sources}
  COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1 "${Python3_EXECUTABLE}" -m opgen --out "${selected_dir}"
          --select "${selection}"
  DEPENDS "${selection}" ${selecting} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Generating the selected operators" VERBATIM)

if(SCONCE_WASM)
  include(cmake/small_web.cmake)
  return()
endif()

file(STRINGS "${selection}" chosen_levels REGEX "^level v")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${selection}")
list(TRANSFORM chosen_levels REPLACE "^level (v[0-9]+).*" "\\1")
list(JOIN chosen_levels "," chosen_levels)
if(NOT chosen_levels)
  set(chosen_levels all)
endif()
set(levels_script "${selected_dir}/levels.ld")
# Of a level that was not selected only generated loops are linked: those that no level does faster.
set(linked_archives ${level_archives})
if(NOT chosen_levels STREQUAL "all")
  string(REPLACE "," "|" wanted "${chosen_levels}")
  list(FILTER linked_archives INCLUDE REGEX "_(loops_v[0-9]|${wanted})[.a>]+$")
endif()
add_custom_command(OUTPUT "${levels_script}"
  COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/absent_levels.py" "${levels_script}" "${chosen_levels}"
          "${parts_archive}" ${level_archives}
  DEPENDS "${parts_archive}" ${level_archives} "${selection}" "${PROJECT_SOURCE_DIR}/cmake/absent_levels.py" VERBATIM)

# Dtypes that are left out, where the selection lists any, and formats: their code gives way to code that refuses them
# (sconce/lite/without).
file(STRINGS "${selection}" chosen_dtypes REGEX "^dtype ")
list(TRANSFORM chosen_dtypes REPLACE "^dtype +([a-z0-9_]+).*" "\\1")
file(STRINGS "${selection}" chosen_formats REGEX "^format ")
list(TRANSFORM chosen_formats REPLACE "^format +([a-z]+).*" "\\1")
set(refusals)
function(without name)  # NAME DTYPE...: where none of these is selected
  foreach(word IN LISTS ARGN)
    if(word IN_LIST chosen_dtypes OR word IN_LIST chosen_formats)
      return()
    endif()
  endforeach()
  if(SCONCE_PARTS)
    list(APPEND refusals "${small_dir}/libsconce_without_${name}.a")
  else()
    list(APPEND refusals "$<TARGET_FILE:sconce_without_${name}>")
  endif()
  set(refusals "${refusals}" PARENT_SCOPE)
endfunction()
file(STRINGS "${selection}" no_random REGEX "^random no")
if(no_random)
  without(random)
endif()
foreach(format sparse quantized)
  without(${format} ${format})
endforeach()
if(chosen_dtypes)
  if("quantized" IN_LIST chosen_formats)  # what quantised tensors are stored as, and packed weights of 16 bits
    list(APPEND chosen_dtypes uint8 int8 int32 float16)
  endif()
  foreach(dtype int16 int32 int64 float16 bfloat16 float64)
    without(${dtype} ${dtype})
  endforeach()
  without(bytes uint8 int8)
  without(halves int16 float16 bfloat16 uint16)
  without(linear_body sparse quantized float8_e4m3fn float8_e5m2)
  without(generic_products uint8 int8 int16 int32 int64 complex64 complex128)
  without(reduced_floats float16 bfloat16)
  without(complex complex64 complex128)
  without(limited uint16 uint32 uint64 float8_e4m3fn float8_e5m2)
endif()

# Only the C interface is visible: everything that it does not reach goes.
file(CONFIGURE OUTPUT "${selected_dir}/exports.map" CONTENT "{ global: sconce_lite_*; local: *; };\n")
add_library(sconce_lite_objects OBJECT ${selected_sources})
target_include_directories(sconce_lite_objects PRIVATE "${PROJECT_SOURCE_DIR}" "${SCONCE_GENERATED_DIR}")
target_compile_definitions(sconce_lite_objects PRIVATE SCONCE_BUILDING SCONCE_SMALL)
target_compile_options(sconce_lite_objects PRIVATE -Os -fPIC ${SCONCE_LIBRARY_FLAGS})
find_package(ZLIB REQUIRED)
# small_library(TARGET MAP SOURCE...): the library; on x86-64 it is linked by small.ld.in with the unwinding_* that are set.
# Linkers for other processors lack some of what that needs, and merge.py knows x86-64's tables alone.
set(merges_tables OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(merges_tables ON)
endif()
function(small_library target map)
  set(script)
  if(merges_tables)
    set(script "${selected_dir}/${target}.ld")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/small.ld.in" "${script}" @ONLY)
  endif()
  add_library(${target} SHARED $<TARGET_OBJECTS:sconce_lite_objects> "${levels_script}" ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sconce_lite LINKER_LANGUAGE CXX
    LINK_DEPENDS "${script};${ordered};${parts_archive};${level_archives};${refusals}")
  target_link_options(${target} PRIVATE -Wl,--version-script=${selected_dir}/exports.map -Wl,-O1 -Wl,-z,defs -Wl,-Bsymbolic
    -Wl,-z,noseparate-code -Wl,--build-id=none -Wl,--hash-style=gnu "-Wl,-Map=${selected_dir}/${map}")
  if(script)
    target_link_options(${target} PRIVATE "-Wl,-T,${script}" -nostartfiles -Wl,-z,norelro -Wl,-z,pack-relative-relocs
      -Wl,--no-eh-frame-hdr -Wl,--no-ld-generated-unwind-info)
  endif()
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive ${refusals} "${parts_archive}" -Wl,--no-whole-archive
    ${linked_archives} "${levels_script}" ZLIB::ZLIB Threads::Threads)
endfunction()

set(ordered)
set(unwinding .eh_frame)
set(unwinding_tables "KEEP(*(.eh_frame)) *(.eh_frame.*) LONG(0)")
set(handlers "*(.gcc_except_table .gcc_except_table.*)")
if(NOT merges_tables)
  small_library(sconce_lite_selected libsconce_lite.map)
else()
  # Linked three times: as it comes; with functions in the order of their frames; with the tables for unwinding of that, merged.
  set(tables "${PROJECT_SOURCE_DIR}/cmake/unwinding/tables.py")
  small_library(sconce_lite_first first.map)
  set(order "${PROJECT_SOURCE_DIR}/cmake/unwinding/order.py")
  set(ordered "${selected_dir}/functions.ld")
  add_custom_command(OUTPUT "${ordered}"
    COMMAND "${Python3_EXECUTABLE}" -B "${order}" "$<TARGET_FILE:sconce_lite_first>" "${selected_dir}/first.map" "${ordered}"
    DEPENDS sconce_lite_first "${order}" "${tables}" COMMENT "Ordering functions" VERBATIM)
  set(functions "INCLUDE \"${ordered}\"")
  small_library(sconce_lite_ordered ordered.map "${ordered}")
  foreach(step first ordered)
    set_target_properties(sconce_lite_${step} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${selected_dir}/${step}")
  endforeach()
  set(merge "${PROJECT_SOURCE_DIR}/cmake/unwinding/merge.py")
  set(merged "${selected_dir}/unwinding")
  add_custom_command(OUTPUT "${merged}.o"
    COMMAND "${Python3_EXECUTABLE}" -B "${merge}" "$<TARGET_FILE:sconce_lite_ordered>" "${merged}.s"
    COMMAND "${CMAKE_CXX_COMPILER}" -c "${merged}.s" -o "${merged}.o"
    DEPENDS sconce_lite_ordered "${merge}" "${tables}" COMMENT "Merging tables for unwinding" VERBATIM)
  set(unwinding .unwinding)  # another name: the linker would read it
  set(unwinding_tables "KEEP(*(.sconce_unwinding))")
  set(handlers "KEEP(*(.sconce_handlers))")
  set(unwinding_left_out "*(.eh_frame .eh_frame.*) *(.gcc_except_table .gcc_except_table.*)")
  set(unwinding_check
    "ASSERT(SIZEOF(.text) == sconce_code_size, \"the last link differs from that before\")")
  small_library(sconce_lite_selected libsconce_lite.map "${merged}.o")
endif()
configure_file("${PROJECT_SOURCE_DIR}/sconce/lite/sconce_lite.h" "${PROJECT_BINARY_DIR}/include/sconce_lite.h" COPYONLY)
