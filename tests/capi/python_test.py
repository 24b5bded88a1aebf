#!/usr/bin/env python3
"""The C API through Python's ctypes, compared with numpy. usage: python_test.py LIBRARY [--gtest_output=json:PATH]

Cases are the methods of the test_*.py files beside this one; the report is in GoogleTest's form, so that the runner of all
tests counts each.
"""
import json
import os
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Report(unittest.TextTestResult):
    """Notes every case, and says which one runs, so that a crash can be blamed on it."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.cases = []

    def startTest(self, test):
        super().startTest(test)
        suite, name = type(test).__name__, test._testMethodName
        self.cases.append({"suite": suite, "name": name, "status": "RUN", "result": "COMPLETED"})
        self.start = time.monotonic()
        print(f"[ RUN      ] {suite}.{name}", flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        case = self.cases[-1]
        word = "[  FAILED  ]" if "failures" in case else "[       OK ]"
        print(f"{word} {case['suite']}.{case['name']} ({(time.monotonic() - self.start) * 1000:.0f} ms)", flush=True)

    def note(self, error):
        text = self._exc_info_to_string(error, None) if hasattr(self, "_exc_info_to_string") else str(error[1])
        self.cases[-1].setdefault("failures", []).append({"failure": text})
        print(text, flush=True)

    def addFailure(self, test, error):
        self.failures.append((test, ""))
        self.note(error)

    def addError(self, test, error):
        self.errors.append((test, ""))
        self.note(error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.failures.append((test, ""))
            self.cases[-1].setdefault("failures", []).append({"failure": f"{subtest}: {error[1]!r}"})
            print(f"{subtest}: {error[1]!r}", flush=True)

    def _exc_info_to_string(self, error, test):
        import traceback
        return "".join(traceback.format_exception(*error))


def main() -> int:
    sys.dont_write_bytecode = True
    os.environ["WEFT_LIBRARY"] = str(Path(sys.argv[1]).resolve())
    sys.path[:0] = [str(HERE), str(HERE / "wrapper")]
    pattern = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--gtest_filter=")), "*")
    loader = unittest.TestLoader()
    loader.testNamePatterns = [pattern] if "*" in pattern else [f"*{pattern}*"]
    suite = loader.discover(str(HERE), "test_*.py")
    with open(os.devnull, "w") as quiet:
        result = unittest.TextTestRunner(stream=quiet, resultclass=Report).run(suite)
    suites = {}
    for case in result.cases:
        suites.setdefault(case.pop("suite"), []).append(case)
    for argument in sys.argv[2:]:
        if argument.startswith("--gtest_output=json:"):
            report = {"testsuites": [{"name": name, "testsuite": cases} for name, cases in suites.items()]}
            Path(argument.split(":", 1)[1]).write_text(json.dumps(report))
    return 0 if result.wasSuccessful() and result.cases else 1


if __name__ == "__main__":
    sys.exit(main())
