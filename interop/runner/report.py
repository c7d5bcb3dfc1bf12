"""What came of a run: compared with what was expected, and printed."""

from collections import Counter

from . import plan


# Lines of what a failed case printed that are shown: the last of them say why.
FAILURE_LINES_MAX = 24


class Row:
    """One module's part of the table, gathered from its processes."""

    def __init__(self, module, expected):
        self.module = module
        self.expected = expected if module.is_public else {}
        self.statuses = {}
        self.texts = {}
        self.runs = 0
        self.seconds = 0.0
        self.problems = []

    def add(self, outcome, problem, runs, seconds):
        """Takes in what came of one process. `problem` is what was wrong beside its cases."""
        self.runs += runs
        self.seconds = max(self.seconds, seconds)
        if outcome:
            self.statuses.update(outcome.statuses)
            self.texts.update(outcome.texts)
            if outcome.timed_out:
                self.problems.append("a process did not end in time")
        if problem:
            self.problems.append(problem)

    def close(self):
        """Sorts the cases when all processes have ended."""
        if not self.statuses and not self.problems:
            self.problems.append("the module ran no case")
        failed = {case for case, status in self.statuses.items() if status != "pass"}
        known = set(self.expected)
        self.cases = len(self.statuses)
        self.passed = sorted(set(self.statuses) - failed)
        self.expected_failures = sorted(failed & known)
        self.unexpected_failures = sorted(failed - known)
        self.unexpected_passes = sorted(set(self.passed) & known)


HEADINGS = ("module", "cases", "pass", "expected fail", "fail", "unexpected pass", "processes",
            "seconds")


def print_table(rows):
    """A line a module, and below it what is wrong with it."""
    width = max([len(row.module.name) for row in rows] + [len(HEADINGS[0])])
    line = "%%-%ds  %%5s  %%4s  %%13s  %%4s  %%15s  %%9s  %%7s" % width
    print(line % HEADINGS)
    for row in rows:
        print(line % (row.module.name, row.cases, len(row.passed), len(row.expected_failures),
                      len(row.unexpected_failures), len(row.unexpected_passes), row.runs,
                      "%.1f" % row.seconds))
    for row in rows:
        for case in row.unexpected_failures:
            print("FAILED            %s" % case)
            for text in row.texts.get(case, [])[-FAILURE_LINES_MAX:]:
                print("    " + text)
        for case in row.unexpected_passes:
            print("PASSED UNEXPECTED %s" % case)
        for problem in row.problems:
            print("FAILED            %s: %s" % (row.module.name, problem))


def check_expectations(rows, expected, is_whole):
    """What is wrong beside single cases: a list of sentences."""
    problems = []
    public = [row for row in rows if row.module.is_public]
    known = {case for row in public
             for case in row.passed + row.expected_failures + row.unexpected_failures}
    if is_whole:
        unknown = sorted(set(expected.failures) - known)
        problems += ["%s is expected to fail, but there is no such case" % case
                     for case in unknown]
        count = sum(row.cases for row in public)
        if count != plan.PUBLIC_CASES:
            problems.append("%d cases of the public suites ran, not %d"
                            % (count, plan.PUBLIC_CASES))
        passes = sum(len(row.passed) for row in public)
        if passes < expected.passes:
            problems.append("%d cases of the public suites passed, %d are recorded"
                            % (passes, expected.passes))
    return problems


def print_closing(rows, expected, problems, again):
    """The closing lines. The last is read by machines: failed are cases that failed or passed
    against expectation, and modules and checks with something else wrong. `again` are cases that ran
    once more by themselves. Returns whether all is well."""
    public = [row for row in rows if row.module.is_public]
    own = [row for row in rows if not row.module.is_public]
    reasons = Counter(expected.failures[case] for row in public
                      for case in row.expected_failures)
    print()
    for problem in problems:
        print("FAILED            %s" % problem)
    for case, count in sorted(Counter(again).items()):
        print("%s failed and ran %d times more: it races with itself" % (case, count))
    print("%d cases ran" % sum(row.cases for row in public))
    print("%d of them passed; failed as expected: %s" % (
        sum(len(row.passed) for row in public),
        ", ".join("%s %d" % pair for pair in sorted(reasons.items())) or "none"))
    print("%d cases of our own ran, %d of them passed" % (
        sum(row.cases for row in own), sum(len(row.passed) for row in own)))
    passed = sum(len(row.passed) - len(row.unexpected_passes) for row in rows)
    failed = sum(len(row.unexpected_failures) + len(row.unexpected_passes) for row in rows)
    failed += sum(len(row.problems) for row in rows) + len(problems)
    print("%d passed, %d failed" % (passed, failed))
    return failed == 0
