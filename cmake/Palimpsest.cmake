# What every target of this project shares: language level, warnings, sanitizers, and two functions.
option(PALIMPSEST_BUILD_TESTS "Build the tests" ON)
set(PALIMPSEST_SANITIZE "" CACHE STRING "Comma-separated sanitizers (address,undefined or thread)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

add_library(palimpsest_options INTERFACE)
target_include_directories(palimpsest_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(palimpsest_options INTERFACE
  -march=x86-64-v2 -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wcast-align -Wnull-dereference
  -Wimplicit-fallthrough -Wextra-semi)
target_link_libraries(palimpsest_options INTERFACE Threads::Threads)
if(PALIMPSEST_SANITIZE)
  target_compile_options(palimpsest_options INTERFACE
    -fsanitize=${PALIMPSEST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(palimpsest_options INTERFACE -fsanitize=${PALIMPSEST_SANITIZE})
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR PALIMPSEST_SANITIZE)
  target_compile_definitions(palimpsest_options INTERFACE
    PALIMPSEST_DEBUG_CHECKS PALIMPSEST_SYNC_POINTS)
endif()
if(PALIMPSEST_SANITIZE MATCHES "thread")
  target_compile_definitions(palimpsest_options INTERFACE PALIMPSEST_TSAN)
endif()

# palimpsest_library(NAME SOURCES ... LINKS ...): the static library of one folder.
function(palimpsest_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(palimpsest_${name} STATIC ${arg_SOURCES})
  target_link_libraries(palimpsest_${name} PUBLIC palimpsest_options ${arg_LINKS})
endfunction()

# palimpsest_test(NAME SOURCES ... LINKS ... LABELS ...): one GoogleTest binary, one ctest entry.
function(palimpsest_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
endfunction()
