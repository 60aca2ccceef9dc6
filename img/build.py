"""Draw every figure of img/: `python img/build.py` writes them, `--check` fails if a written one is out of date.

The figures of lesson NN are functions in lesson_NN.py; every number in them is computed there.
"""

import argparse
import sys
from pathlib import Path

import lesson_00
import lesson_01
import lesson_02
import lesson_03
import lesson_04
import lesson_05
import lesson_06
import lesson_07
import lesson_08
import lesson_09
import lesson_10
import lesson_11
import lesson_12
import lesson_13
import lesson_14
import lesson_15
import lesson_16
import lesson_17

HERE = Path(__file__).parent
FIGURES = {
    "00_map.svg": lesson_00.transformer_map,
    "01_bank.svg": lesson_01.bank,
    "01_lookup.svg": lesson_01.lookup,
    "01_attention.svg": lesson_01.attention,
    "01_paths.svg": lesson_01.paths,
    "02_heads.svg": lesson_02.heads,
    "03_clocks.svg": lesson_03.clocks,
    "04_blocks.svg": lesson_04.blocks,
    "05_masks.svg": lesson_05.four_masks,
    "06_families.svg": lesson_06.families,
    "07_shift.svg": lesson_07.shift,
    "08_tree.svg": lesson_08.tree,
    "08_cache.svg": lesson_08.cache,
    "09_context.svg": lesson_09.next_character,
    "10_induction.svg": lesson_10.induction,
    "11_swaps.svg": lesson_11.swaps,
    "12_loading.svg": lesson_12.loading,
    "13_tiles.svg": lesson_13.tiles,
    "14_steps.svg": lesson_14.what_sees_what,
    "15_caches.svg": lesson_15.caches,
    "16_right_or_wrong.svg": lesson_16.right_or_wrong,
    "17_ways.svg": lesson_17.ways,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a figure is out of date")
    check = parser.parse_args().check
    drawn = {HERE / name: draw().svg().encode() for name, draw in FIGURES.items()}
    stale = [path for path, svg in drawn.items() if not path.exists() or path.read_bytes() != svg]
    if not check:
        for path in stale:
            path.write_bytes(drawn[path])
    print("out of date:" if check else "written:", ", ".join(path.name for path in stale) or "none")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
