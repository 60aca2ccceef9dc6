// The weights of the machine as machine_view.py sends them: all matrices as whole numbers of 8 bits, deflated together,
// with a scale for each row; vectors as they are. They are found by the names that torch gives them.

import { tensor } from "../../shared/ui.js";

// { weights: Map of matrices { data, rows, columns } and of vectors (Float32Array), … the rest as it was sent }
export async function weightsOf({ i8, matrices, scales, vectors, numbers, ...rest }) {
  const [whole, worth, all] = [await inflated(i8), tensor(scales).data, tensor(numbers).data];
  const weights = new Map();
  let [at, row, number] = [0, 0, 0];
  for (const [name, rows, columns] of matrices) {
    const data = new Float64Array(rows * columns); // wide, so that nothing has to be widened when it is used
    for (let i = 0; i < data.length; i += 1)
      data[i] = Math.fround(whole[at + i] * worth[row + Math.floor(i / columns)]);
    weights.set(name, { data, rows, columns });
    at += data.length;
    row += rows;
  }
  for (const [name, length] of vectors) weights.set(name, all.subarray(number, (number += length)));
  return { ...rest, weights };
}

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Int8Array(await new Response(stream).arrayBuffer());
}
