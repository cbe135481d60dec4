// Catch2 2 and 3 under one include.
#ifndef KRAFLA_TESTS_SUPPORT_CATCH_H_
#define KRAFLA_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif

#endif  // KRAFLA_TESTS_SUPPORT_CATCH_H_
