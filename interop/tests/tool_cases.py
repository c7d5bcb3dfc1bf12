"""How tables of cases for tools are read, and what a tool's output is compared with.

    python3 -m unittest interop.tests.tool_cases

Needs neither tools nor a broker.
"""

import unittest

from interop.runner import tool_cases, tools


def compared(expected, printed):
    """What is wrong with what a tool printed, by the lines of a case below its command."""
    case = tool_cases.parse("case c\n$ tool\n" + expected)[0]
    return tool_cases.compare(case.steps[0].expected, printed)


RACE = """Error in atexit._run_exitfuncs:
Traceback (most recent call last):
  File "lib/python2.7/atexit.py", line 24, in _run_exitfuncs
    func(*targs, **kargs)
  File "qpid/selector.py", line 185, in stop
    self.wakeup()
  File "qpid/compat.py", line 200, in _do_write
    os.write(self.write_fd, "\\0")
TypeError: an integer is required
"""


SHUTDOWN = """Exception in thread Thread for broker: 127.0.0.1:5672 (most likely raised during interpreter shutdown):
Traceback (most recent call last):
  File "lib/python2.7/threading.py", line 801, in __bootstrap_inner
  File "qmf/console.py", line 2969, in run
<type 'exceptions.TypeError'>: 'NoneType' object is not callable
"""


class Races(unittest.TestCase):
    def test_a_thread_that_outlives_the_interpreter_is_no_output_and_changes_no_status(self):
        self.assertEqual(tools.without_exit_race("a line\n" + SHUTDOWN), ("a line\n", False))
        self.assertEqual(tools.without_exit_race("a line\n" + SHUTDOWN + RACE), ("a line\n", True))

    def test_a_thread_that_fails_before_the_end_is_output(self):
        for text in (SHUTDOWN.replace(" (most likely raised during interpreter shutdown)", ""),
                     SHUTDOWN.replace("'NoneType' object is not callable", "wrong")):
            self.assertEqual(tools.without_exit_race(text), (text, False))

    def test_the_clients_race_at_the_end_is_no_output(self):
        twice = RACE + RACE.replace("atexit._run_exitfuncs", "sys.exitfunc")
        for race in (RACE, twice):
            self.assertEqual(tools.without_exit_race("a line\n" + race), ("a line\n", True))

    def test_what_else_is_said_stays(self):
        for text in ("a line\n", RACE + "a line\n", RACE.replace("selector", "driver"),
                     RACE.replace("TypeError: an integer is required", "KeyError: 1")):
            self.assertEqual(tools.without_exit_race(text), (text, False))


class Reading(unittest.TestCase):
    def refused(self, text, line):
        with self.assertRaises(tool_cases.CaseError) as raised:
            tool_cases.parse(text, "table")
        self.assertIn("table:%d:" % line, str(raised.exception))

    def test_all_words_are_read(self):
        cases = tool_cases.parse(
            "# a comment\n\ncase first\n$ tool -a 'b c'\n= line\n...\nstatus 2\n"
            "case second\n& name tool\ntell name a line\nsee name a.*\n"
            "ask name (b) :: list b\nend name\n")
        self.assertEqual([case.name for case in cases], ["first", "second"])
        first = cases[0].steps[0]
        self.assertEqual((first.words, first.status), (["tool", "-a", "b c"], 2))
        self.assertEqual([step.kind for step in cases[1].steps],
                         ["start", "tell", "see", "ask", "end"])
        self.assertEqual(cases[1].steps[3].words, ["name", "list b"])

    def test_what_cannot_be_read_is_refused_with_its_line(self):
        self.refused("$ tool", 1)
        self.refused("case a\nnonsense", 2)
        self.refused("case a\n= output of nothing", 2)
        self.refused("case a\n& name tool\nstatus 1", 3)
        self.refused("case a\n$ tool\nstatus many", 3)
        self.refused("case a\ntell name", 2)
        self.refused("case a\nend name more", 2)
        self.refused("case a\nask name regex without a line", 2)

    def test_a_case_without_steps_or_with_anothers_name_is_refused(self):
        self.refused("case a\ncase b\n$ tool", 1)
        self.refused("case a\n$ tool\ncase a\n$ tool", 1)

    def test_the_tables_of_this_project_can_be_read(self):
        paths = tools.files(None)
        self.assertGreater(len(paths), 4)
        self.assertGreater(sum(len(tool_cases.read(path)) for path in paths), 50)


class Comparing(unittest.TestCase):
    def test_nothing_is_expected_of_a_tool_that_says_nothing(self):
        self.assertIsNone(compared("", ""))
        self.assertIsNone(compared("", "\n\n"))
        self.assertIn("nothing more", compared("", "something\n"))

    def test_lines_are_compared_whole_but_for_spaces_at_their_ends(self):
        self.assertIsNone(compared("= a b", "a b   \n"))
        self.assertIn("expected", compared("= a", "a b"))
        self.assertIn("expected", compared("~ a", "a b"))
        self.assertIsNone(compared("~ a.*", "a b"))

    def test_lines_that_are_missing_or_too_many_are_found(self):
        self.assertIn("no more lines", compared("= a\n= b", "a"))
        self.assertIn("nothing more", compared("= a", "a\nb"))

    def test_any_lines_may_stand_where_it_says_so(self):
        self.assertIsNone(compared("...", ""))
        self.assertIsNone(compared("...\n= c\n...", "a\nb\nc\nd"))
        self.assertIsNone(compared("...\n= c", "a\nb\nc"))
        self.assertIn("no line is", compared("...\n= c", "a\nb"))
        self.assertIn("nothing more", compared("...\n= c", "c\nd"))


class Going(unittest.TestCase):
    def test_a_tool_that_nobody_knows_is_no_pass(self):
        case = tool_cases.parse("case a\n$ no-such-tool")[0]
        with open("/dev/null", "w", encoding="utf-8") as log:
            with self.assertRaises(tool_cases.Failed):
                tools.Running(1, log).run(case)

    def test_a_name_by_which_nothing_goes_on_is_no_pass(self):
        case = tool_cases.parse("case a\ntell nobody line")[0]
        with open("/dev/null", "w", encoding="utf-8") as log:
            with self.assertRaises(tool_cases.Failed):
                tools.Running(1, log).run(case)


if __name__ == "__main__":
    unittest.main()
