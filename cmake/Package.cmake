# The library as others use it: one archive with the objects of all folders, the public headers, and
# what find_package(Palimpsest) and pkg-config ask for (docs/decisions/009-one-archive.md). Included
# when the folders' libraries are there, and nothing else is yet.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(folders GLOBAL PROPERTY PALIMPSEST_LIBRARIES)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:palimpsest_\\1>" OUTPUT_VARIABLE objects)

add_library(palimpsest_archive STATIC ${objects})
add_library(Palimpsest::palimpsest ALIAS palimpsest_archive)
set_target_properties(palimpsest_archive PROPERTIES
  OUTPUT_NAME palimpsest EXPORT_NAME palimpsest LINKER_LANGUAGE CXX)
target_compile_features(palimpsest_archive INTERFACE cxx_std_20)
target_include_directories(palimpsest_archive INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
# PRIVATE: whoever links the archive links these, too, and includes none of their headers.
target_link_libraries(palimpsest_archive PRIVATE
  Threads::Threads fmt::fmt spdlog::spdlog
  PkgConfig::libpmem PkgConfig::liburing PkgConfig::xxhash)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Palimpsest)
configure_package_config_file(cmake/PalimpsestConfig.cmake.in PalimpsestConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 the public headers may change with the second number.
write_basic_package_version_file(PalimpsestConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH prefix_from_pkgconfig
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
configure_file(cmake/palimpsest.pc.in palimpsest.pc @ONLY)

install(TARGETS palimpsest_archive EXPORT palimpsest_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT palimpsest_targets NAMESPACE Palimpsest:: FILE PalimpsestTargets.cmake
  DESTINATION ${package_dir} COMPONENT library)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/PalimpsestConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/PalimpsestConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT library)
install(DIRECTORY include/palimpsest DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/palimpsest.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
