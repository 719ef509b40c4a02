# How a folder becomes a target. The top CMakeLists.txt has the arrows between the targets.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_SKIP_BUILD_RPATH ON) # only system libraries are shared

# An absolute path in a command line would make every checkout a cache miss, and would put the
# builder's directories into the binaries. Both are mapped to paths relative to the project.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
find_program(CCACHE ccache)
if(CCACHE)
  # Included files are what the compiler lists (depend mode), because preprocessing takes up to a
  # sixth of a compilation. The sloppiness is what the cache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()

# The compiler's own garbage collection costs a tenth of its time, and saves memory that is there.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options("SHELL:--param ggc-min-expand=500"
    "SHELL:--param ggc-min-heapsize=1000000")
endif()

# tsan: see tsan_mutex.cc, which is compiled by every preset and linked by one.
add_library(holdfast_tsan OBJECT ${CMAKE_SOURCE_DIR}/cmake/tsan_mutex.cc)
if(HOLDFAST_TSAN)
  file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/tsan_mutex.cc wrapped REGEX "_ZN")
  foreach(line IN LISTS wrapped)
    string(REGEX MATCH "_ZN[A-Za-z0-9_]+" symbol "${line}")
    add_link_options(LINKER:--wrap=${symbol})
  endforeach()
  link_libraries($<TARGET_OBJECTS:holdfast_tsan>)
endif()

# Strict for our code. Narrowing is an error because lengths and revisions travel through files and
# messages; sign conversion is not, because containers and messages disagree on it everywhere.
set(holdfast_warnings -Wall -Wextra -Wpedantic -Werror -Wconversion -Wno-sign-conversion
  -Wold-style-cast -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override
  -Wunused-result
  # Leaving out a field that has a default is how option structs are meant to be written.
  -Wno-missing-field-initializers)

# Gives `target` an include directory that contains `folder` and nothing else.
function(holdfast_include target folder)
  set(view ${CMAKE_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${view}/${folder} SYMBOLIC)
  target_include_directories(${target} PUBLIC ${view})
endfunction()

# Precompiles headers of the system and generated ones for `target`, which holdfast_reuse_headers
# gives to others with the same flags. They only save time: clang-tidy reads each source without.
function(holdfast_precompile target)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # What GCC precompiles is another file in every checkout. The cache goes by this sum of the
  # headers instead, which is the same where they are, in whichever directory of a preset.
  set(headers ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx)
  add_custom_command(OUTPUT ${headers}.gch.sum DEPENDS holdfast_generated VERBATIM
    DEPFILE ${headers}.gch.sum.d
    COMMAND sh -c "\"$1\" -std=c++20 -w -fmacro-prefix-map=\"$2\"/= \
      -isystem \"$2\" -MD -MF \"$3.gch.sum.d\" \
      -MT \"$3.gch.sum\" -E -P -x c++ \"$3\" | sha256sum >\"$3.gch.sum\""
      sh ${CMAKE_CXX_COMPILER} ${CMAKE_BINARY_DIR}/gen ${headers})
  add_custom_target(${target}_sum DEPENDS ${headers}.gch.sum)
  add_dependencies(${target} ${target}_sum)
endfunction()

function(holdfast_reuse_headers target from)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
  add_dependencies(${target} ${from}_sum)
endfunction()

# A static library of every source in `folder` but main.cc. Headers are included by the folder's
# name ("session/head.h"), or, where the folder is a part of the tests, by the name given with
# INCLUDE_AS.
function(holdfast_library target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "INCLUDE_AS" "")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources) # a folder that has only headers so far
    set(sources ${CMAKE_BINARY_DIR}/empty.cc)
    file(TOUCH ${sources})
  elseif(arg_INCLUDE_AS)
    holdfast_batches(sources ${folder} ${holdfast_test_batch_size} ${sources})
  else()
    holdfast_batches(sources ${folder} ${holdfast_batch_size} ${sources})
  endif()
  add_library(${target} STATIC ${sources})
  target_compile_options(${target} PRIVATE ${holdfast_warnings})
  if(arg_INCLUDE_AS)
    holdfast_include(${target} ${arg_INCLUDE_AS})
  else()
    holdfast_include(${target} ${folder})
  endif()
endfunction()

# `source` alone, of all of `target`, sees the headers of `library`, whose folder is named too; a
# target that links `target` links `library`. It must be compiled alone.
function(holdfast_only_from source target library folder)
  target_link_libraries(${target} PRIVATE $<LINK_ONLY:${library}>)
  set_property(SOURCE ${source} APPEND PROPERTY
    INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/include/${folder})
endfunction()

# Links `sources` (a pattern) into bin/`target`. Nothing happens while there are none.
function(holdfast_executable target sources)
  file(GLOB found CONFIGURE_DEPENDS ${sources})
  if(found)
    add_executable(${target} ${found})
    target_compile_options(${target} PRIVATE ${holdfast_warnings})
    target_link_libraries(${target} PRIVATE ${ARGN})
    get_filename_component(folder ${sources} DIRECTORY)
    holdfast_include(${target} ${folder})
  endif()
endfunction()

# Compiles every .proto under `folder`, and those of health and reflection, which the server must
# show to reflection. Generated code is a system header to everyone else.
function(holdfast_protos target folder)
  find_path(GRPC_PROTO_DIR grpc/health/v1/health.proto PATHS /usr/share/grpc-proto REQUIRED)
  set(out ${CMAKE_BINARY_DIR}/gen)
  file(MAKE_DIRECTORY ${out})
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder}
    ${folder}/*.proto)
  list(TRANSFORM protos PREPEND ${CMAKE_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE imports)
  set(generated)
  foreach(proto ${protos} grpc/health/v1/health.proto
      grpc/reflection/v1alpha/reflection.proto)
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(files ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
      ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
    set(path ${CMAKE_SOURCE_DIR}/${folder}/${proto})
    if(NOT EXISTS ${path})
      set(path ${GRPC_PROTO_DIR}/${proto})
    endif()
    # Any .proto may import any other; protoc's own dependency files break on a space in a path.
    add_custom_command(OUTPUT ${files} DEPENDS ${path} ${imports} VERBATIM
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/${folder} -I ${GRPC_PROTO_DIR}
        --cpp_out=${out} --grpc_out=${out}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${proto})
    list(APPEND generated ${files})
  endforeach()
  add_custom_target(holdfast_generated DEPENDS ${generated}) # all that a linter needs
  list(FILTER generated INCLUDE REGEX "\\.cc$")
  holdfast_generated_batches(batches ${out} ${generated})
  add_library(${target} STATIC ${batches})
  add_dependencies(${target} holdfast_generated)
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  # Nothing refers to the health messages, so a static library would leave their descriptor out.
  target_link_options(${target} INTERFACE
    LINKER:--undefined=descriptor_table_grpc_2fhealth_2fv1_2fhealth_2eproto)
endfunction()

# Makes the text of `file` a constant, in a header among the generated ones that `target` brings.
function(holdfast_embed target file header constant)
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gen/${header} @ONLY CONTENT "#pragma once
// The text of @file@.
inline constexpr char @constant@[] = R\"text(@text@)text\";
")
endfunction()

# Makes the files of `folder`/schema, in the order of their numbers, a table of names and texts in a
# header that sources of `target` alone include.
function(holdfast_embed_schema target folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/schema/*.sql)
  set(rows)
  foreach(file ${files}) # sorted by name
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"sql(${text})sql\"},\n")
  endforeach()
  list(LENGTH files count)
  set(out ${CMAKE_BINARY_DIR}/schema)
  file(CONFIGURE OUTPUT ${out}/${folder}/embedded_schema.h @ONLY CONTENT "#pragma once
// The files of @folder@/schema.
#include <array>
namespace holdfast::pg {
struct SchemaFile {
  const char* name;
  const char* sql;
};
inline constexpr std::array<SchemaFile, @count@> kSchemaFiles = {{
@rows@}};
}  // namespace holdfast::pg
")
  target_include_directories(${target} PRIVATE ${out})
endfunction()

# Sources of tests are optimised less than what they test, and share one set of precompiled headers,
# which `target` makes, a library that they all link to. A batch includes them by a directory of the
# build; what a test prints when it fails has their paths below the project.
set(holdfast_test_options -O1 "-ffile-prefix-map=${CMAKE_BINARY_DIR}/include/tests/="
  -ffile-prefix-map=include/tests/=)

function(holdfast_test_headers target)
  target_compile_options(${target} PRIVATE ${holdfast_test_options})
  holdfast_precompile(${target} <gmock/gmock.h> <gtest/gtest.h>
    <holdfast/v1/session_service.grpc.pb.h>)
endfunction()

# Suites that measure rates, latencies or memory of a server: another test on the same cores would
# be measured too.
set(holdfast_measuring Amplified HostileClient IdleConnections KillReplay RapidReset Sigterm
  StalledLog Traffic)

# Areas whose cases share a process by suite. Those of the others start servers, which take longer
# than a process does.
set(holdfast_by_suite unit contract postgres rpc faults golden cli fuzz)

# One test binary per area. ctest knows each test as area.Suite.Case, labelled with its area; but a
# suite named Long... is labelled long instead, and is no part of the ordinary run. Suites of
# holdfast_measuring run while no other test does. Of the areas in holdfast_by_suite ctest also
# knows each suite as area.Suite, with the further label `suite`, and its cases are labelled `case`:
# scripts/test runs whole suites, or the cases that it is asked for. Tests run in the project's
# directory and find the programs in $HOLDFAST_BIN_DIR.
function(holdfast_tests area)
  file(GLOB sources CONFIGURE_DEPENDS tests/${area}/*.cc)
  if(area STREQUAL fuzz)
    list(FILTER sources INCLUDE REGEX "_test\\.cc$") # its targets are a library
  endif()
  if(NOT sources)
    return()
  endif()
  set(target ${area}_test)
  holdfast_batches(sources ${target} ${holdfast_test_batch_size} ${sources})
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(${target} PRIVATE ${holdfast_warnings} ${holdfast_test_options})
  holdfast_reuse_headers(${target} holdfast_test_support)
  target_link_libraries(${target} PRIVATE ${ARGN})
  set(long "Long*:*/Long*")
  list(TRANSFORM holdfast_measuring REPLACE "(.+)" "\\1.*:*/\\1.*" OUTPUT_VARIABLE measuring)
  list(JOIN measuring ":" measuring)
  holdfast_discover(${target} ${area} ${area} ${HOLDFAST_TEST_SECONDS} "${measuring}"
    RUN_SERIAL TRUE)
  holdfast_discover(${target} ${area} long 3600 "${long}")
  set(ordinary "-${long}:${measuring}")
  if(area IN_LIST holdfast_by_suite)
    holdfast_discover(${target} ${area} case ${HOLDFAST_TEST_SECONDS} "${ordinary}")
    holdfast_discover_suites(${target} ${area} "${ordinary}")
  else()
    holdfast_discover(${target} ${area} ${area} ${HOLDFAST_TEST_SECONDS} "${ordinary}")
  endif()
endfunction()

# Further arguments are further properties of the tests.
function(holdfast_discover target area label seconds filter)
  gtest_discover_tests(${target} NO_PRETTY_TYPES NO_PRETTY_VALUES
    TEST_FILTER "${filter}"
    TEST_PREFIX "${area}."
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${seconds}
      ENVIRONMENT "HOLDFAST_BIN_DIR=${CMAKE_BINARY_DIR}/bin" ${ARGN})
endfunction()

function(holdfast_discover_suites target area filter)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(discover ${CMAKE_SOURCE_DIR}/tests/support/suites.py)
  set(found ${CMAKE_BINARY_DIR}/tests/${target}_suites.cmake)
  math(EXPR seconds "2 * ${HOLDFAST_TEST_SECONDS}")
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${found} VERBATIM
    COMMAND ${Python3_EXECUTABLE} ${discover} $<TARGET_FILE:${target}> ${found} ${area} ${seconds}
      ${CMAKE_SOURCE_DIR} HOLDFAST_BIN_DIR=${CMAKE_BINARY_DIR}/bin "${filter}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${discover})
  set(included ${CMAKE_BINARY_DIR}/tests/${target}_include.cmake)
  file(CONFIGURE OUTPUT ${included} @ONLY CONTENT "if(EXISTS [=[@found@]=])
  include([=[@found@]=])
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()

# tests/libNAME.so, which a test preloads into a process. It brings no sanitizer of its own along.
function(holdfast_preload name source)
  add_library(holdfast_${name} MODULE ${source})
  set_target_properties(holdfast_${name} PROPERTIES OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(holdfast_${name} PRIVATE ${holdfast_warnings} -fno-sanitize=all)
  target_link_options(holdfast_${name} PRIVATE -fno-sanitize=all)
  target_link_libraries(holdfast_${name} PRIVATE ${CMAKE_DL_LIBS})
  if(TARGET holdfast_test_support)
    add_dependencies(holdfast_test_support holdfast_${name})
  endif()
endfunction()

# One test per style rule of the project; run.py lists the rules.
function(holdfast_style_tests folder)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(check ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/${folder}/run.py)
  set_property(DIRECTORY APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS ${folder}/rules.py ${folder}/batches.py ${folder}/documents.py
    ${folder}/decisions.py ${folder}/questions.py ${folder}/diagrams.py ${folder}/terms.py
    ${folder}/commands.py)
  execute_process(COMMAND ${check} --list OUTPUT_VARIABLE rules
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(rule ${rules})
    add_test(NAME style.${rule} COMMAND ${check} ${rule} ${CMAKE_BINARY_DIR})
    set_tests_properties(style.${rule} PROPERTIES LABELS style TIMEOUT 300)
  endforeach()
  add_test(NAME style.summary
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/${folder}/summary.py)
  set_tests_properties(style.summary PROPERTIES LABELS style TIMEOUT 300)
endfunction()

# One test per mutation of the source: run.py lists those of this preset. That each is found in the
# sources is an ordinary test.
function(holdfast_saboteurs folder)
  find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  set(mutate ${DEBIAN_PYTHON} ${CMAKE_SOURCE_DIR}/${folder}/run.py)
  file(GLOB tables CONFIGURE_DEPENDS ${folder}/*.toml)
  set_property(DIRECTORY APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS ${folder}/run.py ${folder}/entries.py ${tables})
  set(preset)
  if(HOLDFAST_TSAN)
    set(preset tsan)
  endif()
  execute_process(COMMAND ${mutate} --list ${preset} OUTPUT_VARIABLE names
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(name ${names})
    add_test(NAME saboteurs.${name} COMMAND ${mutate} ${name} ${CMAKE_BINARY_DIR})
    set_tests_properties(saboteurs.${name} PROPERTIES LABELS saboteur TIMEOUT 900)
  endforeach()
  add_test(NAME style.saboteurs COMMAND ${mutate} --check)
  set_tests_properties(style.saboteurs PROPERTIES LABELS style TIMEOUT 300)
endfunction()

# Runs the instructions of the documents in a clean clone: it builds once more, so it is part of one
# preset's tests alone, and of none where there is nothing to clone. What installs packages of other
# languages, or builds, is labelled `documents`, and is no part of the ordinary run.
function(holdfast_document_tests folder)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/.git OR NOT CMAKE_BINARY_DIR STREQUAL ${CMAKE_SOURCE_DIR}/build)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(scripts ${CMAKE_SOURCE_DIR}/${folder})
  add_test(NAME docs.Readme.BlocksRun COMMAND ${Python3_EXECUTABLE} ${scripts}/readme.py)
  set_tests_properties(docs.Readme.BlocksRun PROPERTIES LABELS documents TIMEOUT 1500 PROCESSORS 2)
  add_test(NAME docs.LongAddingAStore.TheChecklistIsEnough
    COMMAND ${Python3_EXECUTABLE} ${scripts}/adding_a_store.py)
  # Debian's own interpreter is the one that its packages are for.
  find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  foreach(example python typescript)
    add_test(NAME docs.Examples.${example}
      COMMAND ${DEBIAN_PYTHON} ${scripts}/examples.py ${example} ${CMAKE_BINARY_DIR})
    set_tests_properties(docs.Examples.${example} PROPERTIES LABELS documents TIMEOUT 600
      RESOURCE_LOCK examples)
  endforeach()
  foreach(example checkpointer conversation agent_state)
    add_test(NAME docs.FrontEnds.${example}
      COMMAND ${DEBIAN_PYTHON} ${scripts}/front_ends.py ${example} ${CMAKE_BINARY_DIR})
    set_tests_properties(docs.FrontEnds.${example} PROPERTIES LABELS documents TIMEOUT 600
      RESOURCE_LOCK examples)
  endforeach()
  foreach(part grpcurl python typescript)
    add_test(NAME docs.Guide.${part}
      COMMAND ${DEBIAN_PYTHON} ${scripts}/guide.py ${part} ${CMAKE_BINARY_DIR})
    set_tests_properties(docs.Guide.${part} PROPERTIES LABELS documents TIMEOUT 900
      RESOURCE_LOCK examples)
  endforeach()
  add_test(NAME docs.Inline.CommandsExist
    COMMAND ${DEBIAN_PYTHON} ${scripts}/inline.py ${CMAKE_BINARY_DIR})
  set_tests_properties(docs.Inline.CommandsExist PROPERTIES LABELS docs TIMEOUT 300)
  add_test(NAME docs.Reference.ExamplesRun
    COMMAND ${DEBIAN_PYTHON} ${scripts}/reference.py ${CMAKE_BINARY_DIR})
  set_tests_properties(docs.Reference.ExamplesRun PROPERTIES LABELS docs TIMEOUT 300)
  add_test(NAME docs.Runbooks.CommandsRun
    COMMAND ${DEBIAN_PYTHON} ${scripts}/runbooks.py ${CMAKE_BINARY_DIR})
  set_tests_properties(docs.Runbooks.CommandsRun PROPERTIES LABELS docs TIMEOUT 300)
  foreach(part Start Service Samples Commands Rights Rules)
    add_test(NAME docs.Operations.${part}
      COMMAND ${DEBIAN_PYTHON} ${scripts}/operations.py ${part} ${CMAKE_BINARY_DIR})
    set_tests_properties(docs.Operations.${part} PROPERTIES LABELS docs TIMEOUT 300)
  endforeach()
  add_test(NAME docs.Traces.AreReadByTheProtocolsOwnDefinitions
    COMMAND ${DEBIAN_PYTHON} ${scripts}/otlp.py ${CMAKE_BINARY_DIR})
  add_test(NAME docs.Traces.ATurnOfTwoServersIsOneSpan
    COMMAND ${DEBIAN_PYTHON} ${scripts}/turns.py ${CMAKE_BINARY_DIR})
  # Both install into one folder.
  set_tests_properties(docs.Traces.AreReadByTheProtocolsOwnDefinitions
    docs.Traces.ATurnOfTwoServersIsOneSpan PROPERTIES
    LABELS docs TIMEOUT 600 RESOURCE_LOCK otlp)
  set_tests_properties(docs.LongAddingAStore.TheChecklistIsEnough PROPERTIES
    LABELS long TIMEOUT 3600 PROCESSORS 2)
endfunction()

# Tests of a program in `folder`, run.py, in an interpreter of Debian, which is what its packages
# are for: one test `prefix`.NAME for each check that it names, a long part if the name begins with
# Long. They run the programs of one preset, and keep what they install in its build directory.
function(holdfast_checks folder prefix)
  if(NOT CMAKE_BINARY_DIR STREQUAL ${CMAKE_SOURCE_DIR}/build)
    return()
  endif()
  find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  set(check ${DEBIAN_PYTHON} ${CMAKE_SOURCE_DIR}/${folder}/run.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/run.py)
  execute_process(COMMAND ${check} --list OUTPUT_VARIABLE names
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^[a-z]+" label ${prefix})
  foreach(name ${names})
    add_test(NAME ${prefix}.${name} COMMAND ${check} ${name} ${CMAKE_BINARY_DIR})
    set_tests_properties(${prefix}.${name} PROPERTIES
      LABELS ${label} TIMEOUT ${HOLDFAST_TEST_SECONDS})
    if(name MATCHES "^Long")
      set_tests_properties(${prefix}.${name} PROPERTIES LABELS long TIMEOUT 1800 PROCESSORS 2)
    endif()
  endforeach()
endfunction()

# A long part that is a program of its own; it runs the programs of one preset. Further arguments
# are further properties of the test.
function(holdfast_long_check name program seconds)
  if(NOT CMAKE_BINARY_DIR STREQUAL ${CMAKE_SOURCE_DIR}/build)
    return()
  endif()
  find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  add_test(NAME ${name}
    COMMAND ${DEBIAN_PYTHON} ${CMAKE_SOURCE_DIR}/${program} ${CMAKE_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT ${seconds} PROCESSORS 2 ${ARGN})
endfunction()

# What takes foreign bytes: a library of the targets in tests/fuzz for their test, and with
# HOLDFAST_FUZZ a program bin/fuzz_TARGET for each. One preset's long tests build and run those.
function(holdfast_fuzz_targets library)
  file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  holdfast_batches(sources tests/fuzz ${holdfast_test_batch_size} ${sources})
  add_library(${library} STATIC ${sources})
  target_compile_options(${library} PRIVATE ${holdfast_warnings})
  foreach(target ${ARGN})
    if(HOLDFAST_FUZZ)
      set(main ${CMAKE_BINARY_DIR}/fuzz/${target}.cc)
      file(CONFIGURE OUTPUT ${main} CONTENT "#include \"tests/fuzz/targets.h\"
extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  holdfast::fuzz::Run(\"${target}\", {reinterpret_cast<const char*>(data), size});
  return 0;
}
")
      add_executable(fuzz_${target} ${main})
      target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(fuzz_${target} PRIVATE ${library})
    elseif(CMAKE_BINARY_DIR STREQUAL ${CMAKE_SOURCE_DIR}/build)
      find_package(Python3 REQUIRED COMPONENTS Interpreter)
      add_test(NAME fuzz.LongFuzz.${target}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/fuzz/long.py ${target})
      set_tests_properties(fuzz.LongFuzz.${target} PROPERTIES
        LABELS long TIMEOUT 3600 PROCESSORS 2 RESOURCE_LOCK build-fuzz)
    endif()
  endforeach()
endfunction()
