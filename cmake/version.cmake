# The version of the project, which a header among the generated ones has, and the version of this
# build with the revision of its sources, which only what links holdfast_version has.
set(HOLDFAST_REVISION "" CACHE STRING
  "The commit of the sources, with -dirty behind it if they differ; what git says if it is empty")

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gen/holdfast/version.h @ONLY CONTENT "#pragma once

namespace holdfast {

// Of the project: MAJOR.MINOR.PATCH.
inline constexpr char kVersion[] = \"@PROJECT_VERSION@\";

// Of this build: kVersion, and where it is known \"+\" and the revision of the sources.
const char* BuildVersion();

}  // namespace holdfast
")

set(source ${CMAKE_BINARY_DIR}/version/version.cc)
# Asks in each build, because a commit changes no file that a build depends on.
add_custom_target(holdfast_revision BYPRODUCTS ${source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
    -D HOLDFAST_REVISION=${HOLDFAST_REVISION} -D OUT=${source}
    -P ${CMAKE_SOURCE_DIR}/cmake/revision.cmake)
add_library(holdfast_version STATIC ${source})
add_dependencies(holdfast_version holdfast_revision)
target_include_directories(holdfast_version PUBLIC ${CMAKE_BINARY_DIR}/gen)
