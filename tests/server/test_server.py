"""Tests of ml_server over HTTP: every endpoint, field limits, hostile clients, requests in parallel.

Usage: test_server.py ML_SERVER ML_RUN ML_CONVERT TEST_DATA [unittest's arguments]
"""
import sys
import unittest

import serving

if __name__ == "__main__":
    serving.configure(*sys.argv[1:5])
    try:
        suite = unittest.defaultTestLoader.loadTestsFromNames(
            sys.argv[5:] or ["chat", "completions", "responses", "constraints", "about", "fields", "access", "hostile", "parallel"])
        ok = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    finally:
        serving.clean_up()
    sys.exit(0 if ok else 1)
