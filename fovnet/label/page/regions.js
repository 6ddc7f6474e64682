// What a label may be, as the server holds it too: each region one stretch, chain regions a run in order that
// touch.  A label is a list of [region, first, last], chain from the feet on, then side regions; nothing here
// changes its argument.

export class Regions {
  constructor(words) {
    Object.assign(this, words);             // chain, side, colours, landmarks
    this.names = [...words.chain, ...words.side];
  }

  inOrder(label) {
    return [...label].sort((one, other) => this.names.indexOf(one[0]) - this.names.indexOf(other[0]));
  }

  chainOf(label) { return label.filter(([name]) => this.chain.includes(name)); }

  sideOf(label) { return label.filter(([name]) => this.side.includes(name)); }

  // The regions that a slice shows.
  at(label, slice) { return label.filter(([, first, last]) => first <= slice && slice <= last).map(([name]) => name); }

  // Every line that can be moved, from the feet on: `at` is the slice above it, `low` to `high` where it may go.
  borders(label, slices) {
    const chain = this.chainOf(label), lines = [];
    chain.forEach(([name, first, last], index) => {
      const below = index ? chain[index - 1] : null;
      lines.push({ below: below ? below[0] : "", above: name, at: first, low: below ? below[1] + 1 : 0, high: last });
      if (index === chain.length - 1) lines.push({ below: name, above: "", at: last + 1, low: first + 1, high: slices });
    });
    for (const [name, first, last] of this.sideOf(label)) {
      lines.push({ side: name, below: "", above: name, at: first, low: 0, high: last });
      lines.push({ side: name, below: name, above: "", at: last + 1, low: first + 1, high: slices });
    }
    return lines.map(line => ({ ...line, id: `${line.side || ""}|${line.below}|${line.above}` }));
  }

  // The id of the line to begin with, and the slice to look at first where that line is at an end of the volume
  // or there is none: both pictures show the volume then.  null: the slices beside the line.
  beginning(label, slices) {
    const lines = this.borders(label, slices), inside = lines.filter(line => line.at > 0 && line.at < slices);
    const line = inside.find(one => one.below && one.above && !one.side) || inside[0] || lines[0];
    return { chosen: line ? line.id : "", looked: inside.length || slices < 2 ? null : Math.floor(slices / 2) };
  }

  moved(label, line, to) {
    const at = Math.max(line.low, Math.min(line.high, to));
    return label.map(([name, first, last]) => {
      if (line.side ? name !== line.side : !this.chain.includes(name)) return [name, first, last];
      if (name === line.above) return [name, at, last];
      return name === line.below ? [name, first, at - 1] : [name, first, last];
    });
  }

  // The label with a region added or removed, or a sentence on why not.
  toggled(label, name, slices) {
    const present = label.some(([region]) => region === name), rest = label.filter(([region]) => region !== name);
    if (this.side.includes(name)) return present ? rest : this.inOrder([...rest, [name, 0, slices - 1]]);
    return present ? this.without(label, rest, name) : this.with(label, name, slices);
  }

  without(label, rest, name) {
    const chain = this.chainOf(label), at = chain.findIndex(([region]) => region === name);
    if (at > 0 && at < chain.length - 1)
      return `${name} lies between ${chain[at - 1][0]} and ${chain[at + 1][0]}: remove those on one side first, or move its lines`;
    const [, first, last] = chain[at], neighbour = (chain[at + 1] || chain[at - 1] || [])[0];
    return rest.map(one => one[0] === neighbour ? [one[0], Math.min(one[1], first), Math.max(one[2], last)] : one);
  }

  // A region that is missing, and those between, share the end stretch with the one that was there.
  with(label, name, slices) {
    const chain = this.chainOf(label), side = this.sideOf(label);
    if (!chain.length) return this.inOrder([...side, [name, 0, slices - 1]]);
    const rung = this.chain.indexOf(name), lowest = this.chain.indexOf(chain[0][0]), up = rung > lowest;
    const end = up ? chain[chain.length - 1] : chain[0], from = this.chain.indexOf(end[0]);
    const names = this.chain.slice(Math.min(rung, from), Math.max(rung, from) + 1);
    let [, first, last] = end;
    if (up && last < slices - 1) last = slices - 1;
    if (!up && first > 0) first = 0;
    if (last - first + 1 < names.length) return `There are too few slices for ${names.join(", ")}`;
    const share = (last - first + 1) / names.length;
    const starts = names.map((_, index) => first + Math.round(index * share));
    const added = names.map((one, index) => [one, starts[index], index + 1 < names.length ? starts[index + 1] - 1 : last]);
    return this.inOrder([...chain.filter(one => one !== end), ...added, ...side]);
  }

  // Every chain region becomes its neighbour, `by` +1 or -1; a sentence if there is none.
  shifted(label, by) {
    const rungs = this.chainOf(label).map(([name]) => this.chain.indexOf(name) + by);
    if (!rungs.length) return "There is no region to shift";
    if (rungs.some(rung => rung < 0 || rung >= this.chain.length)) return `There is nothing ${by > 0 ? "above" : "below"}`;
    return label.map(([name, first, last]) =>
      [this.chain.includes(name) ? this.chain[this.chain.indexOf(name) + by] : name, first, last]);
  }

  landmark(line) {
    const at = this.chain.indexOf(line.below);
    return at >= 0 && this.chain[at + 1] === line.above ? this.landmarks[at] : "";
  }

  colour(name) { return this.colours[name] || this.colours.none; }

  // White or black, whichever is easier to read on a region's colour.
  ink(name) {
    const parts = [1, 3, 5].map(at => parseInt(this.colour(name).slice(at, at + 2), 16) / 255)
      .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#000" : "#fff";
  }
}
