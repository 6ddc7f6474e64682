// Pictures of a volume from its sheet of cuts: slices, and views from the front and from the side.

const SIDE = 128, HALF = 6;         // pixels of a cut; half the depth that a view averages

export class Cuts {
  constructor(bitmap, facts) {
    this.facts = facts;
    this.sheet = bitmap;
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(bitmap, 0, 0);
    const data = pen.getImageData(0, 0, bitmap.width, bitmap.height).data;
    this.wide = bitmap.width;
    this.grey = new Uint8Array(data.length / 4);
    for (let at = 0; at < this.grey.length; at += 1) this.grey[at] = data[4 * at];
    this.middle = this.centre();
  }

  corner(cut) { return [(cut % this.facts.across) * SIDE, Math.floor(cut / this.facts.across) * SIDE]; }

  // The centre of brightness over all cuts: [column, row].
  centre() {
    let mass = 0, across = 0, down = 0;
    for (let cut = 0; cut < this.facts.cuts; cut += 1) {
      const [left, top] = this.corner(cut);
      for (let row = 0; row < SIDE; row += 4) for (let column = 0; column < SIDE; column += 4) {
        const value = this.grey[(top + row) * this.wide + left + column];
        mass += value; across += value * column; down += value * row;
      }
    }
    return mass ? [Math.round(across / mass), Math.round(down / mass)] : [SIDE / 2, SIDE / 2];
  }

  // The view from the front at row `depth` of the cuts, or from the left side at column `depth`, feet at the
  // bottom, one row a slice.
  view(canvas, fromSide, depth) {
    const { cuts, cut_of: cutOf } = this.facts, rows = new Float32Array(cuts * SIDE);
    const low = Math.max(0, depth - HALF), high = Math.min(SIDE - 1, depth + HALF);
    for (let cut = 0; cut < cuts; cut += 1) {
      const [left, top] = this.corner(cut);
      for (let along = 0; along < SIDE; along += 1) {
        let sum = 0;
        for (let deep = low; deep <= high; deep += 1)
          sum += this.grey[(top + (fromSide ? along : deep)) * this.wide + left + (fromSide ? deep : along)];
        rows[cut * SIDE + along] = sum / (high - low + 1);
      }
    }
    const white = Float32Array.from(rows).sort()[Math.floor(rows.length * 0.995)] || 1;
    canvas.height = cutOf.length;
    const pen = canvas.getContext("2d"), picture = pen.createImageData(SIDE, cutOf.length);
    cutOf.forEach((cut, slice) => {
      const line = cutOf.length - 1 - slice;
      for (let along = 0; along < SIDE; along += 1) {
        const value = Math.min(255, rows[cut * SIDE + along] * 255 / white), at = 4 * (line * SIDE + along);
        picture.data[at] = picture.data[at + 1] = picture.data[at + 2] = value;
        picture.data[at + 3] = 255;
      }
    });
    pen.putImageData(picture, 0, 0);
  }

  slice(canvas, at) {
    const pen = canvas.getContext("2d");
    pen.imageSmoothingQuality = "high";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    if (at < 0 || at >= this.facts.cut_of.length) return;
    pen.drawImage(this.sheet, ...this.corner(this.facts.cut_of[at]), SIDE, SIDE, 0, 0, canvas.width, canvas.height);
  }
}

// A slice as acquired, on a square canvas, in its true proportions.
export function original(canvas, { bitmap, wide }) {
  const pen = canvas.getContext("2d"), side = canvas.width;
  const across = Math.min(side, side * wide), down = Math.min(side, side / wide);
  pen.fillRect(0, 0, side, side);
  pen.drawImage(bitmap, (side - across) / 2, (side - down) / 2, across, down);
}
