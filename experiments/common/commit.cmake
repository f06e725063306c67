# Writes a header with the revision of the source tree; run at every build, so that results never name
# a revision older than their binary. Touches the header only when the revision changed.
execute_process(
  COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
set(text "#pragma once\n\ninline constexpr const char* kSourceCommit = \"${commit}\";\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} previous)
endif()
if(NOT "${text}" STREQUAL "${previous}")
  file(WRITE ${HEADER} "${text}")
endif()
