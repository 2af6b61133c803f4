# Toolchain: the machine's clang, for sanitizers and fuzzing.
include("${CMAKE_CURRENT_LIST_DIR}/find_clang.cmake")
set(CMAKE_C_COMPILER ${clang_c})
set(CMAKE_CXX_COMPILER ${clang_cxx})
