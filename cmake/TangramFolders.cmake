# tangram_folder(base SOURCES a.cc b.cc DEPS tangram::x PRIVATE_DEPS ...)
#
# One static library per folder of src/, or per part of a folder whose parts know different things: kube/api is
# tangram::kube_api. Headers are included as "base/result.h", and that path exists only
# for targets that name the folder in DEPS: the include directory is a folder of the build tree that holds one
# link. So an include that the layering forbids does not compile.
# The presets with -O2 add -Wno-restrict: g++ 12 sees overlapping copies in std::string that are not there
# (GCC bug 105651).
function(tangram_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                                           -Wold-style-cast -Wswitch-enum -Werror)
endfunction()

function(tangram_sanitize target)
  if(TANGRAM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TANGRAM_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${TANGRAM_SANITIZE})
    # A fifth of the compiler's time, for what ASan's trap or the plain sanitizer build finds as well.
    if(TANGRAM_SANITIZE MATCHES "fuzzer")
      target_compile_options(${target} PRIVATE -fno-sanitize=vptr,null,alignment,function,object-size,return
                                               -fno-sanitize=nonnull-attribute,returns-nonnull-attribute)
    endif()
    # g++ takes the sanitizer's own paths for uses of what is not initialized (GCC bug 105562); the plain build looks.
    if(TANGRAM_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
      # What ASan's own trap finds.
      target_compile_options(${target} PRIVATE -fno-sanitize=null,vptr)
    endif()
  endif()
endfunction()

function(tangram_folder path)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  set(link_root ${CMAKE_BINARY_DIR}/folders/${name})
  cmake_path(GET path PARENT_PATH above)
  file(MAKE_DIRECTORY ${link_root}/${above})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${path} ${link_root}/${path} SYMBOLIC)
  if(arg_SOURCES)
    add_library(tangram_${name} STATIC ${arg_SOURCES})
    target_include_directories(tangram_${name} PUBLIC ${link_root})
    target_link_libraries(tangram_${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
    tangram_warnings(tangram_${name})
    tangram_sanitize(tangram_${name})
  else()
    add_library(tangram_${name} INTERFACE)
    target_include_directories(tangram_${name} INTERFACE ${link_root})
    target_link_libraries(tangram_${name} INTERFACE ${arg_DEPS} ${arg_PRIVATE_DEPS})
  endif()
  add_library(tangram::${name} ALIAS tangram_${name})
endfunction()

# tangram_program(tangramd SOURCES main.cc DEPS tangram::service)
function(tangram_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  tangram_warnings(${name})
  tangram_sanitize(${name})
endfunction()

# tangram_test(base SOURCES a_test.cc DEPS tangram::base): one GoogleTest binary per folder, registered with ctest.
function(tangram_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  tangram_warnings(test_${name})
  tangram_sanitize(test_${name})
  target_compile_options(test_${name} PRIVATE -O1) # it runs once
  # Under a sanitizer a test's own code takes half of the compiler's time when it is optimised, for nothing.
  if(TANGRAM_SANITIZE)
    target_compile_options(test_${name} PRIVATE -O0 -fno-sanitize=alignment)
  endif()
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND test_${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()
