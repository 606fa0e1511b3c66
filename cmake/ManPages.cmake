# The manual pages, made from the program's own tables: share/man/man1/tangram.1, share/man/zh_CN/man1/… below the
# build directory, and installed.
include(GNUInstallDirs)

set(man_root ${CMAKE_BINARY_DIR}/share/man)
set(man_pages)
foreach(page tangram.1 tangramd.8)
  string(REGEX REPLACE ".*\\.([0-9])$" "man\\1" section ${page})
  foreach(language "" zh_CN)
    set(folder ${man_root}/${language}/${section})
    cmake_path(NORMAL_PATH folder)
    add_custom_command(
      OUTPUT ${folder}/${page}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND tangram-man ${page} ${language} > ${folder}/${page}
      DEPENDS tangram-man
      VERBATIM)
    list(APPEND man_pages ${folder}/${page})
    install(FILES ${folder}/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/${language}/${section} COMPONENT daemon)
  endforeach()
endforeach()
add_custom_target(man-pages ALL DEPENDS ${man_pages})
