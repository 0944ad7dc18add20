# Installs the build into a temporary folder, then builds and runs a project that finds it there.
#   cmake -DBUILD=<build folder> -DCOMPILER=<c++> -P test.cmake
string(RANDOM name)
set(work $ENV{TMPDIR})
if(NOT work)
  set(work /tmp)
endif()
set(work ${work}/carillon-install-${name})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(code)
    file(REMOVE_RECURSE ${work})
    message(FATAL_ERROR "exit code ${code}: ${ARGN}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${work}/prefix/bin/carillon tfrun --help)
if(NOT EXISTS ${work}/prefix/share/carillon/python/tfrun.py)
  file(REMOVE_RECURSE ${work})
  message(FATAL_ERROR "the bridge of carillon tfrun was not installed")
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/user -B ${work}/build -G Ninja
  -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/program)
file(REMOVE_RECURSE ${work})
