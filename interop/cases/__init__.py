"""Our own cases with stock Python 2.7 clients, and with raw sockets for what no client sends.

Every file `*_cases.py` is a module of cases that `interop/run` starts against a broker of its own.
A case is one function, named after its rule. What the broker is reached by stands in the
environment: FERRYMQ_ADDRESS (host:port), FERRYMQ_PID, FERRYMQ_GROUP (solo, lockstep or raft).
"""
