// Sorting and filtering of the list; without this its first rows stand as they are.
(function () {
  const STEP = 500, VOLUME = 0, STATUS = 1, REGIONS = 2, SURE = 3, DOUBT = 4, PAGE = 5;
  const all = JSON.parse(document.getElementById("data").textContent);
  const get = id => document.getElementById(id);
  const table = get("volumes"), body = table.tBodies[0], names = {};
  for (const option of get("status").options) { names[option.value] = option.textContent; }
  let column = -1, down = false, limit = STEP;

  function cell(row, text) {
    row.appendChild(document.createElement("td")).textContent = text;
  }
  function line(volume) {
    const row = document.createElement("tr"), head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    if (volume[PAGE]) {
      const link = head.appendChild(document.createElement("a"));
      link.href = volume[PAGE];
      link.textContent = volume[VOLUME];
    } else {
      head.textContent = volume[VOLUME];
    }
    cell(row, names[volume[STATUS]]);
    cell(row, volume[REGIONS]);
    cell(row, volume[SURE] === null ? "–" : volume[SURE].toFixed(2));
    cell(row, volume[DOUBT]);
    return row;
  }
  function wanted(volume) {
    const text = get("text").value.toLowerCase(), status = get("status").value, region = get("region").value;
    return (!status || volume[STATUS] === status)
      && (!region || (", " + volume[REGIONS] + ", ").includes(", " + region + ", ") || (region === "none" && volume[REGIONS] === "–" && volume[STATUS] !== "refused"))
      && (!text || (volume[VOLUME] + " " + volume[DOUBT]).toLowerCase().includes(text));
  }
  function compare(a, b) {
    const x = a[column], y = b[column];
    if (x === null || y === null) { return (x === null) - (y === null); }
    const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, {numeric: true});
    return down ? -order : order;
  }
  function show() {
    const rows = all.filter(wanted);
    if (column >= 0) { rows.sort(compare); }
    body.replaceChildren(...rows.slice(0, limit).map(line));
    get("found").textContent = rows.length + " of " + all.length + " volumes" + (rows.length > limit ? ", the first " + limit + " shown" : "");
    get("more").hidden = rows.length <= limit;
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
  for (const id of ["text", "status", "region"]) {
    get(id).addEventListener("input", function () { limit = STEP; show(); });
  }
  get("more").addEventListener("click", function () { limit += STEP; show(); });
  if (get("rest")) { get("rest").textContent = ""; }
  get("controls").hidden = false;
  show();
})();
