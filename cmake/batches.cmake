# How sources are compiled in batches (a unity build, docs/adr/0056): a generated source includes
# several others, so that what they all instantiate is instantiated and optimised once. It names
# them as headers are named, without the checkout's path, so that the compiler's cache has one entry
# for it, in whichever checkout or directory of a preset.
option(HOLDFAST_UNITY "Compile the sources of libraries and tests in batches" ON)

# GCC takes the sources of a batch for headers, in which a class that others see must have no member
# of an anonymous namespace. clang-tidy refuses such namespaces in real headers.
set(holdfast_batch_begin "#ifndef __clang__
#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"
#endif
")

# How many sources, in the order of their names, make a batch that holdfast_batch does not name.
set(holdfast_batch_size 8)
# The same of sources of tests. It is smaller because tests are edited most often, and an edit
# compiles its whole batch again.
set(holdfast_test_batch_size 4)
# How many generated sources make a batch: nearly all that one costs are the headers that it shares.
set(holdfast_generated_batch_size 13)

# Makes the given sources, which are of one folder, a batch of this name.
function(holdfast_batch name)
  set_property(SOURCE ${ARGN} PROPERTY HOLDFAST_BATCH ${name})
endfunction()

# The given sources are in no batch.
function(holdfast_compile_alone)
  set_property(SOURCE ${ARGN} PROPERTY HOLDFAST_ALONE ON)
endfunction()

# Sets `compiled` to what is compiled for the given sources: batches of `size` sources, generated in
# a directory of the name `folder`, and the sources that are compiled alone, like each main.cc.
function(holdfast_batches compiled folder size)
  set(alone)
  set(names)
  set(index 0)
  foreach(source ${ARGN})
    get_property(is_alone SOURCE ${source} PROPERTY HOLDFAST_ALONE)
    get_property(name SOURCE ${source} PROPERTY HOLDFAST_BATCH)
    if(is_alone OR NOT HOLDFAST_UNITY OR source MATCHES "/main\\.cc$")
      list(APPEND alone ${source})
      continue()
    endif()
    if(NOT name)
      math(EXPR name "${index} / ${size}")
      math(EXPR index "${index} + 1")
    endif()
    list(APPEND names ${name})
    if(NOT DEFINED text_${name})
      set(text_${name} "${holdfast_batch_begin}")
    endif()
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    string(APPEND text_${name} "#include \"${path}\"\n")
  endforeach()
  holdfast_write_batches(batches ${folder} ${names})
  set(${compiled} ${batches} ${alone} PARENT_SCOPE)
endfunction()

# Sets `compiled` to the batches that are compiled for the given sources, which protoc writes below
# `folder`. A number distinguishes the names that each of them has for itself.
function(holdfast_generated_batches compiled folder)
  set(names)
  set(index 0)
  foreach(source ${ARGN})
    math(EXPR name "${index} / ${holdfast_generated_batch_size}")
    list(APPEND names ${name})
    file(RELATIVE_PATH path ${folder} ${source})
    string(APPEND text_${name} "#define schemas schemas_${index}
#define file_default_instances file_default_instances_${index}
#include \"${path}\"
#undef schemas
#undef file_default_instances
")
    math(EXPR index "${index} + 1")
  endforeach()
  holdfast_write_batches(batches generated ${names})
  set(${compiled} ${batches} PARENT_SCOPE)
endfunction()

# Sets `files` to the sources of these batches of `folder`, each of which has the text in text_NAME.
function(holdfast_write_batches files folder)
  set(written)
  list(REMOVE_DUPLICATES ARGN)
  foreach(name ${ARGN})
    set(file ${CMAKE_BINARY_DIR}/batches/${folder}/${name}.cc)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "${text_${name}}")
    list(APPEND written ${file})
  endforeach()
  set(${files} ${written} PARENT_SCOPE)
endfunction()
