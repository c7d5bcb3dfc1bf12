"""Every process that a run starts, each the leader of a group of its own, ended with the run."""

import os
import signal
import subprocess
import threading

_running = set()
_lock = threading.Lock()


def start(command, **options):
    """Starts a process as the leader of a new group."""
    with _lock:
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(command, start_new_session=True, **options)
        _running.add(process)
    return process


def end(process):
    """Ends a process and what it started, all in its group, if they have not ended yet."""
    _kill_group(process)
    process.wait()
    with _lock:
        _running.discard(process)


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_with_this_process():
    """Has all of them end when this process is told to."""
    def on_signal(number, _):
        for process in list(_running):
            _kill_group(process)
        os._exit(128 + number)
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
