# Sources of small libraries beside kernels and generated operators, by what they include: small_base_sources, small_tensors_sources,
# small_values_sources, small_programs_sources. Where a lite library does without something (files, threads, libraries that are
# loaded, other devices), a source of sconce/lite stands in for that of the whole library, which is left out here; so are writers
# and compilers, of which the linker would keep nothing.
#
# small_sources(NAME EXCLUDE FOLDER...)
function(small_sources name exclude)
  set(sources)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../sconce/${folder}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/cuda/|/simd/|${exclude}")
  set(small_${name}_sources ${sources} PARENT_SCOPE)
endfunction()
small_sources(base "/base/(parallel|budget)\\.cpp" base)
small_sources(tensors "/tensor/backend\\.cpp|/memory/(allocator|large_blocks|mapped_files)\\.cpp|/libraries/" tensor)
small_sources(values "/dispatch/(library|registry|binding/op_counts|budget/(terms_of|budget_scope))\\.cpp|/printing/|types/(class_types|dict_find)|/custom/(derivative|extensions|interpreted)"
  types dispatch)
set(left_out /lite/without/ "file/(file_bytes|file_writer|zip_writer|file_kind|stray)" "pickle/(pickle_writer|numpy)"
  "compiled/(program_writer|compile_calls|compiled_graph)")
list(JOIN left_out "|" left_out)
small_sources(programs "${left_out}" serialization/file serialization/pickle serialization/compiled lite)
foreach(file connect/small runtime/value_types runtime/shown_frames serialization/lite/lite_tables serialization/lite/lite_debug
    serialization/lite/missing_text executor/arena executor/tape executor/probe executor/signature
    serialization/tensors/file_tensor serialization/code/source_map)
  list(APPEND small_programs_sources "${CMAKE_CURRENT_LIST_DIR}/../sconce/${file}.cpp")
endforeach()
