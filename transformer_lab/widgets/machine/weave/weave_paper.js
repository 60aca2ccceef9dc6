// Paper, ink and thread: what a weave is drawn in, by day and by night.

export { PAPER, inPaper } from "../../shared/palette.js";
