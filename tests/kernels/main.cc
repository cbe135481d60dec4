// Catch2 2 compiles its benchmark runner only where main and the tests both ask for it; the shared
// main of tests/support does not, so this program brings its own.
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#endif
