"""What gloo really sends: the bytes over the loopback device, beside those that `Traffic` reckons. Linux alone.

python -m tests.loopback
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from transformer_lab.distributed.collectives import ring_all_reduce
from transformer_lab.distributed.processes import Ranks
from transformer_lab.distributed.traffic import Traffic

SIZE, REPEATS = 2_000_000, 5  # numbers on each rank
KINDS = ("all_reduce", "our ring", "all_gather", "broadcast", "reduce_scatter")


def sent_so_far() -> int:
    """The bytes that the loopback device has passed on."""
    (line,) = [x for x in Path("/proc/net/dev").read_text("utf-8").splitlines() if x.strip().startswith("lo:")]
    return int(line.split()[1])


def communicate(kind: str, n: int) -> None:
    """Take part in one collective of SIZE numbers."""
    part, whole = torch.ones(SIZE // n), torch.ones(SIZE)
    match kind:
        case "all_reduce":
            dist.all_reduce(whole)
        case "our ring":
            ring_all_reduce(whole)
        case "all_gather":
            dist.all_gather_into_tensor(whole, part)
        case "broadcast":
            dist.broadcast(whole, 0)
        case _:
            dist.reduce_scatter_tensor(part, whole)


def on_the_wire(kind: str) -> tuple[float, float]:
    """The bytes of all ranks on the device, and those that this rank is reckoned to send, in units of all numbers."""
    dist.barrier()
    before = sent_so_far()
    dist.barrier()
    with Traffic() as traffic:
        communicate(kind, dist.get_world_size())
    dist.barrier()
    return (sent_so_far() - before) / (4 * SIZE), traffic.total() / (4 * SIZE)


def main() -> int:
    from tests import loopback

    with Ranks(4) as ranks:
        for kind in KINDS:
            found = [ranks.call(loopback.on_the_wire, kind, limit=300.0) for _ in range(REPEATS)]
            real = min(max(x for x, _ in one) for one in found)  # the least, because others use the device as well
            reckoned = sum(x for _, x in found[0])
            print(f"{kind:14} {real:.2f} on the device, {reckoned:.2f} reckoned", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
