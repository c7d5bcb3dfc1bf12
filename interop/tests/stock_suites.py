"""What is read from the output of the stock suites' runner."""

import unittest

from interop.runner import suites

RACING = "qpid_tests.broker_0_10.management.ManagementTest.test_connection_stats"
OTHER = "qpid_tests.broker_0_10.management.ManagementTest.test_get_objects"

FAILED = """%s ........ fail
Error during test:  Traceback (most recent call last):
    File "management.py", line 1, in test
      %s
  AssertionError
%s ........ pass
Totals: 2 tests, 1 passed, 0 skipped, 0 ignored, 1 failed
"""


def outcome_of(text):
    statuses, texts = suites.read_statuses(text)
    return suites.Outcome(statuses, texts, False, False)


class Statuses(unittest.TestCase):
    def test_why_a_case_failed_is_its_text(self):
        outcome = outcome_of(FAILED % (RACING, "assert(False)", OTHER))
        self.assertEqual(outcome.statuses, {RACING: "fail", OTHER: "pass"})
        self.assertEqual(outcome.texts[RACING][-1].strip(), "AssertionError")
        self.assertNotIn("Totals", " ".join(outcome.texts.get(OTHER, [])))

    def test_a_status_may_stand_on_the_next_line(self):
        outcome = outcome_of("%s .......\nprinted\n pass\n%s ...... fail\n" % (RACING, OTHER))
        self.assertEqual(outcome.statuses, {RACING: "pass", OTHER: "fail"})
        self.assertEqual(outcome.texts[RACING], ["printed"])


class Races(unittest.TestCase):
    def test_a_case_races_with_itself_where_it_is_known_to(self):
        outcome = outcome_of(FAILED % (RACING, "assert(conn_qmf)", OTHER))
        self.assertTrue(suites.races_with_itself(RACING, outcome))

    def test_what_fails_elsewhere_is_no_race(self):
        text = FAILED % (RACING, "self.assertEqual(conn_qmf.msgsFromClient, 1)", OTHER)
        self.assertFalse(suites.races_with_itself(RACING, outcome_of(text)))
        text = FAILED % (OTHER, "assert(conn_qmf)", RACING)
        self.assertFalse(suites.races_with_itself(OTHER, outcome_of(text)))

    def test_what_came_of_it_alone_counts(self):
        outcome = outcome_of(FAILED % (RACING, "assert(conn_qmf)", OTHER))
        outcome.take(RACING, outcome_of("%s ..... pass\n" % RACING))
        self.assertEqual(outcome.statuses[RACING], "pass")
        self.assertFalse(suites.races_with_itself(RACING, outcome))


if __name__ == "__main__":
    unittest.main()
