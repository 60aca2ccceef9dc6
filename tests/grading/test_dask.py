"""Grading on a dask cluster: one of two workers is killed half-way, and nothing is lost or graded twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grading.support import needs_bwrap

SCRIPT = """
import json, os, signal, sys, warnings
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    from transformer_lab.grading.marking import course, records
    from transformer_lab.grading.submissions.submissions import find_submissions
    from transformer_lab.grading.handout.assign import assign

    get_mp_context().set_forkserver_preload(["transformer_lab.grading.marking.preloaded", "distributed"])
    folder = Path(sys.argv[1])
    assignment = assign(folder / "hw1", {"softmax": 1}, seconds=30)
    answer = "import time\\ndef softmax(scores, dim):\\n    time.sleep(0.005)\\n"
    answer += "    e = (scores - scores.amax(dim, True)).exp()\\n    return e / e.sum(dim, True)"
    cell = {"cell_type": "code", "source": answer, "metadata": {"exercise": "softmax"}}
    (folder / "submitted").mkdir()
    for student in range(12):
        (folder / "submitted" / f"student{student:02}.ipynb").write_text(json.dumps({"cells": [cell]}))
    submissions = find_submissions(folder / "submitted", "hw1")
    waiting = course.still_to_grade(submissions, assignment, "", folder)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        came = []
        pool = partial(client.get_executor, pure=False)
        for graded in course.grade_all(waiting, assignment, folder, pool, len(waiting)):
            came.append(graded.student)
            if len(came) == 4:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert len(came) == len(set(came)) == 12, came
    assert [graded.points for graded in records.graded_so_far(folder)] == [1] * 12
    assert course.still_to_grade(submissions, assignment, "", folder) == []
    print("all graded once")
"""


@needs_bwrap
def test_a_worker_that_dies_costs_nothing(tmp_path):
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    script = tmp_path / "grade.py"
    script.write_text(SCRIPT)
    found = f"{os.environ['PYTHONPATH']}:{Path(__file__).parents[2]}"
    environment = os.environ | {"PYTHONPATH": found, "OMP_NUM_THREADS": "1"}
    environment["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"  # so torch is loaded once for all
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.endswith("all graded once\n"), done.stderr[-3000:]
