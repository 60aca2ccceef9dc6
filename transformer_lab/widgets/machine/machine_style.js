// The look of a part that is open and of the map of all matrices.

export const STYLE = `
.tl-machine .tl-bar label { max-width: 100%; min-width: 0; white-space: nowrap; }
.tl-machine input[type=text] {
  font: inherit; font-size: 15px; color: inherit; background: transparent; border: 1px solid var(--tl-edge);
  border-radius: 4px; padding: 3px 8px; width: 34em; min-width: 0; box-sizing: border-box;
}
.tl-machine .tl-tokens { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; margin: 5px 0;
  font-size: 15px; }
.tl-machine .tl-tokens i { min-width: 3.4em; opacity: .75; font-size: 13px; }
.tl-machine .tl-tokens :is(span, button) {
  font: inherit; color: inherit; background: transparent; border: 1px solid var(--tl-line); border-radius: 4px;
  padding: 1px 6px; min-height: 26px; box-sizing: border-box;
}
.tl-machine .tl-tokens button { cursor: pointer; font-weight: 600; min-width: 26px; }
.tl-machine .tl-tokens button[aria-pressed=true] { border-color: var(--tl-ink); box-shadow: 0 0 0 1px var(--tl-ink); }
.tl-machine .tl-tokens button.tl-changed {
  color: var(--tl-change); border: 1px dashed var(--tl-change);
  background: linear-gradient(var(--tl-change), var(--tl-change)) bottom / 100% 3px no-repeat;
}
.tl-machine .tl-stack { min-height: 52px; align-items: center; }
.tl-machine .tl-pan { position: relative; display: grid; grid-template: auto / max-content; overflow-x: auto; }
.tl-machine .tl-pan > :is(canvas, .tl-words) { grid-area: 1 / 1; }
.tl-machine .tl-words { position: sticky; left: 0; z-index: 1; background: var(--tl-paper); }
.tl-machine .tl-words span {
  position: absolute; right: 0; max-width: 100%; box-sizing: border-box; padding: 0 5px; border-radius: 4px;
  font-family: var(--tl-serif); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; cursor: pointer;
}
.tl-machine .tl-words small {
  position: absolute; right: 5px; line-height: 18px; font-size: 12px; color: var(--tl-soft);
}
.tl-machine .tl-words span:hover { text-decoration: underline; }
.tl-machine .tl-words .tl-lit { font-weight: 700; box-shadow: inset 0 0 0 1px var(--tl-ink); }
.tl-machine .tl-left .tl-says {
  color: var(--tl-soft); font-size: 13px; min-height: 1.5em; max-width: none; margin-top: 4px;
}
.tl-machine .tl-beads { position: absolute; inset: 0; pointer-events: none; }
.tl-machine .tl-beads i {
  position: absolute; width: 10px; height: 10px; border-radius: 5px; background: var(--tl-ink); opacity: 0;
}
@media (prefers-reduced-motion: no-preference) { .tl-machine .tl-tour .tl-title { transition: background-size .4s; } }
.tl-machine .tl-tour .tl-title {
  display: block; padding-bottom: 7px;
  background: linear-gradient(var(--tl-amber), var(--tl-amber)) 0 100% / var(--far) 4px no-repeat;
}
.tl-machine.tl-view { font-variant-numeric: tabular-nums; }
.tl-machine.tl-view svg :is(text, tspan) { font-variant-numeric: tabular-nums; }
.tl-machine .tl-zoom:not(.tl-near) .tl-back { overflow-x: auto; padding: 3px; margin: 0 -3px; }
.tl-machine .tl-back > :is(button, .tl-segments, .tl-tokens) { flex: none; flex-wrap: nowrap; margin: 0; }
.tl-machine .tl-alone:not(.tl-near) .tl-crumbs span { display: none; }
.tl-machine .tl-say { display: flex; gap: 12px; align-items: center; color: var(--tl-ink); }
.tl-machine .tl-say div { display: flex; flex: none; }
.tl-machine.tl-view .tl-say p { margin: 0; max-width: none; line-height: 1.4; }
.tl-machine .tl-say i { font: italic 16px var(--tl-serif); white-space: nowrap; margin-right: 8px; }
.tl-machine .tl-say i::before { content: "\\A"; white-space: pre; }
.tl-machine .tl-say small { font-size: 13px; color: var(--tl-soft); }
@container (max-width: 619px) {
  .tl-machine .tl-zoom:not([hidden]) { display: flex; flex-direction: column; }
  .tl-machine .tl-zoom > * { min-width: 0; }
  .tl-machine .tl-zoom:not(.tl-alone) > :is(.tl-stack, .tl-share) { order: 1; }
  .tl-machine .tl-say { font-size: 13px; align-items: start; }
  .tl-machine .tl-near .tl-stack { display: none; }
}
.tl-machine .tl-spot { position: absolute; pointer-events: none; scroll-margin: 44px 8px 8px; }
.tl-machine .tl-tip {
  position: absolute; bottom: calc(100% + 7px); width: max-content; box-sizing: border-box; padding: 1px 8px;
  border-radius: 4px; background: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-before span { opacity: .85; border-style: dashed; }
.tl-machine .tl-bar button { min-height: 26px; }
.tl-machine :is(input[type=range], select) { min-height: 26px; }
.tl-machine .tl-crumbs { border-bottom: 1px solid var(--tl-line); padding-bottom: 5px; }
.tl-machine .tl-zoom:not(.tl-near) .tl-mini { display: none; }
.tl-machine .tl-mini svg {
  width: min(100%, 460px); height: auto; border: 1px solid var(--tl-line); border-radius: 12px; padding: 8px;
  box-sizing: border-box; margin-bottom: 12px; pointer-events: none;
}
.tl-machine .tl-mini .w-cursor { stroke-dasharray: none; stroke-width: 6; }
.tl-machine .tl-back { display: flex; align-items: center; gap: 16px; margin: 8px 0; }
.tl-machine .tl-back button {
  border-color: var(--tl-edge); min-height: max(36px, var(--tl-target)); padding: 4px 12px; border-radius: 6px;
}
.tl-machine .tl-zoom .tl-bar button[aria-pressed=true] {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-zoom button { border-color: var(--tl-edge); }
.tl-machine .tl-sum { border-top: 1px solid var(--tl-line); margin-top: 8px; padding-top: 8px; }
.tl-machine .tl-sum, .tl-machine .tl-crumbs { scroll-margin: 8px; }
.tl-machine .tl-sum .tl-go {
  font: inherit; color: inherit; background: transparent; border: 0; border-bottom: 1px solid currentColor;
  padding: 0;
  min-height: 24px; cursor: pointer;
}
@media (pointer: coarse) {
  .tl-machine .tl-back > .tl-note { display: none; }
  .tl-machine :is(.tl-tokens, .tl-bar) button { min-height: 44px; min-width: 44px; }
}
`;
