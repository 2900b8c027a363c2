# Compiler and linker flags of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
if(NOT SCONCE_WASM)  # which has no shared libraries
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(SCONCE_LIBRARY_FLAGS -ftls-model=initial-exec -fno-semantic-interposition)
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")  # the sanitizer presets: readable stacks at a bearable speed

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_compile_options(-Wall -Wextra -ffp-contract=off -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Generated loops use | and & on lanes, which may be bools; libstdc++ 12 calls a function of its own that it deprecates.
  add_compile_options(-Wno-bitwise-instead-of-logical -Wno-deprecated-declarations)
endif()
if(NOT SCONCE_WASM)  # its linker does both by itself
  add_link_options(-Wl,--gc-sections -Wl,--as-needed)
endif()

# For sources with large precompiled headers: g++ collects no garbage below 500 MB. By default it walks through the whole
# header each time that a source has made as much again, and frees little. Seconds of a core for six sources of the Python
# package: 5.1 without, 4.7 with it; for three of sconce_testing 6.7 and 6.2. Most sources of the library gain nothing.
set(SCONCE_NO_COLLECTIONS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(SCONCE_NO_COLLECTIONS "SHELL:--param ggc-min-heapsize=500000")
endif()

# The vector levels of the architecture (sconce/kernels/cpu/engine/levels.h), and the flags of each.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
  set(SCONCE_LEVELS 2 3 4)
  foreach(level IN LISTS SCONCE_LEVELS)
    set(SCONCE_LEVEL_${level}_FLAGS -march=x86-64-v${level})
  endforeach()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options(-fsigned-char)  # as on x86-64
  set(SCONCE_LEVELS 2 3)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "wasm32")
  add_compile_options(-msimd128)
  set(SCONCE_LEVELS 2)
else()
  message(FATAL_ERROR "Sconce is built for x86-64, aarch64 and wasm32, not for ${CMAKE_SYSTEM_PROCESSOR}")
endif()

if(SCONCE_SANITIZE)
  add_compile_options(-fsanitize=${SCONCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SCONCE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The runtime as a library of its own, as with g++: programs, libsconce and what CPython loads share one. Two checks that g++
    # does not have are left out. That of calls by address reads words before the function, and kernels that were made by the
    # process have none there. That of floats out of an integer's range: conversions give what the processor gives, as PyTorch's.
    if(SCONCE_SANITIZE MATCHES "address")
      set(runtime asan)
    else()
      set(runtime tsan)
    endif()
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=libclang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR}.so"
                    OUTPUT_VARIABLE SCONCE_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    get_filename_component(runtime_folder "${SCONCE_SANITIZER_RUNTIME}" DIRECTORY)
    add_compile_options(-fno-sanitize=function,float-cast-overflow)
    set(SCONCE_SANITIZER_LINK_OPTIONS -shared-libsan "-Wl,-rpath,${runtime_folder}")
    add_link_options(${SCONCE_SANITIZER_LINK_OPTIONS})
  endif()
endif()
if(SCONCE_NO_POOLS)
  add_compile_definitions(SCONCE_NO_POOLS)
endif()

find_package(Threads REQUIRED)
