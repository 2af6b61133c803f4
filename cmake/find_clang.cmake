# Finds clang, the pinned version first. Sets clang_suffix ("-14", or "" for an unversioned one), clang_c, clang_cxx.
if(NOT PURVIEW_CLANG)
  find_program(PURVIEW_CLANG NAMES clang++-14 clang++-19 clang++-18 clang++-17 clang++-16 clang++-20 clang++ REQUIRED)
endif()
get_filename_component(clang_name "${PURVIEW_CLANG}" NAME)
string(REGEX MATCH "-[0-9]+$" clang_suffix "${clang_name}")
set(clang_c "clang${clang_suffix}")
set(clang_cxx "clang++${clang_suffix}")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PURVIEW_CLANG)
