// The coloured bars, the tint over the views, and the lines between regions, which can be dragged.

function make(tag, more = {}, style = {}) {
  const made = Object.assign(document.createElement(tag), more);
  Object.assign(made.style, style);
  return made;
}

export class Bands {
  // `heard` has chosen(line), dragged(line, at) while a line moves and released() once it has.
  constructor(stage, regions, heard) {
    this.stage = stage;
    this.bars = stage.querySelector("#bars");
    this.tint = stage.querySelector("#tint");
    this.lines = stage.querySelector("#borders");
    this.regions = regions;
    this.heard = heard;
    this.grips = new Map();
  }

  share(slices) { return `${100 * slices / this.slices}%`; }

  band(name, first, last, words) {
    const band = make("i", { title: name }, {
      bottom: this.share(first), height: this.share(last - first + 1),
      background: this.regions.colour(name), color: this.regions.ink(name),
    });
    if (words) band.append(make("span", { textContent: name }));
    return band;
  }

  bar(kind, label, title) {
    const bar = make("div", { className: `bar ${kind}`, title });
    if (kind !== "own" && title) bar.append(make("b", { textContent: title.slice(0, 9) }));
    for (const [name, first, last] of label) bar.append(this.band(name, first, last, true));
    return bar;
  }

  // All anew: the label, the readings beside it, and which line is chosen.
  draw(label, slices, beside, chosen, named) {
    this.slices = slices;
    const chain = this.regions.chainOf(label);
    const others = beside.filter(one => one.extents.length).map(one => this.bar("narrow", one.extents, one.reader));
    const sides = this.regions.side.map(name => this.bar("narrow", label.filter(one => one[0] === name), name));
    this.bars.replaceChildren(...others, ...sides, this.bar("own", chain, "regions"));
    this.tint.replaceChildren(...chain.map(one => this.band(...one, false)));
    const own = this.bars.lastChild, views = this.bars.offsetWidth;
    Object.assign(this.tint.style, { left: `${views}px`, right: "0", top: "0", bottom: "0" });
    this.drawLines(label, chosen, { own, sides, named });
  }

  drawLines(label, chosen, { own, sides, named }) {
    const kept = new Set();
    this.regions.borders(label, this.slices).forEach((line, index) => {
      const grip = this.grips.get(line.id) || this.grip(line.id), place = grip.parentElement;
      kept.add(line.id);
      grip.line = line;
      place.className = `border${line.side ? " side" : ""}${line.id === chosen ? " chosen" : ""}`;
      place.style.bottom = this.share(line.at);
      const bar = line.side ? sides[this.regions.side.indexOf(line.side)] : own;
      place.style.left = line.side ? `${bar.offsetLeft}px` : `${own.offsetLeft}px`;
      place.style.width = line.side ? `${bar.offsetWidth}px` : "auto";
      grip.style.width = `${line.side ? bar.offsetWidth : own.offsetWidth}px`;
      const words = named(line);
      for (const [key, value] of Object.entries({
        "aria-label": words.name, "aria-valuenow": line.at, "aria-valuemin": line.low,
        "aria-valuemax": line.high, "aria-valuetext": words.value,
      })) grip.setAttribute(key, value);
      // in order from the feet on, for Tab; one that is moved in the document loses the pointer that drags it
      if (this.lines.children[index] !== place) this.lines.insertBefore(place, this.lines.children[index] || null);
    });
    for (const [id, grip] of this.grips) if (!kept.has(id)) {
      grip.parentElement.remove();
      this.grips.delete(id);
    }
  }

  grip(id) {
    const place = make("div"), grip = make("div", { className: "grip", tabIndex: 0 });
    grip.setAttribute("role", "slider");
    grip.setAttribute("aria-orientation", "vertical");
    grip.addEventListener("focus", () => this.heard.chosen(grip.line));
    grip.addEventListener("pointerdown", event => this.begin(event, grip));
    place.append(grip);
    this.lines.append(place);
    this.grips.set(id, grip);
    return grip;
  }

  begin(event, grip) {
    event.preventDefault();
    grip.focus({ preventScroll: true });
    grip.setPointerCapture(event.pointerId);
    const box = this.stage.getBoundingClientRect();
    const from = event.clientY, at = grip.line.at;
    const move = moved => this.heard.dragged(grip.line, at + Math.round((from - moved.clientY) * this.slices / box.height));
    const end = () => {
      grip.removeEventListener("pointermove", move);
      grip.removeEventListener("lostpointercapture", end);
      this.heard.released();
    };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", end);          // let go, cancelled, or taken away
  }

  focus(id) { this.grips.get(id)?.focus({ preventScroll: true }); }
}
