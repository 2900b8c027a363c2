# Android on aarch64, with the NDK (ANDROID_NDK_ROOT in the environment). Untested: written after the NDK's documentation.
#
#   cmake -B build/android --toolchain cmake/toolchains/android.cmake -DSCONCE_TESTS=OFF && cmake --build build/android --target sconce
set(ANDROID_ABI arm64-v8a)
set(ANDROID_PLATFORM android-28)
set(ANDROID_STL c++_static)
include("$ENV{ANDROID_NDK_ROOT}/build/cmake/android.toolchain.cmake")
set(CMAKE_SYSTEM_PROCESSOR aarch64)
