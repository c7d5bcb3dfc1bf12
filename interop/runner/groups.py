"""What groups of members must have shown when a run is over."""

import subprocess

from . import broker, plan


def seed_of_head():
    """Another seed for each commit, the same for the same."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=plan.ROOT, check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    return int(head[:12], 16)


def check(options, numbers):
    """What is wrong with what the groups of a run said of themselves: a list of sentences.

    `options` has the run's `group`, `lockstep_seed` and `only`; `numbers` adds up what
    `broker.Broker.end` gave.
    """
    if options.group == "lockstep":
        return _check_lockstep(options, numbers)
    return _check_raft(numbers) if options.group == "raft" else []


def _check_raft(numbers):
    """Each member must have had its part: else a suite has spoken with one of them only."""
    problems = []
    for name in (broker.CONNECTIONS, broker.ENTRIES):
        parts = {member: number for (of, member), number in sorted(numbers.items()) if of == name}
        whole = sum(parts.values())
        print("%s by member: %s" % (name, ", ".join("%d: %d" % pair for pair in parts.items())))
        problems += ["member %d had %d of %d %s, less than a quarter" % (member, part, whole, name)
                     for member, part in parts.items() if 4 * part < whole]
        if len(parts) < broker.MEMBERS:
            problems.append("not all members told their %s" % name)
    return problems


def _check_lockstep(options, numbers):
    """Every kind of fault must have happened somewhere: else the run has shown nothing."""
    print("lockstep with seed %d: %s" % (options.lockstep_seed, ", ".join(
        "%s %d" % pair for pair in numbers.items())))
    if options.only:
        return []
    problems = ["the lockstep groups had no %s" % name
                for name, number in numbers.items() if not number]
    if len(numbers) <= len((broker.ENTRIES, broker.COMPARISONS)):
        problems.append("the lockstep groups named no kind of fault")
    return problems
