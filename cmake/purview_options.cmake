# Compile options of our own targets. They do not affect users of the library.
add_library(purview_options INTERFACE)
target_compile_features(purview_options INTERFACE cxx_std_20)
target_compile_options(purview_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 reports false positives in std::string
  -fno-fast-math -ffp-contract=off  # after the user's flags: NaN is detected, digests are portable
  -fvisibility=hidden)
# Only for the compilers of CI. A newer compiler may have more warnings, which must not break the build of users.
if(PURVIEW_WERROR AND ((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13) OR
                       (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)))
  target_compile_options(purview_options INTERFACE -Werror)
endif()
if(PURVIEW_SANITIZE)
  # Findings end the program. vptr is disabled because the core has no RTTI.
  target_compile_options(purview_options INTERFACE -fsanitize=${PURVIEW_SANITIZE} -fno-sanitize=vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_compile_definitions(purview_options INTERFACE PURVIEW_SANITIZED)
  target_link_options(purview_options INTERFACE -fsanitize=${PURVIEW_SANITIZE})
endif()
if(PURVIEW_BREAKABLE)
  target_compile_definitions(purview_options INTERFACE PURVIEW_BREAKABLE)
endif()

# The core has no exceptions and no RTTI.
add_library(purview_core_options INTERFACE)
target_link_libraries(purview_core_options INTERFACE purview_options)
target_compile_options(purview_core_options INTERFACE -fno-exceptions -fno-rtti)
if(CMAKE_SYSTEM_NAME STREQUAL "WASI")  # makes the modules independent of the build directory
  target_compile_options(purview_core_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)
endif()

find_program(PURVIEW_CCACHE ccache)
if(PURVIEW_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PURVIEW_CCACHE})
endif()
