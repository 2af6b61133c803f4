# The library: modules that make no system calls. A client needs only the first five.
set(modules core protocol link client capi)
if(NOT CMAKE_SYSTEM_NAME STREQUAL "WASI")
  list(APPEND modules world spatial interest replication server)
endif()
set(purview_sources)
foreach(module IN LISTS modules)
  file(GLOB_RECURSE module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${module}/*.cpp")
  list(APPEND purview_sources ${module_sources})
endforeach()

add_library(purview STATIC ${purview_sources})
add_library(purview::purview ALIAS purview)
target_compile_features(purview PUBLIC cxx_std_20)
target_include_directories(purview
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(purview PRIVATE $<BUILD_INTERFACE:purview_core_options>)
set_target_properties(purview PROPERTIES POSITION_INDEPENDENT_CODE ON)

# Highway selects the widest SIMD of the machine at run time. Builds without Highway use plain loops.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "WASI")
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy)
  target_link_libraries(purview PRIVATE PkgConfig::HIGHWAY)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/spatial/simd_lanes.cpp"
                              "${PROJECT_SOURCE_DIR}/src/core/gather_bits.cpp"
                              "${PROJECT_SOURCE_DIR}/src/replication/slot_priorities.cpp"
    PROPERTIES COMPILE_DEFINITIONS PURVIEW_HIGHWAY)
endif()

if(NOT CMAKE_SYSTEM_NAME STREQUAL "WASI")
  # The oracle shares no code with the engine that it checks, so it is a separate library.
  file(GLOB oracle_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/oracle/*.cpp")
  add_library(purview_oracle STATIC ${oracle_sources})
  target_include_directories(purview_oracle PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(purview_oracle PUBLIC purview PRIVATE purview_options)

  # Recordings use streams, not files.
  file(GLOB record_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/record/*.cpp")
  add_library(purview_record STATIC ${record_sources})
  target_include_directories(purview_record PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(purview_record PUBLIC purview PRIVATE $<BUILD_INTERFACE:purview_options>)

  # Checks of a running server, used by the program and by tests.
  add_library(purview_proof STATIC ${PROJECT_SOURCE_DIR}/apps/purview/proof.cpp
                                   ${PROJECT_SOURCE_DIR}/apps/purview/truth_check.cpp)
  target_include_directories(purview_proof PUBLIC ${PROJECT_SOURCE_DIR}/apps/purview)
  target_link_libraries(purview_proof PUBLIC purview_oracle PRIVATE purview_options)
endif()

# Sources with fault injection. Tests link their own build of these before the library (tests/CMakeLists.txt), so no
# other source may share their object file.
set(purview_breakable_sources src/replication/field_store.cpp src/replication/encode_cache.cpp src/server/relevance_events.cpp)
list(TRANSFORM purview_breakable_sources PREPEND ${PROJECT_SOURCE_DIR}/)
# The client's decoder is slower if it is compiled together with other sources.
purview_unity(purview ALONE ${purview_breakable_sources} ${PROJECT_SOURCE_DIR}/src/client/snapshot_decoder.cpp
                      ${PROJECT_SOURCE_DIR}/src/client/replica.cpp)
if(TARGET purview_oracle)
  purview_unity(purview_oracle)
  purview_unity(purview_record)
endif()

# -- install and export ------------------------------------------------------------------------------
if(PURVIEW_INSTALL)
  include(CMakePackageConfigHelpers)
  install(TARGETS purview EXPORT purview_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT purview_targets NAMESPACE purview:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/purview)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/purview-config.cmake.in
    ${PROJECT_BINARY_DIR}/purview-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/purview)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/purview-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/purview-config.cmake ${PROJECT_BINARY_DIR}/purview-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/purview)
endif()
