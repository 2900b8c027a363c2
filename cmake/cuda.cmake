# libsconce_cuda.so: everything of device `cuda`, beside libsconce.so, which loads it when the device is first used
# (sconce/tensor/libraries/backend_library.h). Nothing of CUDA is needed to build it. Its objects are linked into the tests, too.
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sconce/kernels/cuda/*.cpp"
     "${PROJECT_SOURCE_DIR}/sconce/codegen/cuda/*.cpp" "${PROJECT_SOURCE_DIR}/sconce/connect/cuda/*.cpp")
set(cuda_test_sources ${cuda_sources})
list(FILTER cuda_sources EXCLUDE REGEX "_test\\.cpp$|/kernels/cuda/testing/")
list(FILTER cuda_test_sources INCLUDE REGEX "_test\\.cpp$|/kernels/cuda/testing/")
sconce_objects(kernels_cuda tensors ${cuda_sources} ${SCONCE_GENERATED_CUDA})
# A library that is opened late finds no room among the variables of threads that were there at the start.
target_compile_options(sconce_kernels_cuda PRIVATE -ftls-model=global-dynamic)
add_library(sconce_cuda MODULE $<TARGET_OBJECTS:sconce_kernels_cuda>)
target_link_libraries(sconce_cuda PRIVATE sconce sconce_fmt)
# nodelete: its functions stand in tables of libsconce.
target_link_options(sconce_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
if(NOT SCONCE_SANITIZE)
  target_link_options(sconce_cuda PRIVATE -Wl,-z,defs)
endif()
set_target_properties(sconce_cuda PROPERTIES LINKER_LANGUAGE CXX BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
