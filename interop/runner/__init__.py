"""Runs the public Python suites and our own cases with stock clients against a broker.

`suites` installs the clients and runs one module of cases; `broker` starts and ends brokers;
`relay` spreads the connections of clients that know one port over several; `expectations` holds
what is known to fail; `plan` says which modules there are; `report` prints what came of them.
Standard library only, Python 3.8 or later.
"""
