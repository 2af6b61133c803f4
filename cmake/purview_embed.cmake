# purview_embed(TARGET FILE...): a library with the contents of the files and the functions of
# apps/purview/assets.hpp.
function(purview_embed target)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  set(count 0)
  set(blocks "")
  set(table "")
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME)
    get_filename_component(extension "${file}" LAST_EXT)
    if(extension STREQUAL ".html")
      set(type "text/html; charset=utf-8")
    elseif(extension STREQUAL ".css")
      set(type "text/css; charset=utf-8")
    elseif(extension MATCHES "^\\.m?js$")
      set(type "text/javascript; charset=utf-8")
    elseif(extension STREQUAL ".wasm")
      set(type "application/wasm")
    elseif(extension STREQUAL ".json")
      set(type "application/json")
    else()
      set(type "text/plain; charset=utf-8")
    endif()
    string(APPEND blocks
      "asm(\".section .rodata\\n.balign 16\\n.global purview_asset_${count}\\npurview_asset_${count}:\\n.incbin \\\"${file}\\\"\\n\"\n"
      "    \".global purview_asset_${count}_end\\npurview_asset_${count}_end:\\n.byte 0\\n.previous\\n\");\n"
      "extern \"C\" const char purview_asset_${count}[];\nextern \"C\" const char purview_asset_${count}_end[];\n")
    string(APPEND table
      "    {\"${name}\", \"${type}\", {purview_asset_${count}, static_cast<std::size_t>(purview_asset_${count}_end - purview_asset_${count})}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT "${source}" CONTENT
"// Made by cmake/purview_embed.cmake.
#include \"assets.hpp\"
@blocks@
namespace purview::app {
static const Asset list[] = {
@table@};
const Asset* assets(unsigned& count) { count = @count@; return list; }
std::string_view asset(std::string_view name) {
    for (const Asset& a : list) if (a.name == name) return a.bytes;
    return {};
}
}  // namespace purview::app
" @ONLY)
  set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${ARGN}" LANGUAGE CXX)
  add_library(${target} STATIC "${source}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/apps/purview)
  target_compile_features(${target} PRIVATE cxx_std_20)
  # A compiler cache does not detect changes of files included with .incbin.
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")
endfunction()
