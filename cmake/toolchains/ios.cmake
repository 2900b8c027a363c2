# iOS on arm64, with Xcode's tools. Untested: written after CMake's documentation.
#
#   cmake -G Ninja -B build/ios --toolchain cmake/toolchains/ios.cmake -DFMT_INCLUDE_DIR=DIR -DSCONCE_EXAMPLES_ONLY=ON
#   cmake --build build/ios --target sconce_static
#
# DIR has {fmt}'s headers (fmt/format.h) and nothing else.
set(CMAKE_SYSTEM_NAME iOS)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_OSX_ARCHITECTURES arm64)
set(CMAKE_OSX_DEPLOYMENT_TARGET 14.0)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
