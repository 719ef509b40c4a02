# What `cmake --install` brings, in two components: the server and the client. The programs may come
# from elsewhere, which is how cmake/packages makes packages of a build that is there.
include(GNUInstallDirs)
set(HOLDFAST_PROGRAMS ${PROJECT_BINARY_DIR}/bin CACHE PATH "The directory of the two programs")
option(HOLDFAST_STRIP "Leave what only a debugger reads out of the installed programs" OFF)
set(HOLDFAST_SYSTEMD_DIR lib/systemd/system CACHE STRING "Where the unit belongs")
set(HOLDFAST_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "Where completions for zsh belong")

get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(made ${PROJECT_BINARY_DIR}/install)
set(doc ${CMAKE_INSTALL_DATADIR}/doc)

# Man pages and completions are what the programs say, so they are made when these are there.
install(CODE "
set(source \"${source}\")
set(made \"${made}\")
set(programs \"${HOLDFAST_PROGRAMS}\")
set(strip ${HOLDFAST_STRIP})" ALL_COMPONENTS)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_files.cmake ALL_COMPONENTS)

install(PROGRAMS ${made}/bin/holdfastd DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
install(FILES ${made}/holdfastd.8.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT server)
install(FILES ${source}/deploy/completions/holdfastd
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT server)
install(FILES ${made}/holdfast.service DESTINATION ${HOLDFAST_SYSTEMD_DIR} COMPONENT server)
install(FILES ${source}/deploy/systemd/holdfast.sysusers.conf DESTINATION lib/sysusers.d
  RENAME holdfast.conf COMPONENT server)
install(FILES ${source}/docs/operations.md ${source}/docs/runbooks.md ${source}/docs/config.md
  ${source}/docs/metrics.md ${source}/docs/limits.md ${source}/README.md
  DESTINATION ${doc}/holdfast-server COMPONENT server)
install(DIRECTORY ${source}/deploy/config/ DESTINATION ${doc}/holdfast-server/examples
  COMPONENT server)

install(PROGRAMS ${made}/bin/holdfast DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT client)
install(FILES ${made}/holdfast.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT client)
install(FILES ${made}/completion/holdfast.bash RENAME holdfast
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT client)
install(FILES ${made}/completion/holdfast.zsh RENAME _holdfast
  DESTINATION ${HOLDFAST_ZSH_DIR} COMPONENT client)
install(FILES ${made}/completion/holdfast.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT client)
install(DIRECTORY ${source}/protos/ DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/protos
  COMPONENT client FILES_MATCHING PATTERN "*.proto" PATTERN "service_config.json")
install(FILES ${source}/docs/cli.md ${source}/docs/guide.md ${source}/docs/api.md
  ${source}/docs/api-reference.md ${source}/README.md
  DESTINATION ${doc}/holdfast COMPONENT client)

foreach(component server client)
  set(package holdfast)
  if(component STREQUAL server)
    set(package holdfast-server)
  endif()
  install(FILES ${made}/changelog.gz ${source}/deploy/debian/copyright
    DESTINATION ${doc}/${package} COMPONENT ${component})
endforeach()
