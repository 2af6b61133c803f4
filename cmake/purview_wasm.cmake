# The client as a WebAssembly module: only what the C interface reaches is linked.
set(exports)
file(STRINGS "${PROJECT_SOURCE_DIR}/include/purview.h" lines REGEX "pv_client_[a-z_]+\\(")
foreach(line IN LISTS lines)
  string(REGEX MATCH "pv_client_[a-z_]+" name "${line}")
  list(APPEND exports "-Wl,--export=${name}")
endforeach()

add_executable(purview_client ${PROJECT_SOURCE_DIR}/src/capi/client_c.cpp)
target_include_directories(purview_client PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(purview_client PRIVATE purview purview_core_options)
target_link_options(purview_client PRIVATE -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all ${exports})
