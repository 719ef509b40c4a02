# What the compiler and the linker add against exploits. The presets dev and release have the same;
# the sanitizers check more and leave checked library calls out, which hide calls from them.
option(HOLDFAST_FORTIFY "Check the bounds of C library calls where they are known" OFF)

# The standard library warns where nothing is optimised, and then checks nothing.
if(HOLDFAST_FORTIFY)
  add_compile_options("$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>")
endif()
add_compile_options(-fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  add_compile_options(-fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  add_compile_options(-mbranch-protection=standard)
endif()

# A shared library has position-independent code of its own kind.
set(type $<TARGET_PROPERTY:TYPE>)
add_compile_options("$<$<NOT:$<STREQUAL:${type},MODULE_LIBRARY>>:-fPIE>")
add_link_options("$<$<STREQUAL:${type},EXECUTABLE>:-pie>"
  LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
