// The look of a part that is seen near: its sentence, its picture, scores, weights, and the sum behind a number.

export const STEPS = `
.tl-machine .tl-steps { display: grid; gap: 12px 40px; color: var(--tl-ink); margin-bottom: 8px; font-size: 13px; }
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
  min-width: 46px; color: inherit; background: none; cursor: pointer;
}
.tl-machine .tl-zoom .tl-steps button.tl-score[aria-pressed=true] { border-color: var(--tl-ink); font-weight: 650; }
.tl-machine .tl-steps .tl-score:disabled { opacity: .6; cursor: default; }
.tl-machine .tl-key { font: 16px var(--tl-serif); white-space: nowrap; }
.tl-machine .tl-updown { display: flex; flex-direction: column; justify-content: flex-end; height: 88px;
  padding-bottom: 44px; box-sizing: border-box; }
.tl-machine .tl-updown i {
  display: block; width: 26px; height: max(1px, 44px * var(--tl-v)); background: var(--tl-ink); border-radius: 3px;
  flex: none;
}
.tl-machine .tl-updown.tl-below { justify-content: flex-start; padding: 44px 0 0; }
.tl-machine .tl-updown.tl-below i { background: var(--tl-thread); }
.tl-machine .tl-steps .tl-weight { color: var(--tl-amber-ink); font-weight: 650; font-size: 14px; }
.tl-machine .tl-pour {
  display: flex; height: 16px; margin: 6px 0; border: 1px solid var(--tl-amber-edge); border-radius: 5px;
  overflow: hidden;
}
.tl-machine .tl-pour i { background: var(--tl-amber); box-shadow: inset -1px 0 var(--tl-paper); }
.tl-machine .tl-value { color: var(--tl-value); }
.tl-machine .tl-zoom .tl-steps .tl-query { color: var(--tl-query); }
.tl-machine .tl-steps .tl-offer { color: var(--tl-key); }
.tl-machine .tl-term {
  display: grid; grid-template-columns: 4em 4.6em 4em minmax(0, 1fr); gap: 8px; align-items: center;
  text-align: right; min-height: 28px;
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
.tl-machine .tl-near :is(.tl-stack, .tl-one-row) { display: none; }
.tl-machine .tl-near .tl-both { display: grid; grid-template-columns: 320px minmax(0, 1fr); gap: 8px 28px; }
.tl-machine .tl-near .tl-right:not([hidden]) { display: contents; }
.tl-machine .tl-near .tl-right > :not(.tl-lead) { grid-column: 1 / -1; min-width: 0; }
.tl-machine .tl-lead { display: grid; align-content: center; gap: 6px; color: var(--tl-ink); min-width: 0; }
.tl-machine .tl-lead .tl-title { font: 650 26px/1.2 var(--tl-serif); }
.tl-machine .tl-lead .tl-quiet { font-size: 14px; line-height: 1.45; max-width: 105ch; }
.tl-machine .tl-heads { position: relative; margin: 4px 0; color: var(--tl-ink); }
.tl-machine :is(.tl-heads, .tl-flow) svg { display: block; max-width: 100%; height: auto; overflow: visible; }
.tl-machine .tl-zoom .tl-wall button {
  position: absolute; background: none; border: 0; border-radius: 9px; padding: 0; cursor: pointer;
}
.tl-machine .tl-zoom .tl-wall button:hover { box-shadow: 0 0 0 2px var(--tl-ink); }
.tl-machine .w-crossed { fill: none; stroke: var(--tl-change); stroke-width: 2; }
.tl-machine .tl-near .tl-idle { grid-template-columns: 1fr; font-size: 15px; }
.tl-machine .w-mean { fill: none; stroke: var(--tl-amber-edge); }
.tl-machine .w-big { font-size: 17px; }
.tl-machine .w-push { fill: none; stroke: var(--tl-value); stroke-opacity: .6; stroke-linecap: round; }
.tl-machine .w-pushes { fill: var(--tl-value); }
.tl-machine .w-push.w-against { stroke-dasharray: 3 6; }
.tl-machine .w-fires { fill: var(--tl-thread); }
.tl-machine .w-quiet { fill: var(--tl-edge); }
.tl-machine .tl-zoom > .tl-share button:last-child {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper); font-weight: 600;
}
.tl-machine .tl-fold { border-top: 1px solid var(--tl-line); }
.tl-machine .tl-fold summary {
  cursor: pointer; padding: 10px 2px; min-height: var(--tl-target); color: var(--tl-soft); font-size: 13px;
}
.tl-machine .tl-flow { color: var(--tl-ink); margin: 12px 0 20px; }
.tl-machine .tl-rows { display: flex; flex-wrap: wrap; gap: 2px; align-items: center; }
.tl-machine .tl-rows span { color: var(--tl-soft); font-size: 13px; margin-right: 6px; }
.tl-machine .tl-zoom .tl-rows button {
  font: 16px var(--tl-serif); color: var(--tl-ink); background: none; border: 1px solid transparent;
  border-radius: 6px; padding: 2px 8px; min-height: max(32px, var(--tl-target)); cursor: pointer;
}
.tl-machine .tl-zoom .tl-rows button[aria-pressed=true] { border-color: var(--tl-ink); font-weight: 700; }
.tl-machine .w-up { fill: var(--tl-ink); }
.tl-machine .w-down, .tl-machine .w-zero { fill: var(--tl-thread); }
.tl-machine .w-zero { stroke: var(--tl-line); }
.tl-machine .w-was path { fill: var(--tl-thread); }
.tl-machine .w-added path { fill: var(--tl-value); }
.tl-machine .w-now path { fill: var(--tl-ink); }
.tl-machine .w-arrow { stroke: var(--tl-ink); }
.tl-machine .w-arrow.w-was { stroke: var(--tl-thread); }
.tl-machine .w-arrow.w-added { stroke: var(--tl-value); }
.tl-machine .w-arrow.w-cut { stroke: var(--tl-change); stroke-dasharray: 5 4; }
.tl-machine .w-tip-of { fill: var(--tl-ink); }
.tl-machine .w-tip-of.w-was { fill: var(--tl-thread); }
.tl-machine .w-tip-of.w-cut { fill: var(--tl-change); }
.tl-machine :is(.w-tip-of, text).w-added { fill: var(--tl-value); }
.tl-machine .w-angle { fill: none; stroke: var(--tl-edge); stroke-width: 1.5; }
.tl-machine .w-shut { fill: var(--tl-slab); }
.tl-machine .w-slats { fill: none; stroke: var(--tl-edge); stroke-opacity: .45; stroke-width: 2; }
.tl-machine .w-open { fill: none; stroke: var(--tl-line); }
.tl-machine .w-open.w-leaks { stroke: var(--tl-change); stroke-dasharray: 4 3; }
.tl-machine .w-poured { fill: var(--tl-amber); }
.tl-machine .w-onto { fill: #0e1217; }
.tl-machine .w-through { stroke: var(--tl-ink); stroke-dasharray: 2 3; }
.tl-machine .w-halo { paint-order: stroke; stroke: var(--tl-paper); stroke-width: 5px; stroke-linejoin: round; }
.tl-machine .w-out-of-use { opacity: .5; text-decoration: line-through; }
.tl-machine .tl-back .tl-crumbs { margin: 0; flex: 1; min-width: 0; color: var(--tl-ink); }
.tl-machine .tl-crumbs span { flex: 1; min-width: 0; }
.tl-machine .tl-crumbs span::before { content: "› "; }
.tl-machine .tl-back .tl-crumbs button:first-child {
  border: 0; padding: 0 2px; background: none; text-decoration: underline 1px; text-underline-offset: 3px;
}
.tl-machine .tl-zoom .tl-tabs { gap: 4px 0; padding: 3px 0; }
.tl-machine .tl-zoom .tl-tabs button {
  border-radius: 6px; margin-right: 4px; min-height: max(32px, var(--tl-target));
}
@container (max-width: 999px) {
  .tl-machine .tl-near .tl-back { gap: 12px; }
  .tl-machine .tl-near .tl-both { grid-template-columns: minmax(0, 1fr); gap: 6px; }
  .tl-machine .tl-near .tl-back .tl-long { display: none; }
  .tl-machine .tl-crumbs button:nth-of-type(4) { margin-left: auto; }
  .tl-machine .tl-scores { grid-template-columns: minmax(0, 1fr); grid-auto-flow: row; }
  .tl-machine .tl-legend { grid: auto auto / auto-flow; justify-content: space-between; padding: 0 8px 6px 7em; }
  .tl-machine .tl-legend b:nth-of-type(2) { margin: 0; }
  .tl-machine .tl-legend :nth-child(n + 3) { text-align: right; }
  .tl-machine .tl-zoom .tl-steps button.tl-score {
    grid-template-columns: 6em 3.4em minmax(0, 1fr) 3em; align-items: center; justify-items: end; padding: 2px 6px;
    gap: 8px; min-height: var(--tl-target);
  }
  .tl-machine .tl-updown, .tl-machine .tl-updown.tl-below {
    flex-direction: row; align-items: center; justify-content: flex-start; padding: 0 0 0 50%; height: 24px;
    justify-self: stretch;
  }
  .tl-machine .tl-updown.tl-below { justify-content: flex-end; padding: 0 50% 0 0; }
  .tl-machine .tl-updown i { height: 14px; width: max(1px, 100% * var(--tl-v)); }
}
@container (max-width: 619px) {
  .tl-machine .tl-near .tl-crumbs { display: contents; }
  .tl-machine .tl-near .tl-crumbs span::before { content: none; }
  .tl-machine .tl-near .tl-crumbs :is(span, [aria-label]) { order: 1; }
  .tl-machine .tl-near .tl-crumbs span { flex: 1 0 calc(100% - 130px); }
  .tl-machine .tl-crumbs span { font-size: 13px; line-height: 1.3; }
  .tl-machine .tl-lead { gap: 4px; }
  .tl-machine .tl-lead .tl-title { font-size: 20px; }
  .tl-machine .tl-lead .tl-quiet, .tl-machine .tl-rows { grid-column: 1 / -1; font-size: 13px; }
  .tl-machine .tl-near .tl-lead { display: contents; }
  .tl-machine .tl-near .tl-title { align-self: center; }
  .tl-machine .tl-near .tl-rows { order: 1; }
  .tl-machine .tl-near :is(.tl-quiet, .tl-say) { order: 3; }
  .tl-machine .tl-rows { flex-wrap: nowrap; overflow-x: auto; margin: 0 -6px; padding: 3px 20px 3px 3px; gap: 0; }
  .tl-machine .tl-rows span { display: none; }
  .tl-machine .tl-zoom .tl-rows button { font-size: 15px; padding: 2px 6px; flex: none; }
  .tl-machine .tl-near :is(.tl-heads, .tl-flow, [role=alert]) { order: 2; }
  .tl-machine .tl-near :is(.tl-steps, .tl-fold) { order: 4; }
}
@container (min-width: 1000px) {
  .tl-machine .tl-near .tl-steps { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
  .tl-machine .tl-near .tl-back { margin: 2px 0 8px; }
}
`;
