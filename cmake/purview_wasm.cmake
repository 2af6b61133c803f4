# Clients as WebAssembly modules. Only code that their C interfaces use is linked.
function(purview_module name)
  cmake_parse_arguments(module "" "" "SOURCES;HEADERS" ${ARGN})
  set(exports)
  foreach(header IN LISTS module_HEADERS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${header}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" lines REGEX "(pv_client|vale_pilot)_[a-z_]+\\(")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "(pv_client|vale_pilot)_[a-z_]+\\(" function "${line}")
      string(REPLACE "(" "" function "${function}")
      list(APPEND exports "-Wl,--export=${function}")
    endforeach()
  endforeach()
  list(TRANSFORM module_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_executable(${name} ${module_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE purview purview_core_options)
  target_link_options(${name} PRIVATE -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all ${exports})
endfunction()

# For any world.
purview_module(purview_client SOURCES src/capi/client_c.cpp HEADERS include/purview.h)
# With the prediction of the demo's players.
purview_module(vale_client
  SOURCES src/capi/client_c.cpp games/vale/vale_client.cpp games/vale/pilot.cpp games/vale/vale_schema.cpp games/vale/vale_step.cpp
  HEADERS include/purview.h games/vale/vale_client.h)
target_include_directories(vale_client PRIVATE ${PROJECT_SOURCE_DIR}/games/vale)
