// What stands over the columns of a weave.

import { label } from "./weave_marks.js";

const ROOMY = 1000; // from here on there is room for what each column does

export function headings(
  { columns, narrow, width },
  { encoder, target = [], first = 0, of = target.length },
  { layer },
) {
  const middle = (columns.from + columns.to) / 2;
  const over = (slabs) => (slabs[0].x + slabs.at(-1).x + slabs.at(-1).wide) / 2;
  const times = encoder.length === 1 ? "" : ` · ${encoder.length} times`;
  const some = of > target.length ? `${first}–${first + target.length - 1} of ${of}` : ""; // a text without end
  if (narrow)
    return [
      label("reads", columns.name, -13, { anchor: "end", more: "w-strong" }),
      label(`looks · layer ${layer}`, middle, -13, { anchor: "middle" }),
      label(some || "writes", columns.writes, -13, { more: "w-strong" }),
    ].join("");
  const written = width < ROOMY ? "German tokens" : "German tokens, and how sure it is";
  const heads = [
    ["reads", "English tokens", columns.name, "end"],
    ["encoder", width < ROOMY ? "" : `each looks around, then thinks${times}`, over(columns.encoder), "middle"],
    [`cross-attention, layer ${layer}`, "where it looks: mean of the heads", middle, "middle"],
    ["decoder", width < ROOMY ? "" : "looks back, then across, thinks", over(columns.decoder), "middle"],
    ["writes", some ? `tokens ${some}` : written, columns.writes, "start"],
  ];
  return heads
    .map(
      ([name, more, x, anchor]) =>
        label(name, x, -31, { anchor, more: "w-strong", size: 15 }) + label(more, x, -13, { anchor }),
    )
    .join("");
}
