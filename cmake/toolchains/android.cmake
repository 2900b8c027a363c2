# Android on aarch64, with the NDK (ANDROID_NDK_ROOT in the environment). Untested: written after the NDK's documentation, and
# configured with a stand-in for it (clang for aarch64 Linux).
#
#   cmake -G Ninja -B build/android --toolchain cmake/toolchains/android.cmake -DFMT_INCLUDE_DIR=DIR -DSCONCE_SELECT=$PWD/net.txt
#   cmake --build build/android                    the library of one model (docs/small.md)
#
# DIR has {fmt}'s headers (fmt/format.h) and nothing else: the machine's own /usr/include is not Android's. The whole library is
# -DSCONCE_EXAMPLES_ONLY=ON in place of the selection, and the target sconce; the command line needs libraries that the NDK lacks.
set(ANDROID_ABI arm64-v8a)
set(ANDROID_PLATFORM android-28)
set(ANDROID_STL c++_static)
include("$ENV{ANDROID_NDK_ROOT}/build/cmake/android.toolchain.cmake")
set(CMAKE_SYSTEM_PROCESSOR aarch64)
