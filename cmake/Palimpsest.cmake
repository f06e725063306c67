# What every target of this project shares: language level, warnings, sanitizers, and its functions.
option(PALIMPSEST_BUILD_TESTS "Build the tests (needs GoogleTest)" ON)
option(PALIMPSEST_FUZZ "Instrument for libFuzzer and build the fuzz targets (needs clang)" OFF)
option(PALIMPSEST_COVERAGE "Instrument for source-based coverage (needs clang)" OFF)
set(PALIMPSEST_SANITIZE "" CACHE STRING "Comma-separated sanitizers (address,undefined or thread)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The engine is linked into other people's programs: it adds no symbol to what they export.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# The archive also goes into shared libraries: those of users, of other languages' modules.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(PALIMPSEST_CCACHE ccache)
if(PALIMPSEST_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # The tests' precompiled headers are other people's and have no times in them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${PALIMPSEST_CCACHE})
endif()

# Tests are some hundred programs, each linked with most of the engine.
find_program(PALIMPSEST_MOLD mold)
if(PALIMPSEST_BUILD_TESTS AND PALIMPSEST_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libpmem REQUIRED IMPORTED_TARGET libpmem)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

# palimpsest_precompile(NAME HEADERS...): a target for others to REUSE_FROM. What a source uses it
# includes all the same: tools/tidy examines it without.
function(palimpsest_precompile name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/headers.cc)
  target_link_libraries(${name} PRIVATE palimpsest_options)
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

add_library(palimpsest_options INTERFACE)
target_include_directories(palimpsest_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# Baseline of every 64-bit x86 server since 2009; wider instructions only by run-time dispatch.
target_compile_options(palimpsest_options INTERFACE
  -march=x86-64-v2 -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wcast-align -Wcast-qual
  -Wnull-dereference -Wimplicit-fallthrough -Wextra-semi -Wformat=2 -Wundef -Wunused
  -Wdouble-promotion -Wmissing-declarations -Wredundant-decls -Wvla)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(palimpsest_options INTERFACE
    -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wsuggest-override -Wstrict-null-sentinel
    # False reports of g++ 12 at -O3 on std::string and std::vector (GCC bugs 105651 and 105762).
    -Wno-restrict -Wno-stringop-overread
    # Libraries are position-independent, but nothing replaces their functions: they may be inlined.
    -fno-semantic-interposition
    # Its garbage collector takes a tenth of the time and frees nearly nothing of what a source needs.
    --param=ggc-min-heapsize=1048576)
else()
  target_compile_options(palimpsest_options INTERFACE
    -Wthread-safety -Wcomma -Wloop-analysis -Wunreachable-code-aggressive
    -Wsuggest-override -Wheader-hygiene -Wnewline-eof -Wshorten-64-to-32)
endif()
target_link_libraries(palimpsest_options INTERFACE Threads::Threads)
if(PALIMPSEST_SANITIZE)
  target_compile_options(palimpsest_options INTERFACE
    -fsanitize=${PALIMPSEST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(palimpsest_options INTERFACE -fsanitize=${PALIMPSEST_SANITIZE})
endif()
if(PALIMPSEST_FUZZ)
  target_compile_options(palimpsest_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(PALIMPSEST_COVERAGE)
  target_compile_options(palimpsest_options INTERFACE
    -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc)
  target_link_options(palimpsest_options INTERFACE -fprofile-instr-generate)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR PALIMPSEST_SANITIZE)
  target_compile_definitions(palimpsest_options INTERFACE
    PALIMPSEST_DEBUG_CHECKS PALIMPSEST_SYNC_POINTS _GLIBCXX_ASSERTIONS)
endif()
if(PALIMPSEST_SANITIZE MATCHES "thread")
  target_compile_definitions(palimpsest_options INTERFACE PALIMPSEST_TSAN)
endif()

# Headers that take most of the time a source needs to be compiled: for all libraries.
palimpsest_precompile(palimpsest_headers
  <algorithm> <atomic> <chrono> <condition_variable> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)

# palimpsest_library(NAME SOURCES ... LINKS ... [HEADERS TARGET]): the static library of one folder.
# LINKS is all it may use: tests/structure links each library with exactly that and refuses undefined
# symbols. HEADERS: whose precompiled headers it uses, palimpsest_headers if not given.
function(palimpsest_library name)
  cmake_parse_arguments(arg "" "HEADERS" "SOURCES;LINKS" ${ARGN})
  add_library(palimpsest_${name} STATIC ${arg_SOURCES})
  target_link_libraries(palimpsest_${name} PUBLIC palimpsest_options ${arg_LINKS})
  if(NOT arg_HEADERS)
    set(arg_HEADERS palimpsest_headers)
  endif()
  target_precompile_headers(palimpsest_${name} REUSE_FROM ${arg_HEADERS})
  set_property(GLOBAL APPEND PROPERTY PALIMPSEST_LIBRARIES ${name})
endfunction()

# palimpsest_add_test(NAME [ARGUMENTS ...] LABELS ...): the ctest entry of the executable NAME.
# Label `concurrency` also runs it under ThreadSanitizer in `make test`, `drivers` in `make soak`, `pages`
# under Address- and UndefinedBehaviorSanitizer, threads of the first with noise (base/sync_point.h); for
# every label the target tests_<label> builds just what carries it.
function(palimpsest_add_test name)
  cmake_parse_arguments(arg "" "" "ARGUMENTS;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
  if(PALIMPSEST_SANITIZE MATCHES "address" AND "concurrency" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT PALIMPSEST_SYNC_NOISE=48)
  endif()
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

# palimpsest_precompile_for_programs(NAME HEADERS...): as palimpsest_precompile, for programs to
# REUSE_FROM: these are compiled with -fPIE, libraries with -fPIC.
function(palimpsest_precompile_for_programs name)
  palimpsest_precompile(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
endfunction()

# palimpsest_test_options(NAME): what is tested is optimised in its library; the tests themselves are
# mostly compiled, not run.
function(palimpsest_test_options name)
  if(PALIMPSEST_SANITIZE)
    target_compile_options(${name} PRIVATE -O0 -g1)
  else()
    # At -O1 g++ 12 sees an operator delete that is replaced, and not the operator new beside it.
    target_compile_options(${name} PRIVATE
      "$<$<CONFIG:RelWithDebInfo>:-O1;-g0;-Wno-mismatched-new-delete>")
  endif()
endfunction()

# palimpsest_test(NAME SOURCES ... LINKS ... LABELS ...): one GoogleTest binary, one ctest entry. It
# uses the precompiled headers that its folder has set, PALIMPSEST_TEST_HEADERS.
function(palimpsest_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  palimpsest_test_options(${name})
  target_precompile_headers(${name} REUSE_FROM ${PALIMPSEST_TEST_HEADERS})
  palimpsest_add_test(${name} LABELS ${arg_LABELS})
endfunction()
