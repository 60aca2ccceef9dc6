// The look of what stands under a weave: breakers, what plays, candidates, the riddle; and all of it on a phone.

// A card that keeps to the lower edge of the window, so that what it speaks of stays in sight.
const SHEET = `
    position: sticky; bottom: 0; z-index: 2; margin: 0 -10px; padding: 10px; background: var(--tl-paper);
    border-top: 2px solid var(--tl-ink); box-shadow: 0 -6px 24px rgb(0 0 0 / .16);`;

export const FOOT = `
.tl-machine .tl-breakers { position: relative; height: 82px; }
.tl-machine .tl-stage .tl-breaker {
  position: absolute; transform: translateX(-50%); display: grid; justify-items: center; gap: 1px;
  padding: 8px 4px 4px;
  min-height: 78px; line-height: 1.25; white-space: nowrap; min-width: 70px;
  background: var(--tl-paper); /* the weave's focus ring goes behind it */
}
.tl-machine .tl-breaker::before {
  content: ""; position: absolute; top: -6px; height: 12px; border-left: 2px dotted var(--tl-edge);
}
.tl-machine .tl-breaker b { font-size: 13px; }
.tl-machine .tl-known { color: var(--tl-soft); font-size: 12px; }
.tl-machine .tl-icon svg {
  display: block; fill: currentColor; stroke: currentColor; stroke-width: 2.4; overflow: visible;
}
.tl-machine .tl-icon path { transform-origin: 8px 9px; }
.tl-machine :is([aria-pressed=true], .tl-breathes :first-child) > .tl-icon path { transform: rotate(-21deg); }
.tl-machine [aria-pressed=true] > .tl-icon .tl-loose { fill: none; stroke-width: 1.8; }
@media (hover: hover) {
  .tl-machine .tl-breaker[aria-pressed=false]:hover path { transform: rotate(-9deg); }
}
@media (prefers-reduced-motion: no-preference) {
  .tl-machine .tl-icon path { transition: transform .25s; }
}
.tl-machine .tl-invites { display: none; }
.tl-machine .tl-stage .tl-breakers .tl-breaker[aria-pressed=true] {
  color: var(--tl-change); border-color: var(--tl-change); border-width: 2px;
}
.tl-machine .tl-breaker[aria-pressed=true] .tl-known { color: inherit; }
.tl-machine .tl-breakers.tl-row {
  display: flex; gap: 8px; overflow-x: auto; height: auto; padding: 3px; scrollbar-width: thin;
}
.tl-machine .tl-stage .tl-row .tl-breaker {
  position: relative; transform: none; flex: 1 0 auto; min-width: 92px;
  min-height: 66px;
}
.tl-machine .tl-row .tl-breaker::before { display: none; }
.tl-machine .tl-foot {
  display: grid; grid-template-columns: minmax(0, 1.12fr) minmax(0, .8fr) minmax(0, 1.12fr);
  border-top: 1px solid var(--tl-line);
  padding-top: 12px; margin-top: 6px; min-height: 158px;
}
.tl-machine .tl-foot > * { padding: 0 24px; min-width: 0; border-left: 1px solid var(--tl-line); }
.tl-machine .tl-foot > :first-child { padding-left: 0; border: 0; }
.tl-machine .tl-foot > :last-child { padding-right: 0; }
.tl-machine .tl-play { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.tl-machine .tl-along { flex: 1 1 60px; min-width: 60px; }
.tl-machine .tl-along label.tl-slider { display: flex; position: relative; }
.tl-machine .tl-along .tl-slider :is(span, output) {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
}
.tl-machine .tl-along input { accent-color: var(--tl-ink); }
.tl-machine .tl-stage .tl-answer {
  font: 17px/1.45 var(--tl-serif); min-height: 3.6em; margin: 10px 0 0; max-width: none;
}
.tl-machine .tl-quiet { color: var(--tl-soft); font-weight: 400; font-family: var(--tl-sans); font-size: 13px; }
.tl-machine .tl-candidates { list-style: none; margin: 8px 0 4px; padding: 0; }
.tl-machine .tl-candidates li {
  display: grid; grid-template-columns: 7.5em 1fr 2.6em; gap: 12px; align-items: center; min-height: 27px; margin: 0;
}
.tl-machine .tl-candidates b {
  font: 17px var(--tl-serif); overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
}
.tl-machine .tl-candidates .tl-chosen b { font-weight: 700; }
.tl-machine .tl-meter { height: 7px; border-radius: 4px; background: var(--tl-line); overflow: hidden; }
.tl-machine .tl-meter i { display: block; height: 100%; background: var(--tl-ink); border-radius: 4px; }
.tl-machine .tl-new .tl-meter i { background: var(--tl-change); }
.tl-machine .tl-head {
  display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 4px 12px;
}
.tl-machine .tl-head .tl-answers { flex: 1; margin: 0; }
.tl-machine .tl-title { font-size: 15px; }
.tl-machine .tl-how { margin: 4px 0 8px; color: var(--tl-soft); }
.tl-machine .tl-how b { color: var(--tl-ink); }
.tl-machine .tl-answers { display: flex; flex-wrap: wrap; gap: 6px 8px; margin: 4px 0 8px; }
.tl-machine .tl-riddle .tl-answers { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); }
.tl-machine .tl-stage .tl-riddle .tl-chip { line-height: 1.15; padding: 0 4px; white-space: normal; }
.tl-machine .tl-found span { display: inline-block; font-size: 12px; }
.tl-machine .tl-stage .tl-chip {
  border-radius: 18px; border-style: dashed; font-size: 14px; min-height: max(32px, var(--tl-target));
  padding: 2px 13px;
}
.tl-machine .tl-blank {
  border: 1px dashed var(--tl-edge); border-radius: 18px; min-height: max(32px, var(--tl-target));
  box-sizing: border-box; display: grid; place-items: center; color: var(--tl-soft); font-size: 14px;
}
.tl-machine .tl-stage .tl-chip[aria-pressed=true] { border: 2px solid var(--tl-ink); font-weight: 650; }
.tl-machine .tl-stage .tl-chip.tl-found { border-style: solid; background: var(--tl-slab); }
.tl-machine .tl-stage .tl-chip.tl-gone {
  border: 2px solid var(--tl-change); color: var(--tl-change); font-weight: 650; display: flex;
  align-items: center; min-width: 4em; padding-inline: 8px; font-size: 13px;
}
.tl-machine .tl-gone span { overflow: hidden; text-overflow: ellipsis; margin-right: 4px; }
.tl-machine .tl-became :is(.tl-head, .tl-answers) { flex-wrap: nowrap; min-width: 0; gap: 8px; }
.tl-machine .tl-became .tl-answers { overflow-x: auto; padding: 5px; margin: -5px; scrollbar-width: thin; }
.tl-machine .tl-ends { display: flex; gap: 12px; justify-content: space-between; align-items: baseline; }
.tl-machine .tl-stage .tl-ends .tl-plain { border: 0; padding: 0 2px; min-height: max(24px, var(--tl-target));
  margin: -8px 0; text-decoration: underline 1px; text-underline-offset: 3px; }
.tl-machine .tl-line {
  display: grid; grid-template-columns: 3.6em minmax(0, max-content) auto; gap: 8px; align-items: baseline;
  justify-content: start;
  font: 17px/1.5 var(--tl-serif);
}
.tl-machine .tl-text { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tl-machine .tl-line + .tl-line b { color: var(--tl-change); }
.tl-machine .tl-tools {
  display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: center; margin-top: 8px; font-size: 13px;
  color: var(--tl-soft);
}
.tl-machine .tl-tools .tl-part { flex: 1; min-width: 12em; text-align: right; }
@container (min-width: 1240px) { .tl-machine .tl-play { flex-wrap: nowrap; } }
.tl-machine .tl-said { font: 17px/1.45 var(--tl-serif); margin: 4px 0 8px; min-height: 2.9em; }
.tl-machine .tl-stage .tl-swap .tl-plain { border: 0; text-decoration: underline 1px; text-underline-offset: 3px;
  margin-left: auto; color: var(--tl-soft); }
.tl-machine .tl-swap .tl-chip { font: 16px var(--tl-serif); }
.tl-machine .tl-swap .tl-how { margin: 2px 0; }
.tl-machine .tl-stage .tl-tour .tl-primary { min-width: 72px; }
.tl-machine .tl-stage button:disabled { opacity: .5; cursor: default; }
.tl-machine .tl-calls .tl-breaker { outline: 2px solid var(--tl-amber-edge); outline-offset: 2px; }
.tl-machine .tl-riddle .tl-purposes { grid-template-columns: 1fr; gap: 0; margin: 2px 0; line-height: 1.45; }
.tl-machine .tl-foot[inert] > * { opacity: .35; }
.tl-machine .tl-prize b { font: 600 22px/1.2 var(--tl-serif); flex: 1; min-width: min(15em, 100%); }
.tl-machine .tl-prize svg { display: block; fill: var(--tl-amber); stroke: var(--tl-amber-edge); }
.tl-machine .tl-prize:not(:empty) { padding-bottom: 6px; }
@media (prefers-reduced-motion: no-preference) {
  .tl-machine .tl-prize circle { transition: transform .4s calc(90ms * var(--i)); transform-box: fill-box;
    transform-origin: center; }
  @starting-style { .tl-machine .tl-prize circle { transform: scale(0); } }
}
@container (min-width: 1000px) {
  .tl-machine .tl-won > :nth-child(2) { display: none; }
  .tl-machine .tl-won > :last-child { grid-column: 2 / -1; }
  .tl-machine .tl-riddle .tl-purposes { grid-template-columns: 1fr 1fr; column-gap: 24px; }
}
@container (max-width: 1239px) { .tl-machine .tl-roomy { display: none; } }
@container (max-width: 1149px) {
  .tl-machine .tl-stage .tl-breaker { min-width: 58px; padding-inline: 4px; }
  .tl-machine .tl-breaker b { font-size: 12px; }
  .tl-machine [aria-pressed] .tl-verb { display: none; }
}
@container (max-width: 999px) {
  .tl-machine :is(.tl-top .tl-share .tl-long, .tl-hint:not(.tl-told)) { display: none; }
  .tl-machine .tl-foot { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); row-gap: 16px; }
  .tl-machine .tl-foot > :last-child { grid-area: 1 / 2; }
  .tl-machine .tl-foot > :nth-child(2) {
    grid-column: 1 / -1; padding: 12px 0 0; border: 0; border-top: 1px solid var(--tl-line);
  }
}
@container (max-width: 619px) {
  .tl-machine .tl-top { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .tl-machine input.tl-sentence { height: max(36px, var(--tl-target)); }
  .tl-machine .tl-german {
    text-align: left; min-height: 32px; max-height: 56px; padding-top: 2px; align-content: start;
  }
  .tl-machine .tl-answered { position: static; }
  .tl-machine .tl-judged { min-height: 0; }
  .tl-machine .tl-verdict {
    position: absolute; right: 0; top: max(36px, var(--tl-target)); min-height: max(28px, var(--tl-target));
    align-items: center;
  }
  .tl-machine .tl-verdict b { font-size: 14px; }
  .tl-machine :is(.tl-hint:not(.tl-told), .tl-tools .tl-long, .tl-verdict :is(s, .tl-long)) { display: none; }
  .tl-machine .tl-invites { display: block; font-weight: 650; margin: -8px 0 -4px; }
  .tl-machine .tl-invites div { display: flex; justify-content: space-between; align-items: center; gap: 8px;
    min-height: 20px; line-height: 20px; font-weight: 400; font-size: 13px; color: var(--tl-soft); }
  .tl-machine .tl-stage .tl-invites button { flex: none; border: 0; padding: 0 2px; margin: -12px 0; font-size: 13px;
    text-decoration: underline 1px; text-underline-offset: 3px; }
  .tl-machine .tl-stage:has(.tl-tour:not([hidden])) .tl-invites span { visibility: hidden; }
  .tl-machine .tl-under { flex-wrap: wrap; gap: 0 6px; padding-right: 86px; }
  .tl-machine :is(.tl-reason, .tl-verdict) { padding: 0; flex-wrap: nowrap; }
  .tl-machine .tl-top button.tl-plain { font-size: 12px; min-width: var(--tl-target); }
  .tl-machine .tl-hint.tl-told {
    position: static; order: 9; flex-basis: calc(100% + 86px); margin-right: -86px; height: auto;
    max-width: none !important;
  }
  .tl-machine .tl-refusal:not([hidden]) { line-height: 1.3; min-height: 44px; }
  .tl-machine .tl-hint + .tl-plain { margin: 0; }
  .tl-machine .tl-reason { position: static; justify-content: flex-start; }
  .tl-machine .tl-stage:not([hidden]) { display: flex; flex-direction: column; gap: 6px; }
  .tl-machine .tl-foot { display: contents; }
  .tl-machine .tl-foot > * { padding: 0 !important; border: 0; }
  .tl-machine .tl-stage .tl-answer { min-height: 2.8em; font-size: 15px; line-height: 1.4; margin-top: 4px; }
  .tl-machine .tl-breakers.tl-row {
    display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 4px; overflow: visible; padding: 0;
  }
  .tl-machine .tl-stage .tl-row .tl-breaker {
    min-width: auto; min-height: 50px; padding: 3px 2px; grid-template-columns: auto auto; gap: 2px 7px;
    justify-content: center; align-content: center;
  }
  .tl-machine .tl-row .tl-breaker b { grid-column: 1 / -1; order: -1; }
  .tl-machine .tl-row .tl-icon svg { width: 33px; height: 12px; }
  .tl-machine .tl-row .tl-breaker :is(b, .tl-known) { letter-spacing: -.02em; }
  .tl-machine .tl-foot > :not(:first-child) { display: contents; }
  .tl-machine .tl-foot > :first-child { order: 3; }
  .tl-machine .tl-became { order: 4; }
  .tl-machine .tl-known-cuts .tl-head { display: none; }
  .tl-machine :is(.tl-riddle, .tl-tour, .tl-swap) { order: 5; }
  .tl-machine .tl-could { order: 6; margin-top: 8px; }
  .tl-machine :is(.tl-tour, .tl-swap):not([hidden]) { ${SHEET} }
  .tl-machine :is(.tl-weave, .tl-breakers) { scroll-margin: 60px 0 200px; }
  .tl-machine .tl-tools { gap: 4px 10px; order: 7; margin-top: 3px; }
  .tl-machine .tl-how { margin: 0 0 4px; }
  .tl-machine .tl-answers { margin: 2px 0; gap: 6px; }
  .tl-machine .tl-stage .tl-chip { padding: 2px 10px; }
  .tl-machine .tl-part, .tl-machine .tl-along { display: none; }
  .tl-machine .tl-stage .tl-prize > * { flex: 1 0 100%; }
  .tl-machine .tl-stage > *, .tl-machine .tl-foot > * { min-width: 0; max-width: 100%; }
  .tl-machine .tl-play { flex-wrap: nowrap; gap: 6px; }
  .tl-machine .tl-stage button.tl-primary { flex: 1; min-width: 0; padding: 4px 6px; }
  .tl-machine .tl-stage .tl-segments button { padding: 4px 8px; }
}
/* On a phone that lies on its side, too, a card hides no more of the weave than it must. */
@media (max-height: 500px) {
  .tl-machine .tl-stage:has(:is(.tl-tour, .tl-swap):not([hidden])):not([hidden]) {
    display: flex; flex-direction: column;
  }
  .tl-machine :is(.tl-foot, .tl-foot > :last-child):has(:is(.tl-tour, .tl-swap):not([hidden])) { display: contents; }
  .tl-machine :is(.tl-tour, .tl-swap):not([hidden]) { ${SHEET} }
  .tl-machine .tl-tour .tl-said { min-height: 0; }
}
`;
