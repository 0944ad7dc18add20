# The library as users see it: one archive, the public headers, and a package file for find_package(Carillon).
#
# `carillon` holds the objects of every folder's library; what those link to besides each other comes with it. Programs of ours
# that use the public API alone (examples, benchmarks) link to it too, so that they see no private header.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY CARILLON_LIBRARIES)
add_library(carillon STATIC)
add_library(Carillon::carillon ALIAS carillon)
foreach(library ${libraries})
  target_sources(carillon PRIVATE $<TARGET_OBJECTS:${library}>)
  get_target_property(links ${library} LINK_LIBRARIES)
  list(APPEND third_party ${links})
  get_target_property(options ${library} INTERFACE_LINK_OPTIONS)
  if(options)
    target_link_options(carillon INTERFACE ${options})
  endif()
endforeach()
list(FILTER third_party EXCLUDE REGEX "^carillon_")
list(TRANSFORM third_party REPLACE "^${DNNL_LIBRARY}$" dnnl)
list(REMOVE_DUPLICATES third_party)
target_link_libraries(carillon PRIVATE ${third_party})
target_compile_features(carillon INTERFACE cxx_std_20)
target_include_directories(carillon INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(carillon PROPERTIES LINKER_LANGUAGE CXX)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Carillon)
install(TARGETS carillon EXPORT CarillonTargets ARCHIVE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/carillon TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT CarillonTargets NAMESPACE Carillon:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/CarillonConfig.cmake.in ${PROJECT_BINARY_DIR}/CarillonConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CarillonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CarillonConfig.cmake ${PROJECT_BINARY_DIR}/CarillonConfigVersion.cmake DESTINATION ${package_dir})
