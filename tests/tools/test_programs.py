"""Tests of the programs: exit codes, clean stdout, pipes, JSON lines, bits, Ctrl-C, the chat.

Usage: test_programs.py ML_RUN ML_CONVERT ML_EVAL ML_BENCH TEST_DATA [unittest's arguments]
"""
import signal
import sys
import unittest

import programs

if __name__ == "__main__":
    programs.configure(*sys.argv[1:6])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has programs ignore, and ours keep to it
    try:
        suite = unittest.defaultTestLoader.loadTestsFromNames(
            sys.argv[6:] or ["exit_codes", "text", "figures", "streaming", "interrupts", "chat"])
        ok = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    finally:
        programs.clean_up()
    sys.exit(0 if ok else 1)
