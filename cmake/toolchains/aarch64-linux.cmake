# aarch64 Linux, cross-compiled with Debian's g++-aarch64-linux-gnu and libraries of the architecture arm64, run under
# qemu-user. `make test-arm` does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# A processor with the extensions that kernels ask for: dot products, conversions of float16.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu neoverse-n1)
