// The look of a weave and of what stands around it, in the palette's paper, ink and thread.

export const WEAVE = `
.tl-machine { container-type: inline-size; }
.tl-machine .tl-stage { position: relative; color: var(--tl-ink); font-size: 13px; line-height: 1.4; }
.tl-machine .tl-stage b { font-weight: 650; }
.tl-machine .tl-top {
  position: relative; display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 24px;
  color: var(--tl-ink);
}
.tl-machine input.tl-sentence {
  font-family: var(--tl-serif); font-size: 35px; display: block; margin: 0; height: max(50px, var(--tl-target));
  width: 100%; padding: 0 2px;
  border: 0; border-radius: 0;
  border-bottom: 2px solid var(--tl-edge); color: inherit; background: transparent; box-sizing: border-box;
}
.tl-machine input.tl-sentence:focus { border-color: var(--tl-ink); }
.tl-machine .tl-top input.tl-sentence:focus-visible { outline-offset: -1px; }
.tl-machine .tl-german {
  font-family: var(--tl-serif); font-size: 35px; min-height: max(50px, var(--tl-target)); line-height: 1.15;
  text-align: right;
  overflow-wrap: anywhere; display: grid; align-content: end; box-sizing: border-box; padding-bottom: 5px;
  max-height: 78px; overflow: hidden;
}
.tl-machine .tl-german .tl-at { box-shadow: 0 3px 0 -0px var(--tl-amber-edge); }
.tl-machine s { color: var(--tl-soft); text-decoration: line-through 2px var(--tl-change); }
.tl-machine .tl-new { color: var(--tl-change); font-weight: 650; }
.tl-machine .tl-caret { border-left: 2px solid var(--tl-ink); margin-right: -2px; }
.tl-machine .tl-later { visibility: hidden; }
.tl-machine .tl-under {
  display: flex; gap: 10px; align-items: center; min-height: max(28px, var(--tl-target)); font-size: 13px;
  color: var(--tl-soft);
}
.tl-machine .tl-under b { color: var(--tl-ink); font-size: 15px; }
.tl-machine .tl-judged { justify-content: flex-end; gap: 24px; }
.tl-machine .tl-share { display: flex; gap: 14px; }
.tl-machine .tl-verdict { display: flex; gap: 10px; font-size: 15px; word-spacing: 3px; }
.tl-machine .tl-under b.tl-wrong { color: var(--tl-change); }
.tl-machine .tl-stage button, .tl-machine .tl-top button {
  font-family: inherit; color: var(--tl-ink); background: transparent; border: 1px solid var(--tl-edge);
  border-radius: 6px; cursor: pointer; padding: 4px 12px; white-space: nowrap;
  min-height: max(36px, var(--tl-target));
}
.tl-machine .tl-top button.tl-plain, .tl-machine .tl-tools button {
  border: 0; min-height: max(24px, var(--tl-target)); padding: 0 2px; text-decoration: underline 1px;
  text-underline-offset: 3px; color: var(--tl-soft);
}
.tl-machine :is(.tl-stage, .tl-top, .tl-back) :focus-visible, .tl-machine .tl-weave:focus-visible {
  outline: 3px solid var(--tl-ink); outline-offset: 2px; border-radius: 6px;
}
.tl-machine .tl-stage button:hover { background: var(--tl-slab); }
.tl-machine .tl-stage button.tl-primary {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper); font-weight: 600; min-width: 104px;
}
.tl-machine .tl-segments { display: inline-flex; }
.tl-machine .tl-segments button { border-radius: 0; margin-left: -1px; }
.tl-machine .tl-segments button:first-child { border-radius: 6px 0 0 6px; margin: 0; }
.tl-machine .tl-segments button:last-child { border-radius: 0 6px 6px 0; }
.tl-machine .tl-segments button[aria-pressed=true] {
  background: var(--tl-ink); border-color: var(--tl-ink); color: var(--tl-paper);
}
.tl-machine .tl-hint { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.tl-machine .tl-hint + .tl-plain { margin-right: auto; }
.tl-machine .tl-top .tl-plain { flex: none; }
.tl-machine .tl-asked { position: relative; }
.tl-machine .tl-hint.tl-told {
  position: absolute; right: 10px; top: 0; height: max(50px, var(--tl-target)); display: grid; align-content: center;
  white-space: normal; line-height: 1.3; pointer-events: none;
}
.tl-machine .tl-refusal:not([hidden]) {
  display: flex; gap: 12px; align-items: center; min-height: max(28px, var(--tl-target)); font-size: 15px;
  padding-top: 4px; box-sizing: border-box;
}
.tl-machine .tl-held input.tl-sentence { border-color: var(--tl-change); border-bottom-style: dashed; }
.tl-machine .tl-held .tl-german, .tl-machine [inert]:not(.tl-foot) { opacity: .35; }
.tl-machine .tl-answered { position: relative; }
.tl-machine .tl-reason { position: absolute; right: 110px; left: 0; justify-content: flex-end; line-height: 1.25; }
.tl-machine .tl-top button.tl-spelled { flex: none; border-radius: 18px; min-height: 30px; padding: 1px 12px; }
.tl-machine .tl-weave { margin-top: 8px; touch-action: pan-y; position: relative; user-select: none;
  -webkit-user-select: none; -webkit-touch-callout: none; }
.tl-machine .tl-weave [data-part=reads][data-s] { cursor: grab; }
.tl-machine .tl-ghost {
  position: absolute; transform: translate(-50%, -50%); pointer-events: none; padding: 1px 9px; border-radius: 8px;
  border: 2px dashed var(--tl-soft); background: var(--tl-paper); font: 19px var(--tl-serif); white-space: nowrap;
}
.tl-machine .tl-ghost.tl-lands { border: 2px solid var(--tl-change); color: var(--tl-change); }
.tl-machine .tl-picture { display: block; overflow: visible; }
.tl-machine .w-word { font-family: var(--tl-serif); fill: var(--tl-ink); }
.tl-machine .w-special, .tl-machine .w-joined { font-style: italic; fill: var(--tl-soft); }
.tl-machine .w-loud { font-weight: 700; }
.tl-machine .w-new { fill: var(--tl-change); font-weight: 700; }
.tl-machine .w-target .w-word { fill: var(--tl-change); font-weight: 700; }
.tl-machine .w-put { fill: var(--tl-paper); stroke: var(--tl-change); stroke-width: 2; pointer-events: none; }
.tl-machine .w-struck {
  fill: var(--tl-soft); text-decoration: line-through; text-decoration-color: var(--tl-change);
}
.tl-machine .w-label { font-family: var(--tl-sans); fill: var(--tl-soft); }
.tl-machine .w-strong { fill: var(--tl-ink); font-weight: 650; }
.tl-machine .w-p { font-size: 13px; }
.tl-machine .w-slab { fill: var(--tl-slab); stroke: var(--tl-line); cursor: pointer; }
.tl-machine .w-slab.w-gone { stroke: var(--tl-change); stroke-dasharray: 5 4; }
.tl-machine .w-parts { stroke: var(--tl-line); }
.tl-machine .w-thread { stroke: var(--tl-thread); stroke-width: 1.5; pointer-events: none; }
.tl-machine .w-thread.w-lit { stroke: var(--tl-ink); stroke-width: 2.5; }
.tl-machine .w-severed { stroke: var(--tl-change); stroke-width: 3; }
.tl-machine .w-cross { fill: none; stroke: var(--tl-amber); pointer-events: none; }
.tl-machine .w-cross.w-lit { stroke: var(--tl-amber-edge); opacity: 1; }
.tl-machine .w-leak { fill: none; stroke: var(--tl-change); stroke-dasharray: 5 3; pointer-events: none; }
.tl-machine .w-diamond, .tl-machine .w-clock {
  fill: var(--tl-paper); stroke: var(--tl-thread); stroke-width: 1.5; cursor: pointer;
}
.tl-machine :is(.w-diamond, .w-clock).w-gone { fill: none; stroke: var(--tl-change); stroke-dasharray: 3 3; }
.tl-machine .w-clock { stroke: var(--tl-ink); }
.tl-machine .w-hand { stroke: var(--tl-ink); stroke-width: 1.6; stroke-linecap: round; }
.tl-machine .w-ribbon { fill: var(--tl-amber); fill-opacity: .27; cursor: pointer; transition: fill-opacity .25s; }
.tl-machine .w-ribbon.w-lit { fill-opacity: 1; stroke: var(--tl-amber-edge); stroke-width: 1; }
.tl-machine .w-old {
  fill: none; stroke: var(--tl-change); stroke-width: 1.4; stroke-dasharray: 4 3; pointer-events: none;
}
.tl-machine .w-dot { fill: var(--tl-amber-edge); }
.tl-machine .w-pill { fill: var(--tl-paper); stroke: var(--tl-amber-edge); pointer-events: none; }
.tl-machine .w-weight {
  font: 650 13px var(--tl-sans); fill: var(--tl-amber-ink); pointer-events: none;
}
.tl-machine .w-bracket { fill: none; stroke: var(--tl-edge); stroke-width: 1.4; }
.tl-machine .w-out { cursor: pointer; }
.tl-machine .w-hit { fill: transparent; }
.tl-machine .w-out:hover .w-hit { fill: var(--tl-slab); }
.tl-machine .w-near .w-word { font-weight: 700; }
.tl-machine .tl-points .w-ribbon { fill-opacity: .1; }
.tl-machine .tl-points .w-ribbon.w-lit { fill-opacity: .4; }
.tl-machine .tl-points .w-ribbon.w-near { fill-opacity: .85; stroke: var(--tl-amber-edge); }
.tl-machine .w-look { cursor: pointer; }
.tl-machine .w-look[data-part=cross], .tl-machine .w-says { pointer-events: none; }
.tl-machine .w-says .w-tip { visibility: visible; }
.tl-machine .w-look .w-hit { stroke-width: 2; }
.tl-machine .w-tip { visibility: hidden; fill: var(--tl-ink); pointer-events: none; }
.tl-machine text.w-tip {
  font: 600 13px var(--tl-sans); fill: var(--tl-paper); text-anchor: middle; dominant-baseline: central;
}
@media (hover: hover) {
  .tl-machine :is(.w-look:hover, .tl-picture:has(.w-ribbon:hover) .w-look[data-part=cross]) .w-hit {
    stroke: var(--tl-ink);
  }
  .tl-machine .w-look:hover .w-tip { visibility: visible; }
}
.tl-machine .tl-menu {
  position: absolute; top: 34px; z-index: 3; padding: 8px; border: 2px solid var(--tl-ink); border-radius: 12px;
  background: var(--tl-paper); box-shadow: 0 6px 24px rgb(0 0 0 / .22);
}
.tl-machine .tl-menu button { display: block; width: 100%; margin-top: 6px; text-align: left; padding: 4px 8px; }
.tl-machine .tl-stacks { display: flex; gap: 6px; margin-top: 8px; }
.tl-machine .w-frame { fill: none; stroke: var(--tl-ink); stroke-width: 2; }
.tl-machine .w-cursor { fill: none; stroke: var(--tl-ink); stroke-width: 2.5; stroke-dasharray: 2 4; }
.tl-machine .w-veil { fill: var(--tl-paper); fill-opacity: .76; pointer-events: none; }
.tl-machine .w-track { fill: var(--tl-line); }
.tl-machine .w-bar { fill: var(--tl-ink); }
.tl-machine .w-wait { fill: var(--tl-edge); }
`;
