# The libraries: an object library for every folder, and what is linked of them.
#
#   sconce         everything, shared: what programs link
#   sconce_static  everything: for unit tests, which also see what is not exported
#   sconce_lite    bytecode, its reader and what that runs: no front end, no passes
#   sconce_core    tensors, operators, gradients: no programs
#
# The static ones need not be linked whole: nothing registers itself (Note [Connections] in sconce/connect/sconce.cpp).

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
set(separate_parts codegen/llvm codegen/cuda kernels/cuda connect/cuda python)

# Objects: a library for every folder (see ARCHITECTURE.md, "Libraries"), compiled with one of these sets of flags and
# precompiled headers. A precompiled header of our own headers is shared by folders where nearly every source includes
# them anyway: it halves the time of parsing, and who edits one of them waits for no more than before. No source relies
# on it (the preset `lint` has none).
#
#   set           optimised for   precompiled, beside the standard library
#   plain         speed           -
#   tensors       speed           Tensor
#   small_tensors size            Tensor
#   values        speed           Value and Op
#   small_values  size            Value and Op
#   programs      size            graphs and functions
#   operators     size            what generated operators include
#
# For size: the compiler, readers and writers of files, optimisers, and the operators, which lead to kernels. They call
# what is hot and are not hot themselves; they become half as large, and compile a quarter quicker.
set(sets_for_size small_tensors small_values programs operators)
set(precompiled_plain)
set(precompiled_tensors <sconce/base/error.h> <sconce/tensor/tensor.h>)
set(precompiled_small_tensors ${precompiled_tensors})
set(precompiled_values <sconce/dispatch/op.h>)
set(precompiled_small_values <sconce/dispatch/op.h>)
set(precompiled_programs <sconce/ir/function.h>)
set(precompiled_operators <sconce/dispatch/box.h> <sconce/dispatch/registry.h> <sconce/dispatch/body_runtime.h>
    <sconce/dispatch/glue.h> <sconce/kernels/pointwise.h> <sconce/kernels/reduce.h>)

# sconce_objects(NAME SET SOURCE...): the object library sconce_<name>.
function(sconce_objects name set)
  set(target sconce_${name})
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE sconce_common)
  target_include_directories(${target} SYSTEM PRIVATE "${FMT_INCLUDE_DIR}")
  target_compile_definitions(${target} PRIVATE SCONCE_BUILDING)
  # The library's calls of its own exported functions are direct, and may be inlined: nobody replaces them at run time.
  target_compile_options(${target} PRIVATE ${SCONCE_LIBRARY_FLAGS})
  if(set IN_LIST sets_for_size AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -Os)
  endif()
  if(NOT name STREQUAL "pch_${set}")
    target_precompile_headers(${target} REUSE_FROM sconce_pch_${set})
  else()
    target_precompile_headers(${target} PRIVATE <sconce/base/pch.h> ${precompiled_${set}})
  endif()
  add_dependencies(${target} sconce_generated)
endfunction()

# The precompiled headers stand apart, so that no folder waits for another.
file(CONFIGURE OUTPUT pch.cpp CONTENT "// Only here so that precompiled headers have a source file.\n")
foreach(set plain tensors small_tensors values small_values programs operators)
  sconce_objects(pch_${set} ${set} "${CMAKE_CURRENT_BINARY_DIR}/pch.cpp")
endforeach()

# sconce_sources(NAME SET FOLDER REGEX SOURCE...): the sources in sconce/FOLDER and below it whose path matches, less
# what others have already taken, and these.
set(taken_sources)
function(sconce_sources name set folder regex)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/${folder}/*.cpp")
  list(FILTER sources INCLUDE REGEX "/sconce/${folder}/${regex}")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/kernels/cpu/simd/")
  foreach(part IN LISTS separate_parts)
    list(FILTER sources EXCLUDE REGEX "/sconce/${part}/")
  endforeach()
  list(REMOVE_ITEM sources ${taken_sources})
  sconce_objects(${name} ${set} ${sources} ${ARGN})
  set(taken_sources ${taken_sources} ${sources} PARENT_SCOPE)
endfunction()

# sconce_folder(SET FOLDER SOURCE...): the sources in sconce/FOLDER and below it, and these.
function(sconce_folder set folder)
  string(REPLACE "/" "_" name "${folder}")
  sconce_sources(${name} ${set} "${folder}" "" ${ARGN})
  set(taken_sources ${taken_sources} PARENT_SCOPE)
endfunction()

# What is not hot in folders that are: kernels that lead to operators, to LAPACK or to vector loops and touch no
# elements themselves, texts of values and types, definitions of custom operators. Loops over elements become 1.3 to 3
# times as slow when compiled for size, so no file whose time goes into them is here.
sconce_sources(tensor_size small_tensors tensor "printing/")
sconce_sources(types_size small_values types "(repr|script_text|type_parser)\\.cpp$")
sconce_sources(dispatch_size small_values dispatch "(custom|printing)/|library\\.cpp$")
sconce_sources(kernels_size small_tensors kernels
  "(boxed|any/layers)/|cpu/linalg/(eigen|factor|lapack|lstsq|qr|solve|spectral|svd|cholesky|ldl)\\.cpp$|quantized/(boxed_values|classes|rearranging|rnn|views)\\.cpp$|cpu/fft/plan\\.cpp$|sparse/(construction|rearranging|sparse_tensors)\\.cpp$")
sconce_sources(autograd_size small_tensors autograd "(anomaly|checkpoint|custom_function)\\.cpp$")
sconce_sources(runtime_size small_values runtime "(fork|errors)\\.cpp$")
sconce_sources(executor_size small_values executor "backends/")
set(core_parts_for_size tensor_size types_size dispatch_size kernels_size autograd_size)

# Vector loops: the same sources once per vector level of the architecture (SCONCE_LEVELS, flags.cmake), each in a
# namespace of its own (v2, v3, v4), chosen at run time. They hold no inline functions of the standard library: the
# linker keeps one copy of such a function for the whole program, and it might keep the one that needs AVX-512. Hence no
# precompiled header, and -O2 even when debugging. They throw nothing and call nothing that throws, so they need no tables
# for unwinding.
file(GLOB_RECURSE simd_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/simd/*.cpp")
list(FILTER simd_sources EXCLUDE REGEX "_test\\.cpp$")
list(APPEND simd_sources ${SCONCE_GENERATED_SIMD})
set(simd_levels)
if(simd_sources)
  foreach(level IN LISTS SCONCE_LEVELS)
    set(target sconce_simd_v${level})
    add_library(${target} OBJECT ${simd_sources})
    target_link_libraries(${target} PRIVATE sconce_common)
    target_compile_definitions(${target} PRIVATE SCONCE_BUILDING SCONCE_ISA=${level}
                               SCONCE_ISA_NAMESPACE=v${level})
    target_compile_options(${target} PRIVATE ${SCONCE_LEVEL_${level}_FLAGS} -O2 -fno-math-errno -fno-trapping-math -fwrapv
                           -fno-exceptions -fno-asynchronous-unwind-tables)
    add_dependencies(${target} sconce_generated)
    list(APPEND simd_levels simd_v${level})
  endforeach()
endif()

# Loops that are left to the compiler.
set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/simd/quantized/quantized.cpp" PROPERTIES
  COMPILE_OPTIONS -O3)

# Of the core.
sconce_folder(plain base)
sconce_folder(plain tensor)
sconce_folder(values types)
sconce_folder(values dispatch)
sconce_folder(tensors kernels)
sconce_folder(tensors autograd)
# A kernel is declared by the table (generated/<family>_kernels.h): one with another signature is an error where it stands.
target_compile_options(sconce_kernels PRIVATE -Werror=missing-declarations)
target_compile_options(sconce_kernels_size PRIVATE -Werror=missing-declarations)
set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/autograd/operators.cpp" PROPERTIES
  COMPILE_OPTIONS -Werror=missing-declarations)
sconce_objects(operators operators ${SCONCE_GENERATED_SOURCES})
# Of the lite library, too.
sconce_folder(small_values ir)
sconce_folder(programs runtime/bytecode)
sconce_folder(programs runtime/plans)
sconce_folder(values runtime)
sconce_folder(programs serialization/file)
sconce_folder(programs serialization/pickle)
sconce_folder(programs serialization/tensors)
sconce_folder(small_values serialization/code)
sconce_folder(programs serialization/lite ${SCONCE_UPGRADED_SOURCES})
# Of the whole.
sconce_folder(small_values loops)
# xbyak, an assembler for x86-64 that is one header: joined/loop_emitter.cpp alone includes it.
sconce_folder(small_values codegen/joined)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h REQUIRED)
  target_include_directories(sconce_codegen_joined SYSTEM PRIVATE "${XBYAK_INCLUDE_DIR}")
endif()
sconce_folder(values codegen)
sconce_folder(plain syntax)
sconce_folder(small_values optim)
sconce_folder(programs passes)
sconce_folder(programs lowering)
sconce_folder(programs tracing)
sconce_folder(values executor)
sconce_folder(programs frontend ${SCONCE_SCRIPT_SOURCES})
sconce_folder(programs serialization)
sconce_folder(programs api)
foreach(library core lite sconce)
  sconce_objects(connect_${library} programs "${PROJECT_SOURCE_DIR}/sconce/connect/${library}.cpp")
endforeach()

# Methods of Tensor are defined for the face that programs see, which the precompiled Tensor is not.
set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/autograd/tensor_methods.cpp"
  "${PROJECT_SOURCE_DIR}/sconce/api/tensor_item.cpp"
  "${SCONCE_GENERATED_DIR}/sconce/generated/methods.cpp" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/api/c_api_process.cpp" PROPERTIES
  COMPILE_DEFINITIONS "SCONCE_VERSION=\"${PROJECT_VERSION}\"")

# What is linked, in the order of the linker: of an inline function that several objects have it keeps the first, so
# objects that are optimised for speed come before those that are optimised for size.
set(core_parts base tensor types dispatch kernels autograd ${simd_levels})
set(program_parts ir runtime_bytecode)
foreach(folder file pickle tensors code lite)
  list(APPEND program_parts serialization_${folder})
endforeach()
set(core ${core_parts} ${core_parts_for_size} operators connect_core)
set(lite ${core_parts} runtime ${core_parts_for_size} runtime_size ${program_parts} operators connect_lite)
set(whole ${core_parts} loops codegen codegen_joined executor runtime syntax ${core_parts_for_size} runtime_size executor_size
    ${program_parts} runtime_plans optim passes lowering tracing frontend serialization api operators connect_sconce)
# sconce_objects_of(VARIABLE PART...): their objects.
function(sconce_objects_of variable)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:sconce_\\1>" OUTPUT_VARIABLE objects)
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()
sconce_objects_of(core_objects ${core})
sconce_objects_of(lite_objects ${lite})
sconce_objects_of(objects ${whole})

if(NOT SCONCE_WASM)  # which has no shared libraries
add_library(sconce SHARED ${objects})
target_link_libraries(sconce PUBLIC sconce_common PRIVATE sconce_fmt)
# nodelete: threads that end call functions of the library, also after a dlclose.
target_link_options(sconce PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -Wl,-z,nodelete
                    "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map")
set_property(TARGET sconce APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/exports.map")
set_target_properties(sconce PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT SCONCE_SANITIZE)
  # The map is for tools/size.
  target_link_options(sconce PRIVATE -Wl,-O1 -Wl,-z,defs "-Wl,-Map=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libsconce.map")
  # Not lld's --icf=all, which would take 3 %: it folds cold parts of functions (.text.unlikely), whose code is equal and
  # whose frames differ, and what is thrown there ends the process (the test fuzz_table shows it). Without such parts
  # (-fno-reorder-blocks-and-partition) nothing is lost but speed: gather takes half as long again.
  # Tables are pointers: packed, their relocations take 20 KB instead of 900.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs linker_packs_relocations)
  if(linker_packs_relocations)
    target_link_options(sconce PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endif()
endif()

add_library(sconce_static STATIC ${objects})
target_link_libraries(sconce_static PUBLIC sconce_common sconce_fmt)
set_target_properties(sconce_static PROPERTIES OUTPUT_NAME sconce LINKER_LANGUAGE CXX)
if(SCONCE_WASM)
  add_library(sconce ALIAS sconce_static)
endif()
foreach(library core lite)
  add_library(sconce_${library} STATIC EXCLUDE_FROM_ALL ${${library}_objects})
  target_link_libraries(sconce_${library} PUBLIC sconce_common sconce_fmt)
  set_target_properties(sconce_${library} PROPERTIES LINKER_LANGUAGE CXX)
endforeach()

# What tests and the conformance runner share is a library of its own, so that nobody ships it.
file(GLOB_RECURSE testing_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/testing/*.cpp")
list(FILTER testing_sources EXCLUDE REGEX "_test\\.cpp$")
if(SCONCE_WASM)  # no GoogleTest, signals or protected pages there
  list(FILTER testing_sources EXCLUDE REGEX "/testing/(fuzz_table/|golden_file)")
endif()
if(testing_sources)
  add_library(sconce_testing STATIC ${testing_sources} ${SCONCE_GENERATED_TESTING})
  target_link_libraries(sconce_testing PUBLIC sconce_common)
  target_compile_definitions(sconce_testing PRIVATE SCONCE_BUILDING)
  target_compile_options(sconce_testing PRIVATE ${SCONCE_NO_COLLECTIONS})
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sconce/testing/source_tree.cpp" PROPERTIES
    COMPILE_DEFINITIONS "SCONCE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  target_include_directories(sconce_testing SYSTEM PRIVATE "${FMT_INCLUDE_DIR}")
  target_precompile_headers(sconce_testing PRIVATE <sconce/base/pch.h> <sconce/types/value.h>)
else()
  add_library(sconce_testing INTERFACE)
endif()
add_dependencies(sconce_testing sconce_generated)
