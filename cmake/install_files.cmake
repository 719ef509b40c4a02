# Run by `cmake --install` before anything is copied: makes what depends on the programs or on the
# prefix, in the directory `made`, and installs the configuration, unless there is one.
foreach(program holdfastd holdfast)
  if(NOT EXISTS ${programs}/${program})
    message(FATAL_ERROR "${programs}: has no program ${program}; build it first")
  endif()
endforeach()

function(holdfast_do)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${made})
file(MAKE_DIRECTORY ${made}/bin ${made}/completion)
foreach(program holdfastd holdfast)
  if(strip)
    holdfast_do(strip --strip-unneeded --remove-section=.comment --remove-section=.note
      -o ${made}/bin/${program} ${programs}/${program})
  else()
    file(COPY ${programs}/${program} DESTINATION ${made}/bin)
  endif()
endforeach()
holdfast_do(${source}/scripts/man-pages ${programs} ${made})
foreach(shell bash zsh fish)
  holdfast_do(${programs}/holdfast completion ${shell}
    OUTPUT_FILE ${made}/completion/holdfast.${shell})
endforeach()
file(COPY_FILE ${source}/CHANGELOG.md ${made}/changelog)
holdfast_do(gzip -9nf ${made}/holdfastd.8 ${made}/holdfast.1 ${made}/changelog)

# A system's configuration is not below /usr.
set(configuration ${CMAKE_INSTALL_PREFIX}/etc/holdfast)
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr/*$")
  set(configuration /etc/holdfast)
endif()
file(READ ${source}/deploy/systemd/holdfast.service unit)
string(REPLACE "=/usr/bin/" "=${CMAKE_INSTALL_PREFIX}/bin/" unit "${unit}")
string(REPLACE "/etc/holdfast/" "${configuration}/" unit "${unit}")
file(WRITE ${made}/holdfast.service "${unit}")

if(CMAKE_INSTALL_COMPONENT AND NOT CMAKE_INSTALL_COMPONENT STREQUAL "server")
  return()
endif()
if(NOT EXISTS $ENV{DESTDIR}${configuration}/holdfastd.yaml)
  file(INSTALL ${source}/deploy/config/laptop.yaml DESTINATION ${configuration}
    RENAME holdfastd.yaml)
endif()
if(NOT EXISTS $ENV{DESTDIR}${configuration}/holdfastd.env)
  file(INSTALL ${source}/deploy/systemd/holdfastd.env DESTINATION ${configuration}
    PERMISSIONS OWNER_READ OWNER_WRITE)
endif()
