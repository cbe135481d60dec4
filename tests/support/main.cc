// The main function of every test program (Catch2 2 brings none as a library).
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#endif
