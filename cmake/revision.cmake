# Writes the generated source that says the version of the build, with the revision of its sources:
# HOLDFAST_REVISION, else that of git where SOURCE is a checkout, else none. The file is left alone
# while nothing changes, so that a commit compiles one small file again.
#
#   cmake -D SOURCE=DIR -D VERSION=V -D HOLDFAST_REVISION=R -D OUT=FILE -P revision.cmake
cmake_minimum_required(VERSION 3.25)
set(revision "${HOLDFAST_REVISION}")
find_program(GIT git)
if(NOT revision AND GIT AND EXISTS ${SOURCE}/.git)
  # Another's lock on the index is not waited for.
  set(git ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 ${GIT} -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse HEAD
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} status --porcelain
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(revision AND changes)
    string(APPEND revision -dirty)
  endif()
endif()
if(revision AND NOT revision MATCHES "^[0-9a-f]+(-dirty)?$")
  message(FATAL_ERROR "HOLDFAST_REVISION: `${revision}` is not the name of a commit, with -dirty "
    "behind it where the sources differ from it")
endif()
if(revision)
  string(REGEX MATCH "^[0-9a-f]+" commit ${revision})
  string(REPLACE "${commit}" "" state ${revision})
  string(SUBSTRING ${commit} 0 12 commit)
  set(revision +${commit}${state})
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT "#include \"holdfast/version.h\"

namespace holdfast {

const char* BuildVersion() { return \"@VERSION@@revision@\"; }

}  // namespace holdfast
")
