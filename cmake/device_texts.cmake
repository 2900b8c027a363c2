# The texts of CUDA kernels, embedded into libsconce_cuda (sconce/kernels/cuda/texts.h): sconce/kernels/cuda/text/**.cuh, and
# what the CPU computes special functions and complex numbers with.
file(GLOB_RECURSE device_texts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/kernels/cuda/*.cuh"
     "${PROJECT_SOURCE_DIR}/sconce/codegen/cuda/text/*.cuh"
     "${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/special/*.cpp" "${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/special/*.h"
     "${PROJECT_SOURCE_DIR}/sconce/kernels/cpu/simd/math/*.h")
add_custom_command(OUTPUT "${SCONCE_GENERATED_DIR}/device_text_files.cpp"
                   COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/embed_device_texts.py"
                           "${PROJECT_SOURCE_DIR}/sconce" "${SCONCE_GENERATED_DIR}/device_text_files.cpp"
                   DEPENDS ${device_texts} "${PROJECT_SOURCE_DIR}/cmake/embed_device_texts.py"
                           "${PROJECT_SOURCE_DIR}/cmake/cpp_literal.py"
                   COMMENT "Embedding the texts of CUDA kernels" VERBATIM)
list(APPEND SCONCE_GENERATED_CUDA "${SCONCE_GENERATED_DIR}/device_text_files.cpp")
