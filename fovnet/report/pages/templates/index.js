// Sorting and filtering of the list; without this its first rows stand as they are.
(function () {
  const VOLUME = 0, STATUS = 1, SENTENCE = 2, SURE = 3, DOUBT = 4, SAID = 5, STEM = 6, PICTURED = 7;
  const WORDS = {y: "yes", n: "no", u: "unsure", g: "unsure"};      // g: in the best guess
  const data = JSON.parse(document.getElementById("data").textContent), all = data.rows;
  const get = id => document.getElementById(id);
  const table = get("volumes"), body = table.tBodies[0], names = {};
  const STEP = Math.max(body.rows.length, 1);
  for (const option of get("status").options) { names[option.value] = option.textContent; }
  let lost = "", column = -1, down = false, rows = all;

  function put(parent, tag, kind, text) {
    const one = parent.appendChild(document.createElement(tag));
    if (kind) { one.className = kind; }
    if (text !== undefined) { one.textContent = text; }
    return one;
  }
  function head(row, volume) {
    const cell = put(row, "th", ""), stem = volume[STEM] === 1 ? encodeURIComponent(volume[VOLUME]) : volume[STEM];
    cell.scope = "row";
    const place = stem ? put(cell, "a", "to") : put(cell, "span", "to");
    if (stem) { place.href = "pages/" + stem + ".html"; }
    if (volume[PICTURED]) {
      const picture = put(place, "img", "stamp");
      picture.alt = "";
      picture.width = picture.height = 64;
      picture.loading = "lazy";
      picture.src = "pages/" + stem + ".jpg";
    }
    put(place, "span", "", volume[VOLUME]);
  }
  function chips(cell, volume) {
    const line = put(cell, "span", "chips"), denied = [];
    volume[SAID].split(" ").slice(0, -1).forEach(function (mark, at) {
      if (mark === "-") { return; }
      if (mark[0] === "n") { denied.push(data.regions[at]); return; }
      const sure = mark.length > 1 ? " " + (Number(mark.slice(1)) / 100).toFixed(2) : "";
      const chip = put(line, "span", "say " + WORDS[mark[0]] + ("yg".includes(mark[0]) ? " guess" : ""), data.regions[at] + " " + WORDS[mark[0]] + sure);
      chip.style.setProperty("--tone", data.colours[at]);
      line.append(" ");
    });
    if (denied.length) { put(line, "span", "say no", "not " + denied.join(", ")); }
  }
  function line(volume) {
    const row = document.createElement("tr");
    head(row, volume);
    put(row, "td", "", names[data.answers[volume[STATUS]]]);
    const said = put(row, "td", "", data.sentences[volume[SENTENCE]] || "–");
    if (volume[SAID]) { chips(said, volume); }
    put(row, "td", volume[SURE] === null ? "sure none" : "sure", volume[SURE] === null ? "–" : volume[SURE].toFixed(2));
    put(row, "td", "", volume[DOUBT]);
    return row;
  }
  // what is said of a region, "" if nothing is asked for
  function asked(id, letters) {
    const at = data.regions.indexOf(get(id).value);
    return at < 0 ? () => true : volume => letters.includes(volume[SAID].split(" ")[at][0]);
  }
  function filtered() {
    const text = get("text").value.toLowerCase(), status = data.answers.indexOf(get("status").value);
    const surely = asked("surely", "y"), may = asked("may", "yug");
    return all.filter(volume => (status < 0 || volume[STATUS] === status) && surely(volume) && may(volume)
      && (!text || (volume[VOLUME] + " " + volume[DOUBT] + " " + data.sentences[volume[SENTENCE]]).toLowerCase().includes(text)));
  }
  const collator = new Intl.Collator(undefined, {numeric: true});        // of a million names 2 s; localeCompare takes 16 s
  function compare(a, b) {
    const at = one => column === SENTENCE ? data.sentences[one[column]] : one[column], x = at(a), y = at(b);
    if (x === null || y === null) { return (x === null) - (y === null); }
    const order = typeof x === "number" ? x - y : collator.compare(x, y);
    return down ? -order : order;
  }
  function tell() {
    const shown = body.rows.length, left = rows.length - shown;
    const absent = data.total - all.length;
    const unread = absent ? ", " + absent.toLocaleString("en") + (lost ? " more not found in " + lost : " more being read") : "";
    get("found").textContent = rows.length.toLocaleString("en") + " of " + all.length.toLocaleString("en") + " volumes" + (left ? ", the first " + shown.toLocaleString("en") + " shown" : "") + unread;
    get("more").hidden = !left;
  }
  function show() {
    rows = filtered();
    if (column >= 0) { rows.sort(compare); }
    body.replaceChildren(...rows.slice(0, STEP).map(line));
    tell();
  }
  Array.from(table.tHead.rows[0].cells).forEach(function (head, at) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", function () {
      down = column === at && !down;
      column = at;
      for (const other of table.tHead.rows[0].cells) { other.removeAttribute("aria-sort"); }
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      show();
    });
  });
  for (const id of ["text", "status", "surely", "may"]) { get(id).addEventListener("input", show); }
  get("more").addEventListener("click", function () {
    const next = rows.slice(body.rows.length, body.rows.length + STEP).map(line);
    body.append(...next);
    // the button may be gone now: who pressed it goes on at the first of the new rows
    const place = next[0].querySelector("a");
    tell();
    if (place && get("more").hidden) { place.focus(); }
  });
  if (get("rest")) { get("rest").textContent = ""; }
  get("controls").hidden = false;
  get("further").hidden = false;
  const isAsked = () => column >= 0 || ["text", "status", "surely", "may"].some(id => get(id).value);
  if (isAsked()) { show(); } else { tell(); }
  // further rows of a large batch, file by file
  let file = 0;
  function read() {
    if (file === data.files) { if (isAsked()) { show(); } return; }
    file += 1;
    const script = document.createElement("script");
    script.src = "pages/rows-" + String(file).padStart(4, "0") + ".js";
    script.onload = function () { script.remove(); read(); };
    script.onerror = function () { lost = script.getAttribute("src"); tell(); };
    document.head.append(script);
  }
  window.fovnetRows = function (some) {
    for (const one of some) { all.push(one); }
    if (isAsked()) { return; }
    rows = all;
    tell();
  };
  read();
})();
