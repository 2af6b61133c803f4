# The program and all modules that use the operating system, TOML, JSON or the web.
include(purview_boost)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)

file(GLOB scene_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/scene/*.cpp")
add_library(purview_scene STATIC ${scene_sources})
target_include_directories(purview_scene PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(purview_scene PUBLIC purview
  PRIVATE purview_options nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus)
purview_unity(purview_scene)

file(GLOB admin_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/admin/*.cpp")
add_library(purview_admin STATIC ${admin_sources})
target_include_directories(purview_admin PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(purview_admin PUBLIC purview purview_scene PRIVATE purview_options nlohmann_json::nlohmann_json)
purview_unity(purview_admin)

file(GLOB net_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/net/*.cpp")
add_library(purview_net STATIC ${net_sources})
add_library(purview::net ALIAS purview_net)
target_include_directories(purview_net PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_link_libraries(purview_net PUBLIC purview purview_record
  PRIVATE $<BUILD_INTERFACE:purview_options> $<BUILD_INTERFACE:Boost::headers> PkgConfig::sodium Threads::Threads)
set_target_properties(purview_net PROPERTIES EXPORT_NAME net)
if(PURVIEW_INSTALL)
  install(TARGETS purview_net purview_record EXPORT purview_net_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT purview_net_targets NAMESPACE purview:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/purview)
endif()

# Game code uses the public headers only.
file(GLOB vale_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/games/vale/*.cpp")
list(FILTER vale_sources EXCLUDE REGEX "vale_client.cpp$")
add_library(vale_game STATIC ${vale_sources})
target_include_directories(vale_game PUBLIC ${PROJECT_SOURCE_DIR}/games/vale)
target_link_libraries(vale_game PUBLIC purview PRIVATE purview_options)
purview_unity(vale_game)

# The client modules: from web/prebuilt, or built from source in a separate build tree with another compiler.
option(PURVIEW_WASM_FROM_SOURCE "Build the client modules from source (needs clang) instead of using those of web/prebuilt" OFF)
if(PURVIEW_WASM_FROM_SOURCE)
  include(ExternalProject)
  set(wasm_dir "${PROJECT_BINARY_DIR}/wasm")
  ExternalProject_Add(purview_wasm
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${wasm_dir}
    CMAKE_ARGS -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm.cmake
               -DCMAKE_BUILD_TYPE=Release -DPURVIEW_BUILD_APPS=OFF -DPURVIEW_BUILD_TESTS=OFF
    BUILD_ALWAYS ON
    BUILD_BYPRODUCTS ${wasm_dir}/purview_client.wasm ${wasm_dir}/vale_client.wasm
    INSTALL_COMMAND ""
    USES_TERMINAL_BUILD OFF)
else()
  set(wasm_dir "${PROJECT_SOURCE_DIR}/web/prebuilt")
endif()

find_path(DYGRAPHS_DIR dygraph.min.js PATHS /usr/share/javascript/dygraphs REQUIRED NO_DEFAULT_PATH)
file(GLOB web_files CONFIGURE_DEPENDS LIST_DIRECTORIES false "${PROJECT_SOURCE_DIR}/web/*")
set(assets
  ${web_files}
  ${PROJECT_SOURCE_DIR}/worlds/vale/vale.toml ${PROJECT_SOURCE_DIR}/worlds/vale/vale.json
  ${DYGRAPHS_DIR}/dygraph.min.js ${DYGRAPHS_DIR}/dygraph.min.css
  ${wasm_dir}/purview_client.wasm ${wasm_dir}/vale_client.wasm)
include(purview_embed)
purview_embed(purview_assets ${assets})
if(TARGET purview_wasm)
  add_dependencies(purview_assets purview_wasm)
endif()

# Sources with large headers and little run time. They are compiled with -O1, or with -O0 for sanitizers.
function(purview_heavy)
  set(level -O1)
  if(PURVIEW_SANITIZE)
    set(level -O0)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${level})
endfunction()
purview_heavy(${PROJECT_SOURCE_DIR}/src/net/operator_client.cpp)
if(PURVIEW_SANITIZE)  # the data of players passes through it, so the release build optimizes it
  purview_heavy(${PROJECT_SOURCE_DIR}/src/net/web_server.cpp)
endif()

# Everything that the program and its fault-injection build (tests/programs.cmake) share: all files except one.
set(app_heavy main.cpp demo.cpp)
set(app_common bots.cpp bot_driver.cpp bot_movement.cpp bot_report.cpp explain_command.cpp losses.cpp operator_request.cpp replay_command.cpp rules_command.cpp server_app.cpp world_setup.cpp)
list(TRANSFORM app_heavy PREPEND ${PROJECT_SOURCE_DIR}/apps/purview/)
list(TRANSFORM app_common PREPEND ${PROJECT_SOURCE_DIR}/apps/purview/)
purview_heavy(${app_heavy})
add_library(purview_program_common OBJECT ${app_heavy} ${app_common})
target_include_directories(purview_program_common PUBLIC ${PROJECT_SOURCE_DIR}/apps/purview)
target_link_libraries(purview_program_common PUBLIC purview_proof purview_scene purview_admin
  purview_net vale_game purview_assets CLI11::CLI11 fmt::fmt spdlog::spdlog
  nlohmann_json::nlohmann_json Threads::Threads PRIVATE purview_options)
purview_unity(purview_program_common)
function(purview_program name)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/apps/purview/fault_injection.cpp)
  target_link_libraries(${name} PRIVATE purview_options purview_program_common)
endfunction()
purview_program(purview_program)
set_target_properties(purview_program PROPERTIES OUTPUT_NAME purview)
if(PURVIEW_INSTALL)
  # Optional: a user of the libraries builds the target purview_net only (docs/tutorial-cpp.md).
  install(TARGETS purview_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  # Files for a custom page: docs/your-page.md.
  install(FILES ${wasm_dir}/purview_client.wasm ${PROJECT_SOURCE_DIR}/web/client.mjs ${PROJECT_SOURCE_DIR}/web/client.d.mts
    DESTINATION ${CMAKE_INSTALL_DATADIR}/purview/web)
endif()
