# The scripts with which shells complete `tangram`, made by the program itself: share/… below the build directory, and
# installed where each shell looks for those of others.
include(GNUInstallDirs)

set(completion_bash bash-completion/completions/tangram)
set(completion_zsh zsh/site-functions/_tangram)
set(completion_fish fish/vendor_completions.d/tangram.fish)
set(completions)
foreach(shell bash zsh fish)
  set(script ${CMAKE_BINARY_DIR}/share/${completion_${shell}})
  cmake_path(GET script PARENT_PATH folder)
  add_custom_command(
    OUTPUT ${script}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND tangram completion ${shell} > ${script}
    DEPENDS tangram
    VERBATIM)
  list(APPEND completions ${script})
  cmake_path(GET completion_${shell} PARENT_PATH place)
  install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${place} COMPONENT daemon)
endforeach()
add_custom_target(completions ALL DEPENDS ${completions})
