// Clang's thread-safety annotations under the project's names; empty under other compilers.
//
// They are checked with `clang++ -Wthread-safety`. They describe locks held for one scope; guards
// that are moved, upgraded or returned are beyond the analysis and are not annotated.
#pragma once

#ifdef __clang__
#define PALIMPSEST_ANNOTATION(x) __attribute__((x))
#else
#define PALIMPSEST_ANNOTATION(x)
#endif

#define PALIMPSEST_CAPABILITY(name) PALIMPSEST_ANNOTATION(capability(name))
#define PALIMPSEST_ACQUIRE() PALIMPSEST_ANNOTATION(acquire_capability())
#define PALIMPSEST_ACQUIRE_SHARED() PALIMPSEST_ANNOTATION(acquire_shared_capability())
#define PALIMPSEST_TRY_ACQUIRE(success) PALIMPSEST_ANNOTATION(try_acquire_capability(success))
#define PALIMPSEST_TRY_ACQUIRE_SHARED(success) \
  PALIMPSEST_ANNOTATION(try_acquire_shared_capability(success))
#define PALIMPSEST_RELEASE() PALIMPSEST_ANNOTATION(release_capability())
#define PALIMPSEST_RELEASE_SHARED() PALIMPSEST_ANNOTATION(release_shared_capability())
#define PALIMPSEST_NO_ANALYSIS PALIMPSEST_ANNOTATION(no_thread_safety_analysis)
