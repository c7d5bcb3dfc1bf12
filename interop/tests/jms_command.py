"""What `interop/jms` says of cases that do not pass, and when it cannot run any.

    python3 -m unittest interop.tests.jms_command

Needs Java and Maven, and no broker: the cases that were planted for it speak with none.
"""

import os
import re
import subprocess
import tempfile
import unittest

from interop.runner import jms, plan, processes

COMMAND = os.path.join(plan.INTEROP, "jms")

# Long enough for a case that does nothing, short for one that does not end.
CASE_SECONDS = 10
RUN_SECONDS_MAX = 600


def run(*options, **variables):
    """The exit status of the command, and what it printed."""
    environment = dict(os.environ, **variables)
    done = subprocess.run([COMMAND, "--case-seconds", str(CASE_SECONDS)] + list(options),
                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=RUN_SECONDS_MAX)
    return done.returncode, done.stdout


def closing(text):
    """The numbers of the last line."""
    found = re.fullmatch(r"(\d+) passed, (\d+) failed", text.rstrip().split("\n")[-1])
    return int(found.group(1)), int(found.group(2))


class PlantedCases(unittest.TestCase):
    """One run with all planted cases, in one syntax."""

    @classmethod
    def setUpClass(cls):
        cls.status, cls.text = run("--planted", "--syntax", "ADDR")

    def outcome(self, case):
        found = re.search(r"^(pass|FAILED) +ADDR planted\.%s " % case, self.text, re.MULTILINE)
        self.assertIsNotNone(found, self.text)
        return found.group(1)

    def test_the_run_has_failed_and_every_case_is_counted(self):
        self.assertEqual(self.status, 1)
        self.assertEqual(closing(self.text), (1, 3))

    def test_a_case_that_passes_is_reported(self):
        self.assertEqual(self.outcome("passes"), "pass")

    def test_a_case_that_fails_is_reported_with_its_reason(self):
        self.assertEqual(self.outcome("fails"), "FAILED")
        self.assertIn("java.lang.AssertionError: this was planted", self.text)

    def test_a_case_that_hangs_is_ended_and_its_threads_are_shown(self):
        self.assertEqual(self.outcome("hangs"), "FAILED")
        self.assertIn("it did not end within %d s" % CASE_SECONDS, self.text)
        self.assertIn("at ferrymq.jms.Planted.hangs", self.text)

    def test_a_case_that_ends_java_has_failed(self):
        self.assertEqual(self.outcome("leaves"), "FAILED")
        self.assertIn("Java ended in the middle of the case", self.text)


class NothingToRun(unittest.TestCase):
    def test_a_name_that_no_case_has_is_a_failure(self):
        status, text = run("--only", "no such case")
        self.assertEqual((status, closing(text)), (1, (0, 1)))
        self.assertIn("no case has that in its name", text)

    def test_a_missing_java_is_named(self):
        status, text = run(JAVA="no-such-java")
        self.assertEqual((status, closing(text)), (1, (0, 1)))
        self.assertIn("the cases need Java 17: there is no command `no-such-java`", text)

    def test_a_missing_maven_is_named(self):
        status, text = run(MAVEN="no-such-maven")
        self.assertEqual((status, closing(text)), (1, (0, 1)))
        self.assertIn("the cases need Maven: there is no command `no-such-maven`", text)

    def test_a_broker_that_does_not_start_fails_all_its_cases(self):
        status, text = run("--broker", "/bin/false", "--only", "topics.", "--syntax", "BURL")
        passed, failed = closing(text)
        self.assertEqual((status, passed), (1, 0))
        self.assertGreater(failed, 1)
        self.assertIn("the broker printed no port", text)


class Choosing(unittest.TestCase):
    CASES = ["queues.one", "queues.two", "xa.one", "planted.one"]

    def test_planted_cases_are_not_run_with_the_others(self):
        self.assertEqual(jms.chosen(self.CASES, None, False), self.CASES[:3])

    def test_planted_cases_are_run_alone(self):
        self.assertEqual(jms.chosen(self.CASES, None, True), ["planted.one"])

    def test_a_group_or_a_name_chooses(self):
        self.assertEqual(jms.chosen(self.CASES, ["xa.", "queues.two"], False),
                         ["queues.two", "xa.one"])


class JavaThatRunsNothing(unittest.TestCase):
    def test_each_case_has_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            # A class path without the program: Java starts and has nothing to run.
            main, jms.MAIN = jms.MAIN, "ferrymq.jms.Absent"
            try:
                results = jms.run_cases(["a.one", "a.two"], {}, os.path.join(folder, "log"),
                                        CASE_SECONDS)
            finally:
                jms.MAIN = main
        self.assertEqual({case: result.has_passed for case, result in results.items()},
                         {"a.one": False, "a.two": False})
        self.assertIn("Java ran no case", results["a.one"].lines[0])


if __name__ == "__main__":
    processes.end_with_this_process()
    unittest.main()
