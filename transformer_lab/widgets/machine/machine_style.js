// The look of a part that is open and of the map of all matrices.

export const STYLE = `
.tl-machine .tl-bar label { max-width: 100%; min-width: 0; white-space: nowrap; }
.tl-machine input[type=text] {
  font: inherit; font-size: 15px; color: inherit; background: transparent; border: 1px solid var(--tl-edge);
  border-radius: 4px; padding: 3px 8px; width: min(34em, 100%); min-width: 0; box-sizing: border-box;
}
.tl-machine .tl-tokens { display: flex; flex-wrap: wrap; gap: 3px; align-items: center; margin: 5px 0;
  font-size: 15px; }
.tl-machine .tl-tokens i { min-width: 4.2em; white-space: nowrap; opacity: .75; font-size: 13px; }
.tl-machine .tl-tokens :is(span, button) {
  font: inherit; color: inherit; background: transparent; border: 1px solid var(--tl-line); border-radius: 4px;
  padding: 1px 6px; min-height: 26px; box-sizing: border-box;
}
.tl-machine .tl-tokens button { cursor: pointer; min-width: 26px; }
.tl-machine .tl-zoom .tl-back .tl-writes { flex: 1; min-width: 0; }
.tl-machine .tl-zoom :is(.tl-writes, .tl-rows) { overflow-x: auto; padding-right: 20px;
  mask: linear-gradient(90deg, #000 calc(100% - 20px), #0000); }
.tl-machine .tl-zoom .tl-writes button { flex: none; font: 16px var(--tl-serif); padding: 1px 6px;
  border-color: #0000; min-width: 24px; }
.tl-machine .tl-zoom .tl-tokens button[aria-pressed=true] { border-color: var(--tl-ink); font-weight: 700; }
.tl-machine .tl-tokens button.tl-changed {
  color: var(--tl-change); border: 1px dashed var(--tl-change);
  background: linear-gradient(var(--tl-change), var(--tl-change)) bottom / 100% 3px no-repeat;
}
.tl-machine .tl-stack { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 16px; align-items: center; }
.tl-machine.tl-view .tl-whole { font: 19px/1.25 var(--tl-serif); margin: 0; max-width: none; }
.tl-machine .tl-one-row {
  display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; min-height: 34px;
}
.tl-machine .tl-one-row .tl-bar { flex-wrap: nowrap; margin: 0; white-space: nowrap; }
.tl-machine .tl-one-row label { min-height: 0; }
.tl-machine .tl-one-row input { min-width: 20em; }
.tl-machine .tl-one-row .tl-changes { min-width: 0; }
.tl-machine .tl-one-row .tl-chips { overflow-x: auto; scrollbar-width: thin; min-width: 0; padding: 3px 0; }
.tl-machine .tl-changes button { flex: none; }
.tl-machine .tl-zoom .tl-gone { border-color: var(--tl-change); color: var(--tl-change); }
.tl-machine .tl-modes { margin-left: auto; }
.tl-machine .tl-zoom .tl-back .tl-modes button {
  border-color: #0000; border-width: 0 0 2px; border-radius: 0; margin: 0; color: var(--tl-soft);
}
.tl-machine .tl-zoom .tl-back .tl-modes button[aria-pressed=true] {
  border-color: var(--tl-ink); color: var(--tl-ink); background: none; font-weight: 650;
}
.tl-machine .tl-route { display: flex; gap: 4px 24px; align-items: center; font-size: 14px; }
.tl-machine .tl-zoom .tl-route button {
  display: flex; gap: 8px; align-items: center; padding: 0 4px; min-height: 32px;
  border: 0; font: inherit; color: inherit; background: none; text-align: left; cursor: pointer;
}
.tl-machine .tl-route button:hover span { text-decoration: underline 1px; text-underline-offset: 3px; }
.tl-machine .tl-route span b { font: 700 15px/1 var(--tl-serif); }
.tl-machine :is(.tl-route i, .tl-beads b) {
  font: 700 12px/18px var(--tl-sans); flex: none; width: 18px; border-radius: 9px; text-align: center;
  background: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-beads b { position: absolute; line-height: 16px; width: 16px; }
.tl-machine .tl-pan:not(.tl-end) { mask: linear-gradient(90deg, #000 calc(100% - 48px), #0000); }
.tl-machine .tl-changes { display: flex; gap: 0 16px; align-items: center; font-size: 13px; }
.tl-machine .tl-changes .tl-example { gap: 8px; }
.tl-machine .tl-zoom:has(.tl-route[hidden]) .tl-beads b { display: none; }
.tl-machine .tl-right .tl-changes { flex-wrap: wrap; order: 4; }
.tl-machine .tl-key-of { font-size: 13px; color: var(--tl-soft); white-space: nowrap; }
.tl-machine .tl-key-of i { display: inline-block; width: 4px; height: 14px; margin: 0 6px -2px 0;
  background: var(--tl-change); }
.tl-machine .tl-legends { position: relative; font-size: 13px; color: var(--tl-soft); }
.tl-machine .tl-legends summary { cursor: pointer; align-content: center; min-height: 24px;
  text-decoration: underline 1px; text-underline-offset: 3px; list-style: none; }
.tl-machine .tl-keys {
  position: absolute; right: 0; top: 100%; z-index: 3; display: grid; gap: 8px; padding: 12px 16px; width: max-content;
  max-width: min(27em, 86vw); background: var(--tl-paper); border: 1px solid var(--tl-edge); border-radius: 12px;
  box-shadow: 0 6px 24px rgb(0 0 0 / .16); box-sizing: border-box;
}
.tl-machine .tl-keys span { display: flex; gap: 8px; align-items: center; }
.tl-machine .tl-keys i { flex: none; width: 22px; height: 14px; background: var(--tl-amber); }
.tl-machine .tl-keys .tl-k-band { opacity: .45; }
.tl-machine .tl-keys .tl-k-look { background: linear-gradient(90deg, var(--tl-slab), var(--tl-amber)); }
.tl-machine .tl-keys .tl-k-mask { background: repeating-linear-gradient(135deg, var(--tl-edge) 0 1px, #0000 1px 4px); }
.tl-machine .tl-keys .tl-k-loop { height: 7px; background: none; border: 2px solid var(--tl-thread); border-top: 0;
  box-sizing: border-box; }
.tl-machine .tl-keys .tl-k-bars { background: conic-gradient(from 180deg at 50% 50%, #0000 50%,
    var(--tl-ink) 0 75%, #0000 0) 0 0 / 8px 100%,
  linear-gradient(var(--tl-ink), var(--tl-ink)) 0 50% / 100% 1px no-repeat; }
.tl-machine .tl-strip { order: -1; position: relative; border: 1px solid var(--tl-line); border-radius: 8px;
  cursor: pointer; padding: 3px; touch-action: none; }
.tl-machine .tl-leftside { display: flex; flex-direction: column; min-width: 0; }
.tl-machine .tl-strip canvas { display: block; }
.tl-machine .tl-strip i { position: absolute; inset: -1px auto -1px 0; border: 2px solid var(--tl-ink);
  border-radius: 8px; box-sizing: border-box; pointer-events: none; }
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
.tl-machine .tl-words em { display: block; font-size: 12px; font-style: normal; font-weight: 400; overflow: hidden;
  text-overflow: ellipsis; }
.tl-machine .tl-words .tl-lit { text-align: right; font-weight: 700; box-shadow: inset 0 0 0 1px var(--tl-ink); }
.tl-machine .tl-left .tl-says {
  color: var(--tl-soft); font-size: 13px; min-height: 1.4em; line-height: 1.4; max-width: none;
}
.tl-machine .tl-beads { position: absolute; inset: 0; pointer-events: none; }
.tl-machine .tl-beads u { position: absolute; outline: 3px solid var(--tl-amber); border-radius: 4px; }
.tl-machine .tl-acts u { display: none; }
.tl-machine .tl-beads i {
  position: absolute; width: 10px; height: 10px; border-radius: 5px; background: var(--tl-ink); opacity: 0;
}
@media (prefers-reduced-motion: no-preference) { .tl-machine .tl-tour .tl-title { transition: background-size .4s; } }
.tl-machine .tl-tour .tl-title {
  display: block; padding-bottom: 7px;
  background: linear-gradient(var(--tl-amber), var(--tl-amber)) 0 100% / var(--far) 4px no-repeat;
}
.tl-machine.tl-view svg text:not(.w-word, .w-said, .w-tip), .tl-machine :is(.tl-steps, .tl-candidates) {
  font-variant-numeric: tabular-nums;
}
.tl-machine .tl-says { font-variant-numeric: inherit; }
.tl-machine .tl-back > :is(button, .tl-segments, .tl-tokens) { flex: none; flex-wrap: nowrap; margin: 0; }
.tl-machine.tl-view .tl-say { margin: 0; max-width: none; line-height: 1.4; font-size: 13px; }
.tl-machine .tl-say i { font: italic 16px var(--tl-serif); white-space: nowrap; margin-right: 8px; }
.tl-machine .tl-say small { font-size: 13px; color: var(--tl-soft); }
@container (max-width: 1199px) { .tl-machine .tl-acts .tl-whole { min-height: 2.5em; } }
@container (max-width: 999px) { .tl-machine.tl-view .tl-whole { font-size: 17px; } }
@container (max-width: 619px) {
  .tl-machine .tl-zoom .tl-back { flex-wrap: wrap; gap: 4px 8px; margin: 2px 0; }
  .tl-machine .tl-zoom .tl-back button { padding: 4px 8px; min-height: 40px; }
  .tl-machine.tl-view .tl-whole { font-size: 14px; }
  .tl-machine .tl-route { overflow-x: auto; scrollbar-width: none; min-width: 0; padding-right: 32px;
    mask: linear-gradient(90deg, #000 calc(100% - 32px), #0000); }
  .tl-machine .tl-zoom .tl-route button { flex: none; padding: 0; min-height: 40px; }
  .tl-machine .tl-acts :is(.tl-route, .tl-beads b, .tl-one-row:not(:has(> .tl-bar:not([hidden]), .tl-gone))) {
    display: none;
  }
  .tl-machine .tl-acts { display: flex; flex-direction: column; }
  .tl-machine .tl-acts :is(.tl-stack, .tl-one-row) {
    position: sticky; top: var(--tl-top, 0); z-index: 2; padding: 8px 0; background: var(--tl-paper);
  }
  .tl-machine .tl-acts .tl-one-row { order: 1; bottom: 0; margin: 0; border-top: 2px solid var(--tl-ink); }
  .tl-machine .tl-acts .tl-share { order: 2; }
  .tl-machine .tl-acts .tl-whole { min-height: 76px; font-size: 15px; }
  .tl-machine .tl-acts .tl-spot { scroll-margin: 140px 0 190px; }
  .tl-machine:has(.tl-zoom:not([hidden])) .tl-german, .tl-machine:has(.tl-near:not([hidden])) .tl-sentence {
    display: none;
  }
  .tl-machine:has(.tl-near:not([hidden])) .tl-verdict { top: 0; }
  .tl-machine .tl-zoom .tl-changes .tl-example { flex-wrap: wrap; white-space: normal; }
  .tl-machine .tl-one-row > .tl-bar { flex: 1 0 100%; flex-wrap: wrap; gap: 4px 8px; }
  .tl-machine .tl-one-row > .tl-bar > label { display: grid; flex: 1 0 100%; font-size: 12px; }
  .tl-machine .tl-one-row input { width: 100%; min-width: 0; }
  .tl-machine .tl-one-row :is(input, select) { min-height: 40px; }
  .tl-machine .tl-one-row .tl-changes { flex: 1 0 100%; flex-wrap: wrap; gap: 2px 8px; }
  .tl-machine .tl-one-row .tl-chips { flex: 1 0 100%; }
  .tl-machine .tl-key-of { order: 1; white-space: normal; flex: 1; }
  .tl-machine .tl-words { box-shadow: 4px 0 6px var(--tl-paper); }
  .tl-machine :is(.tl-back, .tl-stack) .tl-long, .tl-machine .tl-writes i { display: none; }
  .tl-machine .tl-zoom .tl-back .tl-writes { order: 1; flex-basis: 100%; gap: 0; }
  .tl-machine .tl-tip { display: none; }
}
.tl-machine .tl-spot { position: absolute; pointer-events: none; scroll-margin: 44px 8px 8px; }
.tl-machine .tl-tip {
  position: absolute; top: calc(100% + 2px); width: max-content; box-sizing: border-box;
  padding: 1px 8px; font-size: 12px;
  border-radius: 4px; background: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-bar button { min-height: 26px; }
.tl-machine :is(input[type=range], select) { min-height: 26px; }
.tl-machine .tl-back { display: flex; align-items: center; gap: 16px; margin: 4px 0; }
.tl-machine .tl-back button {
  border-color: var(--tl-edge); min-height: max(36px, var(--tl-target)); padding: 4px 12px; border-radius: 6px;
}
.tl-machine .tl-zoom .tl-bar button[aria-pressed=true] {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-zoom button { border-color: var(--tl-edge); }
.tl-machine .tl-sum { border-top: 1px solid var(--tl-line); margin-top: 8px; padding-top: 8px; }
.tl-machine .tl-sum { scroll-margin: 8px; }
.tl-machine .tl-sum .tl-go {
  font: inherit; color: inherit; background: transparent; border: 0; border-bottom: 1px solid currentColor;
  padding: 0;
  min-height: 24px; cursor: pointer;
}
@media (pointer: coarse) {
    .tl-machine :is(.tl-tokens, .tl-bar, .tl-zoom .tl-route) button { min-height: 44px; min-width: 44px; }
    .tl-machine .tl-legends summary { min-height: 44px; }
}
`;
