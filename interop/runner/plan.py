"""Which modules of cases there are, and what each needs."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTEROP = os.path.join(ROOT, "interop")
CACHE = os.path.join(INTEROP, ".cache")

# The cases of the public suites, in qpid-python 1.36.0.post1. A run that ran fewer has failed,
# whatever the cases that ran came to.
PUBLIC_CASES = 585

# Modules of the public suites that never reach for a broker.
PURE = ["qpid.tests." + name for name in (
    "codec codec010 connection datatypes framing messaging.address mimetype queue "
    "saslmech.finder spec010 util".split())]

# Those that do. The longest come first, so that none is left over alone at the end.
WITH_BROKER = ["qpid.tests.messaging.endpoints", "qpid_tests.broker_0_10.message"] + [
    "qpid_tests.broker_0_10." + name for name in (
        "management tx msg_groups exchange queue alternate_exchange dtx extensions stats query "
        "new_api threshold priority broker example lvq persistence qmf_events".split())] + [
    "qpid.tests.messaging.message", "qpid.tests.messaging.selector"]


class Module:
    """A file of cases that one process runs, against a broker of its own if it needs one."""

    def __init__(self, name, is_public, needs_broker):
        self.name = name
        self.is_public = is_public
        self.needs_broker = needs_broker

    def __repr__(self):
        return "Module(%r)" % self.name


def own_modules():
    """Our own cases: every file of interop/cases that declares some."""
    folder = os.path.join(INTEROP, "cases")
    names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith("_cases.py"))
    return [Module("cases." + name, False, True) for name in names]


def modules(only):
    """All modules, or those that have one of the texts in `only` in their name."""
    public = [Module(name, True, True) for name in WITH_BROKER]
    pure = [Module(name, True, False) for name in PURE]
    found = public[:2] + own_modules() + public[2:] + pure
    if only:
        found = [module for module in found if any(text in module.name for text in only)]
    return found
