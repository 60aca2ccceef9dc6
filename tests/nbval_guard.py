"""A pytest plugin for nbval: it waits for no dead kernel, and compares a display that was updated as it became.

nbval waits for the answer to a cell until the cell's time is up and never looks whether the kernel still lives.
With this plugin the cell that killed the kernel fails within a second or two, and says so. After a dead or hanging
kernel the rest of that notebook is skipped; other notebooks go on. No cell fails because the machine is busy: its time
is processor time, and what waits or sleeps has ten times as long.

nbval also forgets that a cell may update what it has displayed (`display(…, display_id=True).update(…)`): it compares
the first state with the stored last one. With this plugin it compares the last ones.
"""

import os
import signal
import time
from queue import Empty

import psutil
import pytest
from nbformat import NotebookNode
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

SECONDS_BETWEEN_LOOKS = 0.2
TIMES_BY_THE_CLOCK = 10
THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))  # with which a kernel computes
wait_for_reply = RunningKernel.await_reply
get_message = RunningKernel.get_message


class KernelDied(Exception):
    """The kernel's process ended while a cell was waiting for its answer."""


def await_reply_of_living_kernel(kernel: RunningKernel, msg_id: str, timeout: float) -> None:
    """Wait for the answer as nbval does, but give up as soon as the kernel's process has ended, or has had its time."""
    process, start = psutil.Process(kernel.km.provisioner.process.pid), time.monotonic()
    before = computed(process)
    while computed(process) - before < timeout and time.monotonic() - start < TIMES_BY_THE_CLOCK * timeout:
        try:
            return wait_for_reply(kernel, msg_id, timeout=SECONDS_BETWEEN_LOOKS)
        except Empty:
            if not kernel.is_alive():
                raise KernelDied from None
    raise Empty


def computed(process: psutil.Process) -> float:
    """The seconds that a process has computed with all its threads."""
    try:
        spent = process.cpu_times()
    except psutil.NoSuchProcess:
        raise KernelDied from None
    return (spent.user + spent.system) / THREADS


def get_message_and_update(kernel: RunningKernel, stream: str, timeout: float | None = None) -> dict:
    """The next message as nbval gets it; an update changes the data of the display that nbval has collected."""
    message = get_message(kernel, stream, timeout=timeout and TIMES_BY_THE_CLOCK * timeout)
    content = message["content"]
    if name := content.get("transient", {}).get("display_id"):
        shown = vars(kernel).setdefault("displays", {})
        if message["msg_type"] == "update_display_data":
            shown[name].clear()
            shown[name].update(content["data"])
        else:
            content["data"] = shown[name] = NotebookNode(content["data"])  # nbval keeps this very object
    return message


def how_it_ended(kernel: RunningKernel) -> str:
    """How the kernel's process ended, in words."""
    code = kernel.km.provisioner.process.poll()
    if code >= 0:
        return f"exit code {code}: code in the cell ended the process"
    name = signal.Signals(-code).name
    return f"{name}: " + ("most likely out of memory" if name == "SIGKILL" else "a crash in compiled code")


def pytest_configure() -> None:
    RunningKernel.await_reply = await_reply_of_living_kernel
    RunningKernel.get_message = get_message_and_update


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Name the cell in which the kernel died, and skip the cells after it."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    notebook = item.parent
    if reason := getattr(notebook, "gave_up", None):
        pytest.skip(reason)
    try:
        if not notebook.kernel.is_alive():
            raise KernelDied
        return (yield)
    except KernelDied:
        ending = how_it_ended(notebook.kernel)
        notebook.kernel.stop()
        notebook.gave_up = f"the kernel died in {item.name}"
        item.raise_cell_error(f"the kernel of {notebook.path.name} died here ({ending}).")
    finally:
        if notebook.timed_out:
            notebook.gave_up = f"{item.name} did not end"
