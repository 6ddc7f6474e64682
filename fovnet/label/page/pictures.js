// Pictures of a volume from its sheet of cuts: slices, and views from the front and from the side.

const SIDE = 128, HALF = 6;         // pixels of a cut; half the depth that a view averages
const DARK = 48;                    // of 255: darker pixels may be noise in air

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
    this.crop = this.body();
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

  // The square [left, top, side] of a cut, in pixels, outside which all cuts are dark.
  body() {
    const ends = [SIDE, SIDE, 0, 0];
    for (let row = 0; row < SIDE; row += 1) for (let column = 0; column < SIDE; column += 1)
      for (let cut = 0; cut < this.facts.cuts; cut += 2) {
        const [left, top] = this.corner(cut);
        if (this.grey[(top + row) * this.wide + left + column] < DARK) continue;
        ends[0] = Math.min(ends[0], column); ends[1] = Math.min(ends[1], row);
        ends[2] = Math.max(ends[2], column); ends[3] = Math.max(ends[3], row);
        break;
      }
    const side = Math.min(SIDE, Math.max(ends[2] - ends[0], ends[3] - ends[1], SIDE / 3) + 9);
    const begin = axis => Math.max(0, Math.min(SIDE - side, (ends[axis] + ends[axis + 2] - side) / 2));
    return ends[2] ? [begin(0), begin(1), side] : [0, 0, SIDE];
  }

  // The column or row of a cut at a share of the canvas of a slice.
  pixelAt(share, axis) {
    return Math.max(0, Math.min(SIDE - 1, Math.round(this.crop[axis] + share * this.crop[2])));
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
    const [left, top] = this.corner(this.facts.cut_of[at]), [across, down, side] = this.crop;
    pen.drawImage(this.sheet, left + across, top + down, side, side, 0, 0, canvas.width, canvas.height);
  }
}

// A slice as acquired, on a square canvas, in its true proportions, and cropped as the cuts are.
export function original(canvas, { bitmap, wide }, [left, top, part]) {
  const pen = canvas.getContext("2d"), side = canvas.width * SIDE / part, pixel = canvas.width / part;
  const across = Math.min(side, side * wide), down = Math.min(side, side / wide);
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(bitmap, (side - across) / 2 - left * pixel, (side - down) / 2 - top * pixel, across, down);
}
