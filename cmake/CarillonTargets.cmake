# carillon_options: the flags of all our own code.
add_library(carillon_options INTERFACE)
target_include_directories(carillon_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_compile_options(carillon_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CARILLON_WERROR)
  target_compile_options(carillon_options INTERFACE -Werror)
endif()
if(CARILLON_NATIVE)
  target_compile_options(carillon_options INTERFACE -march=native)
endif()
if(CARILLON_SANITIZE)
  # AddressSanitizer finds what the checks that are left out here would find; they take half of the time to compile.
  add_compile_options(-fsanitize=${CARILLON_SANITIZE} -fno-sanitize=null,alignment,object-size,vptr -fno-omit-frame-pointer -g1 -O1)
  add_link_options(-fsanitize=${CARILLON_SANITIZE})
  if(CARILLON_SANITIZE MATCHES thread)
    include_directories(BEFORE ${CMAKE_CURRENT_LIST_DIR}/tsan)
  endif()
endif()

# carillon_precompile(TARGET HEADER): compiles HEADER once for all sources of TARGET, in sanitized builds. These have no other purpose than
# to run tests, and take a third less time so; the ordinary build does without, and sees to it that each source includes what it uses.
function(carillon_precompile target header)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(CARILLON_SANITIZE AND EXISTS ${header} AND count GREATER 4)
    target_precompile_headers(${target} PRIVATE ${header})
    # Warnings are the ordinary build's: of precompiled headers gcc 12 no longer knows which are the system's, and warns of strings in them.
    target_compile_options(${target} PRIVATE -w)
  endif()
endfunction()

# carillon_library(NAME DEPENDS …): the library of one folder, from every .cc file in it (tests apart). Its tests, foo_test.cc beside
# foo.cc, become one program NAME_test. What most of the sources include stands in precompiled.h.
function(carillon_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;PRIVATE;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(pattern ${arg_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(carillon_${name} STATIC ${sources})
  target_link_libraries(carillon_${name} PUBLIC ${arg_DEPENDS} PRIVATE carillon_options ${arg_PRIVATE})
  carillon_precompile(carillon_${name} ${CMAKE_CURRENT_SOURCE_DIR}/precompiled.h)
  set_property(GLOBAL APPEND PROPERTY CARILLON_LIBRARIES carillon_${name})
  if(tests AND CARILLON_TESTS)
    set_property(GLOBAL APPEND PROPERTY CARILLON_TEST_FOLDERS ${name})
    set_property(GLOBAL PROPERTY CARILLON_TESTS_${name} ${tests})
  endif()
endfunction()

# carillon_test(NAME LIBRARIES… SOURCES…): a program of GoogleTest cases, built into build/tests/, whose main function is carillon_test_main's.
# The target unit_tests builds them all.
add_custom_target(unit_tests)
function(carillon_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE carillon_options carillon_test_main ${arg_DEPENDS})
  carillon_precompile(${name} ${PROJECT_SOURCE_DIR}/tests/precompiled.h)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS unit)
  add_dependencies(unit_tests ${name})
endfunction()
