// The look of a part that is open and of the map of all matrices.

export const STYLE = `
.tl-machine .tl-bar label { max-width: 100%; min-width: 0; white-space: nowrap; }
.tl-machine input[type=text] {
  font: inherit; font-size: 15px; color: inherit; background: transparent; border: 1px solid var(--tl-edge);
  border-radius: 4px; padding: 3px 8px; width: 34em; min-width: 0; box-sizing: border-box;
}
.tl-machine .tl-tokens { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; margin: 5px 0;
  font-size: 15px; }
.tl-machine .tl-tokens i { width: 5.2em; opacity: .75; font-size: 13px; }
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
.tl-machine .tl-answer { font-size: 14px; margin: 6px 0; min-height: 1.5em; }
/* What a change will need has its room before, but on a phone: the drawing stays where it is. */
@media (min-width: 600px) {
  .tl-machine.tl-changing :is(.tl-before, .tl-chips)[hidden] { display: flex !important; visibility: hidden; }
  .tl-machine.tl-changing .tl-chips { min-height: 28px; }
  .tl-machine.tl-changing:not(.tl-wide) .tl-answer { min-height: 3em; }
}
.tl-machine .tl-stack { display: grid; }
.tl-machine .tl-stack > * { grid-area: 1 / 1; min-width: 0; }
.tl-machine .tl-left { position: relative; }
.tl-machine .tl-spot { position: absolute; pointer-events: none; scroll-margin: 44px 8px 8px; }
.tl-machine .tl-tip {
  position: absolute; bottom: calc(100% + 7px); width: max-content; box-sizing: border-box; padding: 1px 8px;
  border-radius: 4px; background: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-before span { opacity: .85; border-style: dashed; }
.tl-machine .tl-bar button { min-height: 26px; }
.tl-machine :is(input[type=range], select) { min-height: 26px; }
.tl-machine .tl-crumbs { border-bottom: 1px solid var(--tl-line); padding-bottom: 5px; }
.tl-machine.tl-wide .tl-zoom:not(.tl-near) .tl-both {
  display: grid; grid-template-columns: minmax(0, 460px) minmax(0, 1fr); gap: 32px;
}
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
