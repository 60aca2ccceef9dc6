// The look of a part that was opened from the weave: heads in a row, scores, weights, and the sum behind a number.

export const STEPS = `
.tl-machine .tl-zoom.tl-near > :is(.tl-tokens, .tl-stack, .tl-modes) { display: none; }
.tl-machine .tl-steps { display: grid; gap: 12px 40px; color: var(--tl-ink); margin-bottom: 16px; font-size: 13px; }
.tl-machine .tl-steps[hidden] { display: none; }
.tl-machine .tl-steps > * { min-width: 0; }
.tl-machine .tl-scores {
  display: grid; grid-template-columns: minmax(0, 1.5fr); grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr);
  overflow-x: auto; margin-top: 6px;
}
.tl-machine .tl-legend { display: grid; align-content: end; color: var(--tl-soft); font-size: 12px; line-height: 1.35; }
.tl-machine .tl-legend b:nth-of-type(2) { margin-top: 16px; }
.tl-machine .tl-legend { padding-bottom: 4px; }
.tl-machine .tl-legend b { color: var(--tl-ink); font-size: 13px; }
.tl-machine .tl-zoom .tl-steps button.tl-score {
  display: grid; justify-items: center; gap: 2px; border: 2px solid transparent; border-radius: 8px; padding: 3px 0;
  min-width: 46px; color: inherit; background: none; font-variant-numeric: tabular-nums; cursor: pointer;
}
.tl-machine .tl-zoom .tl-steps button.tl-score[aria-pressed=true] { border-color: var(--tl-ink); font-weight: 650; }
.tl-machine .tl-steps .tl-score:disabled { opacity: .6; cursor: default; }
.tl-machine .tl-key { font: 16px var(--tl-serif); white-space: nowrap; }
.tl-machine .tl-updown { display: flex; flex-direction: column; justify-content: flex-end; height: 88px;
  padding-bottom: 44px; box-sizing: border-box; }
.tl-machine .tl-updown i { display: block; width: 26px; background: var(--tl-ink); border-radius: 3px; flex: none; }
.tl-machine .tl-updown.tl-below { justify-content: flex-start; padding: 44px 0 0; }
.tl-machine .tl-updown.tl-below i { background: var(--tl-thread); }
.tl-machine .tl-steps .tl-weight { color: var(--tl-amber-ink); font-weight: 650; font-size: 14px; }
.tl-machine .tl-pour {
  display: flex; height: 16px; margin: 6px 0; border: 1px solid var(--tl-amber-edge); border-radius: 5px;
  overflow: hidden;
}
.tl-machine .tl-pour i { background: var(--tl-amber); box-shadow: inset -1px 0 var(--tl-amber-edge); }
.tl-machine .tl-value { color: var(--tl-value); }
.tl-machine .tl-zoom .tl-steps .tl-query { color: var(--tl-query); }
.tl-machine .tl-steps .tl-offer { color: var(--tl-key); }
.tl-machine .tl-term {
  display: grid; grid-template-columns: 4em 4.6em 4em minmax(0, 1fr); gap: 8px; align-items: center;
  font-variant-numeric: tabular-nums; text-align: right; min-height: 28px;
}
.tl-machine .tl-zoom .tl-steps .tl-go {
  border: 0; background: none; padding: 0 4px; min-height: max(26px, var(--tl-target)); text-decoration: underline 1px;
  text-underline-offset: 3px; font: inherit; text-align: right; cursor: pointer;
}
.tl-machine .tl-others { grid-column: span 2; color: var(--tl-soft); }
.tl-machine .tl-term .tl-track { position: relative; height: 14px; }
.tl-machine .tl-term .tl-track i {
  position: absolute; top: 0; height: 14px; background: var(--tl-ink); border-radius: 2px; min-width: 2px;
}
.tl-machine .tl-term .tl-track i.tl-below { background: var(--tl-thread); }
.tl-machine .tl-total { border-top: 2px solid var(--tl-ink); }
.tl-machine .tl-near .tl-mini svg { width: min(100%, 230px); margin-bottom: 4px; }
.tl-machine .tl-flow { color: var(--tl-ink); margin: 0 0 20px; }
.tl-machine .tl-flow[hidden] { display: none; }
.tl-machine .tl-flow .tl-title { font-size: 20px; font-family: var(--tl-serif); }
.tl-machine .tl-rows { display: flex; flex-wrap: wrap; gap: 4px; margin: 8px 0 12px; }
.tl-machine .tl-zoom .tl-rows button {
  font: 16px var(--tl-serif); color: var(--tl-ink); background: none; border: 1px solid transparent;
  border-radius: 6px; padding: 2px 10px; min-height: max(32px, var(--tl-target)); cursor: pointer;
}
.tl-machine .tl-zoom .tl-rows button[aria-pressed=true] { border-color: var(--tl-ink); font-weight: 700; }
.tl-machine .tl-bands { overflow: hidden; }
.tl-machine .tl-bands svg { display: block; max-width: 100%; height: auto; }
.tl-machine .w-up { fill: var(--tl-ink); }
.tl-machine .w-down, .tl-machine .w-zero { fill: var(--tl-thread); }
.tl-machine .w-zero { stroke: var(--tl-line); }
.tl-machine .w-through { stroke: var(--tl-ink); stroke-dasharray: 2 3; }
.tl-machine .w-halo { paint-order: stroke; stroke: var(--tl-paper); stroke-width: 5px; stroke-linejoin: round; }
.tl-machine .w-out-of-use { opacity: .5; text-decoration: line-through; }
.tl-machine .tl-mini .w-dot { display: none; }
.tl-machine .tl-near .tl-crumbs { border: 0; padding: 0; margin: 0; flex: 1; min-width: 0; color: var(--tl-ink); }
.tl-machine .tl-near .tl-crumbs span { flex: 1; min-width: 0; }
.tl-machine .tl-near .tl-crumbs button:first-child {
  border: 0; padding: 0 2px; background: none; text-decoration: underline 1px; text-underline-offset: 3px;
}
.tl-machine .tl-zoom .tl-tabs { gap: 0; flex-wrap: nowrap; overflow-x: auto; padding: 3px; margin: 0 -3px; }
.tl-machine .tl-zoom .tl-tabs button {
  border-radius: 0; margin-left: -1px; flex: none; min-height: max(32px, var(--tl-target));
}
.tl-machine .tl-zoom .tl-tabs button:first-child { border-radius: 6px 0 0 6px; margin-left: 0; }
.tl-machine .tl-zoom .tl-tabs button:last-child { border-radius: 0 6px 6px 0; }
.tl-machine .tl-zoom .tl-tabs button:only-child { border-radius: 6px; }
@container (max-width: 999px) {
  .tl-machine .tl-near .tl-back { flex-wrap: wrap; gap: 4px 12px; }
  .tl-machine .tl-near .tl-back { position: relative; }
  .tl-machine .tl-near .tl-crumbs { flex-basis: 100%; flex-wrap: nowrap; }
  .tl-machine .tl-near .tl-crumbs button:nth-of-type(2) { position: absolute; top: 0; right: 0; }
  .tl-machine .tl-scores {
    grid-template-columns: repeat(var(--tl-n), minmax(max-content, 1fr)); grid-auto-flow: row; grid-auto-columns: auto;
  }
  .tl-machine .tl-legend { grid-column: 1 / -1; display: block; padding: 0 0 6px; }
  .tl-machine .tl-legend b:nth-of-type(2)::before { content: "·  "; font-weight: 400; }
  .tl-machine .tl-legend span::before { content: " "; }
  .tl-machine .tl-zoom .tl-steps button.tl-score { min-width: 40px; padding: 3px 2px; }
  .tl-machine .tl-near .tl-wall { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .tl-machine .tl-near .tl-wall svg { max-width: 100%; height: auto; }
  .tl-machine .tl-near .tl-key { font-size: 14px; }
}
@container (min-width: 1000px) {
  .tl-machine.tl-wide .tl-near .tl-both { grid-template-columns: minmax(0, 230px) minmax(0, 1fr); gap: 24px; }
  .tl-machine .tl-near .tl-steps { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
  .tl-machine .tl-near .tl-wall { grid-template-columns: repeat(4, minmax(0, 1fr)); }
  .tl-machine .tl-near .tl-back { margin: 2px 0; }
}
`;
